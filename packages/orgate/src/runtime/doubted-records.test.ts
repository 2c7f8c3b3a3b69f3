/** What a call did, nobody knows: under the real gate and the real store, a policy believes nothing older of the things that it may have changed. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type Agent, defineAgent, defineTool, FaultError, type JsonObject, listDecisions, type Model, seq, type Tool } from "@orgate/core";
import { afterEach, expect, test } from "vitest";
import * as z from "zod";
import { readPastDecisions } from "../policies/past-decisions.ts";
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
  const made = mkdtempSync(join(tmpdir(), "orgate-doubted-"));
  folders.push(made);
  return join(made, ".orgate");
}

const input = z.strictObject({ id: z.string() });
const lost = (): never => {
  throw new FaultError({ kind: "outcome-unknown", cause: "connection-lost", detail: "it broke" });
};
const reading = { effects: ["read"], repeat: "read", labels: [] } as const;
const order = { type: "order", fields: { status: "status" } } as const;
const TOOLS: readonly Tool[] = [
  defineTool({
    ...reading,
    name: "get_order",
    description: "reads",
    input,
    records: [{ ...order, key: "id" }],
    run: ({ id }) => ({ id, status: "pending" }),
  }),
  defineTool({
    ...{ ...reading, name: "get_stock", description: "reads for everybody", input },
    records: [{ type: "part", key: "id", fields: { left: { path: "left", type: "integer" } }, set: "project", maxAgeSeconds: 3_600 }],
    run: ({ id }) => ({ id, left: 5 }),
  }),
  defineTool({
    ...reading,
    name: "sign_in",
    description: "authenticates",
    input,
    records: [{ type: "customer", key: "id", establishes: "subject" }],
    run: ({ id }) => ({ id }),
  }),
  defineTool({
    name: "ship",
    description: "ships",
    input,
    effects: ["write"],
    labels: [],
    targets: { id: { kind: "id", of: "order" } },
    run: lost,
  }),
  defineTool({
    name: "take",
    description: "takes from the stock",
    input,
    effects: ["write"],
    targets: { id: { kind: "id", of: "part" } },
    run: lost,
  }),
  defineTool({
    name: "rename",
    description: "renames",
    input,
    effects: ["write"],
    labels: [],
    targets: { id: { kind: "id", of: "customer" } },
    resource: (one: z.infer<typeof input>) => ({ type: "Customer", id: one.id }),
    resourceTypes: ["Customer"],
    run: lost,
  }),
  defineTool({
    name: "cancel",
    description: "cancels",
    input,
    effects: ["write"],
    labels: [],
    targets: { id: { kind: "id", of: "order" } },
    run: () => "cancelled",
  }),
  defineTool({
    name: "sell",
    description: "sells",
    input,
    effects: ["write"],
    labels: [],
    targets: { id: { kind: "id", of: "part" } },
    run: () => "sold",
  }),
  defineTool({ name: "greet", description: "greets", input, effects: ["write"], labels: [], run: () => "hello" }),
];
const POLICIES = `permit (principal, action in [Action::"model", Action::"respond", Action::"read"], resource);
permit (principal, action in [Action::"tool:ship", Action::"tool:take", Action::"tool:rename"], resource);
permit (principal, action == Action::"tool:cancel", resource) when { context.records has order && context.records.order.status == "pending" };
forbid (principal, action == Action::"tool:cancel", resource) unless { context.targets.recorded };
permit (principal, action == Action::"tool:sell", resource) when { context.records has part && context.records.part.left > 0 };
permit (principal, action == Action::"tool:greet", resource) when { context has subject };`;

type Step = readonly [tool: string, id: string];
const script = (...steps: readonly Step[]) => {
  let at = 0;
  return (_: Agent): Model => ({
    id: "test/script",
    ask: async () => {
      const step = steps[at++];
      const usage = { input: 10, output: 5 };
      if (step === undefined)
        return { parts: [{ kind: "text", text: "done", meta: null }], finish: "stop", usage, model: "script", meta: null };
      const [tool, id] = step;
      const call = { kind: "call", id: `c${at}`, tool, text: JSON.stringify({ id } satisfies JsonObject), meta: null } as const;
      return { parts: [call], finish: "calls", usage, model: "script", meta: null };
    },
  });
};

async function open(steps: readonly Step[], directory = place()): Promise<Runtime> {
  const runtime = await createRuntime({
    directory,
    agents: [defineAgent({ name: "clerk", instructions: "do it", model: "test/script", tools: TOOLS })],
    gate: gateOf(POLICIES, TOOLS),
    principal: { kind: "user", id: "ann" },
    model: script(...steps),
    powerCut: "lose-last-moments",
  });
  runtimes.push(runtime);
  return runtime;
}
const verdicts = ({ events }: CompletedRun, tool: string): readonly string[] =>
  listDecisions(events).flatMap(({ event: e }) => (e.action.kind === "call" && e.action.tool === tool ? [e.verdict.kind] : []));

async function decideAgain(runtime: Runtime, done: CompletedRun): Promise<void> {
  const gate = gateOf(POLICIES, TOOLS);
  let again = 0;
  for await (const { decided: then, facts } of readPastDecisions(runtime.place.store.journal, done.session)) {
    const { verdict, slice, read } = gate.decide(then.action, facts);
    expect({ id: then.id, verdict, slice, read }).toEqual({ id: then.id, verdict: then.verdict, slice: then.slice, read: then.read });
    again += 1;
  }
  expect(again).toBe(listDecisions(done.events).length);
}

test("G-20 G-39 a policy no longer believes what was on record of an order that a lost call may have shipped; read again, it does; and every decision, made again, comes out as it was", async () => {
  const steps: readonly Step[] = [
    ["get_order", "O-1"],
    ["get_order", "O-2"],
    ["ship", "O-1"],
    ["cancel", "O-1"],
    ["cancel", "O-2"],
    ["get_order", "O-1"],
    ["cancel", "O-1"],
  ];
  const directory = place();
  const runtime = await open(steps, directory);
  const done = await runtime.complete("clerk", "ship it");
  expect(verdicts(done, "cancel")).toEqual(["deny", "allow", "allow"]);
  await decideAgain(runtime, done);
  const { events } = await (await open([["cancel", "O-2"]], directory)).complete("clerk", "and now", {
    session: done.session,
  });
  expect(verdicts({ events } as CompletedRun, "cancel").at(-1)).toBe("allow"); // folded from the journal by another process
});

test("G-39 a record of the project that a lost call names ends for every session, and its row with it; others stay", async () => {
  const directory = place();
  const runtime = await open(
    [
      ["get_stock", "P-1"],
      ["get_stock", "P-2"],
      ["take", "P-1"],
      ["sell", "P-1"],
      ["sell", "P-2"],
    ],
    directory,
  );
  const done = await runtime.complete("clerk", "take it");
  expect(verdicts(done, "sell")).toEqual(["deny", "allow"]);
  const other = await open(
    [
      ["sell", "P-1"],
      ["sell", "P-2"],
    ],
    directory,
  );
  expect(verdicts(await other.complete("clerk", "sell them"), "sell")).toEqual(["deny", "allow"]);
  expect((await runtime.place.store.snapshot()).wrongRows(Date.now()).filter((one) => one.startsWith("set "))).toEqual([]);
});

test("G-40 a lost call that may have changed whom the session serves leaves it serving nobody; one about another customer does not", async () => {
  const steps: readonly Step[] = [
    ["sign_in", "C-1"],
    ["rename", "C-2"],
    ["greet", "C-1"],
    ["rename", "C-1"],
    ["greet", "C-1"],
    ["sign_in", "C-1"],
    ["greet", "C-1"],
  ];
  const runtime = await open(steps);
  const done = await runtime.complete("clerk", "rename them");
  expect(verdicts(done, "greet")).toEqual(["allow", "deny", "allow"]);
  const [last] = (await runtime.place.store.journal.read(done.session, seq(0), 1_000)).filter(
    ({ event: e }) => e.kind === "known.recorded" && e.establishes !== null && e.records.length === 0,
  );
  expect(last?.event).toMatchObject({ type: "customer", skipped: [{ key: "C-1", field: "key", why: "unknown" }] });
  await decideAgain(runtime, done);
});

test("J-9 G-39 erasing the session that ended a record of the project brings it back nowhere: verify names nothing, and a table that is made again leaves it out", async () => {
  const directory = place();
  const first = await open(
    [
      ["get_stock", "P-1"],
      ["get_stock", "P-2"],
    ],
    directory,
  );
  await first.complete("clerk", "read them");
  const second = await open([["take", "P-1"]], directory);
  const { session: ending } = await second.complete("clerk", "take it");
  const onRecord = (runtime: Runtime) => ["P-1", "P-2"].map((key) => runtime.place.store.journal.recorded("part", key) !== null);
  const wrongSets = async () => (await second.place.store.snapshot()).wrongRows(Date.now()).filter((one) => one.startsWith("set "));
  const { seq: last } = (await second.sessions.get(ending)) ?? { seq: 0 };
  await eraseEntries(second.place, {
    session: ending,
    first: seq(1),
    last: seq(last),
    by: { kind: "user", id: "ann" },
    reason: "asked for",
  });
  expect([onRecord(second), await wrongSets()]).toEqual([[false, true], []]);
  for (const runtime of runtimes.splice(0)) await runtime.close();
  const db = new DatabaseSync(join(directory, "journal.db"));
  db.exec("DROP TABLE known_values");
  db.close();
  const third = await open([], directory);
  expect(onRecord(third)).toEqual([false, false]);
  expect((await third.place.store.snapshot()).wrongRows(Date.now()).filter((one) => one.startsWith("set "))).toEqual([]);
});
