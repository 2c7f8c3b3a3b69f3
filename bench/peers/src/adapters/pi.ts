/** pi-agent-core: `Agent` with a stream function of one's own, README of @earendil-works/pi-agent-core, "Quick Start" and "Tools". */
import { Agent, type AgentTool, type StreamFn } from "@earendil-works/pi-agent-core";
import {
  type AssistantMessage,
  type AssistantMessageEventStream,
  createAssistantMessageEventStream,
  type Message,
  type Model,
  Type,
} from "@earendil-works/pi-ai";
import type { Open } from "../adapter.ts";
import { argsOf, DESCRIPTION, PROMPT, TOOL, type Work } from "../workload.ts";

export const model: Model<"counting"> = {
  id: "counting",
  name: "counting",
  api: "counting",
  provider: "bench",
  baseUrl: "",
  reasoning: false,
  input: ["text"],
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  contextWindow: 1_000_000_000,
  maxTokens: 1_000,
};
const usage = {
  input: 10,
  output: 5,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: 15,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};

export function replyTo(work: Work, messages: readonly Message[]): AssistantMessageEventStream {
  const newest = messages.at(-1);
  const part = newest?.role === "toolResult" ? newest.content[0] : undefined;
  const reply = work.ask(part?.type === "text" ? part.text : null);
  const message: AssistantMessage = {
    role: "assistant",
    api: model.api,
    provider: model.provider,
    model: model.id,
    usage,
    timestamp: Date.now(),
    stopReason: reply.kind === "text" ? "stop" : "toolUse",
    content:
      reply.kind === "text"
        ? [{ type: "text", text: reply.text }]
        : [{ type: "toolCall", id: reply.id, name: TOOL, arguments: { ...argsOf(reply.n) } }],
  };
  const stream = createAssistantMessageEventStream();
  stream.push({ type: "start", partial: message });
  stream.push({ type: "done", reason: reply.kind === "text" ? "stop" : "toolUse", message });
  return stream;
}

export const parameters = Type.Object({ n: Type.Integer(), path: Type.String(), query: Type.String() });

export const pi: Open = async ({ work }) => {
  const lookup: AgentTool<typeof parameters> = {
    name: TOOL,
    label: TOOL,
    description: DESCRIPTION,
    parameters,
    execute: async (_id, args) => ({ content: [{ type: "text", text: work.effect(args) }], details: undefined }),
  };
  const streamFn: StreamFn = (_model, { messages }) => replyTo(work, messages);
  return {
    async run() {
      const agent = new Agent({ initialState: { systemPrompt: "Look things up.", model, tools: [lookup] }, streamFn });
      await agent.prompt(PROMPT);
      const last = agent.state.messages.at(-1);
      const part = last?.role === "assistant" ? last.content[0] : undefined;
      return part?.type === "text" ? part.text : (agent.state.errorMessage ?? "no text");
    },
    close: async () => {},
  };
};
