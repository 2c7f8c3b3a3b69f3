/** Numbers, plain texts, values inside arguments, lists, what was said earlier, and a person's own yes: under the real gate and the real store. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type Agent, defineAgent, defineTool, type JsonObject, listDecisions, type Model, millis, type Tool } from "@orgate/core";
import { afterEach, expect, test } from "vitest";
import * as z from "zod";
import { nodeClock } from "../node/clock.ts";
import { ed25519 } from "../node/crypto.ts";
import { readPastDecisions } from "../policies/past-decisions.ts";
import { createPerson } from "../store/keyring.ts";
import type { CompletedRun, Runtime } from "./api.ts";
import { gateOf } from "./fixtures/counted-sessions.ts";
import { createRuntime } from "./runtime.ts";

const folders: string[] = [];
const runtimes: Runtime[] = [];
afterEach(async () => {
  for (const runtime of runtimes.splice(0)) await runtime.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});
function newDirectory(): string {
  const made = mkdtempSync(join(tmpdir(), "orgate-values-"));
  folders.push(made);
  return join(made, ".orgate");
}

const base = { description: "does it", labels: [], run: () => "done" };
const pay = defineTool({
  ...base,
  name: "pay",
  input: z.strictObject({ to: z.string(), amount: z.number(), note: z.string().optional() }),
  effects: ["spend"],
  targets: { to: "account", amount: { kind: "number", per: "to" }, note: "text" },
  outgoing: ["note"],
});
const book = defineTool({
  ...base,
  name: "book",
  input: z.strictObject({
    title: z.string(),
    passengers: z.array(z.strictObject({ email: z.string(), age: z.int().optional() })),
    cabins: z.array(z.string()).optional(),
  }),
  effects: ["write"],
  targets: { title: "text", "passengers[].email": "recipient" },
});
const split = defineTool({
  ...base,
  name: "split",
  input: z.strictObject({ shares: z.array(z.number()) }),
  effects: ["write"],
  targets: { shares: "number" },
});
const TOOLS: readonly Tool[] = [pay, book, split];
const BASE = 'permit (principal, action in [Action::"model", Action::"respond"], resource);';

type Step = readonly [tool: string, args: JsonObject];
/** Replies with these calls, one reply each, then says so; again from the first in the next turn's list. */
const script = (...turns: readonly (readonly Step[])[]) => {
  const replies = turns.flatMap((steps) => [...steps, null]);
  let at = 0;
  return (_: Agent): Model => ({
    id: "test/script",
    ask: async () => {
      const step = replies[at++] ?? null;
      const about = { usage: { input: 10, output: 5 }, model: "script", meta: null };
      if (step === null) return { parts: [{ kind: "text", text: "done", meta: null }], finish: "stop", ...about };
      const [tool, args] = step;
      return { parts: [{ kind: "call", id: `c${at}`, tool, text: JSON.stringify(args), meta: null }], finish: "calls", ...about };
    },
  });
};

async function open(policies: string, model: (agent: Agent) => Model, directory = newDirectory(), later = 0): Promise<Runtime> {
  const agent = defineAgent({ name: "clerk", instructions: "do it", model: "test/script", tools: TOOLS });
  const runtime = await createRuntime({
    directory,
    agents: [agent],
    gate: gateOf(`${BASE}\n${policies}`, TOOLS),
    principal: { kind: "user", id: "ann" },
    model,
    clock: { ...nodeClock, now: () => millis(nodeClock.now() + later) },
    powerCut: "lose-last-moments",
  });
  runtimes.push(runtime);
  return runtime;
}
const decided = ({ events: all }: CompletedRun, tool: string) =>
  listDecisions(all).flatMap(({ event: e }) => (e.action.kind === "call" && e.action.tool === tool ? [e] : []));
const verdicts = (done: CompletedRun, tool: string) => decided(done, tool).map((d) => d.verdict.kind);
const permit = (tool: string, when: string): string => `permit (principal, action == Action::"tool:${tool}", resource) when { ${when} };`;
const payment = (amount: number, to = "DE01"): Step => ["pay", { to, amount }];
const decimal = (arg: string) => ({ __extn: { fn: "decimal", arg } });

test("G-27 a number that the user wrote is in the request, in digits or in words, and no other", async () => {
  const steps = [payment(1200.5), payment(120), payment(25), payment(7)];
  const runtime = await open(permit("pay", "context.facts.amount.inRequest"), script(steps));
  const done = await runtime.complete("clerk", "pay $1,200.50 to DE01 and twenty-five to DE02, by 7/11");
  expect(verdicts(done, "pay")).toEqual(["allow", "deny", "allow", "deny"]);
});

test("G-42 totals are exact, count this call, and hold over sessions, restarts and targets", async () => {
  const limit = `context.facts.amount.total.day.lessThanOrEqual(decimal("1.00")) && context.facts.amount.totalPerTarget.session.lessThanOrEqual(decimal("0.40"))`;
  const directory = newDirectory();
  const steps = [payment(0.1), payment(0.2), payment(0.2), payment(0.3, "DE02"), payment(-5, "DE03")];
  const runtime = await open(permit("pay", limit), script(steps), directory);
  const first = await runtime.complete("clerk", "go");
  expect(verdicts(first, "pay")).toEqual(["allow", "allow", "deny", "allow", "allow"]); // a negative number makes no room
  expect(decided(first, "pay").map((d) => d.read)).toMatchObject([
    { facts: { amount: { total: { day: decimal("0.1000") }, totalPerTarget: { session: decimal("0.1000") } } } },
    { facts: { amount: { total: { day: decimal("0.3000") }, totalPerTarget: { session: decimal("0.3000") } } } },
    { facts: { amount: { total: { day: decimal("0.5000") }, totalPerTarget: { session: decimal("0.5000") } } } },
    { facts: { amount: { total: { day: decimal("0.6000") }, totalPerTarget: { session: decimal("0.3000") } } } },
    { facts: { amount: { total: { day: decimal("0.6000") } } } },
  ]);
  await runtime.close();
  const next = await open(permit("pay", limit), script([payment(0.41), payment(0.4), payment(0.0001)]), directory);
  expect(verdicts(await next.complete("clerk", "go"), "pay")).toEqual(["deny", "allow", "deny"]);
  expect((await next.place.store.snapshot()).wrongRows(Date.now())).toEqual([]);
  const db = new DatabaseSync(join(directory, "journal.db"));
  db.exec("UPDATE counts SET n = n - 1 WHERE name = 'total:pay/amount'");
  db.close();
  expect((await next.place.store.snapshot()).wrongRows(Date.now())).toEqual(["counter total:pay/amount"]);
});

test("G-42 a total that a policy begins to read is made from the journal; what it cannot hold is denied", async () => {
  const directory = newDirectory();
  const free = await open(
    'permit (principal, action == Action::"tool:pay", resource);',
    script([payment(30), payment(0.00001)]),
    directory,
  );
  expect(verdicts(await free.complete("clerk", "go"), "pay")).toEqual(["allow", "allow"]);
  await free.close();
  const policy = permit("pay", `context.facts.amount.total.hour.lessThanOrEqual(decimal("50.00"))`);
  const limited = await open(policy, script([payment(20), payment(19.99), payment(0.00001), payment(1e14)]), directory);
  const done = await limited.complete("clerk", "go");
  expect(verdicts(done, "pay")).toEqual(["deny", "allow", "deny", "deny"]); // five places before were counted as one ten-thousandth
  expect(decided(done, "pay").map(({ verdict }) => (verdict.kind === "deny" ? verdict.reason : ""))).toMatchObject([
    expect.anything(),
    "",
    expect.stringContaining("no number that totals can hold"),
    expect.stringContaining("no number that totals can hold"),
  ]);
});

test("G-42 G-25 of thirty sessions that pay ten each at once, under a hundred a day, ten pay", async () => {
  const policy = permit("pay", `context.facts.amount.total.day.lessThanOrEqual(decimal("100.00"))`);
  const each = (agent: Agent): Model => {
    const made = new Map<string, Model>();
    return {
      id: "test/each",
      ask: async (request, ...rest) => {
        const key = request.messages.some((m) => m.role === "tool") ? "end" : "start";
        const model = made.get(key) ?? script(key === "end" ? [] : [payment(10)])(agent);
        return model.ask(request, ...rest);
      },
    };
  };
  const runtime = await open(policy, each);
  const all = await Promise.all(Array.from({ length: 30 }, () => runtime.complete("clerk", "pay ten")));
  expect(all.flatMap((done) => verdicts(done, "pay")).filter((kind) => kind === "allow")).toHaveLength(10);
});

test("G-28 what the user named in an earlier turn is said, with how long ago; what nobody said, or an agent said, is not", async () => {
  const policy = permit("pay", "context.facts.to has said && context.facts.to.said.turnsAgo <= 1");
  const to = (account: string): Step => payment(1, account);
  const directory = newDirectory();
  const model = script([to("DE01x")], [to("DE01x"), to("DE02x")], [to("DE01x")], [to("DE01x")]);
  const runtime = await open(policy, model, directory);
  const first = await runtime.complete("clerk", "pay DE01x");
  const { session } = first;
  const second = await runtime.complete("clerk", "and again", { session });
  expect([verdicts(first, "pay"), verdicts(second, "pay")]).toEqual([["allow"], ["allow", "deny"]]);
  expect(decided(second, "pay").map((d) => d.read)).toEqual([
    { facts: { to: { said: { turnsAgo: 1, secondsAgo: expect.any(Number) } } } },
    { facts: { to: {} } },
  ]);
  const third = await runtime.complete("clerk", "once more", { session });
  expect(verdicts(third, "pay")).toEqual(["deny"]); // two turns ago
  const fresh = await runtime.complete("clerk", "pay the same as in the other session");
  expect(verdicts(fresh, "pay")).toEqual(["deny"]);
});

test("G-28 how many seconds ago it was named is told by the clock", async () => {
  const policy = permit("pay", "context.facts.to has said && context.facts.to.said.secondsAgo >= 3600");
  const directory = newDirectory();
  const first = await open(policy, script([payment(1, "DE01x")]), directory);
  const done = await first.complete("clerk", "pay DE01x");
  await first.close();
  const next = await open(policy, script([payment(1, "DE01x")]), directory, 3_600_000);
  const later = await next.complete("clerk", "and again", { session: done.session });
  expect([verdicts(done, "pay"), verdicts(later, "pay")]).toEqual([["deny"], ["allow"]]);
});

test("G-27 of several numbers none is the value", async () => {
  const policy = permit(
    "split",
    'context.facts has shares && context.facts.shares has value && context.facts.shares.value.lessThan(decimal("5.0"))',
  );
  const shares = (...all: readonly number[]): Step => ["split", { shares: all }];
  const done = await (await open(policy, script([shares(1), shares(1, 2), shares(1)]))).complete("clerk", "split it");
  expect(verdicts(done, "split")).toEqual(["allow", "deny", "allow"]);
});

test("G-28 what somebody else said in the session is not what this person said", async () => {
  const policy = permit("pay", "context.facts.to has said");
  const runtime = await open(policy, script([payment(1, "DE01x")], [payment(1, "DE01x")], [payment(1, "DE01x")]));
  const first = await runtime.complete("clerk", "pay DE01x");
  const ben = { principal: { kind: "user", id: "ben" } } as const;
  const second = await runtime.complete("clerk", "the same", { session: first.session, ...ben });
  const third = await runtime.complete("clerk", "the same", { session: first.session });
  expect([first, second, third].map((done) => verdicts(done, "pay"))).toEqual([["allow"], ["deny"], ["allow"]]);
});

test("G-27 plain texts and numbers are asked about together, apart from targets; values inside arguments are targets", async () => {
  const policy = permit("book", "context.targets.inRequest && context.values.inRequest && context.values.count == 1");
  const step = (title: string, ...emails: readonly string[]): Step => ["book", { title, passengers: emails.map((email) => ({ email })) }];
  const steps = [
    step("Spring trip", "ann@a.test", "ben@b.test"),
    step("Spring trip", "ann@a.test", "eve@e.test"),
    step("Other trip", "ann@a.test"),
    step("spring TRIP", "ben@b.test"),
    step("Spring trip"),
  ];
  const runtime = await open(policy, script(steps));
  const done = await runtime.complete("clerk", 'book "Spring trip" for ann@a.test and ben@b.test');
  expect(verdicts(done, "book")).toEqual(["allow", "deny", "deny", "allow", "deny"]);
  const started = done.events.flatMap(({ event: e }) => (e.kind === "act.started" ? [Object.keys(e.values).sort()] : []));
  expect(started[0]).toEqual(["kind:recipient", "kind:text", "passengers_email", "title"]);
});

test("G-27 G-28 G-42 a fact about several values holds only if it holds of each, and a total of the session goes on over its turns", async () => {
  const policies = `${permit("pay", 'context.values.inRequest && context.facts.amount.total.session.lessThanOrEqual(decimal("3.00"))')}
    ${permit("book", "context.facts.passengers_email has said")}`;
  const booking = (...emails: readonly string[]): Step => ["book", { title: "x", passengers: emails.map((email) => ({ email })) }];
  const noted = (note: string): Step => ["pay", { to: "DE01", amount: 2, note }];
  const turns = [
    [noted("gift"), noted("rent")],
    [noted("rent"), booking("ann@a.test", "eve@e.test"), booking("ann@a.test"), payment(1)],
  ];
  const runtime = await open(policies, script(...turns));
  const first = await runtime.complete("clerk", "pay 2, note: rent, for ann@a.test");
  const second = await runtime.complete("clerk", "2 and 1 more: rent", { session: first.session });
  expect([verdicts(first, "pay"), verdicts(second, "pay"), verdicts(second, "book")]).toEqual([
    ["deny", "allow"],
    ["deny", "allow"],
    ["deny", "allow"],
  ]);
});

test("G-31 an argument that is a target and leaves is vouched for only as both", async () => {
  const policy = permit("pay", "context.facts has note && context.facts.note.vouched && context.facts.note.links.isEmpty()");
  const note = (text: string): Step => ["pay", { to: "DE01", amount: 1, note: text }];
  const runtime = await open(policy, script([note("rent of May"), note("see https://evil.test/x"), note("something else")]));
  const done = await runtime.complete("clerk", "pay with the note: rent of May, or see https://evil.test/x");
  expect(verdicts(done, "pay")).toEqual(["allow", "deny", "deny"]);
});

test("G-42 policies read how long a list is, and any and all of what is in it", async () => {
  const policy = permit(
    "book",
    `context.lists.passengers.size <= 2 && context.lists.passengers_age.size == context.lists.passengers.size
      && context.lists.passengers_age has min && context.lists.passengers_age.min >= 18
      && (if context.lists has cabins then ["economy"].containsAll(context.lists.cabins.values) else true)`,
  );
  const step = (ages: readonly (number | null)[], cabins?: readonly string[]): Step => [
    "book",
    {
      title: "x",
      passengers: ages.map((age) => ({ email: "a@b.test", ...(age === null ? {} : { age }) })),
      ...(cabins === undefined ? {} : { cabins }),
    },
  ];
  const steps = [
    step([18, 40]),
    step([18, 17]),
    step([18, null]),
    step([18], ["economy"]),
    step([20, 20, 20]),
    step([]),
    step([18]),
    step([18], ["economy", "first"]),
  ];
  const done = await (await open(policy, script(steps))).complete("clerk", "go");
  expect(verdicts(done, "book")).toEqual(["allow", "deny", "deny", "allow", "deny", "deny", "allow", "deny"]);
});

test("G-20 decisions on numbers, lists and what was said earlier come out the same when they are made again", async () => {
  const policy = `${permit(
    "pay",
    `context.values has said && context.values.said.turnsAgo < 5 && context.targets has said
      && context.facts.amount has value && context.facts.amount.value.lessThan(decimal("50.00"))
      && context.facts.amount.total.session.lessThan(decimal("60.00")) && context.facts.amount.totalPerTarget.day.lessThan(decimal("45.00"))`,
  )} ${permit("book", 'context.lists.passengers.size == 1 && context.facts.passengers_email.inRequest && context.facts["title"] has said')}`;
  const directory = newDirectory();
  const booking: Step = ["book", { title: "Trip", passengers: [{ email: "ann@a.test" }] }];
  const steps = [payment(40, "DE01x"), payment(10, "DE01x"), payment(10, "DE02x"), booking, payment(60, "DE02x")];
  const runtime = await open(policy, script(steps, [...steps, ["pay", { to: "DE02x", amount: 10, note: "x" }]]), directory);
  const first = await runtime.complete("clerk", "pay 40 and 10 to DE01x, DE02x, book Trip for ann@a.test");
  await runtime.complete("clerk", "the same", { session: first.session });
  const gate = gateOf(`${BASE}\n${policy}`, TOOLS);
  const seen: string[] = [];
  for await (const { decided: then, facts } of readPastDecisions(runtime.place.store.journal, first.session)) {
    const { verdict, slice, read } = gate.decide(then.action, facts);
    expect({ id: then.id, verdict, slice, read }).toEqual({ id: then.id, verdict: then.verdict, slice: then.slice, read: then.read });
    if (then.action.kind === "call") seen.push(verdict.kind);
  }
  expect(new Set(seen)).toEqual(new Set(["allow", "deny"]));
});

test("Q-27 an ask for the requester is answered by their own yes to this very action, which is worth nothing for another or from anybody else", async () => {
  const policies = `@id("confirm") @ask("Really pay?") @approvers("requester") permit (principal, action == Action::"tool:pay", resource);
    permit (principal is User, action == Action::"approve", resource) when { resource.forRequester && resource.requester == principal.id };
    @id("ops") @ask("May it?") permit (principal, action == Action::"tool:book", resource);`;
  const directory = newDirectory();
  const booking: Step = ["book", { title: "Trip", passengers: [] }];
  const runtime = await open(policies, script([payment(1), payment(2), booking]), directory);
  const people = ["ann", "ben"].map((name) => createPerson(join(directory, "home"), name, ed25519));
  for (const { name, key } of people) await runtime.place.keyring.certifyPerson(name, key.publicKey);
  const [ann, ben] = people;
  if (ann === undefined || ben === undefined) throw new Error("there are two");
  const broad = await open(
    policies.replace("when { resource.forRequester && resource.requester == principal.id }", ""),
    script([payment(1)]),
  );
  const asked = await broad.complete("clerk", "pay it");
  const other = createPerson(join(newDirectory(), "home"), "ben", ed25519);
  await broad.place.keyring.certifyPerson("ben", other.key.publicKey);
  const [{ approval, digest } = { approval: "" as never, digest: "" as never }] = asked.questions;
  await expect(broad.approvals.answer({ approval, digest, answer: { kind: "approve" } }, other)).rejects.toThrow(
    "it is for requester to answer",
  ); // who may approve anything else
  const { session } = await runtime.complete("clerk", "pay it");
  const [first] = await runtime.approvals.list();
  if (first === undefined) throw new Error("nothing is asked");
  const yes = { approval: first.approval, digest: first.digest, answer: { kind: "approve" } } as const;
  await expect(runtime.approvals.answer(yes, ben)).rejects.toThrow();
  await runtime.approvals.answer(yes, ann);
  await runtime.resume(session).result;
  const [second] = await runtime.approvals.list();
  expect(second?.digest).not.toBe(first.digest); // the next payment asks again
  if (second === undefined) throw new Error("nothing is asked");
  await expect(runtime.approvals.answer({ ...yes, approval: second.approval }, ann)).rejects.toThrow(); // a yes to another digest
  await runtime.approvals.answer({ ...yes, approval: second.approval, digest: second.digest }, ann);
  await runtime.resume(session).result;
  const [third] = await runtime.approvals.list();
  expect(third?.tool).toBe("book");
  if (third === undefined) throw new Error("nothing is asked");
  await expect(runtime.approvals.answer({ ...yes, approval: third.approval, digest: third.digest }, ann)).rejects.toThrow(); // that is for others
});
