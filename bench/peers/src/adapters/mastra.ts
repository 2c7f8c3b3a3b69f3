/**
 * Mastra: `Agent`, `createTool`, https://mastra.ai/docs/agents/overview; `Memory` on LibSQL, https://mastra.ai/docs/memory/overview; `savePerStep`,
 * https://mastra.ai/reference/agents/generate. A thread of its own for each run.
 */
import { join } from "node:path";
import { Mastra } from "@mastra/core";
import { Agent } from "@mastra/core/agent";
import type { MastraModelConfig } from "@mastra/core/llm";
import { createTool } from "@mastra/core/tools";
import { LibSQLStore } from "@mastra/libsql";
import { Memory } from "@mastra/memory";
import * as z from "zod";
import type { Open } from "../adapter.ts";
import { modelV3 } from "../ai-model.ts";
import { DESCRIPTION, PROMPT, TOOL } from "../workload.ts";

const inputSchema = z.strictObject({ n: z.number().int(), path: z.string(), query: z.string() });
let threads = 0;

const variant =
  (stored: boolean, options: Readonly<{ savePerStep?: true }>): Open =>
  async ({ work, folder }) => {
    const lookup = createTool({ id: TOOL, description: DESCRIPTION, inputSchema, execute: async (args) => work.effect(args) });
    const storage = stored ? new LibSQLStore({ id: "bench", url: `file:${join(folder, "mastra.db")}` }) : null;
    const bench = new Agent({
      id: "bench",
      name: "bench",
      instructions: "Look things up.",
      model: modelV3<Extract<MastraModelConfig, { provider: string }>>(work),
      tools: { [TOOL]: lookup },
      ...(storage === null ? {} : { memory: new Memory({ storage }) }),
    });
    const mastra = new Mastra({ agents: { bench }, logger: false, ...(storage === null ? {} : { storage }) });
    const agent = mastra.getAgent("bench");
    return {
      async run() {
        const memory = storage === null ? {} : { memory: { thread: `t${++threads}`, resource: "bench" } };
        const { text } = await agent.generate(PROMPT, { maxSteps: work.iterations + 1, ...memory, ...options });
        return text;
      },
      async close() {
        await storage?.close();
      },
    };
  };

export const mastra: Open = variant(false, {});
export const mastraLibsql: Open = variant(true, {});
export const mastraLibsqlPerStep: Open = variant(true, { savePerStep: true });
