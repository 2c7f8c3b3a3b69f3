/**
 * The one store over the server: who is signed in, the link, what is followed, and what was asked for. Screens read cells and send wishes; nothing in here
 * makes up state of its own.
 *
 * O-1 a sign-in that has ended is noticed wherever it shows (an answer, a socket that is not opened), and the page asks to sign in again where it is.
 * O-7 who is signed in is asked again by itself for as long as no answer comes; what changes something is sent again under the same key, and done once.
 * O-5 a feed holds exactly the entries of its session, in order, each once, from the first; after a lost connection it goes on from the last.
 */

import type { SessionId } from "@orgate/core/vocab";
import {
  type CallableOperation,
  type Called,
  type Client,
  createClient,
  type Item,
  type Link,
  type LinkState,
  OPERATIONS,
  type OperationInput,
  type OperationOutput,
  openLink,
  type Problem,
} from "@orgate/core/wire";
import { type Cell, cell, type Watched } from "../state/cell.ts";
import { dial, later, makeId, retryDelayMs, transport, UNREACHABLE } from "./browser.ts";
import { type Feed, openFeed } from "./feed.ts";

export type Me = OperationOutput<"whoami">;
/** `wasIn`: it ended while somebody was at it. */
export type SignedIn = Readonly<
  { kind: "finding-out" } | { kind: "out"; problem: Problem | null; wasIn: boolean } | { kind: "in"; me: Me }
>;

export type Hub = Readonly<{
  who: Watched<SignedIn>;
  connection: Watched<LinkState>;
  /** Finds out who is signed in, and connects. */
  begin(): Promise<void>;
  leave(): void;
  call<K extends CallableOperation>(
    name: K,
    input: OperationInput<K>,
    options?: Readonly<{ key?: string; signal?: AbortSignal }>,
  ): Promise<Called<OperationOutput<K>>>;
  /** Calls over the link: sent until they are answered, done once. */
  link: Pick<Link, "call">;
  /** Everything that happens from now on, as far as this person may see it. */
  listen(items: (items: readonly Item[]) => void): () => void;
  /** Of one session. Call what comes back when it is not needed any more. */
  session(id: SessionId): Readonly<{ feed: Feed; release(): void }>;
}>;

/** After so many attempts in a row that failed, the sign-in itself is in doubt. */
const IN_DOUBT = 2;

/** What changes something is sent so often when no answer comes. */
const MOST_SENT = 3;

export type HubPorts = Readonly<{
  client: Client;
  open(changed: (state: LinkState) => void): Link;
  later(ms: number, run: () => void): () => void;
}>;
const inBrowser: HubPorts = {
  later,
  client: createClient(transport, makeId),
  open: (changed) => openLink({ dial, makeId, later, changed, client: "console" }),
};

/** `entered`: somebody is signed in, and nothing of it is on screen yet. */
export function createHub({ client, open, later: after }: HubPorts = inBrowser, entered: (me: Me) => void = () => {}): Hub {
  const who: Cell<SignedIn> = cell<SignedIn>({ kind: "finding-out" });
  const connection: Cell<LinkState> = cell<LinkState>({ kind: "connecting", attempt: 1 });
  const hearers = new Set<(items: readonly Item[]) => void>();
  const feeds = new Map<SessionId, { feed: Feed; users: number; stop: () => void }>();
  let link: Link | null = null;

  function out(problem: Problem | null): void {
    link?.close();
    link = null;
    for (const { stop } of feeds.values()) stop();
    feeds.clear();
    who.set({ kind: "out", problem, wasIn: problem !== null && who.get().kind === "in" });
  }

  async function call<K extends CallableOperation>(
    name: K,
    input: OperationInput<K>,
    options: Readonly<{ key?: string; signal?: AbortSignal }> = {},
  ) {
    try {
      const came = await sent(name, input, { key: makeId(), ...options });
      if (came.kind === "problem" && came.problem.status === 401 && who.get().kind !== "out") out(came.problem);
      return came;
    } catch (error) {
      if (options.signal?.aborted === true) throw error;
      return { kind: "problem", problem: UNREACHABLE } as const;
    }
  }

  /** Under one key: it is done once, whether the request was lost or its answer. */
  async function sent<K extends CallableOperation>(
    name: K,
    input: OperationInput<K>,
    options: Readonly<{ key: string; signal?: AbortSignal }>,
  ) {
    for (let n = 1; ; n += 1)
      try {
        return await client.call(name, input, options);
      } catch (error) {
        if (options.signal?.aborted === true || n === MOST_SENT || !OPERATIONS[name].idempotencyKey) throw error;
        await new Promise<void>((done) => void after(retryDelayMs(n), done));
      }
  }

  let tries = 0;
  async function begin(): Promise<void> {
    const came = await call("whoami", {});
    if (came.kind === "problem") {
      who.set({ kind: "out", problem: came.problem.status === 401 ? null : came.problem, wasIn: false });
      tries = came.problem === UNREACHABLE ? tries + 1 : 0;
      if (tries > 0) after(retryDelayMs(tries), () => void (who.get().kind === "in" ? null : begin()));
      return;
    }
    tries = 0;
    entered(came.value);
    who.set({ kind: "in", me: came.value });
    link ??= open(changed);
    link.follow({ kind: "all" }, "now", { entries: (items) => tell(items) }, { previews: false });
  }

  function tell(items: readonly Item[]): void {
    if (items.length > 0) for (const heard of [...hearers]) heard(items);
  }

  function changed(state: LinkState): void {
    connection.set(state);
    if (state.kind === "connecting" && state.attempt > IN_DOUBT) void call("whoami", {}); // 401 signs out
    if (state.kind === "closed" && who.get().kind === "in") void call("whoami", {});
  }

  function session(id: SessionId) {
    const there = feeds.get(id) ?? follow(id);
    there.users += 1;
    feeds.set(id, there);
    let isReleased = false;
    return {
      feed: there.feed,
      release(): void {
        if (isReleased) return;
        isReleased = true;
        there.users -= 1;
        if (there.users > 0) return;
        there.stop();
        if (feeds.get(id) === there) feeds.delete(id);
      },
    };
  }

  function follow(id: SessionId) {
    const { feed, follower } = openFeed(id);
    const stop = link?.follow({ kind: "session", session: id }, { after: 0 }, follower) ?? (() => {});
    return { feed, users: 0, stop };
  }

  return {
    who,
    connection,
    begin,
    leave: () => out(null),
    call,
    link: { call: (...given) => link?.call(...given) ?? Promise.resolve({ kind: "problem", problem: UNREACHABLE }) },
    listen(items) {
      hearers.add(items);
      return () => hearers.delete(items);
    },
    session,
  };
}
