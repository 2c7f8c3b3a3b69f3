/**
 * Effects leave the process: each is announced as events, launched once those are durable, and settled as events again.
 * An effect never touches the state. It returns a function that the driver calls for its events, so that they are recorded one effect at a time.
 */
import { recallCached } from "./calls/cached-result.ts";
import { callOff, type Followings, follow, startDelegate } from "./calls/follow-delegate.ts";
import { reconcileUnknown, startCall } from "./calls/start-call.ts";
import type { EffectContext, EffectResult } from "./effect-context.ts";
import { createRecaller } from "./memory/recall.ts";
import { rememberTurn } from "./memory/remember.ts";
import { askModel, createRequestMaker } from "./model/ask-model.ts";
import { createPreparedRequests } from "./model/before-model.ts";
import { summarise } from "./model/summary.ts";
import type { Move } from "./moves.ts";
import type { Turn } from "./state.ts";

export type Announcer = Readonly<{
  /** Lets middleware see the next request. True: something was recorded, and the moves have to be chosen again. */
  prepare(t: Turn): boolean;
  /** Searches the agent's knowledge where that stays in the process. True: the result was recorded. */
  recall(t: Turn): boolean;
  /** Records the announcement of a move, and returns the function that launches its effect. */
  announce(move: Move): (() => void) | null;
  /** Aborts middleware that is still at the next request. */
  abandon(reason: string): void;
}>;

export function createAnnouncer(c: EffectContext): Announcer {
  const requests = createPreparedRequests(c, createRequestMaker(c));
  const recalls = createRecaller(c);
  const followed: Followings = new Map();
  const announce: Announcer["announce"] = (move) => {
    const t = c.s.turn;
    if (move.kind === "reconcile-unknown") return reconcileUnknown(c, move.unknown);
    if (t === null) return null;
    switch (move.kind) {
      case "follow":
        return follow(c, move.call, followed);
      case "call-off":
        return callOff(c, t, move.call, followed);
      case "act":
      case "reconcile": {
        const { gated } = move.call;
        if (gated.kind !== "allowed") return null;
        if (move.kind === "act" && gated.decided.action.kind === "delegate") return startDelegate(c, t, move.call, followed);
        return startCall(c, t, move);
      }
      case "recall":
        return recalls.later(t);
      case "keep":
        return rememberTurn(c, t);
      case "ask-model":
        return askModel(c, t, requests.ready(t));
      case "summarise":
        return summarise(c, t);
      case "recover":
        return recallCached(c, t, move.call);
      case "gate":
      case "question":
      case "give-up":
      case "expire":
      case "compact":
      case "check-output":
      case "stop":
      case "start":
      case "wait":
      case "end":
        return null; // these stay in the process
    }
  };
  return { prepare: requests.prepare, recall: recalls.now, announce, abandon: requests.abandon };
}

/** The effects that one drive has launched and not yet settled. `wake` is called with each result. */
export class EffectsInFlight {
  readonly #flights = new Map<string, Promise<void> | null>();
  readonly #wake: () => void;
  #settled: EffectResult[] = [];

  constructor(wake: () => void) {
    this.#wake = wake;
  }

  launch(name: string, effect: () => Promise<EffectResult>): void {
    this.#flights.set(name, null); // before it starts: a tool may send a note at once
    this.#flights.set(name, this.#follow(name, effect));
  }

  async #follow(name: string, effect: () => Promise<EffectResult>): Promise<void> {
    let result: EffectResult;
    try {
      result = await effect();
    } catch (error) {
      result = () => {
        throw error; // a bug or a refused permit: it surfaces in the driver, which stops
      };
    }
    this.#flights.delete(name);
    this.settle(result);
  }

  settle(result: EffectResult): void {
    this.#settled.push(result);
    this.#wake();
  }

  has(name: string): boolean {
    return this.#flights.has(name);
  }

  /** True while an effect runs. */
  isBusy(): boolean {
    return this.#flights.size > 0;
  }

  hasResults(): boolean {
    return this.#settled.length > 0;
  }

  takeResults(): readonly EffectResult[] {
    const results = this.#settled;
    if (results.length > 0) this.#settled = [];
    return results;
  }

  async waitForAll(): Promise<void> {
    await Promise.all(this.#flights.values());
  }
}
