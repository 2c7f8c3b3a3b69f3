/**
 * The gate on Cedar. One engine, no second one for speed: a decision sends only the policies that can decide it and the values they can read,
 * and is remembered by exactly those. It is exact because Cedar is pure; the oracle test makes every decision again on the whole set.
 *
 * G-1 deny is the default. G-3 any error denies: Cedar itself skips a policy that errs, so a broken forbid would disappear.
 * G-7 deny beats ask beats defer beats modify beats allow, among the permits that decided. G-8 a shadow policy is evaluated and recorded, never enforced.
 * G-10 what was decided for one is remembered for nobody else whom the policies could tell apart; the words are made for each.
 * T-29 a tool without a sandbox is decided twice: as the call it is, and as one that runs so; the stricter answer holds.
 * G-7 what is edited and asked about is edited first. G-11 a tool that the policies were not checked against is denied.
 */
import {
  type Action,
  type Decision,
  type Digest,
  deepFreeze,
  digestJson,
  type Facts,
  type Hash,
  type JsonObject,
  toCanonicalJson,
  type UserAct,
  type Verdict,
} from "../vocab/index.ts";
import type { Need } from "./arguments/arg-types.ts";
import { createDirectory, type GateRequest, hasEffects, toGateRequest, toUnsandboxedRequest, toUserRequest } from "./ask.ts";
import { createCache } from "./cache.ts";
import type { Engine, PolicyJson, PreparedPolicies } from "./policies/engine.ts";
import { holdsAlone, type PolicyMatch, type PolicyPart, toPolicyPart } from "./policies/explain.ts";
import { listRecentCounters } from "./policies/lately.ts";
import type { LoadedPolicy } from "./policies/loaded-policy.ts";
import { createSliceKey, projectRequest, type SliceKey } from "./policies/project.ts";
import { collectReads, type Member, type Reads, reducePolicy } from "./policies/slice.ts";
import { decideAlsoAsApprover } from "./policies/user-acts.ts";
import type { PolicyWorld, Vocabulary } from "./policies/vocabulary.ts";
import type { Gate } from "./port.ts";
import { combineDecisions, denied, type PolicyAnswer, toPolicyAnswer, toVerdict } from "./verdict.ts";

export type PolicySet = Readonly<{
  policies: readonly LoadedPolicy[];
  vocabulary: Vocabulary;
  cast: PolicyWorld;
  /** Agents whose own policies were not read: nothing is decided for them here. */
  idle: ReadonlySet<string>;
  /** Every policy of the set, those not read too. */
  named: readonly Readonly<{ id: string; text: string; shadow: boolean }>[];
}>;

/** `cache`: decisions remembered; 0 turns the memory off. */
export type CedarGateOptions = Readonly<{ cache?: number }>;

/** One action, and the policies that can decide it for somebody. */
type Slice = Readonly<{
  policies: readonly LoadedPolicy[];
  kept: PreparedPolicies;
  reads: Reads;
  digest: Digest;
  key: SliceKey;
  /** For a slice that reads nothing: its one answer, which is never forgotten. */
  once: Map<Slice, Remembered> | null;
}>;
type Slicer = (principal: Member, action: Member) => Slice;

/** An answer, with exactly what was read for it. */
type Remembered = Readonly<{ said: PolicyAnswer; read: JsonObject }>;

/** For people: why this decision, out of which policies, on what. */
export type Explanation = Readonly<{
  decision: Decision;
  considered: readonly (Readonly<{ policy: LoadedPolicy }> & PolicyPart)[];
  outOfScope: readonly LoadedPolicy[];
  reads: readonly string[];
}>;

export type CedarGate = Gate &
  Readonly<{
    explain(action: Action, facts: Facts): Explanation;
    /** As if the tool had been there when the policies were checked, without arguments: for the tables beside policies. */
    suppose(action: Action, facts: Facts): Decision;
    stats(): Readonly<{ hits: number; misses: number; slices: number }>;
  }>;

const CACHE = 10_000;
/** Slices are found by who asks; people come and go, and what was forgotten is worked out again. */
const MAX_PRINCIPALS = 5_000;

export function cedarGate(set: PolicySet, engine: Engine, hash: Hash, { cache = CACHE }: CedarGateOptions = {}): CedarGate {
  const { policies, vocabulary, cast, idle, named } = set;
  const known = createDirectory(cast);
  const enforced = policies.filter((p) => !p.shadow);
  const inForce = slicer(enforced, (action) => action.uid.id);
  const onTrial = enforced.length === policies.length ? null : slicer(policies, (action) => action.uid.id);
  const supposed = slicer(enforced, (action) => toCanonicalJson(action));
  const remembered = createCache<Remembered>(cache);
  const count = { hits: 0, misses: 0, slices: 0 };
  const digest = digestJson(
    {
      policies: named,
      schema: vocabulary.schema,
      agents: cast.agents.map(({ name, groups }) => ({ name, groups })),
      users: cast.users.map(({ name, groups }) => ({ name, groups })),
      care: cast.tools.map(({ name }) => ({ name, ...known.care(name) })),
    },
    hash,
  );
  const unchecked = digestJson([], hash);

  /** Who asks and what for are looked up in nested maps: no name can be made to read like two. */
  function slicer(of: readonly LoadedPolicy[], nameOf: (action: Member) => string): Slicer {
    const byPrincipal = new Map<string, Map<string, Map<string, Slice>>>();
    const bySet = new Map<string, Map<string, Slice>>();
    const keptSets = new Map<string, Readonly<{ kept: PreparedPolicies; digest: Digest }>>();
    return (principal, action) => {
      const ofType = inner(byPrincipal, principal.uid.type);
      const name = nameOf(action);
      const found = ofType.get(principal.uid.id)?.get(name);
      if (found !== undefined) return found;
      const made = make(principal, action, inner(bySet, name));
      if (ofType.size >= MAX_PRINCIPALS) ofType.clear();
      inner(ofType, principal.uid.id).set(name, made);
      return made;
    };

    /** Those for whom the same policies are left share a slice. */
    function make(principal: Member, action: Member, slices: Map<string, Slice>): Slice {
      const left = of.flatMap((policy, i) => {
        const json = reducePolicy(policy.json, principal, action);
        return json === null ? [] : [{ i, policy, json }];
      });
      const which = left.map((l) => l.i).join();
      const same = slices.get(which);
      if (same !== undefined) return same;
      const { kept, digest } = keptSets.get(which) ?? keep(left);
      keptSets.set(which, { kept, digest });
      const reads = collectReads(left.map((l) => l.json));
      count.slices += 1;
      const slice: Slice = {
        policies: left.map((l) => l.policy),
        kept,
        reads,
        digest,
        key: createSliceKey(`${count.slices}|`, reads, vocabulary.args),
        once: isConstant(reads) ? new Map() : null,
      };
      slices.set(which, slice);
      return slice;
    }
  }

  function keep(left: readonly Readonly<{ policy: LoadedPolicy; json: PolicyJson }>[]): {
    readonly kept: PreparedPolicies;
    readonly digest: Digest;
  } {
    const answer = engine.keep(Object.fromEntries(left.map(({ policy, json }) => [policy.id, json])));
    if (answer.type === "failure") throw new Error(`the engine does not take its own policies back: ${answer.errors[0]?.message ?? ""}`);
    const texts = left.map(({ policy: { id, text } }) => ({ id, text }));
    return { kept: answer.kept, digest: digestJson(texts, hash) };
  }

  function answerTo(slice: Slice, asked: GateRequest): Remembered {
    const key = slice.once === null ? slice.key(asked) : null;
    const found = slice.once !== null ? slice.once.get(slice) : key === null ? undefined : remembered.get(key);
    if (found !== undefined) {
      count.hits += 1;
      return found;
    }
    count.misses += 1;
    const projected = projectRequest(asked, slice.reads, known, vocabulary.args);
    if (projected.kind === "unrepresentable") {
      const { detail } = projected;
      const verdict = denied([], [{ policy: null, message: detail }], `${detail}, and a policy reads it`);
      return { said: { kind: "verdict", verdict }, read: {} };
    }
    const { context, entities } = projected;
    const question = { principal: asked.principal.uid, action: asked.action.uid, resource: asked.resource.uid, context, entities };
    const said = toPolicyAnswer(engine.decide(slice.kept, question), slice.policies);
    const answer = { said, read: readOf(slice.reads, asked, context as JsonObject) };
    if (key !== null) remembered.set(key, answer);
    slice.once?.set(slice, answer);
    return answer;
  }

  function decided(asked: GateRequest, sliced: Slicer = inForce): Decision {
    try {
      const slice = sliced(asked.principal, asked.action);
      const { said, read } = answerTo(slice, asked);
      const verdict = toVerdict(said, asked);
      return { verdict, slice: slice.digest, read, shadow: onTrial === null ? null : shadowOf(onTrial, asked, verdict) };
    } catch (error) {
      return { verdict: failed(error), slice: unchecked, read: {}, shadow: null };
    }
  }

  /** G-8 nothing about a trial, its failure included, touches the decision. */
  function shadowOf(sliced: Slicer, asked: GateRequest, verdict: Verdict): Verdict | null {
    try {
      const trial = toVerdict(answerTo(sliced(asked.principal, asked.action), asked).said, asked);
      return toCanonicalJson(trial) === toCanonicalJson(verdict) ? null : trial;
    } catch (error) {
      return failed(error);
    }
  }

  function decide(action: Action, facts: Facts): Decision {
    const stranger = idle.has(facts.agent) ? "the policies of this agent's own file were not read" : strange(action);
    if (stranger !== null) return { verdict: denied([], [], stranger), slice: unchecked, read: {}, shadow: null };
    return withLeave(action, facts, inForce);
  }

  /** T-29. */
  function withLeave(action: Action, facts: Facts, sliced: Slicer): Decision {
    const own = decided(toGateRequest(action, facts, known), sliced);
    if (!needsLeave(action)) return own;
    const leave = decided(toUnsandboxedRequest(action.tool, facts, known), sliced);
    return combineDecisions(own, leave, digestJson([own.slice, leave.slice], hash));
  }

  /** G-11. */
  function strange(action: Action): string | null {
    if (action.kind !== "call") return null;
    const tool = known.tool(action.tool);
    if (tool === null) return "the policies were not checked against this tool";
    return hasEffects(tool, action.effects) ? null : "the tool does other things than the policies were checked against";
  }

  function explain(action: Action, facts: Facts): Explanation {
    const decision = decide(action, facts);
    const asks = [toGateRequest(action, facts, known), ...(needsLeave(action) ? [toUnsandboxedRequest(action.tool, facts, known)] : [])];
    const asked = asks.map((one) => ({ one, slice: inForce(one.principal, one.action) }));
    const held = asked.flatMap(({ one, slice }) => (decision.slice === unchecked ? [] : heldIn(one, slice)));
    const considered = [...new Set(asked.flatMap(({ slice }) => slice.policies))];
    return {
      decision,
      considered: considered.map((policy) => ({ policy, ...toPolicyPart(policy, decision.verdict, held, considered) })),
      outOfScope: enforced.filter((p) => !considered.includes(p)),
      reads: [
        ...new Set(
          asked.flatMap(({ slice: { reads } }) => [...VARIABLES.filter((name) => reads[name]), ...paths(reads.context, "context")]),
        ),
      ],
    };
  }

  /** G-19 each policy by itself, whatever the others say. */
  function heldIn(asked: GateRequest, { policies, reads }: Slice): readonly PolicyMatch[] {
    const projected = projectRequest(asked, reads, known, vocabulary.args);
    if (projected.kind === "unrepresentable") return [];
    const { context, entities } = projected;
    const question = { principal: asked.principal.uid, action: asked.action.uid, resource: asked.resource.uid, context, entities };
    return policies.flatMap((policy) => {
      const json = reducePolicy(policy.json, asked.principal, asked.action);
      return json === null ? [] : [{ policy: policy.id, holds: holdsAlone(json, question, engine) }];
    });
  }

  return {
    digest,
    lately: listRecentCounters(collectReads(policies.map((p) => p.json)).context, cast.tools),
    decide,
    decideFor: (user: string, act: UserAct) => decideAlsoAsApprover(act, (one) => decided(toUserRequest(user, one, known))),
    groupsOf: (user) => known.user(user).parents.map((group) => group.id),
    suppose: (action, facts) => withLeave(action, facts, supposed),
    explain,
    stats: () => ({ ...count }),
  };
}

/** G-3 the engine itself may fail, and that is no permission either. */
function failed(error: unknown): Verdict {
  const message = error instanceof Error ? error.message : String(error);
  return denied([], [{ policy: null, message }], `the policies could not be evaluated: ${message}`);
}

const needsLeave = (action: Action): action is Extract<Action, { kind: "call" }> =>
  action.kind === "call" && action.effects.includes("unsandboxed");

/** The action is the same for all of a slice. */
const isConstant = (reads: Reads): boolean =>
  !reads.principal && !reads.resource && !reads.context.whole && reads.context.fields.size === 0;

const VARIABLES = ["principal", "action", "resource"] as const;

function paths(need: Need, at: string): readonly string[] {
  if (need.whole) return [at];
  return [...need.fields].flatMap(([name, inner]) => paths(inner, `${at}.${name}`));
}

/** For the journal: what was sent, beside the principal and the action that it tells anyway. */
function readOf(reads: Reads, { resource: { uid, attrs } }: GateRequest, context: JsonObject): JsonObject {
  if (!reads.resource) return deepFreeze(context);
  const { id: _, ...about } = attrs as JsonObject;
  return deepFreeze({ resource: `${uid.type}::${JSON.stringify(uid.id)}`, ...about, ...context });
}

function inner<K, V>(of: Map<K, Map<string, V>>, key: K): Map<string, V> {
  const found = of.get(key) ?? new Map<string, V>();
  of.set(key, found);
  return found;
}
