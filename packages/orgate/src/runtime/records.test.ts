/** Records, subject and time, under the real gate and the real store. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import {
  type Agent,
  defineAgent,
  defineTool,
  type Json,
  type JsonObject,
  listDecisions,
  type Model,
  millis,
  seq,
  type Tool,
} from "@orgate/core";
import { afterEach, expect, test } from "vitest";
import * as z from "zod";
import { nodeClock } from "../node/clock.ts";
import { ed25519 } from "../node/crypto.ts";
import { readPastDecisions } from "../policies/past-decisions.ts";
import { createPerson } from "../store/keyring.ts";
import type { CompletedRun, Runtime } from "./api.ts";
import { gateOf } from "./fixtures/counted-sessions.ts";
import { eraseEntries } from "./people/erase.ts";
import { createRuntime } from "./runtime.ts";

const folders: string[] = [];
const runtimes: Runtime[] = [];
afterEach(async () => {
  for (const runtime of runtimes.splice(0)) await runtime.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});
function place(): string {
  const made = mkdtempSync(join(tmpdir(), "orgate-records-"));
  folders.push(made);
  return join(made, ".orgate");
}

/** What the shop's system answers with, by order. */
const shop: Record<string, Json> = {};
const orderFields = {
  status: "status",
  total: { path: "sum.total", type: "number", optional: true },
  placed: { path: "placed", type: "time", optional: true },
} as const;
const getOrder = defineTool({
  name: "get_order",
  description: "reads an order",
  input: z.strictObject({ id: z.string() }),
  effects: ["read"],
  repeat: "read",
  labels: [],
  records: [{ type: "order", key: "id", fields: orderFields, owner: "customer" }],
  run: ({ id }) => shop[id] ?? null,
});
const readMail = defineTool({
  ...{
    name: "read_mail",
    description: "reads a mail that claims things",
    input: z.strictObject({ id: z.string() }),
    effects: ["read"],
    repeat: "read",
  },
  records: [{ type: "order", key: "id", fields: orderFields, owner: "customer" }],
  run: ({ id }: { id: string }) => shop[id] ?? null,
});
const rates = defineTool({
  name: "read_account",
  description: "reads an account for everybody",
  input: z.strictObject({ number: z.string() }),
  effects: ["read"],
  repeat: "read",
  labels: [],
  records: [{ type: "account", key: { arg: "number" }, fields: { state: "state" }, set: "project", maxAgeSeconds: 3600 }],
  run: ({ number }) => shop[number] ?? null,
});
const SIGN_IN = {
  name: "sign_in",
  description: "authenticates",
  input: z.strictObject({ code: z.string() }),
  effects: ["read"],
  labels: [],
  run: ({ code }: { code: string }) => shop[code] ?? null,
} as const;
const signIn = defineTool({
  ...SIGN_IN,
  records: [{ type: "customer", key: "id", fields: { tier: { path: "tier", type: "string", optional: true } }, establishes: "subject" }],
});
const cancel = defineTool({
  name: "cancel_order",
  description: "cancels",
  input: z.strictObject({ order: z.union([z.string(), z.array(z.string())]) }),
  effects: ["write"],
  labels: [],
  targets: { order: { kind: "id", of: "order" } },
  run: () => "cancelled",
});
const pay = defineTool({
  name: "pay",
  description: "pays",
  input: z.strictObject({ from: z.string(), to: z.string() }),
  effects: ["spend"],
  labels: [],
  targets: { from: { kind: "account", of: "account" }, to: { kind: "account", of: "account" } },
  run: () => "paid",
});
const listOrders = defineTool({
  name: "list_orders",
  description: "lists orders",
  input: z.strictObject({ of: z.string() }),
  effects: ["read"],
  repeat: "read",
  labels: [],
  records: [{ type: "order", each: "orders[]", key: "id", fields: { status: "status" } }],
  run: ({ of }) => shop[of] ?? null,
});
const TOOLS: readonly Tool[] = [getOrder, listOrders, readMail, rates, signIn, cancel, pay];
const BASE = `permit (principal, action in [Action::"model", Action::"respond", Action::"read"], resource);
permit (principal is User, action, resource);`;

type Step = readonly [tool: string, args: JsonObject];
const script = (...steps: readonly Step[]) => {
  let at = 0;
  return (_: Agent): Model => ({
    id: "test/script",
    ask: async () => {
      const step = steps[at++];
      const usage = { input: 10, output: 5 };
      if (step === undefined)
        return { parts: [{ kind: "text", text: "done", meta: null }], finish: "stop", usage, model: "script", meta: null };
      const [tool, args] = step;
      const call = { kind: "call", id: `c${at}`, tool, text: JSON.stringify(args), meta: null } as const;
      return { parts: [call], finish: "calls", usage, model: "script", meta: null };
    },
  });
};

async function open(policies: string, steps: readonly Step[], directory = place(), later = 0, zone = "UTC"): Promise<Runtime> {
  const agent = defineAgent({ name: "clerk", instructions: "do it", model: "test/script", tools: TOOLS });
  const gate = gateOf(`${BASE}\n${policies}`, TOOLS, { zone });
  const clock = { ...nodeClock, now: () => millis(nodeClock.now() + later) };
  const runtime = await createRuntime({
    directory,
    agents: [agent],
    gate,
    principal: { kind: "user", id: "ann" },
    model: script(...steps),
    clock,
    powerCut: "lose-last-moments",
  });
  runtimes.push(runtime);
  return runtime;
}

const decided = ({ events: all }: CompletedRun, tool: string) =>
  listDecisions(all).flatMap(({ event: e }) => (e.action.kind === "call" && e.action.tool === tool ? [e] : []));
const verdicts = (done: CompletedRun, tool: string) => decided(done, tool).map((d) => d.verdict.kind);
const made = ({ events: all }: CompletedRun) => all.flatMap(({ event: e }) => (e.kind === "known.recorded" ? [e] : []));

const readOrder = (id: string): Step => ["get_order", { id }];
const cancelOrder = (...order: readonly string[]): Step => ["cancel_order", { order: order.length === 1 ? (order[0] ?? "") : [...order] }];
const PENDING = `permit (principal, action == Action::"tool:cancel_order", resource)
  when { context.records has order && context.records.order.status == "pending" };`;

test("G-39 a policy about an argument reads what a trusted tool last said of that thing; what nobody has read is absent", async () => {
  shop["O-1"] = { id: "O-1", status: "pending", customer: "c1", sum: { total: 12.5 }, placed: "2026-11-18T08:00:00+01:00" };
  shop["O-2"] = { id: "O-2", status: "shipped", customer: "c1" };
  const steps = [
    cancelOrder("O-1"),
    readOrder("O-1"),
    cancelOrder("O-1"),
    readOrder("O-2"),
    cancelOrder("O-2"),
    cancelOrder("o-1"),
    readOrder("O-2"),
    cancelOrder("O-1", "O-2"),
    cancelOrder(" O-1 "),
  ];
  const done = await (await open(PENDING, steps)).complete("clerk", "cancel them");
  expect(verdicts(done, "cancel_order")).toEqual(["deny", "allow", "deny", "deny", "deny", "allow"]);
  expect(decided(done, "cancel_order").map((d) => d.read)).toEqual([
    { records: {} },
    { records: { order: { status: "pending" } } },
    { records: { order: { status: "shipped" } } },
    { records: {} },
    { records: {} }, // of several things none is meant
    { records: { order: { status: "pending" } } },
  ]);
  expect(made(done)[0]).toMatchObject({
    records: [{ key: "O-1", owner: "c1", fields: { status: "pending", total: 12.5, placed: Date.parse("2026-11-18T07:00:00Z") / 1000 } }],
    skipped: [],
  });
  const at = done.events.findIndex(({ event: e }) => e.kind === "known.recorded");
  expect(done.events.slice(at, at + 2).map(({ event: e }) => e.kind)).toEqual(["known.recorded", "act.ended"]);
});

test("G-39 what an untrusted source says makes no record, whatever it declares", async () => {
  shop["O-1"] = { id: "O-1", status: "pending", customer: "c1" };
  const done = await (await open(PENDING, [["read_mail", { id: "O-1" }], cancelOrder("O-1")])).complete("clerk", "cancel it");
  expect([verdicts(done, "cancel_order"), made(done)]).toEqual([["deny"], []]);
});

test("G-39 an item that is not as declared makes no record and ends the one before, and the journal says why", async () => {
  const wrong: readonly [Json, string, string][] = [
    [{ id: "O-1", customer: "c1" }, "status", "missing"],
    [{ id: "O-1", status: null, customer: "c1" }, "status", "missing"],
    [{ id: "O-1", status: 3, customer: "c1" }, "status", "mistyped"],
    [{ id: "O-1", status: "x".repeat(2001), customer: "c1" }, "status", "oversized"],
    [{ id: "O-1", status: "pending", customer: "c1", sum: { total: "12" } }, "total", "mistyped"],
    [{ id: "O-1", status: "pending", customer: "c1", sum: { total: 0.00001 } }, "total", "mistyped"],
    [{ id: "O-1", status: "pending", customer: "c1", placed: "yesterday" }, "placed", "mistyped"],
    [{ id: "O-1", status: "pending", customer: "c1", placed: "2026-02-30" }, "placed", "mistyped"],
    [{ id: "O-1", status: "pending" }, "owner", "missing"],
    [{ id: "O-1", status: "pending", customer: { id: "c1" } }, "owner", "mistyped"],
  ];
  for (const [answer, field, why] of wrong) {
    shop["O-1"] = { id: "O-1", status: "pending", customer: "c1" };
    shop["O-9"] = answer;
    const steps = [readOrder("O-1"), readOrder("O-9"), cancelOrder("O-1")];
    const done = await (await open(PENDING, steps)).complete("clerk", "cancel it");
    expect([made(done)[1]?.records, made(done)[1]?.skipped, verdicts(done, "cancel_order")]).toEqual([
      [],
      [{ key: "O-1", field, why }],
      ["deny"],
    ]);
  }
  for (const [answer, why] of [
    [{ status: "pending" }, "missing"],
    ["no order", "missing"],
    [{ id: 1.5 }, "mistyped"],
    [{ id: "O\u200b-1" }, "mistyped"],
    [{ id: "x".repeat(201) }, "oversized"],
  ] as const) {
    shop["O-9"] = answer;
    const done = await (await open(PENDING, [readOrder("O-9")])).complete("clerk", "read it");
    expect(made(done).map((e) => [e.records, e.skipped])).toEqual([[[], [{ key: null, field: "key", why }]]]);
  }
});

test("G-39 a list makes a record of each item; one that stands in it twice makes none, and neither does a list that is too long", async () => {
  const item = (id: string, status: string) => ({ id, status });
  shop["all"] = { orders: [item("O-1", "pending"), item("O-2", "pending"), item("O-2", "shipped"), { id: "O-3" }, 7] };
  shop["many"] = { orders: Array.from({ length: 501 }, (_, i) => item(`M-${i}`, "pending")) };
  const steps: readonly Step[] = [
    ["list_orders", { of: "all" }],
    cancelOrder("O-1"),
    cancelOrder("O-2"),
    ["list_orders", { of: "one" }],
    cancelOrder("M-1"),
    ["list_orders", { of: "many" }],
    cancelOrder("M-1"),
    ["list_orders", { of: "one" }],
    ["list_orders", { of: "long" }],
    cancelOrder("M-1"),
  ];
  const long = Array.from({ length: 101 }, (_, i) => item(`L-${i}`, "x".repeat(2_000)));
  shop["one"] = { orders: [item("M-1", "pending")] };
  shop["long"] = { orders: [{ id: "M-1" }, ...long] };
  const done = await (await open(PENDING, steps)).complete("clerk", "cancel them");
  expect(verdicts(done, "cancel_order")).toEqual(["allow", "deny", "allow", "deny", "deny"]); // what was on record of M-1 before a long list ends
  const oversized = (key: string) => ({ key, field: "each", why: "oversized" });
  expect(made(done).map((e) => [e.records.map(({ key }) => key), e.skipped])).toEqual([
    [
      ["O-1"],
      [
        { key: "O-3", field: "status", why: "missing" },
        { key: null, field: "key", why: "missing" },
        { key: "O-2", field: "key", why: "duplicate" },
      ],
    ],
    [["M-1"], []],
    [[], Array.from({ length: 501 }, (_, i) => oversized(`M-${i}`))],
    [["M-1"], []],
    [[], [...long.map(({ id }) => oversized(id)), { key: "M-1", field: "status", why: "missing" }]],
  ]);
});

test("G-39 of several things that a call names, policies read each field as a list: any and all, least, most and sum; one that nobody has read and nothing is known of all", async () => {
  const order = (id: string, status: string, customer: string, total?: number) => {
    shop[id] = { id, status, customer, ...(total === undefined ? {} : { sum: { total } }) };
  };
  order("O-1", "pending", "c1", 10);
  order("O-2", "pending", "c1", 20.5);
  order("O-3", "shipped", "c1", 1);
  order("O-4", "pending", "c2", 1);
  order("O-5", "pending", "c1");
  order("O-6", "pending", "c1", 100);
  const policy = `permit (principal, action == Action::"tool:cancel_order", resource) when {
    context has subject && context.allRecords has order.total && ["pending"].containsAll(context.allRecords.order.status.values) &&
    context.allRecords has order.owner && [context.subject.id].containsAll(context.allRecords.order.owner.values) &&
    context.allRecords.order.total.max.lessThan(decimal("50.0")) && context.allRecords.order.total.sum.lessThanOrEqual(decimal("30.5")) &&
    context.allRecords.order.ageSeconds.max < 60 && context.allRecords.order.id.size < 3 };
    forbid (principal, action == Action::"tool:pay", resource) when { context.allRecords has account && context.allRecords.account.state.values.contains("closed") };
    permit (principal, action == Action::"tool:pay", resource) when { context.allRecords has account };`;
  Object.assign(shop, { "A-1": { state: "open" }, "A-2": { state: "closed" }, "A-3": { state: "open" } });
  const tried = [
    ["O-1"],
    ["O-1", "O-2"],
    ["O-1", "O-3"],
    ["O-1", "O-4"],
    ["O-1", "O-5"],
    ["O-6"],
    ["O-1", "O-9"],
    [],
    ["O-1", " O-1 ", "O-2"],
  ];
  const paid: readonly Step[] = [
    ...["A-1", "A-2", "A-3"].map(readAccount),
    payTo("A-1", "A-2"),
    payTo("A-1", "A-3"),
    payTo("A-1", "A-1"),
    payTo("A-1", "A-4"),
  ];
  const steps = [
    ...["O-1", "O-2", "O-3", "O-4", "O-5", "O-6"].map(readOrder),
    ...tried.flatMap((order): readonly Step[] => [["cancel_order", { order }], readOrder("O-1")]), // three refusals in a row would end the turn
  ];
  const runtime = await open(policy, steps);
  const done = await runtime.complete("clerk", "cancel them", { subject: { id: "c1" } });
  expect(verdicts(done, "cancel_order")).toEqual(["allow", "allow", "deny", "deny", "deny", "deny", "deny", "deny", "allow"]);
  const between = await (await open(policy, paid)).complete("clerk", "pay");
  expect(verdicts(between, "pay")).toEqual(["deny", "allow", "allow", "deny"]);
  expect(decided(done, "cancel_order")[1]?.read).toMatchObject({
    allRecords: { order: { status: { values: ["pending", "pending"] }, total: { sum: { __extn: { fn: "decimal", arg: "30.5000" } } } } },
  });
  expect(decided(done, "cancel_order")[6]?.read).toMatchObject({ allRecords: {} });
  await decideAgain(runtime, done, policy);
});

const ACCOUNTS = `permit (principal, action == Action::"tool:pay", resource) when {
  context.facts.from has record && context.facts.from.record.state == "open" && context.facts.to.recorded && context.facts.to has record && context.facts.to.record.state == "open" };`;
const readAccount = (number: string): Step => ["read_account", { number }];
const payTo = (from: string, to: string): Step => ["pay", { from, to }];

test("G-39 records of the whole project are read by every session, for as long as they are declared to last, and by argument", async () => {
  const directory = place();
  Object.assign(shop, { "A-1": { state: "open" }, "A-2": { state: "open" }, "A-3": { state: "closed" } });
  const first = await open(ACCOUNTS, [readAccount("A-1"), readAccount("A-2"), readAccount("A-3")], directory);
  await first.complete("clerk", "read them");
  const second = await open(ACCOUNTS, [payTo("A-1", "A-2"), payTo("A-1", "A-3"), payTo("A-1", "A-4")], directory);
  const done = await second.complete("clerk", "pay");
  expect(verdicts(done, "pay")).toEqual(["allow", "deny", "deny"]);
  const late = await open(ACCOUNTS, [payTo("A-1", "A-2")], directory, 3_601_000);
  expect(verdicts(await late.complete("clerk", "pay"), "pay")).toEqual(["deny"]);
  const again = await open(ACCOUNTS, [readAccount("A-1"), readAccount("A-2"), payTo("A-1", "A-2")], directory, 3_601_000);
  expect(verdicts(await again.complete("clerk", "pay"), "pay")).toEqual(["allow"]);
});

test("G-39 a record of the project ends when its source says it otherwise, tells its age in every session, and a session's own record is no other session's", async () => {
  const directory = place();
  Object.assign(shop, { "A-1": { state: "open" }, "A-2": { state: "open" }, "O-1": { id: "O-1", status: "pending", customer: "c1" } });
  const aged = `${PENDING}\npermit (principal, action == Action::"tool:pay", resource) when {
    context.facts.from has record && context.facts.from.record.ageSeconds >= 100 && context.facts.from.record.ageSeconds < 200 };`;
  const first = await open(
    aged,
    [readAccount("A-1"), readAccount("A-2"), readOrder("O-1"), cancelOrder("O-1"), payTo("A-1", "A-2")],
    directory,
  );
  const own = await first.complete("clerk", "read them");
  expect([verdicts(own, "cancel_order"), verdicts(own, "pay")]).toEqual([["allow"], ["deny"]]);
  shop["A-2"] = { state: 7 };
  const later = await open(aged, [payTo("A-1", "A-2"), readAccount("A-2"), payTo("A-2", "A-1"), cancelOrder("O-1")], directory, 120_000);
  const other = await later.complete("clerk", "go on");
  expect([verdicts(other, "pay"), verdicts(other, "cancel_order")]).toEqual([["allow", "deny"], ["deny"]]);
  expect(made(other)).toMatchObject([{ records: [], skipped: [{ key: "A-2", field: "state", why: "mistyped" }] }]);
  const { journal, alarms } = later.place.store;
  expect([journal.recorded("account", "A-2"), journal.recorded("order", "O-1")]).toEqual([null, null]);
  expect((await journal.known({ set: null, after: null, most: 10 })).map(({ set, value }) => `${set} ${value}`)).toEqual([
    "record:account A-1",
  ]);
  expect([(await alarms.standing()).length, (await later.place.store.snapshot()).wrongRows(Date.now())]).toEqual([0, []]);
});

test("G-39 an argument that names several things has no record of its own: none of them is meant", async () => {
  for (const id of ["O-1", "O-2"]) shop[id] = { id, status: "pending", customer: "c1" };
  const policy = `permit (principal, action == Action::"tool:cancel_order", resource) when { context.facts.order has record && context.facts.order.record.status == "pending" };`;
  const done = await (await open(policy, [readOrder("O-1"), readOrder("O-2"), cancelOrder("O-1"), cancelOrder("O-1", "O-2")])).complete(
    "clerk",
    "cancel them",
  );
  expect(verdicts(done, "cancel_order")).toEqual(["allow", "deny"]);
});

test("G-39 G-40 of each target, and of all of them, policies read whether every value is on record, and whether every one is the subject's", async () => {
  Object.assign(shop, { "O-1": { id: "O-1", status: "pending", customer: "c1" }, "O-2": { id: "O-2", status: "pending", customer: "c2" } });
  shop["c1"] = { id: "c1", status: "pending", customer: "c2" };
  const tried = [["O-1"], ["O-1", "O-2"], ["O-1", "O-3"], ["O-2"], ["O-3"], ["c1"]];
  const each = tried.flatMap((order): readonly Step[] => [["cancel_order", { order }], readOrder("O-1")]);
  const steps = [readOrder("O-1"), readOrder("O-2"), ...each];
  for (const [fact, allowed] of [
    ["recorded", ["allow", "allow", "deny", "allow", "deny", "deny"]],
    ["owned", ["allow", "deny", "deny", "deny", "deny", "deny"]], // an order with the customer's own number, or name, is not theirs for that
  ] as const)
    for (const of of ["targets", "facts.order"]) {
      const policy = `permit (principal, action == Action::"tool:cancel_order", resource) when { context.${of}.${fact} };`;
      const done = await (await open(policy, steps)).complete("clerk", "cancel them", {
        subject: { id: "c1", attributes: { name: "O-2", motto: "O-3" } },
      });
      expect([of, fact, verdicts(done, "cancel_order")]).toEqual([of, fact, allowed]);
    }
});

test("G-40 a value of a type without owners is the subject's if a field of the subject is declared to say so; of the subject's own type only the subject is", async () => {
  const change = defineTool({
    ...{
      name: "change",
      description: "changes",
      input: z.strictObject({ of: z.string(), to: z.string() }),
      effects: ["write"],
      labels: [],
    },
    targets: { of: { kind: "id", of: "customer" }, to: { kind: "id", of: "card" } },
    run: () => "changed",
  });
  const cards = { name: "name", cards: { path: "cards", type: "strings", of: "card" } } as const;
  const identify = defineTool({ ...SIGN_IN, records: [{ type: "customer", key: "id", fields: cards, establishes: "subject" }] });
  const tools = [identify, change];
  const tried = [
    ["c1", "P-1"],
    ["c1", "P-2"],
    ["c2", "P-1"], // the customer calls themselves so
    ["c1", "P-1"],
    ["c1", "c2"],
    ["c1", "c1"],
  ].map(([of, to]): Step => ["change", { of: of ?? "", to: to ?? "" }]);
  const runtime = await createRuntime({
    directory: place(),
    agents: [defineAgent({ name: "clerk", instructions: "do it", model: "test/script", tools })],
    gate: gateOf(`${BASE}\npermit (principal, action == Action::"tool:change", resource) when { context.targets.owned };`, tools),
    principal: { kind: "user", id: "ann" },
    model: script(...tried),
    powerCut: "lose-last-moments",
  });
  runtimes.push(runtime);
  const done = await runtime.complete("clerk", "change it", { subject: { id: "c1", attributes: { cards: ["P-1"], name: "c2" } } });
  expect(verdicts(done, "change")).toEqual(["allow", "deny", "deny", "allow", "deny", "deny"]);
});

test("G-30 G-39 a record of the project that people remove, or that ends in another session, ends in the session that made it", async () => {
  const directory = place();
  const both = [readAccount("A-1"), readAccount("A-2"), payTo("A-1", "A-2")];
  const ends = [
    async () => {
      const runtime = await open(ACCOUNTS, [], directory);
      const ann = createPerson(join(directory, "home"), "ann", ed25519);
      await runtime.place.keyring.certifyPerson("ann", ann.key.publicKey);
      await runtime.known.remove({ set: "record:account", value: "A-2", why: "it was wrong" }, ann);
    },
    async () => {
      shop["A-2"] = { state: 7 };
      await (await open(ACCOUNTS, [readAccount("A-2")], directory)).complete("clerk", "read it");
    },
  ];
  for (const end of ends) {
    Object.assign(shop, { "A-1": { state: "open" }, "A-2": { state: "open" } });
    const first = await (await open(ACCOUNTS, both, directory)).complete("clerk", "pay");
    await end();
    const later = await open(ACCOUNTS, [payTo("A-1", "A-2")], directory);
    const more = await later.complete("clerk", "pay again", { session: first.session });
    expect([verdicts(first, "pay"), verdicts(more, "pay").at(-1)]).toEqual([["allow"], "deny"]);
  }
});

test("J-9 J-18 erasing a session removes the records it made, a forged row says nothing, and verify names both sets", async () => {
  const directory = place();
  Object.assign(shop, { "A-1": { state: "open" }, "A-2": { state: "open" } });
  const first = await open(ACCOUNTS, [readAccount("A-1"), readAccount("A-2")], directory);
  const { session } = await first.complete("clerk", "read them");
  const recorded = (key: string) => first.place.store.journal.recorded("account", key)?.fields["state"];
  expect([recorded("A-1"), recorded("A-2"), recorded("A-3")]).toEqual(["open", "open", undefined]);
  const wrongSets = async () => (await first.place.store.snapshot()).wrongRows(Date.now()).filter((one) => one.startsWith("set "));
  const db = new DatabaseSync(join(directory, "journal.db"));
  const tampered = async (sql: string, undo: string): Promise<readonly string[]> => {
    db.exec(sql);
    const found = await wrongSets();
    db.exec(undo);
    return found;
  };
  const place2 = Number(db.prepare("SELECT place FROM known_values WHERE value = 'A-2'").get()?.place);
  expect(
    await tampered(
      "DELETE FROM known_values WHERE value = 'A-2'",
      `INSERT INTO known_values SELECT name, 'A-2', 'a-2', stream, at, ${place2} FROM known_values WHERE value = 'A-1'`,
    ),
  ).toEqual(["set record:account"]);
  expect(await wrongSets()).toEqual([]);
  expect(
    await tampered(
      `UPDATE known_values SET place = place - 1 WHERE value = 'A-2'`,
      `UPDATE known_values SET place = ${place2} WHERE value = 'A-2'`,
    ),
  ).toEqual(["set record:account"]);
  await open(ACCOUNTS, [readAccount("A-1")], directory).then((other) => other.complete("clerk", "read it again"));
  const { seq: last } = (await first.sessions.get(session)) ?? { seq: 0 };
  await eraseEntries(first.place, { session, first: seq(1), last: seq(last), by: { kind: "user", id: "ann" }, reason: "asked for" });
  expect([recorded("A-1"), recorded("A-2"), await wrongSets()]).toEqual(["open", undefined, []]); // the other session said it since
  db.exec(`INSERT INTO known_values SELECT name, 'A-3', 'a-3', stream, at, place FROM known_values WHERE value = 'A-1'`);
  expect([recorded("A-3"), (await first.place.store.alarms.standing()).length]).toEqual([undefined, 1]);
  db.close();
});

const SERVED = `permit (principal, action == Action::"tool:cancel_order", resource)
  when { context has subject && context.records has order.owner && context.records.order.owner == context.subject.id && context.targets.owned };
permit (principal, action == Action::"tool:pay", resource) when { context has subject.tier && context.subject.tier == "gold" };`;
const authenticate = (code: string): Step => ["sign_in", { code }];

test("G-40 a tool that authenticates says whom the session serves, until it says another; ownership is one comparison", async () => {
  Object.assign(shop, { "O-1": { id: "O-1", status: "pending", customer: "c1" }, "O-2": { id: "O-2", status: "pending", customer: "c2" } });
  Object.assign(shop, { one: { id: "c1" }, two: { id: "c2", tier: "gold" }, none: { error: "wrong code" } });
  const both = [readOrder("O-1"), cancelOrder("O-1"), readOrder("O-2"), cancelOrder("O-2")];
  const steps = [
    ...both,
    authenticate("one"),
    ...both,
    payTo("A-1", "A-2"),
    authenticate("none"),
    ...both,
    authenticate("two"),
    ...both,
    payTo("A-1", "A-2"),
    authenticate("odd"),
    cancelOrder("O-2"),
  ];
  shop["odd"] = { id: "c1", tier: 7 }; // another than before, and not as declared: nobody
  const runtime = await open(SERVED, steps);
  const done = await runtime.complete("clerk", "cancel them");
  expect(verdicts(done, "cancel_order")).toEqual(["deny", "deny", "allow", "deny", "allow", "deny", "deny", "allow", "deny"]);
  expect(verdicts(done, "pay")).toEqual(["deny", "allow"]);
  expect(made(done).flatMap((e) => (e.establishes === null ? [] : [e.records.map(({ key }) => key)]))).toEqual([["c1"], [], ["c2"], []]);
});

test("G-40 somebody whom a tool identifies by what is no key is nobody, and no longer the one before", async () => {
  shop["O-1"] = { id: "O-1", status: "pending", customer: "c1" };
  for (const [id, verdict] of [
    [1.5, "deny"],
    ["c\u200b2", "deny"],
    ["c".repeat(201), "deny"],
    [null, "allow"], // a wrong code names nobody
  ] as const) {
    Object.assign(shop, { one: { id: "c1" }, odd: { id } });
    const steps = [authenticate("one"), readOrder("O-1"), authenticate("odd"), cancelOrder("O-1")];
    const done = await (await open(SERVED, steps)).complete("clerk", "cancel it");
    expect([id, ...verdicts(done, "cancel_order")]).toEqual([id, verdict]);
  }
});

test("G-41 a policy reads the time of the decision on the clocks of the project's zone, and the age of a record", async () => {
  const timed = `permit (principal, action == Action::"tool:cancel_order", resource)
    when { context.now.weekday <= 5 && context.now.hour >= 9 && context.now.hour < 17 && context.records has order && context.records.order.ageSeconds <= 60 };`;
  shop["O-1"] = { id: "O-1", status: "pending", customer: "c1" };
  const at = async (moment: string, zone: string) => {
    const runtime = await open(timed, [readOrder("O-1"), cancelOrder("O-1")], place(), Date.parse(moment) - Date.now(), zone);
    return verdicts(await runtime.complete("clerk", "cancel it"), "cancel_order")[0];
  };
  expect(await at("2026-11-18T08:30:00Z", "Europe/Berlin")).toBe("allow"); // a Wednesday, half past nine
  expect(await at("2026-11-18T08:30:00Z", "UTC")).toBe("deny");
  expect(await at("2026-11-18T16:30:00Z", "Europe/Berlin")).toBe("deny");
  expect(await at("2026-11-21T10:30:00Z", "Europe/Berlin")).toBe("deny"); // a Saturday
});

/** Every decision of a session, made again from its journal. */
async function decideAgain(runtime: Runtime, done: CompletedRun, policy: string): Promise<void> {
  const gate = gateOf(`${BASE}\n${policy}`, TOOLS);
  let again = 0;
  for await (const { decided: then, facts } of readPastDecisions(runtime.place.store.journal, done.session)) {
    const { verdict, slice, read } = gate.decide(then.action, facts);
    expect({ id: then.id, verdict, slice, read }).toEqual({ id: then.id, verdict: then.verdict, slice: then.slice, read: then.read });
    again += 1;
  }
  expect(again).toBe(listDecisions(done.events).length);
}

test("G-20 a recorded decision that read records, the subject and the time, decided again, comes out as it was", async () => {
  const policy = `${SERVED}
    permit (principal, action == Action::"tool:get_order", resource) when { context.now.epoch > 0 && context.now.date like "20*" };
    forbid (principal, action == Action::"tool:cancel_order", resource) when { context.facts.order has record && context.facts.order.record.status == "shipped" };
    forbid (principal, action == Action::"tool:cancel_order", resource) when { context.records has order && context.records.order has total && context.records.order.total.greaterThan(decimal("100.00")) };`;
  Object.assign(shop, {
    "O-1": { id: "O-1", status: "pending", customer: "c1", sum: { total: 12.5 } },
    "O-2": { id: "O-2", status: "shipped", customer: "c1" },
  });
  Object.assign(shop, { "O-3": { id: "O-3", status: "pending", customer: "c1", sum: { total: 100.01 } }, one: { id: "c1", tier: "gold" } });
  const each = (id: string): readonly Step[] => [readOrder(id), cancelOrder(id)];
  const steps = [cancelOrder("O-1"), authenticate("one"), ...each("O-1"), ...each("O-2"), ...each("O-3"), payTo("A-1", "A-2")];
  const runtime = await open(policy, steps);
  const done = await runtime.complete("clerk", "cancel them");
  expect(verdicts(done, "cancel_order")).toEqual(["deny", "allow", "deny", "deny"]);
  await decideAgain(runtime, done, policy);
});

test("G-40 the caller says whom a session serves when it opens it, and nobody changes that by opening it again", async () => {
  Object.assign(shop, { "O-1": { id: "O-1", status: "pending", customer: "c1" } });
  const steps = [readOrder("O-1"), cancelOrder("O-1"), payTo("A-1", "A-2")];
  const runtime = await open(SERVED, steps);
  const subject = { id: "c1", attributes: { tier: "gold", stranger: 3 } };
  const done = await runtime.complete("clerk", "cancel it", { id: "ticket-1", subject });
  expect([verdicts(done, "cancel_order"), verdicts(done, "pay")]).toEqual([["allow"], ["allow"]]);
  const [opened] = await runtime.place.store.journal.read(done.session, seq(0), 1);
  expect(opened?.event).toMatchObject({ kind: "session.opened", subject });
  const again = { agent: "clerk", id: "ticket-1" };
  expect((await runtime.sessions.create({ ...again, subject })).session).toBe(done.session);
  expect((await runtime.sessions.create(again)).session).toBe(done.session);
  await expect(runtime.sessions.create({ ...again, subject: { id: "c2" } })).rejects.toThrow("ticket-1");
  await expect(runtime.complete("clerk", "more", { session: done.session, subject })).rejects.toThrow("was said when it was opened");
  for (const wrong of [
    { id: "" },
    { id: " c1" },
    { id: "c\u200b1" },
    { id: "c1", attributes: { id: "c2" } },
    { id: "c1", attributes: { tier: null as never } },
  ])
    await expect(runtime.complete("clerk", "x", { subject: wrong })).rejects.toThrow(/must be whom|is no id|is no name|has no value/);
  const fork = await runtime.sessions.fork(done.session);
  expect((await runtime.sessions.restore(fork.session)).subject).toBe(null);
});

test("G-40 a sub-agent serves whom the session above it serves", async () => {
  Object.assign(shop, { "O-1": { id: "O-1", status: "pending", customer: "c1" } });
  const helper = defineAgent({ name: "helper", instructions: "help", model: "test/script", tools: TOOLS });
  const desk = defineAgent({ name: "clerk", instructions: "do it", model: "test/script", tools: TOOLS, delegates: ["helper"] });
  const policies = `${BASE}\n${SERVED}\npermit (principal, action == Action::"delegate", resource);`;
  const models = {
    clerk: script(["delegate", { agent: "helper", task: "cancel O-1" }])(desk),
    helper: script(readOrder("O-1"), cancelOrder("O-1"))(helper),
  };
  const runtime = await createRuntime({
    directory: place(),
    agents: [desk, helper],
    gate: gateOf(policies, TOOLS),
    principal: { kind: "user", id: "ann" },
    model: ({ name }) => models[name as "clerk" | "helper"],
    powerCut: "lose-last-moments",
  });
  runtimes.push(runtime);
  const done = await runtime.complete("clerk", "cancel it", { subject: { id: "c1" } });
  const child = done.events.flatMap(({ event: e }) => (e.kind === "child.opened" ? [e.child] : []))[0];
  if (child === undefined) throw new Error("nothing was delegated");
  const { events } = { events: await runtime.place.store.journal.read(child, seq(0), 1_000) };
  expect(verdicts({ events } as CompletedRun, "cancel_order")).toEqual(["allow"]);
});

test("G-41 an approved action is decided again with the age of its approval, and one that was not has none", async () => {
  const aged = `@ask("cancel it?") permit (principal, action == Action::"tool:cancel_order", resource);
    forbid (principal, action == Action::"tool:cancel_order", resource) when { context has approval && context.approval.ageSeconds > 900 };`;
  const directory = place();
  const runtime = await open(aged, [cancelOrder("O-1")], directory);
  const ann = createPerson(join(directory, "home"), "ann", ed25519);
  await runtime.place.keyring.certifyPerson("ann", ann.key.publicKey);
  const { session, questions } = await runtime.complete("clerk", "cancel it");
  const [{ approval, digest } = { approval: "" as never, digest: "" as never }] = questions;
  await runtime.approvals.answer({ approval, digest, answer: { kind: "approve" } }, ann);
  const events = await runtime.place.store.journal.read(session, seq(0), 1_000);
  const all = decided({ events } as CompletedRun, "cancel_order").map((d) => [d.verdict.kind, d.read]);
  expect(all).toEqual([
    ["ask", {}],
    ["allow", { approval: { ageSeconds: expect.any(Number) } }],
  ]);
});
