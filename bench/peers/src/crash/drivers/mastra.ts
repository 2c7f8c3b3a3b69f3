/**
 * Mastra's `Agent` with LibSQL, memory saved per step (`savePerStep`), https://mastra.ai/reference/agents/generate. A tool with
 * `requireApproval` suspends the run, `approveToolCallGenerate` goes on by its run id, https://mastra.ai/docs/agents/human-in-the-loop.
 * For a run that was not suspended no call to go on is documented (durable agents have one, see mastra-durable.ts): what there is is the
 * conversation in memory, which the agent is called with again.
 */
import { join } from "node:path";
import { Mastra } from "@mastra/core";
import { Agent } from "@mastra/core/agent";
import type { MastraModelConfig } from "@mastra/core/llm";
import { createTool } from "@mastra/core/tools";
import { LibSQLStore } from "@mastra/libsql";
import { Memory } from "@mastra/memory";
import * as z from "zod";
import { modelV3 } from "../ai-model.ts";
import { INPUT } from "../cases.ts";
import { type Driver, ended, lost, parked, type World } from "../driver.ts";

const RUN = "run-1";
const memory = { thread: "t1", resource: "r1" };
const inputSchema = z.object({ n: z.int() });

export type TakenModel = Extract<MastraModelConfig, { provider: string }>;

export const toolsOf = (world: World) => ({
  step: createTool({ id: "step", description: "Does one step.", inputSchema, execute: ({ n }) => world.effect({ tool: "step", n }) }),
  pay: createTool({
    id: "pay",
    description: "Pays.",
    inputSchema,
    requireApproval: true,
    execute: ({ n }) => world.effect({ tool: "pay", n }),
  }),
});

export const storageOf = ({ folder }: World): LibSQLStore => new LibSQLStore({ id: "store", url: `file:${join(folder, "mastra.db")}` });

function agentOf(world: World): Agent {
  const storage = storageOf(world);
  const worker = new Agent({
    id: "worker",
    name: "worker",
    instructions: "Do the work.",
    model: modelV3<TakenModel>(world),
    tools: toolsOf(world),
    memory: new Memory({ storage }),
  });
  return new Mastra({ agents: { worker }, storage, logger: false }).getAgent("worker");
}

export const driver: Driver = {
  async start(world) {
    const result = await agentOf(world).generate(INPUT, { runId: RUN, memory, savePerStep: true, maxSteps: 20 });
    return result.finishReason === "suspended" ? parked : ended(result.text);
  },
  async resume(world) {
    const agent = agentOf(world);
    const { runs } = await agent.listSuspendedRuns();
    if (runs.some(({ runId }) => runId === RUN)) return parked;
    const { messages } = await new Memory({ storage: storageOf(world) }).recall({ threadId: memory.thread, resourceId: memory.resource });
    if (messages.length === 0) return lost("neither a suspended run nor a message is in the store");
    const result = await agent.generate(messages.slice(-1), { memory, savePerStep: true, maxSteps: 20 });
    return result.finishReason === "suspended" ? parked : ended(result.text);
  },
  async answer(world) {
    const agent = agentOf(world);
    const { runs } = await agent.listSuspendedRuns();
    if (!runs.some(({ runId }) => runId === RUN)) return lost("no suspended run is in the store");
    const result = await agent.approveToolCallGenerate({ runId: RUN });
    return result.finishReason === "suspended" ? parked : ended(result.text);
  },
};
