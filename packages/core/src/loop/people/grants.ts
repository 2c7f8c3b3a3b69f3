/** Grants: an approval that is remembered decides a call that would otherwise ask. Its giver must still be allowed to approve. */

import { findNewLabels, type GrantQuery, grantCovers, grantCoversCall, isForSubject } from "../../gate/approvals.ts";
import { listTargets } from "../../gate/arguments/targets.ts";
import { failClosed } from "../../gate/fail-closed.ts";
import {
  type Action,
  type Ask,
  type CallSubject,
  type Digest,
  type GateDecided,
  isForRequester,
  isGoverning,
  type Millis,
  type Targets,
  toCallSubject,
  type Verdict,
} from "../../vocab/index.ts";
import type { Ports } from "../ports.ts";
import { actingFor, type State, type Turn } from "../state.ts";

type Asking = Readonly<{
  p: Pick<Ports, "gate" | "orders" | "tools">;
  s: State;
  t: Turn;
  action: Action;
  digest: Digest;
  slice: Digest;
  now: Millis;
}>;

/** A grant writes its own decision at each use: it stands in the verdict, and `grant.used` with what it started. */
export function withGrant(verdict: Verdict, at: Asking): Verdict {
  const { p, s, action } = at;
  const doing = toCallSubject(action);
  if (verdict.kind !== "ask" || doing === null || isGoverning(action.kind === "call" ? action : null)) return verdict;
  const { tool } = doing;
  const sought = toQuery(at, verdict.asks, doing);
  const requester = actingFor(s).id;
  const about = { approval: "grant", agent: s.agent.name, tool, requester, forRequester: isForRequester(verdict.asks) };
  const mayStill = (user: string) => failClosed(() => p.gate.decideFor(user, { kind: "approve", ...about })).verdict.kind === "allow";
  const grant = [...p.orders.now().grants.values()].find((g) => grantCovers(g, sought) && mayStill(g.by.id)); // a grant is worth what its giver is
  return grant === undefined ? verdict : { kind: "allow", because: verdict.because, approval: grant.grant };
}

const toQuery = (
  { p, s, t, action, digest, slice, now }: Asking,
  asks: readonly Ask[],
  { tool, toolDigest, resource }: CallSubject,
): GrantQuery => ({
  agent: s.agent.name,
  onBehalfOf: actingFor(s),
  tool,
  toolDigest,
  resource,
  digest,
  slice,
  now,
  policies: asks.map((a) => a.policy),
  session: s.session,
  turn: t.number,
  targets: toShownTargets(p, action),
  labels: [...s.labels],
  subject: s.subject?.id ?? null,
});

/** The call's targets as a person is shown them. The only target of a delegation is its resource. */
export function toShownTargets(p: Pick<Ports, "tools">, action: Action): Targets | null {
  const doing = toCallSubject(action);
  if (doing === null) return null;
  return action.kind === "delegate" ? {} : listTargets(p.tools.find(doing.tool), doing.args);
}

/** Q-10 a grant that would cover the call, were it not for what the session has become since: the approval request says so. Whom it was for stays unsaid: the requester of another subject reads this. */
export function lapsedGrant(at: Pick<Asking, "p" | "s" | "t" | "now">, { action, digest, slice, verdict }: GateDecided): string | null {
  const doing = toCallSubject(action);
  if (verdict.kind !== "ask" || doing === null) return null;
  const sought = toQuery({ ...at, action, digest, slice }, verdict.asks, doing);
  const lapsed = [...at.p.orders.now().grants.values()].find((g) => grantCoversCall(g, sought));
  if (lapsed === undefined) return null;
  if (!isForSubject(lapsed, sought))
    return `grant ${lapsed.grant} was given ${lapsed.subject == null ? "while the session served nobody" : "for another subject than the session serves"}`;
  return `grant ${lapsed.grant} was given before the session was labelled ${findNewLabels(lapsed, sought).join(", ")}`;
}

/** Gives the grants that durable approvals ask for, from `from` on: by the process that took the approval, or the next one. Returns how many were given so far. */
export async function giveGrants({ orders }: Pick<Ports, "orders">, { grantsDue }: State, from: number): Promise<number> {
  const due = grantsDue.slice(from);
  for (const grant of due) if (!orders.now().given.has(grant.grant)) await orders.give(grant);
  return from + due.length;
}
