/** From a proposed call to what the gate is asked about, and the digest that everything later is bound to. Pure. */
import {
  type Action,
  type CallId,
  canonical,
  type Digest,
  digestOf,
  frozenCopy,
  type Hash,
  type JsonObject,
  type ProposedCall,
  type Tool,
  toolFacts,
  type Verdict,
} from "../vocab/index.ts";

/** A call, checked against its tool's contract: an action to gate, or why not (unknown tool, not JSON, schema). */
export type Contracted =
  | { readonly kind: "fits"; readonly action: Extract<Action, { kind: "call" }> }
  | { readonly kind: "refused"; readonly action: Extract<Action, { kind: "call" }>; readonly verdict: Extract<Verdict, { kind: "deny" }> };

export function contract(call: ProposedCall, tool: Tool | null, toolDigest: Digest | null): Contracted {
  const bare = {
    kind: "call",
    call: call.id,
    tool: call.tool,
    toolDigest,
    effects: tool?.effects ?? [],
    args: null,
    resource: { type: "Tool", id: call.tool },
  } as const;
  const refuse = (reason: string): Contracted => ({
    kind: "refused",
    action: bare,
    verdict: { kind: "deny", by: "contract", because: [], faults: [], reason },
  });
  if (tool === null) return refuse("there is no such tool");
  if (call.args.kind === "not-json") return refuse(`the arguments are not JSON: ${call.args.detail}`);
  const checked = tool.check(call.args.value);
  if (checked.kind === "invalid") return refuse(`the arguments do not fit: ${checked.issues.join("; ")}`);
  const args = frozenCopy(checked.args);
  return { kind: "fits", action: { ...bare, args, resource: tool.resource(args) } };
}

/** Of what an action does, for whom: two calls that would do the same have the same digest, whatever their ids. */
export function actionDigest(action: Action, who: { readonly agent: string; readonly onBehalfOf: string }, hash: Hash): Digest {
  switch (action.kind) {
    case "call": {
      const { call: _, ...does } = action;
      return digestOf({ ...does, ...who }, hash);
    }
    case "model":
      return digestOf({ ...action, ...who }, hash);
    case "respond":
      return digestOf({ ...action, ...who }, hash);
  }
}

/** Digests of tools are needed at every call; a definition does not change while a turn runs. */
export function toolDigests(hash: Hash): (tool: Tool) => Digest {
  const known = new WeakMap<Tool, Digest>();
  return (tool) => {
    const found = known.get(tool) ?? digestOf(toolFacts(tool), hash);
    known.set(tool, found);
    return found;
  };
}

/** For people: a call on one line. */
export const callLine = (tool: string, args: JsonObject | null, id: CallId): string =>
  `${tool}(${args === null ? "…" : canonical(args)}) [${id}]`;
