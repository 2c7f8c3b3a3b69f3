/**
 * Strands: a `SessionManager` on local files that saves after every message, its most durable setting; an agent built anew with the same
 * session id goes on from there, https://strandsagents.com/docs/user-guide/concepts/agents/session-management. Approval is the
 * `HumanInTheLoop` intervention, answered by an interrupt response, https://strandsagents.com/docs/user-guide/concepts/interrupts.
 * Nothing new is said to the run: `invoke([])`.
 */
import { join } from "node:path";
import { Agent, type BaseModelConfig, type Message, Model, type ModelStreamEvent, SessionManager, tool } from "@strands-agents/sdk";
import { LocalFileStorage } from "@strands-agents/sdk/storage";
import { HumanInTheLoop } from "@strands-agents/sdk/vended-interventions/hitl";
import * as z from "zod";
import { INPUT } from "../cases.ts";
import { type Driver, ended, lost, parked, type World } from "../driver.ts";
import type { Context, Outcome } from "../wire.ts";

const contextOf = (messages: readonly Message[]): Context => {
  const blocks = messages.flatMap(({ content }) => content);
  return {
    calls: blocks.flatMap((block) => (block.type === "toolUseBlock" ? [block.toolUseId] : [])),
    results: blocks.flatMap((block) =>
      block.type === "toolResultBlock" ? [{ id: block.toolUseId, text: JSON.stringify(block.content) }] : [],
    ),
  };
};

class CountedModel extends Model {
  readonly #world: World;
  constructor(world: World) {
    super();
    this.#world = world;
  }
  updateConfig(): void {}
  getConfig(): BaseModelConfig {
    return { modelId: "worker" };
  }
  async *stream(messages: Message[]): AsyncIterable<ModelStreamEvent> {
    const reply = await this.#world.ask(contextOf(messages));
    yield { type: "modelMessageStartEvent", role: "assistant" };
    if (reply.kind === "text") {
      yield { type: "modelContentBlockStartEvent" };
      yield { type: "modelContentBlockDeltaEvent", delta: { type: "textDelta", text: reply.text } };
      yield { type: "modelContentBlockStopEvent" };
    } else
      for (const { id, tool: name, n } of reply.calls) {
        yield { type: "modelContentBlockStartEvent", start: { type: "toolUseStart", name, toolUseId: id } };
        yield { type: "modelContentBlockDeltaEvent", delta: { type: "toolUseInputDelta", input: JSON.stringify({ n }) } };
        yield { type: "modelContentBlockStopEvent" };
      }
    yield { type: "modelMessageStopEvent", stopReason: reply.kind === "text" ? "endTurn" : "toolUse" };
  }
}

const inputSchema = z.object({ n: z.int() });

const agentOf = (world: World): Agent =>
  new Agent({
    id: "worker",
    model: new CountedModel(world),
    tools: [
      tool({ name: "step", description: "Does one step.", inputSchema, callback: ({ n }) => world.effect({ tool: "step", n }) }),
      tool({ name: "pay", description: "Pays.", inputSchema, callback: ({ n }) => world.effect({ tool: "pay", n }) }),
    ],
    interventions: [new HumanInTheLoop({ allowedTools: ["*", "!pay"] })],
    sessionManager: new SessionManager({
      sessionId: "s1",
      storage: new LocalFileStorage(join(world.folder, "sessions")),
      saveLatestOn: "message",
    }),
    printer: false,
  });

async function go(agent: Agent, args: Parameters<Agent["invoke"]>[0]): Promise<Outcome> {
  const result = await agent.invoke(args);
  return result.stopReason === "interrupt" ? parked : ended(result.toString());
}

/** Restored by then. */
async function restored(world: World): Promise<Agent> {
  const agent = agentOf(world);
  await agent.initialize();
  return agent;
}
const openInterrupts = (agent: Agent) => agent._interruptState.getUnansweredInterrupts();

export const driver: Driver = {
  start: (world) => go(agentOf(world), INPUT),
  async resume(world) {
    const agent = await restored(world);
    if (agent.messages.length === 0) return lost("the session has no messages");
    return openInterrupts(agent).length > 0 ? parked : go(agent, []);
  },
  async answer(world) {
    const agent = await restored(world);
    const interrupts = openInterrupts(agent);
    if (interrupts.length === 0) return lost("the session has no open interrupt");
    return go(
      agent,
      interrupts.map(({ id }) => ({ interruptResponse: { interruptId: id, response: "yes" } })),
    );
  },
};
