import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Agent, defineAgent, defineTool, listDecisions, millis, POLICY, seq } from "@orgate/core";
import { afterEach, expect, test } from "vitest";
import * as z from "zod";
import { type Desk, makeDesk, POLICIES } from "../cli/commands/fixtures/desk.ts";
import { openHealthChecks } from "../operations/health-checks.ts";
import { NO_LOG } from "../operations/logs.ts";
import type { Runtime } from "../runtime/api.ts";
import { createRuntime } from "../runtime/runtime.ts";
import { cedarPolicies, type Policies, type ReloadOutcome } from "./policies.ts";
import { recordApplied } from "./policy-record.ts";

const desks: Desk[] = [];
const runtimes: Runtime[] = [];
afterEach(async () => {
  for (const runtime of runtimes.splice(0)) await runtime.close();
  for (const desk of desks.splice(0)) desk.remove();
});

const FORBID = '@id("closed")\n@reason("reading is closed")\nforbid(principal, action == Action::"tool:look", resource);\n';

/** The command line of the project is another process; this one is a program with agents of its own and the same policies and journal. */
async function opened(look: () => Promise<string> | string = () => "well", folder = "policies") {
  const desk = makeDesk();
  desks.push(desk);
  const tool = (name: string, run: () => Promise<string> | string) =>
    defineTool({ name, description: name, input: z.strictObject({}), effects: ["read"], repeat: "read", run });
  const agent: Agent = defineAgent({
    name: "desk",
    instructions: "Do as you are told.",
    model: "offline/desk",
    tools: [tool("look", look), tool("send", () => "sent")],
    modelOptions: {
      rules: [
        { when: { says: "twice", notCalled: ["look"] }, calls: [{ tool: "look" }] },
        { when: { says: "twice", result: "first" }, calls: [{ tool: "look" }] },
        { when: { says: "look", notCalled: ["look"] }, calls: [{ tool: "look" }] },
        { when: {}, say: "done" },
      ],
    },
  });
  if (folder !== "policies") desk.write(`${folder}/desk.cedar`, POLICIES);
  const gate: Policies = cedarPolicies({ directory: join(desk.root, folder), agents: [agent] });
  const told: ReloadOutcome["kind"][] = [];
  gate.onTakenUp(({ kind }) => told.push(kind));
  const directory = join(desk.root, ".orgate");
  const runtime = await createRuntime({ directory, agents: [agent], gate, principal: { kind: "user", id: "ann" } });
  runtimes.push(runtime);
  const decisions = async (input: string) => {
    const { events } = await runtime.complete("desk", input);
    return listDecisions(events).flatMap(({ event: e }) => (e.action.kind === "call" ? [e.verdict] : []));
  };
  const inJournal = async () => (await runtime.place.store.journal.read(POLICY, seq(0), 100)).map(({ event }) => event);
  return { desk, gate, runtime, decisions, inJournal, told };
}
async function apply(desk: Desk, more: string): Promise<void> {
  const next = join(desk.root, "next");
  rmSync(next, { recursive: true, force: true });
  mkdirSync(next);
  writeFileSync(join(next, "desk.cedar"), POLICIES + more);
  const { code, stderr } = await desk.orgate("policy", "apply", "next", "--reason", "a drill");
  expect([code, stderr.includes("error")]).toEqual([0, false]);
}

test("G-15 a set that another process applies decides the next call of a program that runs, within the same turn too; the session names it", async () => {
  let looks = 0;
  const { desk, gate, decisions, inJournal, told } = await opened(async () => {
    looks += 1;
    if (looks > 1) return "later";
    const before = gate.digest;
    await apply(desk, FORBID);
    while (gate.digest === before) await new Promise((resolve) => setTimeout(resolve, 5));
    return "first";
  });
  expect((await decisions("look twice")).map((v) => v.kind)).toEqual(["allow", "deny"]);
  expect([looks, told]).toEqual([1, ["loaded"]]);
  expect(await decisions("look")).toMatchObject([{ kind: "deny", reason: "reading is closed", because: ["desk/closed"] }]);
  await apply(desk, "");
  expect((await decisions("look")).map((v) => v.kind)).toEqual(["allow"]);
  expect((await inJournal()).map(({ kind }) => kind).filter((kind) => kind === "policy.applied")).toHaveLength(2);
}, 60_000);

test("G-15 an applied set that does not load in a process that runs permits nothing there, says why, and is on record; the next that loads decides again", async () => {
  const { desk, gate, runtime, decisions, inJournal, told } = await opened();
  await apply(desk, '@id("held")\nforbid(principal, action == Action::"tool:hold", resource);\n'); // the program has no such tool
  const [verdict] = await decisions("look");
  expect(verdict).toBeUndefined(); // not even the model may be asked
  const now = gate.decideFor("ann", { kind: "edit-policy", surface: "every" }).verdict;
  expect(now).toMatchObject({ kind: "deny", reason: expect.stringContaining("policies/desk.cedar:13:") });
  expect(told).toEqual(["closed"]);
  const ready = () => openHealthChecks({ runtime, isLeaving: () => false, log: NO_LOG }).ready();
  expect(await ready()).toContainEqual({ name: "policies", ok: false, detail: "failed" });
  const events = await inJournal();
  expect(events.find(({ kind }) => kind === "policy.refused")).toMatchObject({ during: "reload" });
  expect(events.findLast(({ kind }) => kind === "policy.loaded")).toMatchObject({ digest: gate.digest, files: [] });
  expect(runtime.inspect.policies()).toBe(gate.digest);
  await apply(desk, "");
  expect((await decisions("look")).map((v) => v.kind)).toEqual(["allow"]);
  expect(told).toEqual(["closed", "loaded"]);
  expect(await ready()).toContainEqual({ name: "policies", ok: true, detail: "" });
  expect((await desk.orgate("journal", "verify")).code).toBe(0);
}, 60_000);

test("G-15 a set that was journalled as applied and never came to lie in the folder permits nothing in a process that runs", async () => {
  const { gate, runtime, decisions, told } = await opened();
  const { sources } = gate.current();
  const changed = { path: "more.cedar", digest: gate.digest, text: FORBID };
  const where = { journal: runtime.place.store.journal, now: () => millis(Date.now()) };
  await recordApplied(where, { kind: "user", id: "ann" }, { before: sources, after: [...sources, changed], changes: [], reason: "killed" });
  expect(await decisions("look")).toEqual([]);
  expect(told).toEqual(["closed"]);
  expect(gate.decideFor("ann", { kind: "edit-policy", surface: "every" }).verdict).toMatchObject({
    reason: expect.stringContaining("was applied, and is not what lies here"),
  });
}, 60_000);

test("G-15 a program whose policies lie in another folder than the one applied to goes on with its own", async () => {
  const { desk, gate, decisions, told } = await opened(() => "well", "mine");
  desk.write("policies/more.cedar", FORBID);
  const before = gate.digest;
  await apply(desk, "");
  expect((await decisions("look")).map((v) => v.kind)).toEqual(["allow"]);
  expect([gate.digest, told]).toEqual([before, []]);
}, 60_000);
