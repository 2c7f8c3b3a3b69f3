/**
 * The tool by which a model delegates to another agent. It is a tool only to the model and to its contract: the gate decides it as `delegate`,
 * and the result is a session of its own, so its `run` is never reached.
 */
import * as z from "zod";
import { DELEGATE, type JsonObject, type Tool } from "../vocab/index.ts";
import type { Agent } from "./agent.ts";
import { knowledgeTools } from "./agent-knowledge.ts";
import { defineTool } from "./define-tool.ts";

export function delegateTool([first, ...others]: readonly [string, ...string[]]): Tool {
  const amount = z.int().min(1).optional();
  return defineTool({
    name: DELEGATE,
    description:
      "Have another agent do one task and get its answer. It sees nothing of this conversation: say all that it needs to know. " +
      "`budget` gives it less than its share of what is left. Of several in one reply with `first`, the first that completes is enough: the others are called off.",
    input: z.strictObject({
      agent: z.enum([first, ...others]),
      task: z.string().min(1),
      budget: z.strictObject({ iterations: amount, tokens: amount, cents: amount, calls: amount }).optional(),
      first: z.boolean().optional(),
    }),
    repeat: "idempotent",
    effects: ["execute"],
    labels: [], // the delegate's session says what its answer carries
    resource: ({ agent }) => ({ type: "Agent", id: agent }),
    resourceTypes: ["Agent"],
    run: () => Promise.reject(new Error("a delegate is a session, and not run as a tool")),
  });
}

/** Of arguments that fit the contract above. */
export type Delegation = Readonly<{
  agent: string;
  task: string;
  budget?: Readonly<Partial<Record<"iterations" | "tokens" | "cents" | "calls", number>>>;
  first?: boolean;
}>;
export const toDelegation = (args: JsonObject): Delegation => args as Delegation;

/** Everything that an agent's model is offered. */
export function listAgentTools({
  tools,
  delegates: [first, ...others],
  knowledge,
}: Pick<Agent, "tools" | "delegates" | "knowledge">): readonly Tool[] {
  const remembering = knowledge === null ? tools : [...tools, ...knowledgeTools(knowledge)];
  return first === undefined ? remembering : [...remembering, delegateTool([first, ...others])];
}
