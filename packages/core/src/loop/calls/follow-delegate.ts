import { type CallId, DELEGATE } from "../../vocab/index.ts";
import { checkHold, consume, type EffectContext } from "../effect-context.ts";
import type { Turn } from "../state.ts";
import type { Call } from "./call.ts";
import { openDelegate } from "./delegate.ts";
import { callOffReason } from "./race.ts";
/** Sub-agents at work: opened with the call that delegates, driven until they end or wait for a person, called off when they lose a race. */
/** Announced with its delegate's first entries; what flies is the driving of that session, which any process may take over. */
export function startDelegate(c: EffectContext, t: Turn, call: Call, followed: Followings): (() => void) | null {
  if (call.gated.kind !== "allowed") return null;
  const { p, s, hold } = c;
  const { decided } = call.gated;
  const id = call.proposed.id;
  const opening = openDelegate({ p, s, t, now: c.time() }, call, decided.action);
  if (opening === null) return null;
  consume(c, decided);
  c.record({
    kind: "act.started",
    call: id,
    epoch: hold.epoch,
    start: 1,
    edition: call.edition,
    repeat: "idempotent",
    tool: DELEGATE,
    values: {},
    decisions: [],
  });
  for (const event of opening.events) c.record(event);
  c.begin(opening.begin);
  return () => {
    const permit = c.permitFor(decided.id);
    checkHold(c);
    c.redeem(permit); // used up by the start: from here on the delegate is a session like any other
    follow(c, call, followed)?.();
  };
}

/** When it was last seen to: while it was wanted, or after it or the turn was stopped. `off` stops this one alone. */
type Followed = Readonly<{ as: "driven" | "stopped"; off: AbortController }>;
export type Followings = Map<CallId, Followed>;

/** Once in a drive, and once more when the turn is stopped: a delegate that waits for a person is taken up by the process that brings the answer. */
export function follow(c: EffectContext, call: Call, followed: Followings): (() => void) | null {
  const { child, proposed } = call;
  const before = followed.get(proposed.id);
  const off = before?.off ?? new AbortController();
  const as = c.isTurnStopped() || off.signal.aborted ? "stopped" : "driven";
  if (child === null || c.isInFlight(proposed.id) || before?.as === as || before?.as === "stopped") return null;
  followed.set(proposed.id, { as, off });
  return () =>
    c.launch(proposed.id, async () => {
      const stop = eitherOf(c.stopOf(DELEGATE), off.signal);
      await c.p.children.drive(child.session, child.agent, stop.signal).finally(stop.forget);
      c.look(); // the word of its ending came with it
      return () => [];
    });
}

/** Cancels a sub-agent that lost a race: its drive here is aborted, or its session is taken up to be cancelled. The durable entries already say so. */
export function callOff(c: EffectContext, t: Turn, call: Call, followed: Followings): (() => void) | null {
  const id = call.proposed.id;
  const before = followed.get(id) ?? { as: "driven", off: new AbortController() };
  if (before.off.signal.aborted) return follow(c, call, followed);
  const why = callOffReason(t);
  followed.set(id, before);
  return () => {
    before.off.abort(why);
    follow(c, call, followed)?.();
  };
}

/** A turn may have many delegates: what listens for one is taken away with it. */
function eitherOf(...signals: readonly AbortSignal[]): Readonly<{ signal: AbortSignal; forget(): void }> {
  const both = new AbortController();
  const stops = signals.map((signal) => {
    const onAbort = () => both.abort(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    return () => signal.removeEventListener("abort", onAbort);
  });
  const forget = (): void => {
    for (const stop of stops) stop();
  };
  return { signal: both.signal, forget };
}
