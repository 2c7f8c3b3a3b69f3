/**
 * The gate on Cedar. One engine, no second one for speed: a decision sends only the policies that can decide it and the values they can read,
 * and is remembered by exactly those. It is exact because Cedar is pure; `oracle.test.ts` makes every decision again on the whole set.
 *
 * G1 deny is the default. G3 any error denies: Cedar itself skips a policy that errs, so a broken forbid would disappear.
 * G7 deny beats ask beats defer beats modify beats allow, among the permits that decided. G8 a shadow policy is evaluated and recorded, never enforced.
 */
import {
  type Action,
  canonical,
  type Decision,
  type Digest,
  digestOf,
  type Facts,
  type Hash,
  type JsonObject,
  type PolicyFault,
  policyId,
  type UserAct,
  type Verdict,
} from "../vocab/index.ts";
import { type Need, type RecordType, toCedar, Unrepresentable } from "./arg-types.ts";
import type { Answer, CedarEntity, CedarRecord, CedarValue, Engine, PolicyJson, Uid } from "./engine.ts";
import type { Duties } from "./policy-text.ts";
import type { Gate } from "./port.ts";
import { type Member, type Reads, readsOf, reduced } from "./slice.ts";
import type { Cast, Vocabulary } from "./vocabulary.ts";

/** A policy that loaded: parsed, validated against the tools, its annotations understood. */
export type LoadedPolicy = Readonly<{
  id: string;
  file: string;
  line: number;
  text: string;
  json: PolicyJson;
  duties: Duties;
  shadow: boolean;
}>;

export type PolicySet = Readonly<{ policies: readonly LoadedPolicy[]; vocabulary: Vocabulary; cast: Cast }>;

export type CedarGateOptions = Readonly<{
  /** Keeps apart the sets that one engine holds. */
  name: string;
  /** Decisions remembered; 0 turns the memory off. */
  cache?: number;
}>;

/** One action of one principal: what can decide it, what that reads, what was decided. */
type Slice = Readonly<{
  name: string;
  policies: readonly LoadedPolicy[];
  reads: Reads;
  digest: Digest;
}>;

/** For people: why this decision, out of which policies, on what. */
export type Explained = Readonly<{
  decision: Decision;
  considered: readonly Readonly<{ policy: LoadedPolicy; part: "decided" | "did not apply" | "erred" }>[];
  outOfScope: readonly LoadedPolicy[];
  reads: readonly string[];
}>;

export type CedarGate = Gate &
  Readonly<{ explain(action: Action, facts: Facts): Explained; stats(): Readonly<{ hits: number; misses: number; slices: number }> }>;

const CACHE = 10_000;

export function cedarGate(set: PolicySet, engine: Engine, hash: Hash, { name, cache = CACHE }: CedarGateOptions): CedarGate {
  const { policies, vocabulary } = set;
  const enforced = policies.filter((p) => !p.shadow);
  const digest = digestOf({ policies: policies.map(({ id, text, shadow }) => ({ id, text, shadow })), schema: vocabulary.schema }, hash);
  const slices = new Map<string, Slice>();
  const remembered = new Map<string, Verdict>();
  const count = { hits: 0, misses: 0 };

  function sliceFor(of: readonly LoadedPolicy[], kind: "" | "shadow", principal: Member, action: Member): Slice {
    const key = `${kind}\n${principal.uid.type}\n${principal.uid.id}\n${action.uid.id}\n${action.parents.map((p) => p.id).join()}`;
    const known = slices.get(key);
    if (known !== undefined) return known;
    const kept = of.flatMap((policy) => {
      const json = reduced(policy.json, principal, action);
      return json === null ? [] : [{ policy, json }];
    });
    const slice: Slice = {
      name: `${name}/${slices.size}`,
      policies: kept.map((k) => k.policy),
      reads: readsOf(kept.map((k) => k.json)),
      digest: digestOf(
        kept.map(({ policy: { id, text } }) => ({ id, text })),
        hash,
      ),
    };
    const answer = engine.keep(slice.name, Object.fromEntries(kept.map(({ policy, json }) => [policy.id, json])));
    if (answer.type === "failure") throw new Error(`the engine does not take its own policies back: ${answer.errors[0]?.message ?? ""}`);
    slices.set(key, slice);
    return slice;
  }

  function judge(slice: Slice, asked: Asked): { readonly verdict: Verdict; readonly read: JsonObject } {
    const projected = project(asked, slice.reads);
    if (projected.kind === "unrepresentable")
      return { verdict: denied([], [{ policy: null, message: projected.detail }], `${projected.detail}, and a policy reads it`), read: {} };
    const { context, entities } = projected;
    const read: JsonObject = slice.reads.resource
      ? { resource: uidText(asked.resource.uid), ...(context as JsonObject) }
      : (context as JsonObject);
    const key = `${slice.name}\n${slice.reads.resource ? uidText(asked.resource.uid) : ""}\n${canonical(context)}`;
    const known = remembered.get(key);
    if (known !== undefined) {
      count.hits += 1;
      remembered.delete(key); // moves it to the young end
      remembered.set(key, known);
      return { verdict: known, read };
    }
    count.misses += 1;
    const { uid: principal } = asked.principal;
    const answer = engine.decide(slice.name, { principal, action: asked.action.uid, resource: asked.resource.uid, context, entities });
    const verdict = toVerdict(answer, slice.policies, asked);
    if (cache > 0) {
      remembered.set(key, verdict);
      const [oldest] = remembered.keys();
      if (remembered.size > cache && oldest !== undefined) remembered.delete(oldest);
    }
    return { verdict, read };
  }

  function decided(asked: Asked): Decision {
    const slice = sliceFor(enforced, "", asked.principal, asked.action);
    const { verdict, read } = judge(slice, asked);
    return { verdict, slice: slice.digest, read, shadow: shadowOf(asked, verdict) };
  }

  function shadowOf(asked: Asked, verdict: Verdict): Verdict | null {
    if (enforced.length === policies.length) return null;
    const trial = judge(sliceFor(policies, "shadow", asked.principal, asked.action), asked).verdict;
    return canonical(trial) === canonical(verdict) ? null : trial;
  }

  return {
    digest,
    decide: (action, facts) => decided(askOf(action, facts, set)),
    decideFor: (user, act) => decided(askFor(user, act, set)),
    explain: (action, facts) => explain(askOf(action, facts, set)),
    stats: () => ({ ...count, slices: slices.size }),
  };

  function explain(asked: Asked): Explained {
    const decision = decided(asked);
    const { verdict } = decision;
    const slice = sliceFor(enforced, "", asked.principal, asked.action);
    const erred = new Set(verdict.kind === "deny" ? verdict.faults.map((f) => f.policy as string | null) : []);
    const because = new Set<string>(verdict.because);
    const part = (p: LoadedPolicy) => (erred.has(p.id) ? "erred" : because.has(p.id) ? "decided" : "did not apply");
    return {
      decision,
      considered: slice.policies.map((policy) => ({ policy, part: part(policy) })),
      outOfScope: enforced.filter((p) => !slice.policies.includes(p)),
      reads: [
        ...(slice.reads.resource ? ["resource"] : []),
        ...(slice.reads.principal ? ["principal"] : []),
        ...paths(slice.reads.context, "context"),
      ],
    };
  }
}

function paths(need: Need, at: string): readonly string[] {
  if (need.whole) return at === "context" ? ["context"] : [at];
  return [...need.fields].flatMap(([name, inner]) => paths(inner, `${at}.${name}`));
}

// ── what is asked ──

type Asked = Readonly<{
  principal: Member;
  action: Member;
  resource: Member & Readonly<{ attrs: CedarRecord }>;
  context: (need: Need) => CedarRecord;
  onBehalfOf: Member | null;
}>;

function askOf(action: Action, facts: Facts, { cast, vocabulary }: PolicySet): Asked {
  const agent = cast.agents.find((a) => a.name === facts.agent);
  const onBehalfOf = userMember(facts.onBehalfOf.id, cast);
  const shared = { principal: member("Agent", facts.agent, "AgentGroup", agent?.groups ?? []), onBehalfOf };
  switch (action.kind) {
    case "call": {
      const effects = action.effects.map((id) => ({ type: "Action", id }));
      const context = (need: Need) => contextOf(need, facts, onBehalfOf.uid, action, vocabulary.args);
      return { ...shared, action: { uid: actionUid(`tool:${action.tool}`), parents: effects }, resource: thing(action.resource), context };
    }
    case "model":
      return {
        ...shared,
        action: { uid: actionUid("model"), parents: [] },
        resource: thing({ type: "Model", id: action.model }),
        context: (need) => contextOf(need, facts, onBehalfOf.uid, null, vocabulary.args),
      };
    case "respond": {
      const type = action.to.kind === "agent" ? "Agent" : "User";
      return {
        ...shared,
        action: { uid: actionUid("respond"), parents: [] },
        resource: thing({ type, id: action.to.id }),
        context: (need) => contextOf(need, facts, onBehalfOf.uid, null, vocabulary.args),
      };
    }
  }
}

function askFor(user: string, act: UserAct, { cast }: PolicySet): Asked {
  const bare = {
    principal: userMember(user, cast),
    action: { uid: actionUid(act.kind), parents: [] },
    context: () => ({}),
    onBehalfOf: null,
  };
  switch (act.kind) {
    case "approve":
      return { ...bare, resource: thing({ type: "Approval", id: act.approval }, { agent: act.agent, tool: act.tool }) };
    case "resolve":
      return { ...bare, resource: thing({ type: "Call", id: act.call }, { agent: act.agent, tool: act.tool }) };
    case "read-journal":
      return { ...bare, resource: thing({ type: "Session", id: act.session }) };
    case "edit-policy":
      return { ...bare, resource: thing({ type: "PolicySet", id: act.surface }) };
  }
}

const actionUid = (id: string): Uid => ({ type: "Action", id });
const thing = (uid: Uid, attrs: CedarRecord = {}): Asked["resource"] => ({ uid, parents: [], attrs: { id: uid.id, ...attrs } });
const member = (type: string, id: string, group: string, groups: readonly string[]): Member => ({
  uid: { type, id },
  parents: groups.map((g) => ({ type: group, id: g })),
});
const userMember = (id: string, cast: Cast): Member => member("User", id, "UserGroup", cast.users.find((u) => u.name === id)?.groups ?? []);
const uidText = (uid: Uid): string => `${uid.type}::${JSON.stringify(uid.id)}`;

/** Only what a slice can read; a name that is not in the vocabulary is not there (the schema has refused the policy that reads it). */
function contextOf(
  need: Need,
  facts: Facts,
  user: Uid,
  call: Extract<Action, { kind: "call" }> | null,
  tools: Vocabulary["args"],
): CedarRecord {
  const args = call === null ? null : (tools.get(call.tool) ?? null);
  const out: Record<string, CedarValue> = {};
  const wanted = (name: string): Need | null => (need.whole ? ALL : (need.fields.get(name) ?? null));
  const about = wanted("args");
  if (about !== null && call !== null && call.args !== null && args !== null)
    out["args"] = toCedar(call.args, args, about, call.inexact) ?? {};
  if (wanted("labels") !== null) out["labels"] = [...facts.labels].sort();
  const calls = wanted("calls");
  if (calls !== null) out["calls"] = countsOf(calls, facts, tools);
  const spent = wanted("spent");
  if (spent !== null) out["spent"] = { tokens: { ...facts.spent } };
  if (wanted("origin") !== null) out["origin"] = { surface: facts.surface, user: facts.onBehalfOf.id };
  if (wanted("onBehalfOf") !== null) out["onBehalfOf"] = { __entity: user };
  return out;
}
const ALL: Need = { whole: true, fields: new Map() };

/** A bare `context.calls` means the counters of every tool. */
function countsOf(need: Need, facts: Facts, tools: ReadonlyMap<string, RecordType>): CedarRecord {
  const names = need.whole ? tools.keys() : [...need.fields.keys()].filter((name) => tools.has(name));
  const out: Record<string, CedarValue> = {};
  for (const name of names) out[name] = { ...facts.calls(name) };
  return out;
}

type Projected = Readonly<
  { kind: "projected"; context: CedarRecord; entities: readonly CedarEntity[] } | { kind: "unrepresentable"; detail: string }
>;

function project(asked: Asked, reads: Reads): Projected {
  try {
    const entities: CedarEntity[] = [];
    if (reads.principal)
      entities.push({ uid: asked.principal.uid, attrs: { id: asked.principal.uid.id }, parents: asked.principal.parents });
    if (reads.action) entities.push({ uid: asked.action.uid, attrs: {}, parents: asked.action.parents });
    const same = asked.resource.uid.type === asked.principal.uid.type && asked.resource.uid.id === asked.principal.uid.id;
    if (reads.resource && !(same && reads.principal)) entities.push(asked.resource);
    const { onBehalfOf } = asked;
    const behalf = onBehalfOf !== null && (reads.context.whole || reads.context.fields.has("onBehalfOf"));
    if (behalf && !entities.some((e) => e.uid.type === "User" && e.uid.id === onBehalfOf.uid.id))
      entities.push({ uid: onBehalfOf.uid, attrs: { id: onBehalfOf.uid.id }, parents: onBehalfOf.parents });
    return { kind: "projected", context: asked.context(reads.context), entities };
  } catch (error) {
    if (error instanceof Unrepresentable) return { kind: "unrepresentable", detail: error.message };
    throw error;
  }
}

// ── what is said ──

function denied(because: readonly string[], faults: readonly PolicyFault[], reason: string): Extract<Verdict, { kind: "deny" }> {
  return { kind: "deny", by: "policy", because: because.map(policyId), faults, reason };
}

/** Cedar skips a policy that errs, so a broken `forbid` disappears. Here any error denies (G3). */
export function toVerdict(
  answer: Answer,
  policies: readonly LoadedPolicy[],
  asked: { readonly action: { readonly uid: Uid }; readonly resource: { readonly uid: Uid } },
): Verdict {
  if (answer.type === "failure") {
    const faults = answer.errors.map((e) => ({ policy: null, message: e.message }));
    return denied([], faults, `the policies could not be evaluated: ${faults[0]?.message ?? "unknown"}`);
  }
  const { decision, diagnostics } = answer.response;
  const because = [...diagnostics.reason].sort();
  const faults = diagnostics.errors.map((e) => ({ policy: policyId(e.policyId), message: e.error.message }));
  const [fault] = faults;
  if (fault !== undefined) return denied(because, faults, `policy ${fault.policy ?? ""} could not be evaluated: ${fault.message}`);
  const deciding = policies.filter((p) => because.includes(p.id));
  if (decision !== "allow" || deciding.length === 0) return denied(because, [], reasonFor(deciding, asked));

  const ids = because.map(policyId);
  const asks = deciding.flatMap((p) => p.duties.ask ?? []);
  const [firstAsk, ...moreAsks] = asks;
  if (firstAsk !== undefined) return { kind: "ask", because: ids, asks: [firstAsk, ...moreAsks] };
  if (deciding.some((p) => p.duties.defer !== null)) return denied(because, [], "it cannot be decided yet");
  const edits = deciding.flatMap((p) => p.duties.edits);
  return edits.length > 0 ? { kind: "modify", because: ids, edits } : { kind: "allow", because: ids, approval: null };
}

function reasonFor(
  deciding: readonly LoadedPolicy[],
  { action, resource }: { readonly action: { readonly uid: Uid }; readonly resource: { readonly uid: Uid } },
): string {
  const said = deciding.flatMap((p) => p.duties.reason ?? []);
  if (said.length > 0) return said.join("; ");
  const what = `${action.uid.id} on ${uidText(resource.uid)}`;
  return deciding.length > 0 ? `${deciding.map((p) => p.id).join(", ")} forbids ${what}` : `no policy permits ${what}`;
}
