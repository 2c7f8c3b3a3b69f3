/** A model without native tool calls: the prompt describes the tools, and the model writes its calls as text. The gate and the journal see calls like any others. */
import { createRuntime, defineAgent, defineTool, listDecisions, type Model, promptedCalls, sha256, tableGate } from "orgate";
import * as z from "zod";
import { temporaryFolder } from "./temporary-folder.ts";

const stock = defineTool({
  name: "stock",
  description: "How many of a thing there are.",
  input: z.strictObject({ thing: z.string() }),
  repeat: "read",
  effects: ["read"],
  run: ({ thing }) => `12 ${thing}`,
});

const keeper = defineAgent({
  name: "keeper",
  instructions: "Say how many there are.",
  model: "cellar/old-model",
  tools: [stock],
  modelOptions: { tools: "prompted" }, // for `ollama/…` and the like; your own model is wrapped below
});

// it knows nothing of tools: it reads the form in its instructions, and writes text
const oldModel: Model = {
  id: "cellar/old-model",
  ask: async ({ system, messages }) => {
    const form = /```(call-\w+) TOOL/.exec(system)?.[1] ?? "";
    const last = messages.at(-1);
    const heard = last !== undefined && "text" in last ? /"result":"([^"]*)"/.exec(last.text)?.[1] : undefined;
    const text = heard === undefined ? `I look.\n\`\`\`${form} stock\n{ "thing": "bolts" }\n\`\`\`` : `There are ${heard}.`;
    return { parts: [{ kind: "text", text, meta: null }], finish: "stop", usage: { input: 20, output: 10 }, model: "old", meta: null };
  },
};

const runtime = await createRuntime({
  directory: temporaryFolder(),
  agents: [keeper],
  model: () => promptedCalls(oldModel, { mark: crypto.randomUUID().slice(0, 8) }),
  gate: tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256),
  principal: { kind: "user", id: "ada" },
});

const { output, calls, events } = await runtime.complete("keeper", "How many bolts?");
const decided = listDecisions(events).flatMap(({ event }) => (event.action.kind === "call" ? [event.action.tool] : []));
console.log(output, "| calls:", calls, "| decided:", decided.join());
await runtime.close();
