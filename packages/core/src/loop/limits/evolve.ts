import type { EventOf } from "../fold-parts.ts";
import type { State, Turn } from "../state.ts";
import { plus } from "./budgets.ts";
/** The fold of budgets: what is reserved, settled and paid. */
/** Reserved on top of earlier reservations: a call that starts again may cost again. */
export function foldReserved(s: State, e: EventOf<"budget.reserved">): State {
  const held = s.reserved.get(e.call);
  s.reserved.set(e.call, {
    turn: held?.turn ?? s.turns,
    amount: held === undefined ? e.amount : plus(held.amount, e.amount),
  });
  return s;
}

/** Of the turn that reserved it; the cost of an older turn's unknown counts in the session. */
export function foldSettled(s: State, e: EventOf<"budget.settled">): State {
  const held = s.reserved.get(e.call);
  if (held === undefined) return s; // settled already
  s.reserved.delete(e.call);
  const t = s.turn;
  if (t !== null && t.number === held.turn) {
    t.settled = plus(t.settled, e.amount);
    if (e.amount.micros === null) t.unpriced = true;
  } else {
    s.micros += e.amount.micros ?? 0;
    if (e.amount.micros === null) s.unpriced = true;
  }
  return s;
}

/** A model call of this much: unknown price, unknown cost, never zero. */
export function pay(t: Turn, micros: number | null): void {
  if (micros === null) t.unpriced = true;
  else t.micros += micros;
}
