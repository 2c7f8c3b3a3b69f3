/**
 * OpenAI Agents: a run parked on an approval is `result.state`, serialised by the application and taken up with `RunState.fromString`,
 * https://openai.github.io/openai-agents-js/guides/human-in-the-loop. What else there is to go on from is a session in a store of one's own,
 * https://openai.github.io/openai-agents-js/guides/sessions (here a file).
 */
import { Agent, type AgentInputItem, type Model, Runner, RunState, type Session, setTracingDisabled, tool, Usage } from "@openai/agents";
import * as z from "zod";
import { INPUT } from "../cases.ts";
import { type Driver, ended, lost, parked, type World } from "../driver.ts";
import { fileStore } from "../file-store.ts";
import type { Context, Outcome } from "../wire.ts";

setTracingDisabled(true);

const textOf = (output: unknown): string =>
  typeof output === "string"
    ? output
    : typeof output === "object" && output !== null && "text" in output
      ? String(output.text)
      : JSON.stringify(output);

function contextOf(input: string | readonly AgentInputItem[]): Context {
  const items = typeof input === "string" ? [] : input;
  return {
    calls: items.flatMap((item) => (item.type === "function_call" ? [item.callId] : [])),
    results: items.flatMap((item) => (item.type === "function_call_result" ? [{ id: item.callId, text: textOf(item.output) }] : [])),
  };
}

const modelOf = (world: World): Model => ({
  async getResponse({ input }) {
    const reply = await world.ask(contextOf(input));
    const usage = new Usage({ inputTokens: 10, outputTokens: 5, totalTokens: 15, requests: 1 });
    if (reply.kind === "text")
      return {
        usage,
        output: [{ type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: reply.text }] }],
      };
    return {
      usage,
      output: reply.calls.map(({ id, tool: name, n }) => ({
        type: "function_call",
        callId: id,
        name,
        status: "completed",
        arguments: JSON.stringify({ n }),
      })),
    };
  },
  getStreamedResponse() {
    throw new Error("nobody streams here");
  },
});

const parameters = z.strictObject({ n: z.int() });
const agentOf = (world: World) =>
  new Agent({
    name: "worker",
    instructions: "Do the work.",
    model: modelOf(world),
    tools: [
      tool({ name: "step", description: "Does one step.", parameters, execute: ({ n }) => world.effect({ tool: "step", n }) }),
      tool({ name: "pay", description: "Pays.", parameters, needsApproval: true, execute: ({ n }) => world.effect({ tool: "pay", n }) }),
    ],
  });

function sessionOf({ folder }: World): Session {
  const store = fileStore<AgentInputItem[]>(folder, "session.json");
  const items = (): AgentInputItem[] => store.read() ?? [];
  return {
    getSessionId: async () => "s1",
    getItems: async (limit) => (limit === undefined ? items() : items().slice(-limit)),
    addItems: async (more) => store.write([...items(), ...more]),
    async popItem() {
      const all = items();
      const last = all.pop();
      store.write(all);
      return last;
    },
    clearSession: async () => store.write([]),
  };
}
const stateOf = ({ folder }: World) => fileStore<string>(folder, "state.json");
const runner = new Runner({ tracingDisabled: true });

async function go(world: World, input: Parameters<Runner["run"]>[1]): Promise<Outcome> {
  const result = await runner.run(agentOf(world), input, { session: sessionOf(world) });
  if (result.interruptions.length > 0) {
    stateOf(world).write(result.state.toString());
    return parked;
  }
  return ended(String(result.finalOutput));
}

export const driver: Driver = {
  start: (world) => go(world, INPUT),
  async resume(world) {
    const state = stateOf(world).read();
    if (state !== null) {
      const restored = await RunState.fromString(agentOf(world), state);
      return restored.getInterruptions().length > 0 ? parked : go(world, restored);
    }
    const items = await sessionOf(world).getItems();
    if (items.length === 0) return lost("neither a run state nor anything of the session was saved");
    return go(world, []);
  },
  async answer(world) {
    const state = stateOf(world).read();
    if (state === null) return lost("no run state was saved");
    const restored = await RunState.fromString(agentOf(world), state);
    for (const interruption of restored.getInterruptions()) restored.approve(interruption);
    return go(world, restored);
  },
};
