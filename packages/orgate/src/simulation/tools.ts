/** Tools of a domain as the runtime takes them: declared as in the file, with canned outputs in place of code. */
import { defineTool, type Tool } from "@orgate/core";
import { followJsonPath, type Json, type JsonObject, type NamedThing, parseJsonPath } from "@orgate/core/vocab";
import type { Domain, SimulatedTool } from "./domain.ts";
import { cannedOutput, fillText } from "./output.ts";

/** What a tool of the case in play returns in place of its canned output. */
export type ReplaceOutput = (tool: string, output: Json) => Json;

export function toTools({ tools, world }: Domain, replace: ReplaceOutput): readonly Tool[] {
  return tools.map((tool) => defineTool({ ...declared(tool), run: (args) => replace(tool.name, cannedOutput(tool.output, args, world)) }));
}

function declared({ output: _, names, resource, ...tool }: SimulatedTool) {
  return {
    ...tool,
    ...(names === undefined ? {} : { names: { of: names.of, from: (output: Json) => namesIn(output, names) } }),
    ...(resource === undefined
      ? {}
      : { resource: (args: JsonObject) => ({ type: resource.type, id: fillText(resource.id, args) }), resourceTypes: [resource.type] }),
  };
}

function namesIn(output: Json, { each, id, name }: NonNullable<SimulatedTool["names"]>): readonly NamedThing[] {
  return followJsonPath(output, parseJsonPath(each) ?? []).flatMap((thing) => {
    const found = typeof thing === "object" && thing !== null && !Array.isArray(thing) ? (thing as JsonObject) : {};
    return typeof found[id] === "string" && typeof found[name] === "string" ? [{ id: found[id], name: found[name] }] : [];
  });
}
