/**
 * VoltAgent: `Agent`, `createTool`, https://voltagent.dev/docs/agents/overview; `memory: false`, and LibSQL as on
 * https://voltagent.dev/docs/agents/memory/overview, saved per step, which is its default. A conversation of its own for each run.
 */
import { join } from "node:path";
import { Agent, createTool, Memory } from "@voltagent/core";
import { LibSQLMemoryAdapter } from "@voltagent/libsql";
import * as z from "zod";
import type { Open } from "../adapter.ts";
import { modelV3 } from "../ai-model.ts";
import { DESCRIPTION, PROMPT, TOOL } from "../workload.ts";

const parameters = z.strictObject({ n: z.number().int(), path: z.string(), query: z.string() });
let conversations = 0;

const variant =
  (stored: boolean): Open =>
  async ({ work, folder }) => {
    const lookup = createTool({ name: TOOL, description: DESCRIPTION, parameters, execute: async (args) => work.effect(args) });
    const memory = stored ? new Memory({ storage: new LibSQLMemoryAdapter({ url: `file:${join(folder, "volt.db")}` }) }) : false;
    const agent = new Agent({ name: "bench", instructions: "Look things up.", model: modelV3(work), tools: [lookup], memory });
    return {
      async run() {
        const of = stored ? { userId: "bench", conversationId: `c${++conversations}` } : {};
        const { text } = await agent.generateText(PROMPT, { maxSteps: work.iterations + 1, ...of });
        return text;
      },
      close: async () => {},
    };
  };

export const voltagent: Open = variant(false);
export const voltagentLibsql: Open = variant(true);
