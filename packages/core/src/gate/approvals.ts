/**
 * Approvals: what an answer is bound to, whose answer counts, and what a grant covers. Pure.
 * Rules.
 */
import {
  type Ask,
  countNoun,
  coversOnlyExactCall,
  type Digest,
  durationWords,
  type GrantFacts,
  type GrantId,
  type GrantRequest,
  type Label,
  label,
  type Millis,
  type PolicyId,
  type Principal,
  type Resource,
  type SessionId,
  type Targets,
  toCanonicalJson,
  toCoverage,
} from "../vocab/index.ts";

/** The questions among `asks` that somebody in these groups may answer. */
export const findAnswerable = (asks: readonly Ask[], groups: readonly string[]): readonly PolicyId[] =>
  asks.filter(({ terms }) => terms.approvers.length === 0 || terms.approvers.some((g) => groups.includes(g))).map((a) => a.policy);

/** By due time: the earliest that any of the questions names. `wait` means for ever. */
export function expiryTime(
  asks: readonly Ask[],
  askedAt: Millis,
): { readonly expiresAt: Millis | null; readonly onExpiry: "deny" | "halt" } {
  const dying = asks.filter((a) => a.terms.onExpiry !== "wait" && a.terms.expiresMs !== null);
  const soonest = Math.min(...dying.map((a) => a.terms.expiresMs ?? Number.POSITIVE_INFINITY));
  const onExpiry = dying.some((a) => a.terms.onExpiry === "halt") ? "halt" : "deny";
  return { expiresAt: dying.length === 0 ? null : ((askedAt + soonest) as Millis), onExpiry };
}

/** A quorum that lets something be done once lets nothing be remembered: for that, each of them has to want the same. */
export const isSameGrant = (a: GrantRequest | null, b: GrantRequest): boolean => a !== null && a.scope === b.scope && a.until === b.until;

const SCOPES = ["digest", "resource", "tool"] as const;

export type WidestGrant = Readonly<{ scope: (typeof SCOPES)[number]; lifetime: "turn" | "session" | Readonly<{ ms: number }> }>;

/** `@grant("session")`, `@grant("tool 8h")`: how wide (this tool on this resource, unless it says so), how long. Null: no grant; undefined: not understood. */
export function readGrant(text: string | null): WidestGrant | null | undefined {
  if (text === null || text === "once") return null;
  const words = text.split(" ");
  const scope = words.length === 2 ? SCOPES.find((s) => s === words[0]) : "resource";
  const last = words.at(-1) ?? "";
  const ms = durationWords(last);
  if (scope === undefined || words.length > 2) return undefined;
  if (last === "turn" || last === "session") return { scope, lifetime: last };
  return ms === null ? undefined : { scope, lifetime: { ms } };
}

/** Why this grant may not be given; null when it may. */
export function refuseGrant(asks: readonly Ask[], wish: GrantRequest, now: Millis): string | null {
  for (const { policy, terms } of asks) {
    const widest = readGrant(terms.grant);
    if (widest === null || widest === undefined) return `${policy} lets no answer be remembered`;
    if (SCOPES.indexOf(wish.scope) > SCOPES.indexOf(widest.scope))
      return `${policy} lets it be remembered for this ${widest.scope} at most`;
    if (!withinLifetime(wish, widest, now)) return `${policy} lets it be remembered ${lifetimeText(widest)} at most`;
  }
  return null;
}

function withinLifetime({ until }: GrantRequest, { lifetime }: WidestGrant, now: Millis): boolean {
  if (until === "turn") return true;
  if (until === "session") return lifetime === "session";
  return typeof lifetime === "object" && until > now && until <= now + lifetime.ms;
}
const lifetimeText = ({ lifetime }: WidestGrant): string =>
  typeof lifetime === "object" ? `for ${countNoun(lifetime.ms / 60_000, "minute")}` : `for the ${lifetime}`;

export type Grant = Readonly<{ grant: GrantId; by: Principal; givenAt: Millis } & GrantFacts>;

/** The subject of an approval request, as a grant sees it. */
export type GrantQuery = Readonly<{
  agent: string;
  onBehalfOf: Principal;
  tool: string;
  toolDigest: Digest | null;
  resource: Resource;
  digest: Digest;
  slice: Digest;
  policies: readonly PolicyId[];
  session: SessionId;
  turn: number;
  now: Millis;
  targets: Targets | null;
  labels: readonly Label[];
  /** Whom the session serves; null: nobody. */
  subject: string | null;
}>;

export const grantCovers = (g: Grant, q: GrantQuery): boolean =>
  grantCoversCall(g, q) && findNewLabels(g, q).length === 0 && isForSubject(g, q);

/** Q-9 what was granted for one customer is granted for no other; nor for nobody, and what was granted for nobody for none of them. */
export const isForSubject = ({ subject = null }: Grant, q: Pick<GrantQuery, "subject">): boolean => subject === q.subject;

/** Labels that have joined since it was given, and that it does not survive. */
export const findNewLabels = ({ labels = [], survives = [] }: Grant, q: Pick<GrantQuery, "labels">): readonly Label[] =>
  q.labels.filter((label) => !labels.includes(label) && !survives.includes(label));

/** All that a grant is held against, but for the labels and the subject of the session. */
export const grantCoversCall = (g: Grant, q: GrantQuery): boolean =>
  g.agent === q.agent &&
  g.tool === q.tool &&
  g.toolDigest === q.toolDigest &&
  g.onBehalfOf.kind === q.onBehalfOf.kind &&
  g.onBehalfOf.id === q.onBehalfOf.id &&
  g.slice === q.slice &&
  q.policies.every((p) => g.policies.includes(p)) &&
  (g.session === null || g.session === q.session) &&
  (g.turn === null || g.turn === q.turn) &&
  (g.until === null || q.now < g.until) &&
  (g.scope === "tool" || (g.scope === "digest" || coversOnlyExactCall(toCoverage(g)) ? g.digest === q.digest : isShown(g, q)));

const isShown = (g: Grant, q: GrantQuery): boolean =>
  g.resource.type === q.resource.type &&
  g.resource.id === q.resource.id &&
  q.targets !== null &&
  toCanonicalJson(g.targets ?? null) === toCanonicalJson(q.targets);

/** Labels that every one of them lets join. */
export const findSurvivingLabels = (asks: readonly Ask[]): readonly Label[] =>
  (asks[0]?.terms.grantSurvives ?? []).filter((name) => asks.every(({ terms }) => terms.grantSurvives?.includes(name))).map(label);

export { hasQuorum, type Vote } from "../vocab/index.ts";
