import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { defineTool, type JsonObject, type RecordDefinition } from "@orgate/core";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { suggestDeclaration } from "./suggest-declaration.ts";

const text = { type: "string" };
const tool = (name: string, description: string, properties: JsonObject) => ({
  name,
  description,
  inputSchema: { type: "object", properties },
});

describe("what a tool should declare", () => {
  test("a payment spends, on an account, with an amount that is counted for it", () => {
    const pay = tool("send_payment", "Sends money.", { to_iban: text, amount: { type: "number" }, reference: text });
    const { declaration, remarks } = suggestDeclaration(pay);
    expect(declaration).toEqual({
      effects: ["network", "spend"],
      targets: { to_iban: { kind: "account" }, amount: { kind: "number", per: "to_iban" } },
      outgoing: ["reference"],
      labels: ["untrusted"],
      records: [],
    });
    expect(remarks.find(({ about }) => about === "to_iban")).toEqual({
      field: "targets",
      about: "to_iban",
      sure: "likely",
      because: "`to_iban` sounds like an account",
    });
  });

  test("values inside lists are named by their way; an id says what it stands for", () => {
    const passengers = { type: "array", items: { type: "object", properties: { email: text, name: text } } };
    const { targets } = suggestDeclaration(tool("bookFlight", "Books.", { flightId: text, passengers })).declaration;
    expect(targets).toEqual({
      flightId: { kind: "id", of: "flight" },
      "passengers[].email": { kind: "recipient" },
      "passengers[].name": { kind: "text" },
    });
  });

  test("a tool that reads one thing may make records of it; its output stays untrusted until somebody says otherwise", () => {
    const { effects, labels, records } = suggestDeclaration(tool("get_order", "Returns an order.", { order_id: text })).declaration;
    expect({ effects, labels, records }).toEqual({
      effects: ["read"],
      labels: ["untrusted"],
      records: [{ type: "order", key: { arg: "order_id" }, fields: {} }],
    });
  });

  test("fields, owner and key of a record come from the schema of the output, where there is one: states, amounts, times and flags, not prose", () => {
    const order = z.object({
      order_id: z.string(),
      status: z.string(),
      placed: z.iso.date().optional(),
      sum: z.object({ total: z.number() }),
      note: z.string(),
      paid: z.boolean(),
      customer: z.object({ id: z.string(), name: z.string() }),
    });
    const base = { description: "Returns it.", effects: ["read"], run: () => ({}) as never } as const;
    const read = defineTool({ ...base, name: "get_order", input: z.strictObject({ order: z.string() }), output: order });
    const fields = {
      status: "status",
      placed: { path: "placed", type: "time", optional: true },
      sum_total: { path: "sum.total", type: "number" },
      paid: { path: "paid", type: "boolean" },
    };
    const proposed = suggestDeclaration(read).declaration;
    expect(proposed.records).toEqual([{ type: "order", key: { arg: "order" }, fields, owner: "customer.id" }]);
    const found = z.object({ found: z.array(order), more: z.boolean() });
    const list = defineTool({ ...base, name: "list_orders", input: z.strictObject({}), output: found });
    const records = suggestDeclaration(list).declaration.records as readonly RecordDefinition[];
    expect(records).toEqual([{ type: "order", key: "order_id", each: "found[]", fields, owner: "customer.id" }]);
    defineTool({ ...base, name: "list_orders", input: z.strictObject({}), output: found, records }); // it can be declared as it stands
  });

  test("an argument with the name of what a tool acts on is an id of it; what a tool makes is none", () => {
    const targets = (name: string, properties: JsonObject) => suggestDeclaration(tool(name, "", properties)).declaration.targets;
    expect(targets("cancel_order", { order: text })).toEqual({ order: { kind: "id", of: "order" } });
    expect(targets("create_note", { note: text })).toEqual({});
    expect(targets("cancel_order", { order: { type: "string", enum: ["a", "b"] } })).toEqual({});
  });

  test("a tool that finds out who somebody is may say whom the session serves; one that reads an account may not", () => {
    const records = (name: string, properties: JsonObject) => suggestDeclaration(tool(name, "", properties)).declaration.records;
    const subject = { type: "customer", key: "id", fields: {}, establishes: "subject" };
    expect(records("identify_customer", { email: text, code: text })).toEqual([subject]);
    expect(records("find_customer", { email: text })).toEqual([subject]);
    expect(records("get_customer", { customer_id: text })).toEqual([{ type: "customer", key: { arg: "customer_id" }, fields: {} }]);
    expect(suggestDeclaration(tool("find_customer", "", {})).remarks.find(({ field }) => field === "records")).toMatchObject({
      sure: "guess",
    });
  });

  test("where no word says what a tool does it is taken for the worst, as a guess", () => {
    const { declaration, remarks } = suggestDeclaration(tool("frobnicate", "", {}));
    expect(declaration.effects).toEqual(["execute"]);
    expect(remarks.every(({ sure }) => sure === "guess")).toBe(true);
  });

  const folder = join(import.meta.dirname, "../../../../../policies/simulations");
  const domains = readdirSync(folder).filter((file) => file.endsWith(".json"));
  test.each(domains)("what is proposed for the tools of %s can be declared, and finds most of what their developers declared", (file) => {
    const { tools } = JSON.parse(readFileSync(join(folder, file), "utf8")) as { tools: readonly SimulatedTool[] };
    const found = tools.flatMap(({ name, description, input, targets = {} }) => {
      const { declaration } = suggestDeclaration({ name, description, inputSchema: input });
      defineTool({ name, description, input, ...declaration, records: declaration.records as readonly RecordDefinition[], run: () => "" });
      return Object.keys(targets).map((at) => Object.hasOwn(declaration.targets, at));
    });
    expect(found.filter((one) => one).length / found.length).toBeGreaterThan(0.8);
  });
});

type SimulatedTool = Readonly<{ name: string; description: string; input: JsonObject; targets?: object }>;
