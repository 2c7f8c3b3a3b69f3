/** Beginnings: what a halt or a revocation must come before, to stop it in the very transaction that would write it. */

import type { Orders } from "../../journal/orders.ts";
import {
  actionKind,
  DELEGATE,
  findAgentHalt,
  type GrantId,
  type JournalEvent,
  type Resource,
  type StandingHalt,
  type TimedEvent,
} from "../../vocab/index.ts";
import type { Ports } from "../ports.ts";
import { type Call, callsIn, type Gated, isDelegated, runningTool, type State, type Turn } from "../state.ts";
import { findAnswered } from "./approval-state.ts";

/** Events that announce an effect, use up what let it be, or are nothing but the leave to ask a tool about an old call, or a store about what is known. */
export const isBeginning = (e: JournalEvent): boolean => BEGINNINGS.has(e.kind) || isLeaveToReconcile(e) || isLeaveToRecall(e);
const BEGINNINGS: ReadonlySet<JournalEvent["kind"]> = new Set([
  "act.started",
  "model.asked",
  "approval.consumed",
  "grant.used",
  "child.opened",
  "budget.reserved",
  "knowledge.recalled", // looked up under a decision that is made again
  "knowledge.keeping",
]);
const isLeaveToReconcile = (e: JournalEvent): boolean =>
  e.kind === "gate.decided" && actionKind(e.id) === "reconcile" && e.verdict.kind === "allow";

/** Another system may be asked on nothing but this. */
const isLeaveToRecall = (e: JournalEvent): boolean => e.kind === "gate.decided" && e.action.kind === "recall" && e.verdict.kind === "allow";

/** Its agent, and for a delegate those above: a halt of one of them halts all work for it, whichever process drives it. */
const agentsOf = (s: State): readonly string[] => [s.agent.name, ...(s.turn?.number === 1 ? (s.parent?.lineage ?? []) : [])];

/** The halt that stops this session's whole turn, if any. */
export const findHalt = (s: State, orders: Orders): StandingHalt | null =>
  agentsOf(s)
    .map((agent) => findAgentHalt(orders, agent))
    .find((halt) => halt !== null) ?? null;

type Stopping = Readonly<{ record(event: JournalEvent): void; stopCalls(isStopped: (tool: string) => boolean): void }>;

/** A halt acts at once: on the whole turn, or on the calls of one tool. A turn that waits for a person is held, not ended; sub-agents obey for themselves. */
export function obeyHalts(s: State, orders: Orders, { record, stopCalls }: Stopping): void {
  if (orders.halts.size === 0) return;
  const halt = findHalt(s, orders);
  const isHeld = findHeldBack(s, orders).turn !== null;
  if (halt !== null && !isHeld && s.turn !== null && s.turn.halt === null)
    record({ kind: "turn.halted", scope: halt.scope, by: halt.by, reason: halt.reason });
  stopCalls((tool) => orders.halts.has(`tool:${tool}`) || (isHeld && tool !== DELEGATE));
}

/** Work that a halt holds back without ending it: the turn, or single calls that a person has said yes to. */
export type HeldBack = Readonly<{ turn: StandingHalt | null; call(call: Call): StandingHalt | null }>;
export const NOTHING_HELD: HeldBack = { turn: null, call: () => null };

/** Q-14 A halt ends turns that are at work. A turn that waits for a person, or whose answer was not used yet, waits with the halt. */
export function findHeldBack(s: State, orders: Orders): HeldBack {
  const { turn: t } = s;
  if (t === null || t.halt !== null || orders.halts.size === 0) return NOTHING_HELD;
  return {
    turn: waitsForPeople(t) ? findHalt(s, orders) : null,
    call: (c) => haltOnCall(t, c, orders),
  };
}

/** The halt that anything of this session waits with, if any. */
export function findAwaitedHalt(s: State, orders: Orders): StandingHalt | null {
  const held = findHeldBack(s, orders);
  return (
    held.turn ??
    callsIn(s.turn)
      .map(held.call)
      .find((halt) => halt !== null) ??
    null
  );
}

function haltOnCall(t: Turn, c: Call, orders: Orders): StandingHalt | null {
  const answered = c.run.kind === "lost" ? null : findAnswered(t, c.gated);
  const question = answered === null ? undefined : t.questions.get(answered.approval);
  return question === undefined ? null : haltOnDoing(orders, runningTool(c), question.about);
}

const haltOnDoing = (orders: Orders, tool: string, about: Resource): StandingHalt | null =>
  (tool === DELEGATE ? orders.halts.get(`agent:${about.id}`) : undefined) ?? orders.halts.get(`tool:${tool}`) ?? null;

/** The halt that a yes to this approval request would wait with. */
export const findHaltAhead = (s: State, orders: Orders, tool: string, about: Resource): StandingHalt | null =>
  findHalt(s, orders) ?? haltOnDoing(orders, tool, about);

/** `answeredLast`: a person spoke, and nothing has begun since. A sub-agent that is at work obeys the halt itself, or waits for a person. */
function waitsForPeople(t: Turn): boolean {
  if (t.answeredLast || callsIn(t).some(isDelegated)) return true;
  const isWaiting = (gated: Gated): boolean => gated.kind === "asked" || findAnswered(t, gated) !== null;
  return (
    callsIn(t).some((c) => c.run.kind !== "lost" && isWaiting(c.gated)) ||
    [t.model, t.respond, t.summary.gated, t.recall.gated, t.keep.gated].some(isWaiting)
  );
}

/** Scopes of halts that stop these events. */
export function listHaltScopes(s: State, events: readonly TimedEvent[]): readonly string[] {
  const scopes: string[] = [];
  const add = (scope: string): void => {
    if (!scopes.includes(scope)) scopes.push(scope);
  };
  for (const { event: e } of events) {
    if (!isBeginning(e)) continue;
    if (scopes.length === 0) scopes.push("all", ...agentsOf(s).map((agent) => `agent:${agent}`));
    if (e.kind === "act.started") {
      for (const call of callsIn(s.turn)) if (call.proposed.id === e.call) add(`tool:${runningTool(call)}`);
    } else if (e.kind === "gate.decided" && e.action.kind === "call") add(`tool:${e.action.tool}`);
    else if (e.kind === "child.opened") add(`agent:${e.agent}`);
  }
  return scopes;
}

/** A decision that rests on a grant: only calls do. Once the grant is gone it is not recorded again, and the call is decided again. */
export const restsOnGrant = (e: JournalEvent, grant: GrantId | null): boolean =>
  grant !== null && e.kind === "gate.decided" && e.verdict.kind === "allow" && e.verdict.approval === grant;

/** S-15 a halt may be lifted between the decision to wait for it and the commit: the orders are read once more before the session parks. */
export async function isHaltLifted({ orders }: Pick<Ports, "orders">, s: State): Promise<boolean> {
  const halt = () =>
    s.turn !== null ? findAwaitedHalt(s, orders.now()) : s.followUps.length > 0 ? findAgentHalt(orders.now(), s.agent.name) : null;
  if (halt() === null) return false;
  await orders.refresh();
  return halt() === null;
}
