/**
 * pi-agent-core's `Agent`, as its README has it: the application stores each message as it ends (`message_end`, which the agent waits for)
 * and goes on with `continue()` from what it stored. An approval is a `beforeToolCall` hook that waits.
 */
import { Agent, type AgentMessage, type AgentTool } from "@earendil-works/pi-agent-core";
import { contentText } from "@earendil-works/pi-ai";
import { INPUT } from "../cases.ts";
import { type Driver, ended, lost, parked, type World } from "../driver.ts";
import { fileStore } from "../file-store.ts";
import type { Outcome } from "../wire.ts";
import { type Desk, modelsOf, openDesk, parameters } from "./pi-model.ts";

const storeOf = ({ folder }: World) => fileStore<AgentMessage[]>(folder, "messages.json");

/** The run that waits in this process. */
let waiting: { readonly desk: Desk; readonly run: Promise<Outcome> } | null = null;

function agentOf(world: World, desk: Desk): Agent {
  const store = storeOf(world);
  const messages = store.read() ?? [];
  const { models, model } = modelsOf(world);
  const tools = (["step", "pay"] as const).map(
    (name): AgentTool<typeof parameters> => ({
      name,
      label: name,
      description: name === "step" ? "Does one step." : "Pays.",
      parameters,
      execute: async (_id, { n }) => ({
        content: [{ type: "text", text: await world.effect({ tool: name, n }) }],
        details: {},
      }),
    }),
  );
  const agent = new Agent({
    initialState: { systemPrompt: "Do the work.", model, tools, messages },
    streamFn: models.streamSimple.bind(models),
    beforeToolCall: async ({ toolCall }) => {
      if (toolCall.name === "pay") await desk.ask();
      return undefined;
    },
  });
  agent.subscribe((event) => {
    if (event.type === "message_end") store.write([...(store.read() ?? []), event.message]);
  });
  return agent;
}

async function go(world: World, drive: (agent: Agent) => Promise<void>): Promise<Outcome> {
  const desk = openDesk();
  const agent = agentOf(world, desk);
  const run = drive(agent).then((): Outcome => {
    const last = agent.state.messages.at(-1);
    if (last?.role !== "assistant") return lost("the run has no answer");
    return last.stopReason === "error" ? lost(last.errorMessage ?? "the model failed") : ended(contentText(last.content));
  });
  waiting = { desk, run };
  return Promise.race([run, desk.asked.then(() => parked)]);
}

export const driver: Driver = {
  start: (world) => go(world, (agent) => agent.prompt(INPUT)),
  async resume(world) {
    if (storeOf(world).read() === null) return lost("no message was stored");
    return go(world, (agent) => agent.continue());
  },
  async answer() {
    if (waiting === null) return lost("the question was open in the killed process only");
    waiting.desk.yes();
    return waiting.run;
  },
};
