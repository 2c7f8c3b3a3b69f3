/** Vercel AI SDK: `ToolLoopAgent`, https://ai-sdk.dev/docs/agents/building-agents. It keeps nothing: what is saved is the application's business. */
import { stepCountIs, ToolLoopAgent, tool } from "ai";
import * as z from "zod";
import type { Open } from "../adapter.ts";
import { modelV4 } from "../ai-model.ts";
import { DESCRIPTION, PROMPT, TOOL } from "../workload.ts";

const inputSchema = z.strictObject({ n: z.number().int(), path: z.string(), query: z.string() });

export const aiSdk: Open = async ({ work }) => {
  const agent = new ToolLoopAgent({
    model: modelV4(work),
    instructions: "Look things up.",
    tools: { [TOOL]: tool({ description: DESCRIPTION, inputSchema, execute: async (args) => work.effect(args) }) },
    stopWhen: stepCountIs(work.iterations + 1),
  });
  return { run: async () => (await agent.generate({ prompt: PROMPT })).text, close: async () => {} };
};
