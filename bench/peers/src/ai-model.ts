/** The model as AI SDK providers describe it, for the three that take such models. A plain object: the package's own mock keeps every prompt it was given. */
import type { LanguageModelV4, LanguageModelV4Prompt, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { argsText, type Reply, TOOL, type Work } from "./workload.ts";

function newestResult(prompt: LanguageModelV4Prompt): string | null {
  const last = prompt.at(-1);
  const part = last?.role === "tool" ? last.content[0] : undefined;
  if (part?.type !== "tool-result") return null;
  return part.output.type === "text" ? part.output.value : JSON.stringify(part.output);
}

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};

const contentOf = (reply: Reply) =>
  reply.kind === "text"
    ? ({ type: "text", text: reply.text } as const)
    : ({ type: "tool-call", toolCallId: reply.id, toolName: TOOL, input: argsText(reply.n) } as const);
const finishOf = (reply: Reply) => ({ unified: reply.kind === "text" ? "stop" : "tool-calls", raw: undefined }) as const;

function streamOf(reply: Reply): ReadableStream<LanguageModelV4StreamPart> {
  const part = contentOf(reply);
  return new ReadableStream({
    start(to) {
      to.enqueue({ type: "stream-start", warnings: [] });
      if (part.type === "tool-call") to.enqueue(part);
      else {
        to.enqueue({ type: "text-start", id: "t" });
        to.enqueue({ type: "text-delta", id: "t", delta: part.text });
        to.enqueue({ type: "text-end", id: "t" });
      }
      to.enqueue({ type: "finish", finishReason: finishOf(reply), usage });
      to.close();
    },
  });
}

export const modelV4 = (work: Work): LanguageModelV4 => ({
  specificationVersion: "v4",
  provider: "bench",
  modelId: "counting",
  supportedUrls: {},
  async doGenerate({ prompt }) {
    const reply = work.ask(newestResult(prompt));
    return { content: [contentOf(reply)], finishReason: finishOf(reply), usage, warnings: [] };
  },
  doStream: async ({ prompt }) => ({ stream: streamOf(work.ask(newestResult(prompt))) }),
});

/**
 * What Mastra and VoltAgent take; nothing used here differs. Each brings a copy of the interface of its own, and the copies do not fit each
 * other, so the caller says which it means.
 */
export const modelV3 = <Theirs>(work: Work): Theirs => ({ ...modelV4(work), specificationVersion: "v3" }) as Theirs;
