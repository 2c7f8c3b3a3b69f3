/**
 * A live link to `/ws/v1` that outlives its sockets. Whoever follows something is told every entry once, in order, from where they began: whatever the
 * sockets in between drop, delay, double or mix up. Requests are sent until they are answered; their ids make them once.
 *
 * W-24 what a follower is told is the journal: no entry is missing, none comes twice, none out of order. A gap is seen and mended, by following anew from the
 *     last place; the end is checked at every heartbeat.
 * W-24 a lost connection is dialled again, each time a little later, and everything that was followed or asked goes on from where it was.
 * W-5 a request is answered once; it is sent again, under the same id, over every new connection, and when no answer comes.
 */
import type { Problem } from "./problem.ts";
import {
  type ClientFrameInput,
  type Following,
  frameText,
  type Item,
  type RequestFrame,
  readServerFrame,
  type ServerFrame,
  VERSION,
} from "./v1.ts";

/** One socket, as the link sees it. After `closed` nothing more is heard of it. */
export type Wire = Readonly<{ send(text: string): void; close(): void }>;
export type WireEvents = Readonly<{ opened(): void; heard(text: string): void; closed(): void }>;
/** Begins to connect; may throw, which counts as closed. */
export type Dial = (events: WireEvents) => Wire;

export type LinkPlace = Readonly<{ after: number }>;
export type Follower = Readonly<{
  /** In order, each once; with where the follower is now. */
  entries(items: readonly Item[], at: number): void;
  preview?(preview: Extract<ServerFrame, { kind: "preview" }>): void;
  /** All that there was has been told. */
  caughtUp?(at: number): void;
  /** Nothing more comes: its session was closed, or it may not be followed. */
  ended?(problem: Problem | null): void;
}>;

/** What an asker gets. */
export type Reply = Extract<ServerFrame, { kind: "done" | "page" | "error" }>;
type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;
export type LinkRequest = DistributiveOmit<Extract<ClientFrameInput, { kind: RequestFrame["kind"] }>, "id">;

export type LinkState = Readonly<
  | { kind: "connecting"; attempt: number }
  | { kind: "open"; welcome: Extract<ServerFrame, { kind: "welcome" }> }
  | { kind: "closed"; problem: Problem | null }
>;

export type LinkOptions = Readonly<{
  dial: Dial;
  /** Makes an id nobody else has, for a request. */
  makeId(): string;
  /** Calls back once, after so long; returns the way to stop it. */
  later(ms: number, run: () => void): () => void;
  changed?(state: LinkState): void;
  client?: string;
  /** A ping so often; two in a row without a word from the other side, and the connection counts as lost. */
  heartbeatMs?: number;
  /** Before the `n`th attempt in a row, from 1. */
  waitMs?(attempt: number): number;
}>;

export type Link = Readonly<{
  follow(to: Following, from: LinkPlace | "now", follower: Follower, options?: Readonly<{ previews?: boolean }>): () => void;
  ask(frame: LinkRequest, options?: Readonly<{ id?: string }>): Promise<Reply>;
  close(): void;
}>;

type Followed = {
  readonly name: string;
  readonly to: Following;
  readonly previews: boolean;
  readonly follower: Follower;
  at: number | "now";
  /** Each following anew has an id of its own: what belongs to an earlier one is not for it. */
  edition: number;
  /** As of the last heartbeat: an id that the server did not know then is not on its way any more. */
  missed: boolean;
};
type Asked = { readonly frame: ClientFrameInput; readonly answer: (reply: Reply) => void; beats: number };

const HEARTBEAT_MS = 15_000;
const gently = (attempt: number): number => Math.min(10_000, 250 * 2 ** Math.min(attempt - 1, 6));

export function openLink({
  dial,
  makeId,
  later,
  changed = () => {},
  client = "",
  heartbeatMs = HEARTBEAT_MS,
  waitMs = gently,
}: LinkOptions): Link {
  const followed = new Map<string, Followed>(); // by the id of its present edition
  const asked = new Map<string, Asked>();
  let wire: Wire | null = null;
  let welcomed = false;
  let isClosed = false;
  let attempt = 0;
  let count = 0;
  let silent = 0; // heartbeats without a word
  let stopBeat = (): void => {};
  let stopDial = (): void => {};

  const idOf = ({ name, edition }: Followed): string => `${name}.${edition}`;
  const subscription = (one: Followed) => ({ id: idOf(one), to: one.to, after: one.at, previews: one.previews });

  function send(frame: ClientFrameInput): void {
    if (welcomed) wire?.send(frameText(frame));
  }

  // ── connecting ──

  function connect(): void {
    if (isClosed) return;
    attempt += 1;
    changed({ kind: "connecting", attempt });
    silent = 0;
    beatLater();
    const events = only({ opened: hello, heard: hear, closed: lost });
    try {
      wire = events.of(dial(events));
    } catch {
      events.closed();
    }
  }

  /** Hears one socket: what an older one still has to say is not heard. */
  function only({ opened, heard, closed }: WireEvents): WireEvents & Readonly<{ of(mine: Wire): Wire | null }> {
    let mine: Wire | null = null;
    let isOver = false;
    const isMine = (): boolean => !isOver && (mine === null || mine === wire);
    return {
      of(made) {
        mine = made;
        return isOver ? null : made; // it was closed before it was there
      },
      opened: () => {
        if (isMine()) opened();
      },
      heard: (text) => {
        if (isMine()) heard(text);
      },
      closed: () => {
        if (!isMine()) return;
        isOver = true;
        closed();
      },
    };
  }

  function hello(): void {
    for (const one of [...followed.values()]) renew(one);
    wire?.send(frameText({ kind: "hello", version: VERSION, client, resume: [...followed.values()].map(subscription) }));
  }

  function lost(): void {
    const old = wire;
    wire = null;
    welcomed = false;
    stopBeat();
    old?.close();
    if (isClosed) return;
    stopDial();
    stopDial = later(waitMs(attempt), connect);
  }

  function shut(problem: Problem | null): void {
    if (isClosed) return;
    isClosed = true;
    stopBeat();
    stopDial();
    wire?.close();
    wire = null;
    changed({ kind: "closed", problem });
  }

  // ── the heartbeat ──

  function beatLater(): void {
    stopBeat();
    stopBeat = later(heartbeatMs, beat);
  }

  function beat(): void {
    silent += 1;
    if (silent > 2) {
      lost();
      return;
    }
    if (welcomed) {
      count += 1;
      send({ kind: "ping", id: `p${count}` });
      for (const one of asked.values()) {
        one.beats += 1;
        if (one.beats > 1) send(one.frame); // no answer since the last one
      }
    }
    beatLater();
  }

  /** How far the server has told each subscription: what is further than what arrived has been lost. */
  function compare(at: Readonly<Record<string, number>>): void {
    for (const one of [...followed.values()]) {
      const told = at[idOf(one)];
      const isBehind = told === undefined || (one.at !== "now" && told > one.at);
      if (isBehind && one.missed) anew(one);
      else one.missed = isBehind;
    }
  }

  // ── following ──

  function renew(one: Followed): void {
    followed.delete(idOf(one));
    one.edition += 1;
    one.missed = false;
    followed.set(idOf(one), one);
  }

  function anew(one: Followed): void {
    send({ kind: "unsubscribe", id: idOf(one) });
    renew(one);
    send({ kind: "subscribe", ...subscription(one) });
  }

  function drop(one: Followed, problem: Problem | null): void {
    followed.delete(idOf(one));
    one.follower.ended?.(problem);
  }

  function take(one: Followed, { after, to, items }: Extract<ServerFrame, { kind: "entries" }>): void {
    if (one.at === "now") one.at = after;
    const at = one.at;
    if (after > at) {
      anew(one); // what lies between was lost on the way
      return;
    }
    if (to <= at) return; // told before
    one.at = to;
    one.missed = false;
    const fresh = items.filter((item) => placeOf(one.to, item) > at);
    one.follower.entries(fresh, to);
  }

  function mark(one: Followed, at: number): boolean {
    if (one.at === "now") one.at = at;
    if (at > one.at) {
      anew(one);
      return false;
    }
    return at === one.at;
  }

  // ── hearing ──

  function hear(text: string): void {
    const read = readServerFrame(text);
    silent = 0;
    if (read.kind === "refused") return; // of a newer version, or torn: what it was about shows as a gap
    const { frame } = read;
    switch (frame.kind) {
      case "welcome":
        if (!welcomed) begin(frame);
        break;
      case "pong":
        compare(frame.at);
        break;
      case "closing":
        if (frame.again) lost();
        else shut(frame.problem);
        break;
      case "done":
      case "page":
        settle(frame);
        break;
      case "error":
        if (frame.id !== null && !settle(frame)) failed(frame.id, frame.problem);
        break;
      case "entries":
      case "preview":
      case "caught-up":
      case "ended":
        if (followed.has(frame.id)) told(frame);
        else if (frame.kind !== "ended") send({ kind: "unsubscribe", id: frame.id }); // not followed any more: the word of that was lost
        break;
    }
  }

  function begin(welcome: Extract<ServerFrame, { kind: "welcome" }>): void {
    welcomed = true;
    attempt = 0;
    changed({ kind: "open", welcome });
    for (const one of asked.values()) {
      one.beats = 0;
      send(one.frame);
    }
    for (const one of [...followed.values()]) if (one.edition === 0) anew(one); // begun between hello and welcome
  }

  function told(frame: Extract<ServerFrame, { kind: "entries" | "preview" | "caught-up" | "ended" }>): void {
    const one = followed.get(frame.id);
    if (one === undefined) return;
    if (frame.kind === "entries") take(one, frame);
    else if (frame.kind === "preview") one.follower.preview?.(frame);
    else if (mark(one, frame.at)) {
      if (frame.kind === "caught-up") one.follower.caughtUp?.(frame.at);
      else drop(one, null);
    }
  }

  function failed(id: string, problem: Problem): void {
    const one = followed.get(id);
    if (one === undefined) return;
    if (problem.status < 500) drop(one, problem);
    else one.missed = true; // tried again at the next heartbeat
  }

  function settle(reply: Reply): boolean {
    const one = reply.id === null ? undefined : asked.get(reply.id);
    if (one === undefined || reply.id === null) return false;
    asked.delete(reply.id);
    one.answer(reply);
    return true;
  }

  connect();
  return {
    follow(to, from, follower, { previews = true } = {}) {
      count += 1;
      const one: Followed = {
        name: `s${count}`,
        to,
        previews,
        follower,
        at: from === "now" ? "now" : from.after,
        edition: 0,
        missed: false,
      };
      followed.set(idOf(one), one);
      if (welcomed) send({ kind: "subscribe", ...subscription(one) });
      return () => {
        if (followed.delete(idOf(one))) send({ kind: "unsubscribe", id: idOf(one) });
      };
    },
    ask(frame, { id = makeId() } = {}) {
      return new Promise((answer) => {
        const full = { ...frame, id };
        asked.set(id, { frame: full, answer, beats: 0 });
        send(full);
      });
    },
    close: () => shut(null),
  };
}

const placeOf = (to: Following, item: Item): number => {
  if (to.kind === "all") return item.position ?? 0;
  return item.kind === "entry" ? item.entry.seq : item.seq;
};
