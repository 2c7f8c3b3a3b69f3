/** Shared by the parts of the fold. */
import type { CallId, SessionEvent } from "../vocab/index.ts";
import { type Call, callsIn, type State, type Turn } from "./state.ts";

export type EventOf<K extends SessionEvent["kind"]> = Extract<SessionEvent, { kind: K }>;

export function inTurn(s: State, change: (t: Turn) => void): State {
  if (s.turn !== null) change(s.turn);
  return s;
}

export function inCall(s: State, id: CallId, change: (c: Call, t: Turn) => void): State {
  return inTurn(s, (t) => {
    const call = callsIn(t).find((c) => c.proposed.id === id);
    if (call !== undefined) change(call, t);
  });
}
