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
  UTC,
  type Verdict,
} from "../vocab/index.ts";
import type { Need } from "./arguments/arg-types.ts";
import {
  createDirectory,
  type Directory,
  type GateRequest,
  hasEffects,
  STRICTEST,
  type ToolCare,
  toGateRequest,
  toUnsandboxedRequest,
  toUserRequest,
} from "./ask.ts";
import { type Cache, createCache } from "./cache.ts";
import type { Engine, EngineQuestion } from "./policies/engine.ts";
import { holdsAlone, type PolicyMatch, type PolicyPart, toPolicyPart } from "./policies/explain.ts";
import { listRecentCounters } from "./policies/lately.ts";
import type { LoadedPolicy } from "./policies/loaded-policy.ts";
import { type ContextTypes, projectRequest } from "./policies/project.ts";
import { collectReads, type Member, type Reads, reducePolicy } from "./policies/slice.ts";
import { type Slice, Slicer } from "./policies/slicer.ts";
import { decideAlsoAsApprover } from "./policies/user-acts.ts";
import type { PolicyWorld, Vocabulary } from "./policies/vocabulary.ts";
import type { Gate } from "./port.ts";
import { combineDecisions, denyByPolicy, type PolicyAnswer, toPolicyAnswer, toVerdict } from "./verdict.ts";

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
    /** `supposed`: what the tool's definition would say, of one that was not there when the policies were checked. */
    explain(action: Action, facts: Facts, supposed?: Partial<ToolCare>): Explanation;
    /** As if the tool had been there when the policies were checked, without arguments: for the tables beside policies. Care that is not given is the strictest. */
    suppose(action: Action, facts: Facts, care?: Partial<ToolCare>): Decision;
    stats(): Readonly<{ hits: number; misses: number; slices: number }>;
  }>;

const CACHE = 10_000;
export function cedarGate(set: PolicySet, engine: Engine, hash: Hash, { cache = CACHE }: CedarGateOptions = {}): CedarGate {
  const made = new CedarDecisions(set, { engine, hash, cache });
  return {
    digest: digestSet(set, made.known, hash),
    lately: listRecentCounters(collectReads(set.policies.map((p) => p.json)).context, set.cast.tools),
    decide: (action, facts) => made.decide(action, facts),
    decideFor: (user, act) => made.decideFor(user, act),
    groupsOf: (user) => made.known.user(user).parents.map((group) => group.id),
    suppose: (action, facts, care) => made.suppose(action, facts, care),
    explain: (action, facts, supposed) => made.explain(action, facts, supposed),
    stats: () => made.stats(),
  };
}

const digestSet = ({ named, vocabulary, cast }: PolicySet, known: Directory, hash: Hash): Digest =>
  digestJson(
    {
      policies: named,
      schema: vocabulary.schema,
      agents: cast.agents.map(({ name, groups }) => ({ name, groups })),
      users: cast.users.map(({ name, groups }) => ({ name, groups })),
      care: cast.tools.map(({ name }) => ({ name, ...known.care(name) })),
      ...(cast.zone === undefined || cast.zone === UTC ? {} : { zone: cast.zone }),
    },
    hash,
  );

type Needs = Readonly<{ engine: Engine; hash: Hash; cache: number }>;

/** Decides by one policy set, and remembers answers by exactly what was read for them. */
class CedarDecisions {
  readonly known: Directory;
  readonly #set: PolicySet;
  readonly #types: ContextTypes;
  readonly #engine: Engine;
  readonly #hash: Hash;
  readonly #enforced: readonly LoadedPolicy[];
  readonly #inForce: Slicer;
  /** Null where no policy is on trial. */
  readonly #onTrial: Slicer | null;
  readonly #supposed: Slicer;
  readonly #remembered: Cache<Remembered>;
  /** Answers of slices that read nothing: kept as long as the slice. */
  readonly #constants = new WeakMap<Slice, Remembered>();
  readonly #unchecked: Digest;
  readonly #count = { hits: 0, misses: 0, slices: 0 };

  constructor(set: PolicySet, { engine, hash, cache }: Needs) {
    const { policies, vocabulary, cast } = set;
    const enforced = policies.filter((p) => !p.shadow);
    const nextNumber = (): number => {
      this.#count.slices += 1;
      return this.#count.slices;
    };
    const slicerOf = (of: readonly LoadedPolicy[], nameOf: (action: Member) => string): Slicer =>
      new Slicer({ engine, hash, types: this.#types, policies: of, nameOf, nextNumber });
    this.#types = { args: vocabulary.args, world: { ...vocabulary.world, zone: cast.zone ?? UTC } };
    this.known = createDirectory(cast);
    this.#set = set;
    this.#engine = engine;
    this.#hash = hash;
    this.#enforced = enforced;
    this.#inForce = slicerOf(enforced, (action) => action.uid.id);
    this.#onTrial = enforced.length === policies.length ? null : slicerOf(policies, (action) => action.uid.id);
    this.#supposed = slicerOf(enforced, (action) => toCanonicalJson(action));
    this.#remembered = createCache<Remembered>(cache);
    this.#unchecked = digestJson([], hash);
  }

  decide(action: Action, facts: Facts): Decision {
    const stranger = this.#set.idle.has(facts.agent) ? "the policies of this agent's own file were not read" : this.#strange(action);
    if (stranger !== null) return { verdict: denyByPolicy([], [], stranger), slice: this.#unchecked, read: {}, shadow: null };
    return this.#decideWith(this.#inForce, action, facts);
  }

  decideFor(user: string, act: UserAct): Decision {
    return decideAlsoAsApprover(act, (one) => this.#decideOne(this.#inForce, toUserRequest(user, one, this.known)));
  }

  suppose(action: Action, facts: Facts, care: Partial<ToolCare> = {}): Decision {
    return this.#decideWith(this.#supposed, action, facts, care);
  }

  stats(): Readonly<{ hits: number; misses: number; slices: number }> {
    return { ...this.#count };
  }

  explain(action: Action, facts: Facts, supposed?: Partial<ToolCare>): Explanation {
    const decision = supposed === undefined ? this.decide(action, facts) : this.suppose(action, facts, supposed);
    const slicer = supposed === undefined ? this.#inForce : this.#supposed;
    const requests = [
      this.#requestOf(action, facts, supposed),
      ...(runsUnsandboxed(action) ? [toUnsandboxedRequest(action.tool, facts, this.known)] : []),
    ];
    const asked = requests.map((one) => ({ one, slice: slicer.find(one.principal, one.action) }));
    const held = asked.flatMap(({ one, slice }) => (decision.slice === this.#unchecked ? [] : this.#matchAlone(one, slice)));
    const considered = [...new Set(asked.flatMap(({ slice }) => slice.policies))];
    return {
      decision,
      considered: considered.map((policy) => ({ policy, ...toPolicyPart(policy, decision.verdict, held, considered) })),
      outOfScope: this.#enforced.filter((p) => !considered.includes(p)),
      reads: [
        ...new Set(
          asked.flatMap(({ slice: { reads } }) => [...VARIABLES.filter((name) => reads[name]), ...paths(reads.context, "context")]),
        ),
      ],
    };
  }

  #requestOf(action: Action, facts: Facts, supposed: Partial<ToolCare> | undefined): GateRequest {
    const asked = toGateRequest(action, facts, this.known);
    if (supposed === undefined || asked.told === null) return asked;
    return { ...asked, told: { ...asked.told, care: { ...STRICTEST, ...supposed } } };
  }

  /** T-29 a tool without a sandbox is decided twice. */
  #decideWith(slicer: Slicer, action: Action, facts: Facts, supposed?: Partial<ToolCare>): Decision {
    const own = this.#decideOne(slicer, this.#requestOf(action, facts, supposed));
    if (!runsUnsandboxed(action)) return own;
    const unsandboxed = this.#decideOne(slicer, toUnsandboxedRequest(action.tool, facts, this.known));
    return combineDecisions(own, unsandboxed, digestJson([own.slice, unsandboxed.slice], this.#hash));
  }

  #decideOne(slicer: Slicer, asked: GateRequest): Decision {
    try {
      const slice = slicer.find(asked.principal, asked.action);
      const { said, read } = this.#answerTo(slice, asked);
      const verdict = toVerdict(said, asked);
      return { verdict, slice: slice.digest, read, shadow: this.#onTrial === null ? null : this.#shadowOf(this.#onTrial, asked, verdict) };
    } catch (error) {
      return { verdict: failed(error), slice: this.#unchecked, read: {}, shadow: null };
    }
  }

  /** G-8 nothing about a trial, its failure included, touches the decision. */
  #shadowOf(slicer: Slicer, asked: GateRequest, verdict: Verdict): Verdict | null {
    try {
      const trial = toVerdict(this.#answerTo(slicer.find(asked.principal, asked.action), asked).said, asked);
      return toCanonicalJson(trial) === toCanonicalJson(verdict) ? null : trial;
    } catch (error) {
      return failed(error);
    }
  }

  #answerTo(slice: Slice, asked: GateRequest): Remembered {
    const key = slice.isConstant ? null : slice.key(asked);
    const found = slice.isConstant ? this.#constants.get(slice) : key === null ? undefined : this.#remembered.get(key);
    if (found !== undefined) {
      this.#count.hits += 1;
      return found;
    }
    this.#count.misses += 1;
    const question = this.#project(asked, slice.reads);
    if ("detail" in question) {
      const { detail } = question;
      const verdict = denyByPolicy([], [{ policy: null, message: detail }], `${detail}, and a policy reads it`);
      return { said: { kind: "verdict", verdict }, read: {} };
    }
    const said = toPolicyAnswer(this.#engine.decide(slice.kept, question), slice.policies);
    const answer = { said, read: readOf(slice.reads, asked, question.context as JsonObject) };
    if (key !== null) this.#remembered.set(key, answer);
    if (slice.isConstant) this.#constants.set(slice, answer);
    return answer;
  }

  #project(asked: GateRequest, reads: Reads): EngineQuestion | Readonly<{ detail: string }> {
    const projected = projectRequest(asked, reads, this.known, this.#types);
    if (projected.kind === "unrepresentable") return { detail: projected.detail };
    const { context, entities } = projected;
    return { principal: asked.principal.uid, action: asked.action.uid, resource: asked.resource.uid, context, entities };
  }

  /** G-19 each policy by itself, whatever the others say. */
  #matchAlone(asked: GateRequest, { policies, reads }: Slice): readonly PolicyMatch[] {
    const question = this.#project(asked, reads);
    if ("detail" in question) return [];
    return policies.flatMap((policy) => {
      const json = reducePolicy(policy.json, asked.principal, asked.action);
      return json === null ? [] : [{ policy: policy.id, holds: holdsAlone(json, question, this.#engine) }];
    });
  }

  /** G-11. */
  #strange(action: Action): string | null {
    if (action.kind !== "call") return null;
    const tool = this.known.tool(action.tool);
    if (tool === null) return "the policies were not checked against this tool";
    return hasEffects(tool, action.effects) ? null : "the tool does other things than the policies were checked against";
  }
}

/** G-3 the engine itself may fail, and that is no permission either. */
function failed(error: unknown): Verdict {
  const message = error instanceof Error ? error.message : String(error);
  return denyByPolicy([], [{ policy: null, message }], `the policies could not be evaluated: ${message}`);
}

/** T-29. */
const runsUnsandboxed = (action: Action): action is Extract<Action, { kind: "call" }> =>
  action.kind === "call" && action.effects.includes("unsandboxed");

const VARIABLES = ["principal", "action", "resource"] as const;

function paths(need: Need, at: string): readonly string[] {
  if (need.whole || (need.fields.size === 0 && at !== "context")) return [at]; // nothing inside: only whether it is there
  return [...need.fields].flatMap(([name, inner]) => paths(inner, `${at}.${name}`));
}

/** For the journal: what was sent, beside the principal and the action that it tells anyway. */
function readOf(reads: Reads, { resource: { uid, attrs } }: GateRequest, context: JsonObject): JsonObject {
  if (!reads.resource) return deepFreeze(context);
  const { id: _, ...about } = attrs as JsonObject;
  return deepFreeze({ resource: `${uid.type}::${JSON.stringify(uid.id)}`, ...about, ...context });
}
