/**
 * Mastra's durable agent (beta) with crash recovery: `createDurableAgent`, snapshots of running runs kept (`recovery: "auto"`), and
 * `recover(runId)` for what `listActiveRuns()` finds; approval by `resume(runId, { approved: true })`,
 * https://mastra.ai/docs/harness/durable-agents (also in the package: dist/docs/references/docs-harness-durable-agents.md).
 * `recoverActiveRuns({ runId })` was tried as well and reports the same failure (their issue 22636).
 */
import { Mastra } from "@mastra/core";
import { Agent } from "@mastra/core/agent";
import { createDurableAgent } from "@mastra/core/agent/durable";
import { modelV3 } from "../ai-model.ts";
import { INPUT } from "../cases.ts";
import { type Driver, ended, lost, parked, type World } from "../driver.ts";
import { fileStore } from "../file-store.ts";
import type { Outcome } from "../wire.ts";
import { storageOf, type TakenModel, toolsOf } from "./mastra.ts";

function agentOf(world: World) {
  const agent = new Agent({
    id: "worker",
    name: "worker",
    instructions: "Do the work.",
    model: modelV3<TakenModel>(world),
    tools: toolsOf(world),
  });
  const worker = createDurableAgent({ agent });
  new Mastra({ agents: { worker }, storage: storageOf(world), logger: false, recovery: { durableAgents: "auto" } });
  return worker;
}
type Worker = ReturnType<typeof agentOf>;
/** The caller keeps it, as the page has it. */
const runIdOf = ({ folder }: World) => fileStore<string>(folder, "run-id.json");

const messageOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "message" in error ? String(error.message) : String(error);

async function follow({ output, cleanup }: Awaited<ReturnType<Worker["stream"]>>): Promise<Outcome> {
  let text = "";
  try {
    for await (const chunk of output.fullStream) {
      if (chunk.type === "tool-call-approval") return parked;
      if (chunk.type === "error") return lost(`the run failed: ${messageOf(chunk.payload.error)}`);
      if (chunk.type === "text-delta") text += chunk.payload.text;
    }
    return ended(text);
  } finally {
    cleanup();
  }
}

export const driver: Driver = {
  async start(world) {
    const runId = crypto.randomUUID();
    runIdOf(world).write(runId);
    return follow(await agentOf(world).stream(INPUT, { runId, maxSteps: 20 }));
  },
  async resume(world) {
    const worker = agentOf(world);
    const runId = runIdOf(world).read() ?? "";
    const { runs: suspended } = await worker.listSuspendedRuns();
    if (suspended.some((run) => run.runId === runId)) return parked;
    const { runs } = await worker.listActiveRuns();
    if (!runs.some((run) => run.runId === runId)) return lost("no running run is in the store");
    return follow(await worker.recover(runId));
  },
  async answer(world) {
    return follow(await agentOf(world).resume(runIdOf(world).read() ?? "", { approved: true }));
  },
};
