/** Beginnings: what a halt or a revocation must come before, to stop it in the very transaction that would write it (Q10, Q48). */
import { haltOf, type Orders, type StandingHalt } from "../journal/orders.ts";
import type { GrantId, JournalEvent, Stamped } from "../vocab/index.ts";
import { nameOf, type State } from "./state.ts";

/** Events that announce an effect, use up what let it be, or are nothing but the leave to ask a tool about an old call. */
export const isBeginning = (e: JournalEvent): boolean => BEGINNINGS.has(e.kind) || isLeaveToReconcile(e);
const BEGINNINGS: ReadonlySet<JournalEvent["kind"]> = new Set([
  "act.started",
  "model.asked",
  "approval.consumed",
  "grant.used",
  "child.opened",
  "budget.reserved",
]);
const isLeaveToReconcile = (e: JournalEvent): boolean =>
  e.kind === "gate.decided" && e.id.startsWith("reconcile:") && e.verdict.kind === "allow";

/** Its agent, and for a delegate those above: a halt of one of them halts what is done for it, whoever drives it. */
const agentsOf = (s: State): readonly string[] => [s.agent.name, ...(s.turn?.number === 1 ? (s.parent?.lineage ?? []) : [])];

/** What halts this session's turn as a whole. */
export const haltOn = (s: State, orders: Orders): StandingHalt | null =>
  agentsOf(s)
    .map((agent) => haltOf(orders, agent))
    .find((halt) => halt !== null) ?? null;

/** What a halt would have to name to stop these events. */
export function scopesOf(s: State, events: readonly Stamped[]): readonly string[] {
  const begun = events.flatMap(({ event }) => (isBeginning(event) ? [event] : []));
  if (begun.length === 0) return [];
  const tools = begun.flatMap((e) => {
    if (e.kind === "act.started") return s.turn?.calling.filter((c) => c.proposed.id === e.call).map(nameOf) ?? [];
    return e.kind === "gate.decided" && e.action.kind === "call" ? [e.action.tool] : [];
  });
  const delegates = begun.flatMap((e) => (e.kind === "child.opened" ? [`agent:${e.agent}`] : []));
  return ["all", ...agentsOf(s).map((agent) => `agent:${agent}`), ...delegates, ...new Set(tools.map((tool) => `tool:${tool}`))];
}

/** A decision that rests on a grant: only calls do. Once the grant is gone it is not recorded again, and the call is decided anew. */
export const restsOn = (e: JournalEvent, grant: GrantId | null): boolean =>
  grant !== null && e.kind === "gate.decided" && e.verdict.kind === "allow" && e.verdict.approval === grant;
