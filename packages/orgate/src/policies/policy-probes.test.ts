import { defineTool, type JsonObject } from "@orgate/core";
import { loadPolicies } from "@orgate/core/gate";
import { expect, test } from "vitest";
import * as z from "zod";
import { cedarEngine } from "./cedar-engine.ts";
import { policyProbes } from "./policy-probes.ts";

const tool = defineTool({
  name: "pay",
  description: "Pays.",
  input: z.strictObject({
    to: z.string(),
    amount: z.number(),
    title: z.string(),
    items: z.array(z.strictObject({ kind: z.string(), price: z.number() })).optional(),
    orders: z.array(z.string()).optional(),
  }),
  effects: ["spend"],
  targets: { to: "account", orders: { kind: "id", of: "order" }, amount: { kind: "number", per: "to" }, title: "text" },
  run: () => null,
});

const getOrder = defineTool({
  name: "get_order",
  description: "Reads an order.",
  input: z.strictObject({ id: z.string() }),
  effects: ["read"],
  labels: [],
  records: [
    {
      type: "order",
      key: "id",
      owner: "customer",
      fields: { status: "status", total: { path: "total", type: "number" }, gift: { path: "gift", type: "boolean", optional: true } },
    },
  ],
  run: () => null,
});

function casesFor(condition: string) {
  const text = `permit (principal, action == Action::"tool:pay", resource) when { ${condition} };`;
  const cast = { agents: [{ name: "ops", groups: [] }], users: [], tools: [tool, getOrder] };
  const loaded = loadPolicies([{ path: "p.cedar", name: "p", text, shadow: false }], cast, cedarEngine());
  if (loaded.kind === "refused") throw new Error(loaded.problems[0].detail);
  const { policies } = loaded.set;
  return policyProbes({ agent: "ops", tool, act: "tool:pay", policies, bases: [], resources: [], users: [] }).cases;
}

test("a total is tried right at the limit and beside it", () => {
  const cases = casesFor('context.facts.amount.totalPerTarget.day.lessThan(decimal("99.50"))');
  const tried = cases.flatMap((c) => c.facts?.["amount"]?.totalPerTarget?.day ?? []);
  expect([...new Set(tried)].sort()).toEqual([994_999, 995_000, 995_001]);
});

test("the amount is tried by the argument that has it, right at the limit and beside it, on record or not; a name, as written or not", () => {
  const cases = casesFor('context has amount && context.amount.recorded && context.amount.total.day.lessThan(decimal("99.50"))');
  const amounts = cases.flatMap((c) => c.facts?.["amount"] ?? []);
  expect([...new Set(amounts.flatMap(({ total }) => total?.day ?? []))].sort()).toEqual([994_999, 995_000, 995_001]);
  expect(amounts.some(({ recorded, total }) => recorded === true && total?.day === 994_999)).toBe(true);
  expect(new Set(casesFor("context.targets.named").map((c) => c.facts?.["to"]?.nameInRequest))).toEqual(new Set([undefined, true, false]));
});

test("what was said is tried as said now, right at the limit, and as not said", () => {
  const cases = casesFor("context.facts.to has said && context.facts.to.said.turnsAgo <= 2 && context.values.inRequest");
  const tried = new Set(cases.map((c) => c.facts?.["to"]?.said?.turnsAgo));
  expect(tried).toEqual(new Set([undefined, 0, 1, 2, 3]));
  expect(cases.some((c) => c.facts?.["title"]?.inRequest === true && c.facts["amount"]?.inRequest === true)).toBe(true);
  expect(cases.some((c) => c.facts?.["to"]?.inRequest === true)).toBe(false);
});

test("lists are tried at the length that a policy names, beside it, and with the values that it compares", () => {
  const items = (c: { args?: JsonObject | undefined }) => (Array.isArray(c.args?.["items"]) ? c.args["items"] : null);
  const sizes = casesFor("context.lists has items && context.lists.items.size <= 3").map((c) => items(c)?.length ?? null);
  expect(new Set(sizes)).toEqual(new Set([null, 1, 2, 3, 4]));
  const kinds = casesFor('context.lists has items_kind && context.lists.items_kind.values.contains("gold")').map((c) =>
    (items(c) ?? []).map((one) => (one as JsonObject)["kind"]),
  );
  expect(kinds).toContainEqual(["gold"]);
  expect(kinds).toContainEqual(["goldx"]);
  const most = casesFor(
    'context.lists has items_price && context.lists.items_price has max && context.lists.items_price.max.lessThan(decimal("5.50"))',
  );
  expect(most.map((c) => (items(c) ?? []).map((one) => (one as JsonObject)["price"]))).toContainEqual([5.5]);
});

test("all records are tried in the number that a policy names and beside it, with the values and limits that it compares, and unread", () => {
  const orders = (condition: string) =>
    casesFor(condition).map((c) => (c.records?.["order"] === undefined ? null : [c.records["order"]].flat()));
  const sizes = orders("context.allRecords has order && context.allRecords.order.id.size <= 2").map((all) => all?.length ?? null);
  expect(new Set(sizes)).toEqual(new Set([null, 1, 2, 3]));
  const states = orders(
    'context.allRecords has order && context.allRecords.order.status.values == ["sent"] && context.allRecords.order.total.max.lessThan(decimal("50.5"))',
  );
  for (const total of [50.4999, 50.5, 50.5001]) expect(states).toContainEqual([expect.objectContaining({ status: "sent", total })]);
  expect(states).toContainEqual([expect.objectContaining({ status: "sentx" })]);
  expect(states).toContainEqual(null);
  const mixed = orders('context.allRecords has order && context.allRecords.order.status.values.containsAll(["sent", "paid"])');
  for (const all of [["sent"], ["paid"], ["sent", "paid"]])
    expect(mixed).toContainEqual(all.map((status) => expect.objectContaining({ status })));
});

test("an owner is tried as whom the session serves, as another's, and with nobody served", () => {
  const cases = casesFor("context.records has order && context has subject && context.records.order.owner == context.subject.id");
  const tried = new Set(cases.map((c) => `${[c.records?.["order"] ?? []].flat()[0]?.owner ?? "-"} ${c.subject?.id ?? "-"}`));
  for (const pair of ["any any", "any other", "other any", "- -"]) expect(tried).toContain(pair);
});
