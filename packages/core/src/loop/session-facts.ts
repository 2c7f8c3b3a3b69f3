/**
 * Facts about a session that the gate reads beside the action: the one builder, for the decision that is made now and for one that the journal has.
 * Rule: G-20.
 */
import { type Action, type ActionText, type Facts, type GateDecided, type Principal, parseActionId, totalTokens } from "../vocab/index.ts";
import { centsSpent } from "./limits/budgets.ts";
import { findCall } from "./people/approval-state.ts";
import { actingFor, type Call, type State, type Turn } from "./state.ts";

export type SessionFacts = Omit<Facts, "lately" | "aims" | "records" | "now" | "approval">;

/** Facts for an action that was not proposed, while the proposed call that shows it is running. */
export type FactsFor = (s: State, t: Turn | null, id: ActionText) => (action: Action) => Facts;

/** Counters as the gate sees them: every call decided `allow` so far, the one in question not counted (`counted`: it is among them). */
export function sessionFacts(s: State, t: Turn | null, action: Action, counted: boolean): SessionFacts {
  const tool = action.kind === "call" && counted ? action.tool : null;
  const calls = (name: string) => {
    const own = name === tool ? 1 : 0;
    return { turn: Math.max(0, (t?.allowedCalls.get(name) ?? 0) - own), session: (s.allowedCalls.get(name) ?? 0) - own };
  };
  const turn = t === null ? 0 : totalTokens(t.usage) + totalTokens(t.lost);
  return {
    agent: s.agent.name,
    onBehalfOf: behind(s, action),
    surface: s.surface,
    ...(s.origin === null ? {} : { origin: s.origin }),
    labels: [...s.labels],
    calls,
    spent: { turn, session: s.spent + turn },
    cents: centsSpent(s, t),
    media: [...s.media],
    subject: s.subject,
  };
}

/** The same of a decision that stands next in the journal, after this state. The state goes on: what is read later is kept as it is now. */
export function pastFacts(s: State, { id, action }: Pick<GateDecided, "id" | "action">): SessionFacts {
  const named = parseActionId(id);
  const counted = named.kind === "reconcile" ? s.unknowns.has(named.call) : isCounted(callIn(s, id));
  const t = s.turn === null ? null : { ...s.turn, allowedCalls: new Map(s.turn.allowedCalls) };
  return sessionFacts({ ...s, allowedCalls: new Map(s.allowedCalls) }, t, action, counted);
}
const callIn = (s: State, id: GateDecided["id"]): Call | null => (s.turn === null ? null : findCall(s.turn, id));

/** A call that has started stays counted, also while it is decided again. */
export const isCounted = (call: Call | null): boolean => call !== null && (call.gated.kind === "allowed" || call.starts > 0);

/** An old unknown may be asked about across turns: that is the session's own affair, and whose turn it is then makes no difference. */
export const behind = (s: State, action: Action): Principal =>
  action.kind === "call" && s.unknowns.has(action.call) ? s.principal : actingFor(s);
