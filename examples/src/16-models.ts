/** Your own model in the AI SDK's interface, and a tool in the AI SDK's form: both under the same gate, in the same journal. */
import { type AnyLanguageModel, createRuntime, defineAgent, languageModel, sha256, tableGate } from "orgate";
import * as z from "zod";
import { temporaryFolder } from "./temporary-folder.ts";

// what `tool({ … })` of the AI SDK returns
const weather = {
  description: "The weather of a place.",
  inputSchema: z.object({ place: z.string() }),
  execute: async ({ place }: { place: string }) => `${place}: sunny`,
};

const guide = defineAgent({
  name: "guide",
  instructions: "Say what the weather is.",
  model: "cellar/parrot",
  tools: { weather },
});

// `anthropic("claude-…")` of `@ai-sdk/anthropic` is such an object, and so is whatever runs in your cellar
const parrot: AnyLanguageModel = {
  specificationVersion: "v4",
  provider: "cellar",
  modelId: "parrot",
  supportedUrls: {},
  doGenerate: () => Promise.reject(new Error("it streams")),
  doStream: async ({ prompt }) => {
    const last = prompt.at(-1);
    const heard = last?.role === "tool" && last.content[0]?.type === "tool-result" ? last.content[0].output : null;
    const usage = {
      inputTokens: { total: 20, noCache: 20, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 5, text: 5, reasoning: 0 },
    };
    return {
      stream: new ReadableStream({
        start(controller) {
          if (heard === null) {
            controller.enqueue({ type: "tool-call", toolCallId: "t1", toolName: "weather", input: '{"place":"Ulm"}' });
          } else {
            controller.enqueue({ type: "text-delta", id: "0", delta: `I heard: ${heard.type === "text" ? heard.value : heard.type}` });
          }
          controller.enqueue({ type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage });
          controller.close();
        },
      }),
    };
  },
};

const runtime = await createRuntime({
  directory: temporaryFolder(),
  agents: [guide],
  model: () => languageModel(parrot),
  gate: tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256),
  principal: { kind: "user", id: "ada" },
});

const { output, calls, usage } = await runtime.complete("guide", "And in Ulm?");
console.log(output, "|", "calls:", calls, "tokens:", usage.total);
await runtime.close();
