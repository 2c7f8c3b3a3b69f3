/** Budgets and context: what a turn may cost, what a tool may cost, and what the model is shown of a long conversation. */
import { createRuntime, defineAgent, defineTool, sha256, tableGate } from "orgate";
import * as z from "zod";
import { temporaryFolder } from "./temporary-folder.ts";

const search = defineTool({
  name: "search",
  description: "Search a paid index.",
  input: z.strictObject({ query: z.string() }),
  repeat: "read",
  effects: ["read", "spend"],
  maxCents: 40, // set aside before a call starts: without 40 cents left it does not
  run: ({ query }, { spent }) => {
    spent(25); // what it really was; left unsaid, it counts as 40
    return { hits: [`${query}, 1st edition`] };
  },
});

const reader = defineAgent({
  name: "reader",
  instructions: "Find books.",
  model: "offline/reader",
  prices: { input: 3, output: 15 }, // currency per million tokens; without them money cannot be limited
  limits: { cents: 100, tokens: 50_000, contextTokens: 4_000 },
  context: { kind: "mask", keep: 8 }, // results older than the newest 8 are shown as one line
  modelOptions: {
    rules: [
      { when: { says: "two", notCalled: ["search"] }, calls: ["a", "b"].map((query) => ({ tool: "search", args: { query } })) },
      { when: { notCalled: ["search"] }, calls: ["a", "b", "c", "d"].map((query) => ({ tool: "search", args: { query } })) },
      { when: { called: ["search"] }, say: "Found them." },
    ],
  },
  tools: [search],
});

const runtime = await createRuntime({
  directory: temporaryFolder(),
  agents: [reader],
  gate: tableGate([{ id: "permit-all", action: "*", verdict: "allow" }], sha256),
  principal: { kind: "user", id: "ada" },
});

const two = await runtime.complete("reader", "two books");
console.log(two.ending, two.cost?.toFixed(2), two.usage.total > 0);

const four = await runtime.complete("reader", "many books");
console.log(four.ending, four.cost?.toFixed(2), four.detail);
await runtime.close();
