/**
 * The console's one connection to the server: who is signed in, the link, followed sessions, calls. Screens read cells and send intents; all state comes from
 * the server.
 *
 * O-1 any refused call or socket reveals an ended sign-in, and the page asks to sign in again where it is.
 * O-7 the hub asks who is signed in until an answer comes; a request that changes something is sent again under the same key, and the server acts once.
 * O-5 a feed holds exactly the entries of its session, in order, each once, from the first; after a lost connection it continues after the last one.
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
} from "@orgate/protocol";
import { type Cell, cell, type Watched } from "../state/cell.ts";
import { dial, later, makeId, retryDelayMs, transport, UNREACHABLE } from "./browser.ts";
import { type Feed, openFeed } from "./feed.ts";

export type Me = OperationOutput<"whoami">;
/** `wasIn`: the sign-in ended while it was in use. */
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
  /** Calls back with every entry from now on that this person may see. Returns how to stop. */
  listen(items: (items: readonly Item[]) => void): () => void;
  /** Follows one session until it is released. */
  session(id: SessionId): Readonly<{ feed: Feed; release(): void }>;
}>;

/** After this many failed attempts in a row, the sign-in itself is checked. */
const IN_DOUBT = 2;

/** How often a request that changes something is sent when no answer comes. */
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

/** `entered` runs once somebody has signed in, before their screens are drawn. */
export const createHub = (ports: HubPorts = inBrowser, entered: (me: Me) => void = () => {}): Hub => new ServerHub(ports, entered);

type FollowedFeed = { readonly feed: Feed; users: number; readonly stop: () => void };

class ServerHub implements Hub {
  readonly who: Cell<SignedIn> = cell<SignedIn>({ kind: "finding-out" });
  readonly connection: Cell<LinkState> = cell<LinkState>({ kind: "connecting", attempt: 1 });
  readonly #ports: HubPorts;
  readonly #entered: (me: Me) => void;
  readonly #listeners = new Set<(items: readonly Item[]) => void>();
  readonly #feeds = new Map<SessionId, FollowedFeed>();
  #link: Link | null = null;
  #tries = 0; // to find out who is signed in, without an answer

  constructor(ports: HubPorts, entered: (me: Me) => void) {
    this.#ports = ports;
    this.#entered = entered;
  }

  async begin(): Promise<void> {
    const came = await this.call("whoami", {});
    if (came.kind === "problem") {
      this.who.set({ kind: "out", problem: came.problem.status === 401 ? null : came.problem, wasIn: false });
      this.#tries = came.problem === UNREACHABLE ? this.#tries + 1 : 0;
      if (this.#tries > 0) this.#ports.later(retryDelayMs(this.#tries), () => void (this.who.get().kind === "in" ? null : this.begin()));
      return;
    }
    this.#tries = 0;
    this.#entered(came.value);
    this.who.set({ kind: "in", me: came.value });
    this.#link ??= this.#ports.open((state) => this.#linkChanged(state));
    this.#link.follow({ kind: "all" }, "now", { entries: (items) => this.#announce(items) }, { previews: false });
  }

  leave(): void {
    this.#signOut(null);
  }

  async call<K extends CallableOperation>(
    name: K,
    input: OperationInput<K>,
    options: Readonly<{ key?: string; signal?: AbortSignal }> = {},
  ): Promise<Called<OperationOutput<K>>> {
    try {
      const came = await this.#sendUntilAnswered(name, input, { key: makeId(), ...options });
      if (came.kind === "problem" && came.problem.status === 401 && this.who.get().kind !== "out") this.#signOut(came.problem);
      return came;
    } catch (error) {
      if (options.signal?.aborted === true) throw error;
      return { kind: "problem", problem: UNREACHABLE };
    }
  }

  readonly link: Hub["link"] = {
    call: (...call) => this.#link?.call(...call) ?? Promise.resolve({ kind: "problem", problem: UNREACHABLE }),
  };

  listen(items: (items: readonly Item[]) => void): () => void {
    this.#listeners.add(items);
    return () => this.#listeners.delete(items);
  }

  session(id: SessionId): Readonly<{ feed: Feed; release(): void }> {
    const followed = this.#feeds.get(id) ?? this.#follow(id);
    followed.users += 1;
    this.#feeds.set(id, followed);
    let isReleased = false;
    return {
      feed: followed.feed,
      release: (): void => {
        if (isReleased) return;
        isReleased = true;
        followed.users -= 1;
        if (followed.users > 0) return;
        followed.stop();
        if (this.#feeds.get(id) === followed) this.#feeds.delete(id);
      },
    };
  }

  #follow(id: SessionId): FollowedFeed {
    const { feed, follower } = openFeed(id);
    const stop = this.#link?.follow({ kind: "session", session: id }, { after: 0 }, follower) ?? (() => {});
    return { feed, users: 0, stop };
  }

  #signOut(problem: Problem | null): void {
    this.#link?.close();
    this.#link = null;
    for (const { stop } of this.#feeds.values()) stop();
    this.#feeds.clear();
    this.who.set({ kind: "out", problem, wasIn: problem !== null && this.who.get().kind === "in" });
  }

  /** Every attempt carries the same key: the server acts once, whether the request was lost or its answer. */
  async #sendUntilAnswered<K extends CallableOperation>(
    name: K,
    input: OperationInput<K>,
    options: Readonly<{ key: string; signal?: AbortSignal }>,
  ): Promise<Called<OperationOutput<K>>> {
    for (let n = 1; ; n += 1)
      try {
        return await this.#ports.client.call(name, input, options);
      } catch (error) {
        if (options.signal?.aborted === true || n === MOST_SENT || !OPERATIONS[name].idempotencyKey) throw error;
        await new Promise<void>((done) => void this.#ports.later(retryDelayMs(n), done));
      }
  }

  #announce(items: readonly Item[]): void {
    if (items.length > 0) for (const listener of [...this.#listeners]) listener(items);
  }

  #linkChanged(state: LinkState): void {
    this.connection.set(state);
    if (state.kind === "connecting" && state.attempt > IN_DOUBT) void this.call("whoami", {}); // 401 signs out
    if (state.kind === "closed" && this.who.get().kind === "in") void this.call("whoami", {});
  }
}
