/**
 * Slices of a policy set: for one principal and one action, the policies that can decide it, reduced to what is left of them. Made once, kept by the engine,
 * and shared by all for whom the same policies are left.
 */
import { type Digest, digestJson, type Hash } from "../../vocab/index.ts";
import type { Engine, PolicyJson, PreparedPolicies } from "./engine.ts";
import type { LoadedPolicy } from "./loaded-policy.ts";
import { type ContextTypes, createSliceKey, type SliceKey } from "./project.ts";
import { collectReads, type Member, type Reads, reducePolicy } from "./slice.ts";

/** One action, and the policies that can decide it for somebody. */
export type Slice = Readonly<{
  policies: readonly LoadedPolicy[];
  kept: PreparedPolicies;
  reads: Reads;
  digest: Digest;
  key: SliceKey;
  /** It reads nothing of principal, resource and context: its answer is the same for all. */
  isConstant: boolean;
}>;

export type SlicerOptions = Readonly<{
  engine: Engine;
  hash: Hash;
  types: ContextTypes;
  policies: readonly LoadedPolicy[];
  /** Actions of the same name share their slices. */
  nameOf(action: Member): string;
  /** Numbers the slices of all slicers of a gate: their keys lie in one cache. */
  nextNumber(): number;
}>;

/** Slices are found by who asks; people come and go, and what was forgotten is worked out again. */
const MAX_PRINCIPALS = 5_000;

/** Who asks and what for are looked up in nested maps: no name can be made to read like two. */
export class Slicer {
  readonly #options: SlicerOptions;
  readonly #byPrincipal = new Map<string, Map<string, Map<string, Slice>>>();
  readonly #bySet = new Map<string, Map<string, Slice>>();
  readonly #keptSets = new Map<string, Pick<Slice, "kept" | "digest">>();

  constructor(options: SlicerOptions) {
    this.#options = options;
  }

  find(principal: Member, action: Member): Slice {
    const ofType = inner(this.#byPrincipal, principal.uid.type);
    const name = this.#options.nameOf(action);
    const found = ofType.get(principal.uid.id)?.get(name);
    if (found !== undefined) return found;
    const made = this.#make(principal, action, inner(this.#bySet, name));
    if (ofType.size >= MAX_PRINCIPALS) ofType.clear();
    inner(ofType, principal.uid.id).set(name, made);
    return made;
  }

  #make(principal: Member, action: Member, slices: Map<string, Slice>): Slice {
    const { policies, types, nextNumber } = this.#options;
    const left = policies.flatMap((policy, i) => {
      const json = reducePolicy(policy.json, principal, action);
      return json === null ? [] : [{ i, policy, json }];
    });
    const which = left.map((l) => l.i).join();
    const same = slices.get(which);
    if (same !== undefined) return same;
    const kept = this.#keptSets.get(which) ?? this.#keep(left);
    this.#keptSets.set(which, kept);
    const reads = collectReads(left.map((l) => l.json));
    const slice: Slice = {
      ...kept,
      policies: left.map((l) => l.policy),
      reads,
      key: createSliceKey(`${nextNumber()}|`, reads, types),
      isConstant: isConstant(reads),
    };
    slices.set(which, slice);
    return slice;
  }

  #keep(left: readonly Readonly<{ policy: LoadedPolicy; json: PolicyJson }>[]): Pick<Slice, "kept" | "digest"> {
    const { engine, hash } = this.#options;
    const answer = engine.keep(Object.fromEntries(left.map(({ policy, json }) => [policy.id, json])));
    if (answer.type === "failure") throw new Error(`the engine does not take its own policies back: ${answer.errors[0]?.message ?? ""}`);
    const texts = left.map(({ policy: { id, text } }) => ({ id, text }));
    return { kept: answer.kept, digest: digestJson(texts, hash) };
  }
}

/** The action is the same for all of a slice. */
const isConstant = (reads: Reads): boolean =>
  !reads.principal && !reads.resource && !reads.context.whole && reads.context.fields.size === 0;

function inner<K, V>(of: Map<K, Map<string, V>>, key: K): Map<string, V> {
  const found = of.get(key) ?? new Map<string, V>();
  of.set(key, found);
  return found;
}
