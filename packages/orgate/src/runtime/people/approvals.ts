/**
 * Questions as people see them, answers as people give them, and orders that people give to all sessions at once. The command line, the
 * library and whatever comes after them use this file, so that everybody stands under the same check.
 *
 * Q-25 a question is shown as what will be done: the arguments as they were checked, what they touch, why a person is asked, who may answer,
 *     who has said yes, until when, and how much may be remembered. By due time it is expired, whether or not anybody has recorded that.
 * Q-11 an answer that asks to be remembered for more than the policies allow is refused, and the refusal says what they allow.
 * Q-16 only a certified person whom the policies permit may halt work, lift a halt or revoke a grant. Where there are no
 *     policies that could decide, a certified person may still halt, which is the safe direction, and nothing else.
 */
import {
  type ActionText,
  type ApprovalId,
  type Ask,
  actionKind,
  answerIn,
  type Coverage,
  coverageText,
  type Digest,
  durationWords,
  type Entry,
  FaultError,
  findHaltAhead,
  fold,
  type Gate,
  type GrantId,
  type GrantRequest,
  grantText,
  HALT,
  haltText,
  isGoverning,
  type JsonObject,
  type Millis,
  type OpenOrders,
  openOrders,
  type Principal,
  principalName,
  type Resource,
  readLastTurn,
  type SessionId,
  seq,
  toCallSubject,
  type UserAct,
  type Vote,
} from "@orgate/core";
import { findSurvivingLabels, readGrant, refusalFor, refuseGrant, type WidestGrant } from "@orgate/core/gate";
import { foldOrders, type Journal, NO_ORDERS, type Orders, readAllEntries, type StandingGrant } from "@orgate/core/journal";
import { HALT_SCOPE, listDecisions, type StandingHalt } from "@orgate/core/vocab";
import type { Person } from "../../store/keyring.ts";
import { findPersonProblem } from "../../store/open-read-only.ts";
import type { OpenProjectStore } from "../ports/project-store.ts";
import { listResolvedSince } from "./resolved-since.ts";

export type ApprovalRequestView = Readonly<{
  approval: ApprovalId;
  session: SessionId;
  agent: string;
  /** The agents that it works for, the first one first; empty unless it is a delegate. */
  lineage: readonly string[];
  /** On whose behalf. */
  requester: Principal;
  /** Whom the session serves: a customer, an account. Null: nobody. */
  subject: string | null;
  action: ActionText;
  /** A tool's name; `model` or `respond` for the others. */
  tool: string;
  /** Arguments that will run; null if the action has none. */
  args: JsonObject | null;
  /** Who put these arguments in place of those that were proposed. */
  editedBy: string | null;
  /** The answer that would be delivered; null unless the request is about an answer. */
  text: string | null;
  resource: Resource | null;
  digest: Digest;
  asks: readonly Ask[];
  /** Why an earlier answer does not count. */
  again: string | null;
  askedAt: Millis;
  expiresAt: Millis | null;
  onExpiry: "deny" | "halt";
  expired: boolean;
  votes: readonly Vote[];
  /** The most that every policy which asks lets be remembered; null: this once. */
  widest: WidestGrant | null;
  /** The call as it was shown, to which a grant would be bound; null if no grant can be given. */
  shown: Coverage | null;
  /** Each grant that may be given, at its longest, in words. */
  grants: readonly Readonly<{ scope: GrantRequest["scope"]; says: string }>[];
  /** The halt that a yes would wait with, in words; null: nothing holds it. */
  halted: string | null;
  /** How the unknown outcomes that it asks about were resolved since, in words. */
  resolved: readonly string[];
}>;

/** Null if the request no longer waits. */
export async function viewApprovalRequest(
  journal: Pick<Journal, "read" | "session" | "unknownsLike">,
  session: SessionId,
  approval: ApprovalId,
  now: Millis,
): Promise<ApprovalRequestView | null> {
  const orders = foldOrders(NO_ORDERS, await readAllEntries(journal, HALT));
  const opened = await journal.read(session, seq(0), 1);
  const view = viewOf([...opened, ...(await readLastTurn({ journal }, session))], approval, now, orders); // a question is its turn's
  if (view === null || view.resource === null) return view;
  const { asks, tool, resource, digest } = view;
  return { ...view, resolved: await listResolvedSince(journal, { session, asks, about: { tool, resource, digest } }) };
}

function viewOf(entries: readonly Entry[], approval: ApprovalId, now: Millis, orders: Orders): ApprovalRequestView | null {
  const state = fold(entries);
  const question = state?.turn?.questions.get(approval);
  const place = entries.findLastIndex(({ event }) => event.kind === "approval.asked" && event.approval === approval);
  const asked = entries[place];
  if (state === null || state.turn === null || question === undefined || question.answer !== null) return null;
  if (asked?.event.kind !== "approval.asked") return null;
  const decided = listDecisions(entries.slice(0, place)).findLast(({ event }) => event.id === question.action)?.event;
  const doing = decided === undefined ? null : toCallSubject(decided.action);
  const edit = entries
    .slice(place)
    .findLast(({ event: e }) => e.kind === "approval.answered" && e.approval === approval && e.answer.kind === "edit")?.event;
  const tool = doing?.tool ?? question.action.split(":")[0] ?? question.action;
  const halt = findHaltAhead(state, orders, tool, question.about);
  const isGranted = decided !== undefined && !isGoverning(decided.action.kind === "call" ? decided.action : null);
  const widest = isGranted ? widestOf(question.asks) : null;
  const { about, targets, labels, subject } = question;
  const shown: Coverage | null =
    doing === null ? null : { tool, resource: about, targets, labels, survives: findSurvivingLabels(question.asks), subject };
  const edited = edit?.kind === "approval.answered" && edit.answer.kind === "edit" ? { by: edit.by, args: edit.answer.args } : null;
  return {
    approval,
    session: state.session,
    agent: state.agent.name,
    requester: state.turn.by,
    subject,
    action: question.action,
    lineage: state.parent?.lineage ?? [],
    tool,
    args: edited?.args ?? doing?.args ?? null,
    editedBy: edited === null ? null : principalName(edited.by),
    text: actionKind(question.action) === "respond" ? answerIn(state.turn) : null,
    resource: doing === null ? null : question.about, // as it was edited
    digest: question.digest,
    asks: question.asks,
    again: asked.event.again,
    askedAt: asked.at,
    expiresAt: question.expiresAt,
    onExpiry: question.onExpiry,
    expired: isExpired(question, now),
    votes: question.votes,
    widest,
    shown,
    grants: shown === null || widest === null ? [] : grantsWithin(shown, widest, now),
    halted: halt === null ? null : haltText(halt),
    resolved: [],
  };
}

export const isExpired = ({ expiresAt }: Pick<ApprovalRequestView, "expiresAt">, now: Millis): boolean =>
  expiresAt !== null && now >= expiresAt;

const SCOPES = ["digest", "resource", "tool"] as const;

/** The widest grant that every policy allows. Lifetimes of different kinds have only the turn in common. */
function widestOf(asks: readonly Ask[]): WidestGrant | null {
  let widest: WidestGrant | null = null;
  for (const [i, { terms }] of asks.entries()) {
    const one = readGrant(terms.grant) ?? null;
    if (one === null) return null;
    widest =
      i === 0 || widest === null ? one : { scope: narrower(widest.scope, one.scope), lifetime: shorter(widest.lifetime, one.lifetime) };
  }
  return widest;
}
const narrower = (a: WidestGrant["scope"], b: WidestGrant["scope"]) => (SCOPES.indexOf(a) < SCOPES.indexOf(b) ? a : b);
function shorter(a: WidestGrant["lifetime"], b: WidestGrant["lifetime"]): WidestGrant["lifetime"] {
  if (typeof a === "object" && typeof b === "object") return { ms: Math.min(a.ms, b.ms) };
  return a === b ? a : "turn";
}

function grantsWithin(shown: Coverage, { scope, lifetime }: WidestGrant, now: Millis): ApprovalRequestView["grants"] {
  const until = typeof lifetime === "object" ? ((now + lifetime.ms) as Millis) : lifetime;
  return SCOPES.slice(0, SCOPES.indexOf(scope) + 1).map((one) => ({ scope: one, says: coverageText(shown, { scope: one, until }) }));
}

/** `this tool on this resource at most, for the session at most`. */
export function widestText(widest: WidestGrant | null): string {
  if (widest === null) return "this once: no answer is remembered";
  const { scope, lifetime } = widest;
  const until = typeof lifetime === "object" ? `for ${spanText(lifetime.ms)} at most` : `for the ${lifetime} at most`;
  return `${SCOPE_TEXT[scope]}, ${until}`;
}
const SCOPE_TEXT = {
  digest: "this very action (digest)",
  resource: "this tool on what it touches here (resource)",
  tool: "this tool, whatever it touches (tool)",
};
const SPANS = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "m"],
  [1_000, "s"],
] as const;
/** As `@grant` and `--for` write it. */
export function spanText(ms: number): string {
  const [size, unit] = SPANS.find(([each]) => ms % each === 0) ?? [1_000, "s"];
  return `${Math.ceil(ms / size)}${unit}`;
}

/** From words to what is asked to be remembered; throws `usage`, which says what is allowed. */
export function toGrantRequest(scope: GrantRequest["scope"], lifetime: string, asks: readonly Ask[], now: Millis): GrantRequest {
  const ms = durationWords(lifetime);
  const until = lifetime === "turn" || lifetime === "session" ? lifetime : ms === null ? null : ((now + ms) as Millis);
  if (until === null)
    throw new FaultError({ kind: "usage", detail: `\`${lifetime}\` is no lifetime`, hint: "write turn, session, or a time such as 8h" });
  const wish: GrantRequest = { scope, until };
  const wide = refuseGrant(asks, wish, now);
  if (wide === null) return wish;
  throw new FaultError({ kind: "usage", detail: `that is too much to remember: ${wide}`, hint: `allowed: ${widestText(widestOf(asks))}` });
}

// orders to all sessions

export type Acting = Readonly<{
  place: Pick<OpenProjectStore, "keyring" | "orders">;
  gate: Pick<Gate, "decideFor">;
  person: Person;
  /** Certifies the person's key in this project. Runs once the act is allowed: a refused person leaves nothing in the journal. */
  certify?(): Promise<void>;
}>;

/** Throws unless the person's key is certified in this project. */
export async function certifyActor(
  { place, person, certify }: Pick<Acting, "place" | "person" | "certify">,
  what: string,
): Promise<Principal> {
  await certify?.();
  const doubt = findPersonProblem(await place.keyring.refresh(), person);
  if (doubt !== null) throw notPermitted(person, what, doubt);
  return { kind: "user", id: person.name };
}

/** Throws unless the policies allow it; an error in them denies. */
export function assertMayAct(gate: Acting["gate"], person: Person, act: UserAct, what: string): void {
  const reason = refusalFor(gate, person.name, act);
  if (reason !== null) throw notPermitted(person, what, reason);
}

const notPermitted = (person: Person, what: string, reason: string): FaultError =>
  new FaultError({ kind: "not-permitted", user: person.name, what, reason });

/** `gate` is null where the project's policies or agents do not load: only a halt goes without. */
export type Halting = Omit<Acting, "gate"> & Readonly<{ gate: Acting["gate"] | null }>;

/** W-18 the journal keeps these acts with a reason, from whichever surface they come. */
export function demandReason(reason: string, what: string): void {
  if (reason.trim() === "")
    throw new FaultError({ kind: "usage", detail: `to ${what} takes a reason`, hint: "say why: the journal keeps it" });
}

async function halting(acting: Halting, scope: string, what: string, reason: string): Promise<Principal> {
  demandReason(reason, what);
  if (!HALT_SCOPE.test(scope))
    throw new FaultError({ kind: "usage", detail: `\`${scope}\` is nothing that can be halted`, hint: "all, agent:NAME or tool:NAME" });
  if (acting.gate !== null) assertMayAct(acting.gate, acting.person, { kind: "halt", scope }, what);
  return certifyActor(acting, what);
}

export async function haltWork(acting: Halting, scope: string, reason: string): Promise<void> {
  const by = await halting(acting, scope, `halt ${scope}`, reason);
  await acting.place.orders.halt({ kind: "work.halted", scope, by, reason: reason.toWellFormed() });
}

export async function resumeWork(acting: Acting, scope: string, reason: string): Promise<void> {
  const by = await halting(acting, scope, `let ${scope} go on`, reason);
  const { orders } = acting.place;
  await orders.refresh();
  const halted = [...orders.now().halts.keys()];
  if (scope === "all" ? halted.length === 0 : !halted.includes(scope)) throw notHalted(scope, halted);
  await orders.resume({ kind: "work.resumed", scope, by, reason: reason.toWellFormed() });
}

/** A-7 a name that is typed wrong must not look like work that goes on again. */
const notHalted = (scope: string, halted: readonly string[]): FaultError =>
  new FaultError({
    kind: "usage",
    detail: `nothing was lifted: ${scope === "all" ? "all work" : scope.replace(":", " ")} is not halted`,
    hint: halted.length === 0 ? "nothing is halted: `orgate halts`" : `halted: ${halted.join(", ")}; \`orgate halts\` tells more`,
  });

/** The person who gave a grant may revoke it, and so may anybody who may approve the same action. */
export async function revokeGrant(acting: Acting, grant: GrantId, reason: string): Promise<StandingGrant> {
  demandReason(reason, `revoke grant \`${grant}\``);
  const { orders } = acting.place;
  await orders.refresh();
  const found = orders.now().grants.get(grant);
  if (found === undefined)
    throw new FaultError({
      kind: "usage",
      detail: orders.now().given.has(grant) ? `grant \`${grant}\` is revoked already` : `there is no grant \`${grant}\``,
      hint: "`orgate approvals grants` shows them",
    });
  const { agent, tool, onBehalfOf } = found;
  const isOwn = found.by.kind === "user" && found.by.id === acting.person.name;
  if (!isOwn)
    assertMayAct(acting.gate, acting.person, { kind: "approve", approval: grant, agent, tool, requester: onBehalfOf.id }, "revoke it");
  const by = await certifyActor(acting, "revoke it");
  await orders.revoke({ kind: "grant.revoked", grant, by, reason: reason.toWellFormed() });
  return found;
}

/** With what it covers, in words. */
export type ListedGrant = StandingGrant & Readonly<{ says: string }>;
export type OrdersInForce = Readonly<{ grants: readonly ListedGrant[]; halts: readonly StandingHalt[] }>;

/** All grants and halts in force, from a journal that is only read. */
export async function readOrdersInForce(journal: Pick<Journal, "read">, now: Millis): Promise<OrdersInForce> {
  const orders: OpenOrders = openOrders(
    { read: journal.read, append: () => Promise.reject(new Error("this is for looking only")) },
    () => now,
  );
  await orders.refresh();
  return listOrdersInForce(orders, now);
}

export function listOrdersInForce(orders: Pick<OpenOrders, "now">, now: Millis): OrdersInForce {
  const { grants, halts } = orders.now();
  const standing = [...grants.values()].filter((g) => g.until === null || now < g.until);
  return { grants: standing.map((g) => ({ ...g, says: grantText(g) })), halts: [...halts.values()] };
}
