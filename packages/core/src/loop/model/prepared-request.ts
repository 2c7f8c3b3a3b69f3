/** Keeps the one request that middleware has prepared until it is made. Not part of the state: a lost process prepares it again, and nothing was sent. */
import { type JournalEvent, type Seq, type Usage, usageOf } from "../../vocab/index.ts";
import type { Cockpit } from "../effects.ts";
import { roomFor } from "../limits/budgets.ts";
import type { State, Turn } from "../state.ts";
import { hasBeforeModel, type Plain, type Prepared, prepare, type Ready } from "./before-model.ts";
import { counted } from "./conversation.ts";
import { isPromise, type Scene } from "./middleware.ts";

export const BEFORE_MODEL = "before-model";

export type Readying = Readonly<{
  prepare(t: Turn): boolean;
  /** Null: middleware has yet to see it as it is now. */
  ready(t: Turn): Ready | null;
  /** Its turn is to end: nobody waits for the hook any longer. */
  abandon(why: string): void;
}>;

export function readying(c: Cockpit, makePlain: (t: Turn) => Plain): Readying {
  let latest: { readonly seq: Seq; readonly messages: State["messages"]; readonly plain: Plain } | null = null;
  /** The same as long as nothing has happened; a state that was read again has another list. */
  function plainOf(t: Turn): Plain {
    const { seq, messages } = c.s;
    if (latest?.seq !== seq || latest.messages !== messages) latest = { seq, messages, plain: makePlain(t) };
    return latest.plain;
  }
  let prepared: { readonly key: string; readonly ready: Ready } | null = null;
  let leaving = new AbortController();
  const keyOf = (t: Turn, { digest }: Plain) => `${t.number}.${t.iterations}.${t.attempts}.${digest}`;
  const isWanted = hasBeforeModel(c.p.middleware);

  function take(came: Prepared, t: Turn, key: string): readonly JournalEvent[] {
    if (came.kind === "failed") return c.s.turn?.number === t.number ? came.events : [];
    prepared = { key, ready: came.ready };
    return [];
  }
  return {
    prepare(t) {
      if (!isWanted || c.isFlying(BEFORE_MODEL)) return false;
      const plain = plainOf(t);
      const key = keyOf(t, plain);
      if (prepared?.key === key) return false;
      const own = linked(c.stopOf(null));
      leaving = own.controller;
      const at: Scene = { ...sceneOf(c, t.iterations + 1), signal: leaving.signal };
      const largest = Math.max(t.limits.contextTokens, plain.tokens); // what must stay may exceed it already
      const fitting = (tokens: number, most: number): Usage | null => {
        const { input, output, short } = roomFor(c.s, t, tokens, most);
        return short !== null || tokens > largest ? null : usageOf(input, output);
      };
      const came = prepare({ all: c.p.middleware, at, plain, roomFor: fitting, count: counted(c.s), hash: c.p.hash });
      if (isPromise(came)) {
        c.fly(BEFORE_MODEL, async () => {
          const settled = await came;
          own.unlink();
          return () => take(settled, t, key);
        });
        return false;
      }
      own.unlink();
      const events = take(came, t, key);
      for (const event of events) c.record(event);
      return events.length > 0;
    },
    ready(t) {
      const plain = plainOf(t);
      if (!isWanted) return { ...plain, events: [] };
      return prepared?.key === keyOf(t, plain) ? prepared.ready : null;
    },
    abandon: (why) => leaving.abort(why),
  };
}

/** Stops with the other, or by itself. Unlinked when it is over: a turn has many requests. */
function linked(outer: AbortSignal): Readonly<{ controller: AbortController; unlink(): void }> {
  const controller = new AbortController();
  const onStop = () => controller.abort(outer.reason);
  if (outer.aborted) onStop();
  outer.addEventListener("abort", onStop, { once: true });
  return { controller, unlink: () => outer.removeEventListener("abort", onStop) };
}

export const sceneOf = ({ s, stopOf }: Pick<Cockpit, "s" | "stopOf">, iteration: number): Scene => ({
  session: s.session,
  agent: s.agent.name,
  turn: s.turn?.number ?? s.turns + 1,
  iteration,
  labels: Object.freeze([...s.labels]),
  signal: stopOf(null),
  call: null,
});
