/** Rules of `.symbi` files as Cedar, against the tools that their agents have. Loaded where something has to be compiled: what is remembered needs none of it. */
import type { Agent, Tool } from "@orgate/core";
import { argTypes, mustBeGiven } from "@orgate/core/gate";
import { type Compiled, compilePolicies, type ToolShape } from "@orgate/core/symbi";
import type { Config } from "./config.ts";
import type { SymbiOrigin } from "./project-symbi.ts";

export const compileAgent = (agent: Agent, { source: { symbi }, draft }: SymbiOrigin, groups: Config["groups"]): Compiled =>
  compilePolicies(symbi, draft, { tools: agent.tools.map(shapeOf), userGroups: Object.keys(groups.users) });

/** As policies see a tool. What it reads of one is what a compiled file is remembered by (`agent-memory.ts`). */
function shapeOf({ name, effects, inputSchema, targets, outgoing, resourceTypes }: Tool): ToolShape {
  const given = (arg: string) => ({ arg, required: mustBeGiven(inputSchema, arg) });
  const { type } = argTypes(inputSchema);
  return { name, effects, args: type, targets: Object.keys(targets).map(given), outgoing: outgoing.map(given), resourceTypes };
}
