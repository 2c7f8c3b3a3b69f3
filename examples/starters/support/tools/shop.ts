import { join } from "node:path";
import { defineTool, folderFiles } from "orgate";
import * as z from "zod";

const shop = folderFiles({ root: join(import.meta.dirname, ".."), folder: "shop" });
/** Examples: put your own systems here; the definitions are what matters. */
const CUSTOMERS = new Map([["4711", { id: "C-7", name: "Ana" }]]);
const ORDERS = new Map([
  ["O-1", { customer: "C-7", status: "pending" }],
  ["O-2", { customer: "C-8", status: "pending" }],
]);

/** The shop's own words, so no label: what belongs to nobody is read freely. */
export const readHours = defineTool({
  name: "read_hours",
  description: "Reads when the shop is open.",
  input: z.strictObject({}),
  effects: ["read"],
  repeat: "read",
  labels: [],
  run: () => shop.read("hours"),
});

/** Whoever knows the code is whom the session serves from now on: policies read it as `context.subject`. */
export const signIn = defineTool({
  name: "sign_in",
  description: "Identifies the customer by the code that they were sent.",
  input: z.strictObject({ code: z.string() }),
  effects: ["read"],
  repeat: "read",
  labels: [],
  records: [{ type: "customer", key: "id", fields: { name: "name" }, establishes: "subject" }],
  run: ({ code }) => CUSTOMERS.get(code) ?? null,
});

/** What it returns becomes a record: policies know whose the order is, and how it stands. */
export const getOrder = defineTool({
  name: "get_order",
  description: "Reads an order of the customer.",
  input: z.strictObject({ order: z.string() }),
  effects: ["read"],
  repeat: "read",
  labels: [],
  targets: { order: { kind: "id", of: "order" } },
  records: [{ type: "order", key: { arg: "order" }, owner: "customer", fields: { status: "status" } }],
  run: ({ order }) => ORDERS.get(order) ?? null,
});

export const cancelOrder = defineTool({
  name: "cancel_order",
  description: "Cancels an order of the customer.",
  input: z.strictObject({ order: z.string() }),
  effects: ["write"],
  targets: { order: { kind: "id", of: "order" } },
  run({ order }) {
    shop.append("cancelled", `${order}\n`);
    return "cancelled";
  },
});
