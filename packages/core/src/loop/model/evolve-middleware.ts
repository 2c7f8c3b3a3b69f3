/** The fold of what middleware changed. Its events come right before the one they are about, in the same commit: nothing that was folded is ever taken back. */

import type { EventOf } from "../fold-parts.ts";
import { type Call, callsIn, type State, type Turn } from "../state.ts";

export function foldMiddlewareApplied(s: State, { change, call: id, middleware }: EventOf<"middleware.applied">): State {
  const t = s.turn;
  switch (change.kind) {
    case "input":
    case "request":
      return s; // the event beside it holds what was said; a request is of its one call only
    case "reply":
      if (t !== null) t.rewritten.parts = change.parts;
      return s;
    case "arguments":
      if (t !== null && id !== null) t.rewritten.calls.set(id, change);
      return s;
    case "block":
      if (t !== null && id !== null) t.rewritten.calls.set(id, { kind: "block", reason: `${middleware}: ${change.reason}` });
      return s;
    case "observation": {
      const call = callsIn(t).find((c) => c.proposed.id === id);
      if (call !== undefined) call.shown = change.text;
      else if (id !== null) showLate(s, id, change.text);
      return s;
    }
  }
}

function showLate(s: State, id: Call["proposed"]["id"], text: string): void {
  const unknown = s.unknowns.get(id);
  if (unknown !== undefined) unknown.shown = text;
}

/** The turn cannot go on; what the middleware was to look at is withheld. */
export function foldMiddlewareFailed(s: State, { middleware, stage, call: id, error }: EventOf<"middleware.failed">): State {
  const t = s.turn;
  const withheld = `[withheld] middleware ${middleware} failed before this could be shown`;
  const call = callsIn(t).find((c) => c.proposed.id === id);
  if (stage === "after-tool" && id !== null) {
    if (call !== undefined) call.shown = withheld;
    else showLate(s, id, withheld);
  }
  if (t !== null && stage === "after-model") t.rewritten.parts = []; // also when another one had failed before it
  if (t !== null) t.broken ??= { middleware, stage, error };
  return s;
}

/** The changes that middleware made to one call of a reply. */
export function changesFor(t: Turn, id: Call["proposed"]["id"]): Pick<Call, "edited" | "blocked"> {
  const change = t.rewritten.calls.get(id);
  return {
    edited: change?.kind === "arguments" ? change.args : null,
    blocked: change?.kind === "block" ? change.reason : null,
  };
}

/** They were of one reply only. */
export function forgetChanges(t: Turn): void {
  t.rewritten.parts = null;
  t.rewritten.calls.clear();
}
