/** What was looked up for a request stands beside the instructions, whichever provider is asked; what the provider's cache saves is in the bill. */
import { createRuntime, defineAgent, defineMiddleware, type Model, sha256, tableGate } from "orgate";
import { temporaryFolder } from "./temporary-folder.ts";

const MANUAL: Readonly<Record<string, string>> = { ladder: "Ladders are on the second floor.", paint: "Paint is in the yard." };

const lookUp = defineMiddleware({
  name: "look-up",
  beforeModel: ({ context, messages }) => {
    const said = messages.findLast((message) => message.role === "user");
    const found = Object.keys(MANUAL).filter((word) => said?.text.includes(word));
    return { context: [...context, ...found.map((word) => `[manual: ${word}] ${MANUAL[word]}`)] };
  },
});

// stands in for a provider: says what it was told, and that it had read most of it before
const clerk: Model = {
  id: "cellar/clerk",
  ask: async ({ context }) => ({
    parts: [{ kind: "text", text: context.join(" "), meta: null }],
    finish: "stop",
    usage: { input: 1_000, output: 10, cached: 900 },
    model: "cellar/clerk",
    meta: null,
  }),
};

const shop = defineAgent({
  name: "shop",
  instructions: "Answer from the manual.",
  model: "cellar/clerk",
  prices: { input: 3, output: 15, cachedInput: 0.3, cacheWrite: 3.75 }, // currency per million tokens
  middleware: [lookUp],
});

const runtime = await createRuntime({
  directory: temporaryFolder(),
  agents: [shop],
  model: () => clerk,
  gate: tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256),
  principal: { kind: "user", id: "ada" },
});
const { output, cost, usage } = await runtime.complete("shop", "where is a ladder?");
console.log(output, "| cost:", cost, "cached:", usage.cached);
await runtime.close();
