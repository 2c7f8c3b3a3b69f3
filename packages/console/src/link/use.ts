/** The hub, as components use it. */
import { principalName, type SessionId } from "@orgate/core/vocab";
import type { CallableOperation, Item, OperationInput, OperationOutput, Problem } from "@orgate/protocol";
import { createContext, use, useCallback, useEffect, useRef, useState } from "react";
import { cell, useCell, type Watched } from "../state/cell.ts";
import { retryDelayMs, UNREACHABLE } from "./browser.ts";
import type { FeedState } from "./feed.ts";
import type { Hub } from "./hub.ts";

export const HubContext = createContext<Hub | null>(null);

export function useHub(): Hub {
  const hub = use(HubContext);
  if (hub === null) throw new Error("there is no hub above this component");
  return hub;
}

/** The principal's name as votes and entries have it. Empty if nobody is signed in. */
export function useMyName(): string {
  const who = useCell(useHub().who);
  return who.kind === "in" ? principalName(who.me.principal) : "";
}

export type Query<T> = Readonly<{ value: T | null; problem: Problem | null; isLoading: boolean; reload(): void }>;

/** Entries of these kinds make a query read again. */
export type Topics = readonly string[];
const SETTLE_MS = 120;

/**
 * Reads a route, and reads it again when an entry may have changed its answer, and after a lost connection. The old answer stays until the new one is
 * there, so nothing jumps.
 * O-7 a request without an answer is repeated by itself, each time a little later.
 */
export function useQuery<K extends CallableOperation>(
  name: K | null,
  input: OperationInput<K>,
  topics: Topics = [],
): Query<OperationOutput<K>> {
  const hub = useHub();
  const key = JSON.stringify([name, input]);
  const [state, setState] = useState<Readonly<{ key: string; value: OperationOutput<K> | null; problem: Problem | null }>>({
    key,
    value: null,
    problem: null,
  });
  const [round, setRound] = useState(0);
  const reload = useCallback(() => setRound((n) => n + 1), []);
  const given = useRef(input);
  given.current = input;
  const tries = useRef(0);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `key` stands for name and input, `round` asks again
  useEffect(() => {
    if (name === null) return;
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | null = null;
    hub.call(name, given.current, { signal: stop.signal }).then(
      (came) => {
        if (stop.signal.aborted) return;
        tries.current = came.kind === "problem" && came.problem === UNREACHABLE ? tries.current + 1 : 0;
        if (tries.current > 0) timer = setTimeout(reload, retryDelayMs(tries.current));
        if (came.kind === "ok") setState({ key, value: came.value, problem: null });
        else setState((before) => ({ key, value: before.key === key ? before.value : null, problem: came.problem }));
      },
      () => {}, // aborted
    );
    return () => {
      stop.abort();
      if (timer !== null) clearTimeout(timer);
    };
  }, [hub, key, round]);

  const wanted = topics.join(" ");
  useEffect(() => {
    const kinds = new Set(wanted.split(" "));
    let timer: ReturnType<typeof setTimeout> | null = null;
    const soon = (): void => {
      timer ??= setTimeout(() => {
        timer = null;
        reload();
      }, SETTLE_MS);
    };
    const stop = wanted === "" ? () => {} : hub.listen((items) => items.some((item) => touches(item, kinds)) && soon());
    let wasLost = false;
    const unwatch = hub.connection.watch(() => {
      const { kind } = hub.connection.get();
      if (kind === "connecting") wasLost = true;
      else if (kind === "open" && wasLost) {
        wasLost = false;
        reload();
      }
    });
    return () => {
      stop();
      unwatch();
      if (timer !== null) clearTimeout(timer);
    };
  }, [hub, wanted, reload]);

  const mine = state.key === key;
  return {
    value: mine ? state.value : null,
    problem: mine ? state.problem : null,
    isLoading: !mine || (state.value === null && state.problem === null),
    reload,
  };
}

const touches = (item: Item, kinds: ReadonlySet<string>): boolean => item.kind === "entry" && kinds.has(item.entry.event.kind);

/** Follows a session for as long as the component is mounted. Null until the first entries arrive. */
export function useFeed(session: SessionId | null): FeedState | null {
  const hub = useHub();
  const [feed, setFeed] = useState<Watched<FeedState> | null>(null);
  useEffect(() => {
    if (session === null) return;
    const { feed: found, release } = hub.session(session);
    setFeed(found);
    return () => {
      release();
      setFeed(null);
    };
  }, [hub, session]);
  return useCell<FeedState | null>(feed ?? NOTHING);
}
const NOTHING = cell<FeedState | null>(null);
