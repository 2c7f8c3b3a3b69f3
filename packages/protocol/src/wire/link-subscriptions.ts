/**
 * The subscriptions of a link: each knows its position, sees a gap by it, and subscribes again from there (W-24).
 */
import type { Problem } from "./problem.ts";
import type { ClientFrameInput, Following, Item, ServerFrame } from "./v1.ts";

export type LinkPlace = Readonly<{ after: number }>;
export type Follower = Readonly<{
  /** In order, each once; with the follower's new position. */
  entries(items: readonly Item[], at: number): void;
  preview?(preview: Extract<ServerFrame, { kind: "preview" }>): void;
  /** Every entry that existed has been delivered. */
  caughtUp?(at: number): void;
  /** Nothing more comes: the session was closed, or may not be followed. */
  ended?(problem: Problem | null): void;
}>;

type Subscription = {
  readonly name: string;
  readonly to: Following;
  readonly previews: boolean;
  readonly follower: Follower;
  at: number | "now";
  /** Rises each time it is subscribed again, so that frames of an earlier edition are not taken for this one. */
  edition: number;
  /** True if it lagged behind at the last heartbeat: an id that the server did not know then is no longer on its way. */
  isBehind: boolean;
};
type SubscriptionFrame = Extract<ServerFrame, { kind: "entries" | "preview" | "caught-up" | "ended" }>;
type Wanted = Readonly<{ to: Following; from: LinkPlace | "now"; follower: Follower; previews: boolean }>;

const idOf = ({ name, edition }: Subscription): string => `${name}.${edition}`;
const toFrame = (one: Subscription) => ({ id: idOf(one), to: one.to, after: one.at, previews: one.previews });

export class LinkSubscriptions {
  /** By the id of the present edition. */
  readonly #open = new Map<string, Subscription>();
  readonly #send: (frame: ClientFrameInput) => void;
  #count = 0;

  /** `send` drops frames while there is no connection. */
  constructor(send: (frame: ClientFrameInput) => void) {
    this.#send = send;
  }

  /** Returns the way to unsubscribe. */
  open({ to, from, follower, previews }: Wanted): () => void {
    this.#count += 1;
    const at = from === "now" ? "now" : from.after;
    const one: Subscription = { name: `s${this.#count}`, to, previews, follower, at, edition: 0, isBehind: false };
    this.#open.set(idOf(one), one);
    this.#send({ kind: "subscribe", ...toFrame(one) });
    return () => {
      if (this.#open.delete(idOf(one))) this.#send({ kind: "unsubscribe", id: idOf(one) });
    };
  }

  /** All of them under new ids, for the `hello` of a new connection. */
  resumed(): ReturnType<typeof toFrame>[] {
    for (const one of [...this.#open.values()]) this.#renew(one);
    return [...this.#open.values()].map(toFrame);
  }

  /** After `welcome`: those opened between `hello` and now. */
  begin(): void {
    for (const one of [...this.#open.values()]) if (one.edition === 0) this.#restart(one);
  }

  /** `sent` is the server's position of each subscription: what is ahead of ours for two heartbeats was lost. */
  compare(sent: Readonly<Record<string, number>>): void {
    for (const one of [...this.#open.values()]) {
      const theirs = sent[idOf(one)];
      const isBehind = theirs === undefined || (one.at !== "now" && theirs > one.at);
      if (isBehind && one.isBehind) this.#restart(one);
      else one.isBehind = isBehind;
    }
  }

  take(frame: SubscriptionFrame): void {
    const one = this.#open.get(frame.id);
    if (one === undefined) {
      if (frame.kind !== "ended") this.#send({ kind: "unsubscribe", id: frame.id }); // the first unsubscribe was lost
    } else if (frame.kind === "entries") this.#takeEntries(one, frame);
    else if (frame.kind === "preview") one.follower.preview?.(frame);
    else if (this.#reaches(one, frame.at)) {
      if (frame.kind === "caught-up") one.follower.caughtUp?.(frame.at);
      else this.#end(one, null);
    }
  }

  fail(id: string, problem: Problem): void {
    const one = this.#open.get(id);
    if (one === undefined) return;
    if (problem.status < 500) this.#end(one, problem);
    else one.isBehind = true; // tried again at the next heartbeat
  }

  #takeEntries(one: Subscription, { after, to, items }: Extract<ServerFrame, { kind: "entries" }>): void {
    if (one.at === "now") one.at = after;
    const at = one.at;
    if (after > at) {
      this.#restart(one); // the entries in between were lost on the way
      return;
    }
    if (to <= at) return; // delivered before
    one.at = to;
    one.isBehind = false;
    const fresh = items.filter((item) => positionOf(one.to, item) > at);
    one.follower.entries(fresh, to);
  }

  /** True if the subscription stands exactly there; if the server is ahead, entries were lost. */
  #reaches(one: Subscription, at: number): boolean {
    if (one.at === "now") one.at = at;
    if (at > one.at) {
      this.#restart(one);
      return false;
    }
    return at === one.at;
  }

  #renew(one: Subscription): void {
    this.#open.delete(idOf(one));
    one.edition += 1;
    one.isBehind = false;
    this.#open.set(idOf(one), one);
  }

  #restart(one: Subscription): void {
    this.#send({ kind: "unsubscribe", id: idOf(one) });
    this.#renew(one);
    this.#send({ kind: "subscribe", ...toFrame(one) });
  }

  #end(one: Subscription, problem: Problem | null): void {
    this.#open.delete(idOf(one));
    one.follower.ended?.(problem);
  }
}

const positionOf = (to: Following, item: Item): number => {
  if (to.kind === "all") return item.position ?? 0;
  return item.kind === "entry" ? item.entry.seq : item.seq;
};
