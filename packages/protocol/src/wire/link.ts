/**
 * A live link to `/ws/v1` that outlives its sockets. A follower gets every entry once, in order, from where it began, whatever the sockets in between drop,
 * delay, double or reorder. Calls are sent until they are answered; their keys make them happen once.
 *
 * W-24 a gap is seen by the follower's position and filled by subscribing again from there; the end is compared at every heartbeat. A lost connection is
 *     dialled again, each time a little later, and every subscription and call goes on.
 * W-5 a call is answered once; it is sent again, under the same key, over every new connection, and when no answer comes. A call of a link that was closed,
 *     by its owner or by the server for good, is answered with the reason.
 */
import type { Entry, Seq, SessionId } from "@orgate/core/vocab";
import { type Called, decodeOutput } from "./client.ts";
import { type Follower, type LinkPlace, LinkSubscriptions } from "./link-subscriptions.ts";
import type { OperationInput, OperationOutput } from "./operations.ts";
import { type Problem, wireProblem } from "./problem.ts";
import {
  type ClientFrameInput,
  type Following,
  frameText,
  readServerFrame,
  type ServerFrame,
  type SocketOperation,
  VERSION,
} from "./v1.ts";

/** One socket, as the link sees it. After `closed` nothing more is heard of it. */
export type Wire = Readonly<{ send(text: string): void; close(): void }>;
export type WireEvents = Readonly<{ opened(): void; heard(text: string): void; closed(): void }>;
/** Begins to connect; may throw, which counts as closed. */
export type Dial = (events: WireEvents) => Wire;

export type { Follower, LinkPlace } from "./link-subscriptions.ts";

export type LinkState = Readonly<
  | { kind: "connecting"; attempt: number }
  | { kind: "open"; welcome: Extract<ServerFrame, { kind: "welcome" }> }
  | { kind: "closed"; problem: Problem | null }
>;

export type LinkOptions = Readonly<{
  dial: Dial;
  /** Makes an id nobody else has: of a request, and its idempotency key. */
  makeId(): string;
  /** Calls back once, after that time; returns the way to stop it. */
  later(ms: number, run: () => void): () => void;
  changed?(state: LinkState): void;
  client?: string;
  /** Interval of pings; after two without any answer the connection counts as lost. */
  heartbeatMs?: number;
  /** Before the `n`th attempt in a row, from 1. */
  waitMs?(attempt: number): number;
}>;

/** `before`: where older entries continue; null at the beginning of the session. */
export type HistoryPage = Readonly<{ entries: readonly Entry[]; before: Seq | null }>;
export type HistoryRange = Readonly<{ session: SessionId; before: Seq | null; most?: number }>;
/** `key`: the idempotency key; by default one made for this call. */
export type LinkCallOptions = Readonly<{ key?: string }>;

export type Link = Readonly<{
  follow(to: Following, from: LinkPlace | "now", follower: Follower, options?: Readonly<{ previews?: boolean }>): () => void;
  /** Calls an operation as the HTTP client does; waits for a connection as long as it takes. */
  call<K extends SocketOperation>(name: K, input: OperationInput<K>, options?: LinkCallOptions): Promise<Called<OperationOutput<K>>>;
  /** Reads a session backwards. */
  history(range: HistoryRange): Promise<Called<HistoryPage>>;
  close(): void;
}>;

export function openLink(options: LinkOptions): Link {
  const link = new LiveLink(options);
  return {
    follow: (...wanted) => link.follow(...wanted),
    call: (...call) => link.call(...call),
    history: (range) => link.history(range),
    close: () => link.close(),
  };
}

type Reply = Extract<ServerFrame, { kind: "result" | "page" | "error" }>;
type Pending = { readonly frame: ClientFrameInput; readonly settle: (reply: Reply) => void; beats: number };

const HEARTBEAT_MS = 15_000;
const MOST_SILENT_BEATS = 2;
const CLOSED = wireProblem("unavailable", "the link was closed before an answer came", "connect again; the same key returns the result");
const backoffMs = (attempt: number): number => Math.min(10_000, 250 * 2 ** Math.min(attempt - 1, 6));

class LiveLink implements Link {
  readonly #options: LinkOptions;
  readonly #subscriptions = new LinkSubscriptions((frame) => this.#send(frame));
  readonly #pending = new Map<string, Pending>();
  #wire: Wire | null = null;
  #isWelcomed = false;
  #isClosed = false;
  #closedBy: Problem = CLOSED;
  #attempt = 0;
  #pings = 0;
  /** Heartbeats since anything was heard. */
  #silent = 0;
  #stopBeat = (): void => {};
  #stopDial = (): void => {};

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#connect();
  }

  follow(...[to, from, follower, { previews = true } = {}]: Parameters<Link["follow"]>): () => void {
    return this.#subscriptions.open({ to, from, follower, previews });
  }

  async call<K extends SocketOperation>(
    name: K,
    input: OperationInput<K>,
    { key }: LinkCallOptions = {},
  ): Promise<Called<OperationOutput<K>>> {
    const frame = { kind: "call", operation: name, input, ...(key === undefined ? {} : { key }) } as const;
    const reply = await this.#ask(frame);
    if (reply.kind === "error") return { kind: "problem", problem: reply.problem };
    return decodeOutput(name, reply.kind === "result" ? reply.value : undefined, `a frame \`${reply.kind}\``);
  }

  async history(range: HistoryRange): Promise<Called<HistoryPage>> {
    const reply = await this.#ask({ kind: "history", ...range });
    if (reply.kind === "error") return { kind: "problem", problem: reply.problem };
    if (reply.kind !== "page") throw new Error(`a history was answered with \`${reply.kind}\``);
    return { kind: "ok", value: { entries: reply.entries, before: reply.before } };
  }

  close(): void {
    this.#shut(null);
  }

  // ── requests ──

  #ask(frame: Omit<Extract<ClientFrameInput, { kind: "call" }>, "id"> | Omit<Extract<ClientFrameInput, { kind: "history" }>, "id">) {
    const id = this.#options.makeId();
    if (this.#isClosed) return Promise.resolve<Reply>({ kind: "error", id, problem: this.#closedBy });
    return new Promise<Reply>((settle) => {
      const full = { ...frame, id };
      this.#pending.set(id, { frame: full, settle, beats: 0 });
      this.#send(full);
    });
  }

  #settle(reply: Reply): boolean {
    const one = reply.id === null ? undefined : this.#pending.get(reply.id);
    if (one === undefined || reply.id === null) return false;
    this.#pending.delete(reply.id);
    one.settle(reply);
    return true;
  }

  #send(frame: ClientFrameInput): void {
    if (this.#isWelcomed) this.#wire?.send(frameText(frame));
  }

  // ── connecting ──

  #connect(): void {
    if (this.#isClosed) return;
    this.#attempt += 1;
    this.#options.changed?.({ kind: "connecting", attempt: this.#attempt });
    this.#silent = 0;
    this.#beatLater();
    const socket = this.#listen();
    try {
      this.#wire = socket.use(this.#options.dial(socket.events));
    } catch {
      socket.events.closed();
    }
  }

  /** Hears one socket: what an older one still has to say is dropped. */
  #listen(): Readonly<{ events: WireEvents; use(wire: Wire): Wire | null }> {
    let mine: Wire | null = null;
    let isOver = false;
    const ifMine = (run: () => void): void => {
      if (!isOver && (mine === null || mine === this.#wire)) run();
    };
    return {
      events: {
        opened: () => ifMine(() => this.#hello()),
        heard: (text) => ifMine(() => this.#hear(text)),
        closed: () =>
          ifMine(() => {
            isOver = true;
            this.#lost();
          }),
      },
      use(wire) {
        mine = wire;
        return isOver ? null : wire; // it was closed before it was there
      },
    };
  }

  #hello(): void {
    const { client = "" } = this.#options;
    this.#wire?.send(frameText({ kind: "hello", version: VERSION, client, resume: this.#subscriptions.resumed() }));
  }

  #lost(): void {
    const old = this.#wire;
    this.#wire = null;
    this.#isWelcomed = false;
    this.#stopBeat();
    old?.close();
    if (this.#isClosed) return;
    this.#stopDial();
    const { later, waitMs = backoffMs } = this.#options;
    this.#stopDial = later(waitMs(this.#attempt), () => this.#connect());
  }

  #shut(problem: Problem | null): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stopBeat();
    this.#stopDial();
    this.#wire?.close();
    this.#wire = null;
    this.#closedBy = problem ?? CLOSED;
    for (const id of [...this.#pending.keys()]) this.#settle({ kind: "error", id, problem: this.#closedBy });
    this.#options.changed?.({ kind: "closed", problem });
  }

  // ── the heartbeat ──

  #beatLater(): void {
    this.#stopBeat();
    this.#stopBeat = this.#options.later(this.#options.heartbeatMs ?? HEARTBEAT_MS, () => this.#beat());
  }

  #beat(): void {
    this.#silent += 1;
    if (this.#silent > MOST_SILENT_BEATS) {
      this.#lost();
      return;
    }
    if (this.#isWelcomed) {
      this.#pings += 1;
      this.#send({ kind: "ping", id: `p${this.#pings}` });
      for (const one of this.#pending.values()) {
        one.beats += 1;
        if (one.beats > 1) this.#send(one.frame); // no answer since the last heartbeat
      }
    }
    this.#beatLater();
  }

  // ── hearing ──

  #hear(text: string): void {
    const read = readServerFrame(text);
    this.#silent = 0;
    if (read.kind === "refused") return; // of a newer version, or torn: it shows as a gap
    const { frame } = read;
    switch (frame.kind) {
      case "welcome":
        if (!this.#isWelcomed) this.#welcome(frame);
        break;
      case "pong":
        this.#subscriptions.compare(frame.at);
        break;
      case "closing":
        if (frame.again) this.#lost();
        else this.#shut(frame.problem);
        break;
      case "result":
      case "page":
        this.#settle(frame);
        break;
      case "error":
        if (frame.id !== null && !this.#settle(frame)) this.#subscriptions.fail(frame.id, frame.problem);
        break;
      case "entries":
      case "preview":
      case "caught-up":
      case "ended":
        this.#subscriptions.take(frame);
        break;
    }
  }

  #welcome(welcome: Extract<ServerFrame, { kind: "welcome" }>): void {
    this.#isWelcomed = true;
    this.#attempt = 0;
    this.#options.changed?.({ kind: "open", welcome });
    for (const one of this.#pending.values()) {
      one.beats = 0;
      this.#send(one.frame);
    }
    this.#subscriptions.begin();
  }
}
