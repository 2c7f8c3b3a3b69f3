/** From a proposed call to what the gate is asked about, and the digest that everything later is bound to. Pure. */
import {
  type Action,
  argumentsOf,
  type CallId,
  copyFrozen,
  type Digest,
  digestJson,
  type Edit,
  freezeOwn,
  type Hash,
  isFrozenCopy,
  type Json,
  type JsonObject,
  type ProposedCall,
  principalName,
  type Tool,
  toCanonicalJson,
  toolFacts,
  type Verdict,
} from "../vocab/index.ts";
import { findInexactNumbers } from "./arguments/numbers.ts";

/** A call, checked against its tool's contract: an action to gate, or why not (unknown tool, not JSON, schema). */
export type ContractCheck =
  | { readonly kind: "fits"; readonly action: Extract<Action, { kind: "call" }> }
  | { readonly kind: "refused"; readonly action: Extract<Action, { kind: "call" }>; readonly verdict: Extract<Verdict, { kind: "deny" }> };

/** `edited` stands in place of the proposed arguments once a policy or a person has changed them. */
export function applyContract(
  call: ProposedCall,
  tool: Tool | null,
  toolDigest: Digest | null,
  edited: JsonObject | null = null,
): ContractCheck {
  const bare = {
    kind: "call",
    call: call.id,
    tool: call.tool,
    toolDigest,
    effects: tool?.effects ?? [],
    args: null,
    inexact: [],
    resource: { type: "Tool", id: call.tool },
  } as const;
  const refuse = (reason: string): ContractCheck => ({
    kind: "refused",
    action: bare,
    verdict: { kind: "deny", by: "contract", because: [], faults: [], reason },
  });
  if (tool === null) return refuse("there is no such tool");
  const proposed = argumentsOf(call);
  if (proposed.kind === "not-json") return refuse(`the arguments are not JSON: ${proposed.detail}`);
  try {
    const checked = tool.check(edited ?? proposed.value);
    if (checked.kind === "refused") return refuse(checked.reason);
    if (checked.kind === "invalid") return refuse(`the arguments do not fit: ${checked.issues.join("; ")}`);
    const args = copyFrozen(checked.args);
    const inexact = findInexactNumbers(call.text, args);
    const { type, id } = tool.resource(args);
    const { kind, effects, tool: name } = bare;
    // frozen at once, in canonical order: everything that it is bound to later is the very same object
    const action = freezeOwn({ args, call: call.id, effects: [...effects], inexact, kind, resource: { id, type }, tool: name, toolDigest });
    return { kind: "fits", action };
  } catch (error) {
    // the tool's own code: a throw must refuse this call, not leave its turn in the middle (T-2)
    return refuse(`the arguments cannot be checked: ${(error instanceof Error ? error.message : String(error)).toWellFormed()}`);
  }
}

type Who = Readonly<{ agent: string; onBehalfOf: string }>;

/** Of what an action does, for whom: two calls that would do the same have the same digest, whatever their ids. */
export function computeActionDigest(action: Action, who: Who, hash: Hash): Digest {
  switch (action.kind) {
    case "call": {
      const { kind, tool, toolDigest, effects, args, inexact, resource } = action;
      const { agent, onBehalfOf } = who;
      return digestJson({ agent, args, effects, inexact, kind, onBehalfOf, resource, tool, toolDigest }, hash); // in canonical order: the quick way
    }
    case "delegate": {
      const { call: _, ...does } = action;
      return digestJson({ ...does, ...who }, hash);
    }
    case "model":
    case "respond":
    case "recall":
    case "remember":
      return digestJson({ ...action, ...who }, hash);
  }
}

/**
 * Before every request the same two are decided on, the model and whom its answer goes to: told again by all that is in their digest.
 * A call is told again by being the very same object, as long as nobody can have changed that.
 */
export function createActionDigester(hash: Hash): (action: Action, who: Who) => Digest {
  const last = new Map<string, Readonly<{ about: string | Action; who: Who; digest: Digest }>>();
  return (action, who) => {
    const about = sameAs(action);
    if (about === null) return computeActionDigest(action, who, hash);
    const name = action.kind === "call" ? action.call : action.kind;
    const known = last.get(name);
    if (known?.about === about && known.who.agent === who.agent && known.who.onBehalfOf === who.onBehalfOf) return known.digest;
    const digest = computeActionDigest(action, who, hash);
    if (last.size >= MOST_DIGESTS) last.clear();
    last.set(name, { about, who, digest });
    return digest;
  };
}
/** Calls of one reply, decided and then started. */
const MOST_DIGESTS = 64;

function sameAs(action: Action): string | Action | null {
  switch (action.kind) {
    case "call":
      return isFrozenCopy(action) ? action : null;
    case "model":
      return action.model;
    case "respond":
      return principalName(action.to);
    case "recall":
      return action.scope;
    case "delegate":
    case "remember":
      return null;
  }
}

/** Digests of tools are needed at every call; a definition does not change while a turn runs. */
export function createToolDigests(hash: Hash): (tool: Tool) => Digest {
  const digests = new WeakMap<Tool, Digest>();
  return (tool) => {
    const known = digests.get(tool);
    if (known !== undefined) return known;
    const digest = digestJson(toolFacts(tool), hash);
    digests.set(tool, digest);
    return digest;
  };
}

/** For people: a call on one line. */
export const callLine = (tool: string, args: JsonObject | null, id: CallId): string =>
  `${tool}(${args === null ? "…" : toCanonicalJson(args)}) [${id}]`;

/** The arguments with the edits of a verdict made. What a path does not lead to is left alone: an edit never adds an argument. */
export function applyEdits(args: JsonObject, edits: readonly Edit[]): JsonObject {
  return edits.reduce((at, { path, value }) => edited(at, path, value) as JsonObject, args);
}

function edited(at: Json, [key, ...rest]: readonly string[], value: Json): Json {
  if (key === undefined) return value;
  if (typeof at !== "object" || at === null || Array.isArray(at) || !Object.hasOwn(at, key)) return at;
  const fields = at as JsonObject;
  return { ...fields, [key]: edited(fields[key] ?? null, rest, value) };
}
