/** Policies from a folder: one call is allowed, one is denied with its reason, one waits for a person. */
import { join } from "node:path";
import { cedarPolicies, createRuntime, defineAgent, defineTool, listDecisions } from "orgate";
import * as z from "zod";
import { temporaryFolder } from "./temporary-folder.ts";

const order = z.string().regex(/^o-\d+$/);

const findOrder = defineTool({
  name: "find_order",
  description: "Look up an order.",
  input: z.strictObject({ order }),
  effects: ["read"],
  repeat: "read",
  run: (args) => ({ order: args.order, paid: 25_000 }),
});

const refund = defineTool({
  name: "refund",
  description: "Pay money back to a customer.",
  input: z.strictObject({ order, cents: z.int().min(1) }),
  effects: ["spend"],
  resource: (args) => ({ type: "Order", id: args.order }),
  resourceTypes: ["Order"],
  run: (args) => `${args.cents} cents paid back`,
});

const clerk = defineAgent({
  name: "clerk",
  instructions: "Help customers with their orders.",
  model: "offline/clerk",
  modelOptions: {
    rules: [
      { when: { notCalled: ["find_order"] }, calls: [{ tool: "find_order", args: { order: "o-1" } }] },
      { when: { called: ["find_order"], notCalled: ["refund"] }, calls: [{ tool: "refund", args: { order: "o-1", cents: 25_000 } }] },
      { when: { called: ["refund"], failed: true }, calls: [{ tool: "refund", args: { order: "o-1", cents: 2_500 } }] },
    ],
  },
  tools: [findOrder, refund],
});

// The folder is checked against these agents and their tools, and its decision table is run, before anything else is.
const gate = cedarPolicies({
  directory: join(import.meta.dirname, "policies-08"),
  agents: [clerk],
  groups: { users: { leads: ["lea"] } },
});
const runtime = await createRuntime({
  directory: temporaryFolder(),
  agents: [clerk],
  gate,
  principal: { kind: "user", id: "ada" },
});

const { state, events, questions } = await runtime.complete("clerk", "My order o-1 came broken: I want my money back.");
for (const { event } of listDecisions(events)) {
  const { verdict, action } = event;
  if (action.kind !== "call") continue;
  const why = verdict.kind === "deny" ? `: ${verdict.reason}` : "";
  console.log(`${verdict.kind} ${action.tool} ${JSON.stringify(action.args)} by ${verdict.because.join(", ")}${why}`);
}
for (const { asks, about } of questions) console.log(state, asks[0]?.question, `${about.type} ${about.id}`);
await runtime.close();
