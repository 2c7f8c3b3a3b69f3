/** Inputs of compiling an agent's rules beside the file itself: the compiler gets nothing else, and the cache is keyed by all of it. */
import type { Agent, Target, Tool } from "@orgate/core";
import type { Config } from "../../config/config.ts";

export type SeenTool = Pick<Tool, "name" | "effects" | "inputSchema" | "outgoing" | "resourceTypes" | "records"> &
  Readonly<{ targets: readonly Readonly<{ arg: string } & Pick<Target, "kind" | "of" | "path" | "per">>[] }>;
type Groups = Config["groups"];
/** `subject`: its attributes that the project's settings declare. */
export type SymbiInputs = Readonly<{
  tools: readonly SeenTool[];
  users: Groups["users"];
  subject: NonNullable<Groups["world"]>["subject"];
}>;

const seen = new WeakMap<Tool, SeenTool>();

/** One object for one tool: agents share them. */
function seenTool(tool: Tool): SeenTool {
  const { name, effects, inputSchema, targets, outgoing, resourceTypes, records } = tool;
  const aims = Object.entries(targets).map(([arg, { kind, of, path, per }]) => ({
    arg,
    kind,
    of,
    ...(path === undefined ? {} : { path }),
    ...(per === undefined ? {} : { per }),
  }));
  const made = seen.get(tool) ?? { name, effects, inputSchema, targets: aims, outgoing, resourceTypes, records };
  seen.set(tool, made);
  return made;
}

export const toSymbiInputs = ({ tools }: Pick<Agent, "tools">, { users, world }: Pick<Groups, "users" | "world">): SymbiInputs => ({
  tools: tools.map(seenTool),
  users,
  subject: world?.subject ?? {},
});
