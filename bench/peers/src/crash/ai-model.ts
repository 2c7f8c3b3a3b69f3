/**
 * The fake model for the three that speak the AI SDK's provider interface (AI SDK 7: v4; Mastra and VoltAgent: v3, which differs in no part
 * used here). A plain object: `MockLanguageModelV4` keeps every prompt.
 */
import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { World } from "./driver.ts";
import type { Context, Reply } from "./wire.ts";

type Part = Readonly<{ type: string }>;
type Prompt = readonly Readonly<{ role: string; content: string | readonly Part[] }>[];
type CallPart = Readonly<{ toolCallId: string }>;
type ResultPart = Readonly<{ toolCallId: string; output: Readonly<{ type: string; value?: unknown }> }>;

const isCall = (part: Part): part is Part & CallPart => part.type === "tool-call";
const isResult = (part: Part): part is Part & ResultPart => part.type === "tool-result";

export function contextOf(prompt: Prompt): Context {
  const parts = prompt.flatMap(({ content }) => (typeof content === "string" ? [] : content));
  return {
    calls: parts.filter(isCall).map(({ toolCallId }) => toolCallId),
    results: parts.filter(isResult).map(({ toolCallId, output: { value } }) => ({
      id: toolCallId,
      text: typeof value === "string" ? value : JSON.stringify(value ?? null),
    })),
  };
}

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};

function contentOf(reply: Reply) {
  if (reply.kind === "text") return [{ type: "text" as const, text: reply.text }];
  return reply.calls.map(({ id, tool, n }) => ({
    type: "tool-call" as const,
    toolCallId: id,
    toolName: tool,
    input: JSON.stringify({ n }),
  }));
}
const finishOf = ({ kind }: Reply) => ({ unified: kind === "text" ? ("stop" as const) : ("tool-calls" as const), raw: kind });

function streamOf(reply: Reply) {
  return new ReadableStream({
    start(sink) {
      sink.enqueue({ type: "stream-start" as const, warnings: [] });
      for (const part of contentOf(reply)) {
        if (part.type === "tool-call") sink.enqueue(part);
        else {
          sink.enqueue({ type: "text-start" as const, id: "t" });
          sink.enqueue({ type: "text-delta" as const, id: "t", delta: part.text });
          sink.enqueue({ type: "text-end" as const, id: "t" });
        }
      }
      sink.enqueue({ type: "finish" as const, finishReason: finishOf(reply), usage });
      sink.close();
    },
  });
}

export const modelV4 = (world: World): LanguageModelV4 => ({
  specificationVersion: "v4",
  provider: "counted",
  modelId: "worker",
  supportedUrls: {},
  async doGenerate({ prompt }) {
    const reply = await world.ask(contextOf(prompt));
    return { content: contentOf(reply), finishReason: finishOf(reply), usage, warnings: [] };
  },
  doStream: async ({ prompt }) => ({ stream: streamOf(await world.ask(contextOf(prompt))) }),
});

/** Mastra and VoltAgent bring copies of the interface of their own, and the copies do not fit each other: the caller says which it means. */
export const modelV3 = <Theirs>(world: World): Theirs => ({ ...modelV4(world), specificationVersion: "v3" }) as Theirs;
