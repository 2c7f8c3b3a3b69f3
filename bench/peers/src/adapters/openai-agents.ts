/** OpenAI Agents SDK: `Agent`, `tool` and a `Runner`, https://openai.github.io/openai-agents-js/guides/agents; the model is one's own, .../guides/models. */
import { Agent, type AgentInputItem, type Model, type ModelRequest, Runner, setTracingDisabled, tool, Usage } from "@openai/agents";
import * as z from "zod";
import type { Open } from "../adapter.ts";
import { argsText, DESCRIPTION, PROMPT, TOOL, type Work } from "../workload.ts";

setTracingDisabled(true);

function newestResult(input: string | readonly AgentInputItem[]): string | null {
  const last = typeof input === "string" ? undefined : input.at(-1);
  if (last?.type !== "function_call_result") return null;
  return typeof last.output === "string" ? last.output : JSON.stringify(last.output);
}

const modelOf = (work: Work): Model => ({
  async getResponse({ input }: ModelRequest) {
    const reply = work.ask(newestResult(input));
    return {
      usage: new Usage({ requests: 1, inputTokens: 10, outputTokens: 5, totalTokens: 15 }),
      output: [
        reply.kind === "text"
          ? { type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: reply.text }] }
          : { type: "function_call", callId: reply.id, name: TOOL, status: "completed", arguments: argsText(reply.n) },
      ],
    };
  },
  getStreamedResponse: () => {
    throw new Error("nothing here streams");
  },
});

const parameters = z.strictObject({ n: z.number().int(), path: z.string(), query: z.string() });

export const openaiAgents: Open = async ({ work }) => {
  const lookup = tool({ name: TOOL, description: DESCRIPTION, parameters, execute: async (args) => work.effect(args) });
  const agent = new Agent({ name: "bench", instructions: "Look things up.", model: modelOf(work), tools: [lookup] });
  const runner = new Runner({ tracingDisabled: true });
  return {
    async run() {
      const { finalOutput } = await runner.run(agent, PROMPT, { maxTurns: work.iterations + 1 });
      return String(finalOutput);
    },
    close: async () => {},
  };
};
