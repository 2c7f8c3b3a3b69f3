/** Rules of `.symbi` files as Cedar, against the tools that their agents have. Loaded where something has to be compiled: what is remembered needs none of it. */

import { isRequired, toArgTypes, toListTypes } from "@orgate/core/gate";
import { type Compiled, compilePolicies, type ToolShape, type UnknownTools } from "@orgate/symbi";
import type { SeenTool, SymbiInputs } from "./symbi-inputs.ts";
import type { SymbiOrigin } from "./symbi-origin.ts";

export const compileAgent = ({ source: { symbi }, draft }: SymbiOrigin, { tools, users }: SymbiInputs, unknown?: UnknownTools): Compiled =>
  compilePolicies(symbi, draft, { tools: tools.map(toToolShape), userGroups: users, ...(unknown === undefined ? {} : { unknown }) });

/** As policies see a tool. */
function toToolShape({ name, effects, inputSchema, targets, outgoing, resourceTypes }: SeenTool): ToolShape {
  const { type } = toArgTypes(inputSchema);
  return {
    name,
    effects,
    args: type,
    targets: targets.map(({ arg, kind, path, per }) => ({
      arg,
      kind: kind === "number" ? (per === undefined ? "number" : "number-per-target") : "target",
      required: isRequired(inputSchema, arg, path),
    })),
    outgoing: outgoing.map((arg) => ({ arg, required: isRequired(inputSchema, arg) })),
    lists: [...toListTypes(type)].map(([list, { of, required }]) => ({ list, of, required })),
    resourceTypes,
  };
}
