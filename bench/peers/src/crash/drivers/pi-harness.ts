/**
 * pi-agent-core's `AgentHarness` on a JSONL session: exported and typed, not yet in the README (see dist/harness/agent-harness.d.ts of the
 * package). Operations are recorded, a lane goes on with `resume()`, and a tool's `replay` is "never" unless it says "safe".
 * An approval is a `before_tool` hook that waits; a call that waits there is planned, and asked about again by whoever resumes.
 */
import { join } from "node:path";
import { AgentHarness, type AgentHarnessTool, type AgentLane, JsonlSessionRepo, type RunResult } from "@earendil-works/pi-agent-core";
import { BACKGROUND_CONTEXT } from "@earendil-works/pi-agent-core/harness/context";
import { NodeExecutionEnv } from "@earendil-works/pi-agent-core/node";
import { contentText } from "@earendil-works/pi-ai";
import { INPUT } from "../cases.ts";
import { type Driver, ended, lost, parked, type World } from "../driver.ts";
import type { Outcome } from "../wire.ts";
import { type Desk, modelsOf, openDesk, parameters } from "./pi-model.ts";

const context = BACKGROUND_CONTEXT;

/** The run that waits in this process. */
let waiting: { readonly desk: Desk; readonly run: Promise<Outcome> } | null = null;

async function laneOf(world: World, desk: Desk): Promise<AgentLane | null> {
  const cwd = world.folder;
  const repo = new JsonlSessionRepo({ fileSystem: new NodeExecutionEnv({ cwd }), sessionsRoot: join(cwd, "sessions") });
  const [known] = await repo.list({ cwd }, context);
  const session = known === undefined ? await repo.create({ cwd }, context) : await repo.open(known, context);
  const tools = (["step", "pay"] as const).map(
    (name): AgentHarnessTool<undefined, typeof parameters> => ({
      name,
      label: name,
      description: name === "step" ? "Does one step." : "Pays.",
      parameters,
      execute: async (_id, { n }) => ({ content: [{ type: "text", text: await world.effect({ tool: name, n }) }], details: {} }),
    }),
  );
  const { harness } = await AgentHarness.create({ session, ...modelsOf(world), tools, systemPrompt: "Do the work." }, context);
  harness.hooks.on("before_tool", async ({ toolName }) => {
    if (toolName === "pay") await desk.ask();
    return undefined;
  });
  return harness.lane("main", known === undefined ? { createAt: null } : {}, context);
}

async function outcomeOf(lane: AgentLane, result: RunResult | Awaited<ReturnType<AgentLane["resume"]>>): Promise<Outcome> {
  if (!result.ok) return lost(`the lane says ${result.error.constructor.name}: ${result.error.message}`);
  const { value } = result;
  if (value.status !== "completed") return lost(`the run ${value.status}: ${"error" in value ? (value.error?.message ?? "") : ""}`);
  const entry = await lane.findEntry({ type: "message", order: "newestFirst" }, context);
  return entry?.type === "message" && entry.message.role === "assistant"
    ? ended(contentText(entry.message.content))
    : lost("there is no answer");
}

async function go(world: World, drive: (lane: AgentLane) => ReturnType<AgentLane["resume"]> | Promise<RunResult>): Promise<Outcome> {
  const desk = openDesk();
  const lane = await laneOf(world, desk);
  if (lane === null) return lost("there is no lane");
  const run = drive(lane).then((result) => outcomeOf(lane, result));
  waiting = { desk, run };
  return Promise.race([run, desk.asked.then(() => parked)]);
}

export const driver: Driver = {
  start: (world) => go(world, (lane) => lane.prompt(INPUT, undefined, context)),
  resume: (world) => go(world, (lane) => lane.resume(context)),
  async answer(world) {
    if (waiting === null) {
      const outcome = await this.resume(world);
      if (outcome.kind !== "parked" || waiting === null) return outcome;
    }
    waiting.desk.yes();
    return waiting.run;
  },
};
