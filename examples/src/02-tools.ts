/** Tools: what one takes, what a policy sees, what it does; and what happens when a policy says no. */
import { createRuntime, defineAgent, defineTool, listDecisions, sha256, tableGate } from "orgate";
import * as z from "zod";
import { temporaryFolder } from "./temporary-folder.ts";

const stock = new Map([["apples", 12]]);

const count = defineTool({
  name: "count_stock",
  description: "How many of an item are in stock.",
  input: z.strictObject({ item: z.string() }),
  repeat: "read", // after a crash it may run again; left out, it is `once`
  effects: ["read"],
  labels: [], // our own data: nothing untrusted in it
  resource: ({ item }) => ({ type: "Item", id: item }),
  run: ({ item }) => ({ item, count: stock.get(item) ?? 0 }),
});

const order = defineTool({
  name: "order_stock",
  description: "Order more of an item.",
  input: z.strictObject({ item: z.string(), count: z.int().min(1) }),
  effects: ["spend"],
  run: ({ item, count: n }) => stock.set(item, (stock.get(item) ?? 0) + n).get(item) ?? 0,
});

const keeper = defineAgent({
  name: "keeper",
  instructions: "Keep the stock.",
  model: "offline/keeper",
  modelOptions: {
    rules: [
      { when: { notCalled: ["count_stock"] }, calls: [{ tool: "count_stock", args: { item: "apples" } }] },
      {
        when: { called: ["count_stock"], notCalled: ["order_stock"] },
        calls: [{ tool: "order_stock", args: { item: "apples", count: 5 } }],
      },
      { when: { called: ["order_stock"] }, say: "There are {{results.count_stock.count}} apples, and I may not order more." },
    ],
  },
  tools: [count, order],
});

const runtime = await createRuntime({
  directory: temporaryFolder(),
  agents: [keeper],
  gate: tableGate(
    [
      { id: "no-spending", action: "tool:order_stock", verdict: "deny", say: "ask purchasing" },
      { id: "the-rest", action: "*", verdict: "allow" },
    ],
    sha256,
  ),
  principal: { kind: "user", id: "ada" },
});

const { output, events } = await runtime.complete("keeper", "How are we for apples?");
console.log(output);
for (const { event } of listDecisions(events)) {
  if (event.action.kind === "call") console.log(event.action.tool, event.verdict.kind);
}
await runtime.close();
