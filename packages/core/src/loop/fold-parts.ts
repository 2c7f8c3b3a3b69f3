/** Shared by the parts of the fold. */
import { type CallId, type JsonObject, proposedObject, type SessionEvent } from "../vocab/index.ts";
import { type Call, callsIn, type State, type Turn } from "./state.ts";

export type EventOf<K extends SessionEvent["kind"]> = Extract<SessionEvent, { kind: K }>;

export function inTurn(s: State, change: (t: Turn) => void): State {
  if (s.turn !== null) change(s.turn);
  return s;
}

/** The arguments of an open call, as they were proposed. */
export function proposedArgs(s: State, id: CallId): JsonObject | null {
  const call = callsIn(s.turn).find((c) => c.proposed.id === id);
  return call === undefined ? null : proposedObject(call.proposed);
}

export function inCall(s: State, id: CallId, change: (c: Call, t: Turn) => void): State {
  return inTurn(s, (t) => {
    const call = callsIn(t).find((c) => c.proposed.id === id);
    if (call !== undefined) change(call, t);
  });
}
