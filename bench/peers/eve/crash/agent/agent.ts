import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { defineAgent } from "eve";

const provider = createOpenAICompatible({
  name: "counted",
  baseURL: `${process.env.CRASH_COUNTER}/v1`,
  apiKey: "none",
  includeUsage: true,
});

export default defineAgent({ model: provider("worker"), modelContextWindowTokens: 64_000 });
