/** A placeholder for a tool of which only the name is known: its manifest cannot be used, or there is none. */
import { defineTool, type Tool } from "@orgate/core";

const STAND_IN = Symbol("orgate.stand-in");
export const isUnusableTool = (tool: Tool): boolean => STAND_IN in tool;

/** For policies to speak of; an agent that has one is not run, and if it were, this would not. */
export function unusableTool(name: string): Tool {
  const reason = "its manifest cannot be used: `orgate tools validate` tells why";
  const tool = defineTool({
    name,
    description: "It cannot be used.",
    input: { type: "object", properties: {}, additionalProperties: false },
    effects: ["read", "write", "execute", "network", "spend"],
    run: () => {
      throw new Error(reason);
    },
  });
  return Object.freeze({ ...tool, check: () => ({ kind: "refused", reason }) as const, [STAND_IN]: true });
}
