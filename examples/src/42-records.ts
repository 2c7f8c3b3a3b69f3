/** Records, subject and values: an order is cancelled by the customer whom it belongs to, and money goes out as the customer said it. */
import { join } from "node:path";
import { cedarPolicies, createRuntime, defineAgent, defineTool, listDecisions } from "orgate";
import * as z from "zod";
import { temporaryFolder } from "./temporary-folder.ts";

const shop = {
  order: (id: string) => ({ id, status: "pending", sum: { total: 80 }, customer: { id: id === "O-1" ? "C-7" : "C-8" } }),
  cancel: (id: string) => `${id} is cancelled`,
};

const getOrder = defineTool({
  name: "get_order",
  description: "Reads an order.",
  input: z.strictObject({ id: z.string() }),
  effects: ["read"],
  labels: [], // your own data: only trusted output makes records
  records: [{ type: "order", key: "id", fields: { status: "status", total: { path: "sum.total", type: "number" } }, owner: "customer.id" }],
  run: ({ id }) => shop.order(id),
});
const cancelOrder = defineTool({
  name: "cancel_order",
  description: "Cancels an order.",
  input: z.strictObject({ order_id: z.string() }),
  effects: ["write"],
  targets: { order_id: { kind: "id", of: "order" } }, // this argument refers to a record of type `order`
  run: ({ order_id }) => shop.cancel(order_id),
});
const payBack = defineTool({
  name: "pay_back",
  description: "Pays money back to an account.",
  input: z.strictObject({ to: z.string(), amount: z.number().positive(), subject: z.string() }),
  effects: ["spend"],
  targets: { to: "account", amount: { kind: "number", per: "to" }, subject: "text" },
  run: ({ to, amount }) => `${amount} paid to ${to}`,
});

const clerk = defineAgent({
  name: "clerk",
  instructions: "Help customers with their orders.",
  model: "offline/clerk",
  modelOptions: {
    rules: [
      { when: { notCalled: ["get_order"] }, calls: ["O-1", "O-2"].map((id) => ({ tool: "get_order", args: { id } })) },
      {
        when: { called: ["get_order"], notCalled: ["cancel_order"] },
        calls: [
          ...["O-1", "O-2"].map((order_id) => ({ tool: "cancel_order", args: { order_id } })), // O-2 is somebody else's
          ...[80, 8_000].map((amount) => ({ tool: "pay_back", args: { to: "DE-1", amount, subject: "returned goods" } })), // the customer said 80
        ],
      },
    ],
  },
  tools: [getOrder, cancelOrder, payBack],
});

const runtime = await createRuntime({
  directory: temporaryFolder(),
  agents: [clerk],
  gate: cedarPolicies({ directory: join(import.meta.dirname, "policies-42"), agents: [clerk] }),
  principal: { kind: "user", id: "ada" },
});
const request = "Cancel my orders O-1 and O-2, and send 80 back to DE-1 as “returned goods”.";
const { events } = await runtime.complete("clerk", request, { subject: { id: "C-7" } });
for (const { event } of listDecisions(events)) {
  const { verdict, action } = event;
  if (action.kind === "call") console.log(`${verdict.kind} ${action.tool} ${JSON.stringify(action.args)}`);
}
await runtime.close();
