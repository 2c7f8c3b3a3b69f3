/**
 * Vercel AI SDK: `ToolLoopAgent` with `toolApproval`, https://ai-sdk.dev/docs/agents/building-agents (also in the package: docs/03-agents).
 * There is no store: the application saves messages, https://ai-sdk.dev/docs/ai-sdk-ui/chatbot-message-persistence. Here it does so as often as
 * it can be told to, after every step (`onStepEnd`); going on is calling the agent with the saved messages. An answer is a
 * `tool-approval-response` in a tool message, https://ai-sdk.dev/docs/agents/tool-approvals.
 */
import { type ModelMessage, stepCountIs, ToolLoopAgent, tool } from "ai";
import * as z from "zod";
import { modelV4 } from "../ai-model.ts";
import { INPUT } from "../cases.ts";
import { type Driver, ended, lost, parked, type World } from "../driver.ts";
import { fileStore } from "../file-store.ts";
import type { Outcome } from "../wire.ts";

const inputSchema = z.strictObject({ n: z.int() });
const storeOf = ({ folder }: World) => fileStore<ModelMessage[]>(folder, "chat.json");

async function goOn(world: World, messages: ModelMessage[]): Promise<Outcome> {
  const store = storeOf(world);
  let saved = messages;
  store.write(saved);
  const agent = new ToolLoopAgent({
    model: modelV4(world),
    tools: {
      step: tool({ description: "Does one step.", inputSchema, execute: ({ n }) => world.effect({ tool: "step", n }) }),
      pay: tool({ description: "Pays.", inputSchema, execute: ({ n }) => world.effect({ tool: "pay", n }) }),
    },
    toolApproval: { pay: "user-approval" },
    stopWhen: stepCountIs(20),
  });
  const { text, content, response } = await agent.generate({
    messages,
    onStepEnd: (step) => {
      saved = [...saved, ...step.response.messages];
      store.write(saved);
    },
  });
  store.write([...messages, ...response.messages]);
  return content.some(({ type }) => type === "tool-approval-request") ? parked : ended(text);
}

const openQuestion = (messages: readonly ModelMessage[]) => {
  const last = messages.at(-1);
  if (last?.role !== "assistant" || typeof last.content === "string") return undefined;
  return last.content.find((part) => part.type === "tool-approval-request");
};

export const driver: Driver = {
  start: (world) => goOn(world, [{ role: "user", content: INPUT }]),
  async resume(world) {
    const messages = storeOf(world).read();
    if (messages === null) return lost("nothing was saved");
    return openQuestion(messages) === undefined ? goOn(world, messages) : parked;
  },
  async answer(world) {
    const messages = storeOf(world).read() ?? [];
    const question = openQuestion(messages);
    if (question === undefined) return lost("there is no open question among the saved messages");
    const { approvalId } = question;
    return goOn(world, [...messages, { role: "tool", content: [{ type: "tool-approval-response", approvalId, approved: true }] }]);
  },
};
