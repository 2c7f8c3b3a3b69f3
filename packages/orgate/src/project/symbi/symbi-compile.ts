/** Rules of `.symbi` files as Cedar, against the tools that their agents have. Loaded where something has to be compiled: what is remembered needs none of it. */

import { isRequired, toArgTypes, toListTypes, toWorldTypes, type WorldTypes } from "@orgate/core/gate";
import { type Compiled, type CompileWorld, compilePolicies, type ToolShape, type UnknownTools } from "@orgate/symbi";
import type { SeenTool, SymbiInputs } from "./symbi-inputs.ts";
import type { SymbiOrigin } from "./symbi-origin.ts";

export const compileAgent = (
  { source: { symbi }, draft }: SymbiOrigin,
  { users, ...seen }: SymbiInputs,
  unknown?: UnknownTools,
): Compiled => compilePolicies(symbi, draft, { ...toScopeWorld(seen), userGroups: users, ...(unknown === undefined ? {} : { unknown }) });

function toScopeWorld({ tools, subject }: Omit<SymbiInputs, "users">): Pick<CompileWorld, "tools" | "subject"> {
  const seen = tools.map(({ name, records, targets }) => ({
    name,
    records,
    targets: Object.fromEntries(targets.map((one) => [one.arg, one])),
  }));
  const world = toWorldTypes(seen, subject);
  return { tools: tools.map((tool) => toToolShape(tool, world)), subject: world.subject };
}

/** As policies see a tool. */
function toToolShape({ name, effects, inputSchema, targets, outgoing, resourceTypes }: SeenTool, { records }: WorldTypes): ToolShape {
  const { type } = toArgTypes(inputSchema);
  return {
    name,
    effects,
    args: type,
    targets: targets.map(({ arg, kind, path, per, of }) => ({
      arg,
      kind: kind === "number" ? (per === undefined ? "number" : "number-per-target") : "target",
      required: isRequired(inputSchema, arg, path),
      record: (of === null ? undefined : records.get(of)) ?? null,
    })),
    outgoing: outgoing.map((arg) => ({ arg, required: isRequired(inputSchema, arg) })),
    lists: [...toListTypes(type)].map(([list, { of, required }]) => ({ list, of, required })),
    records: {
      kind: "record",
      fields: new Map(
        targets.flatMap(({ of }) => {
          const found = of === null ? undefined : records.get(of);
          return of === null || found === undefined ? [] : [[of, { type: found, required: false }] as const];
        }),
      ),
    },
    resourceTypes,
  };
}
