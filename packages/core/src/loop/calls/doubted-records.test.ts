/** Calls of which nobody knows what they did: what was on record of the things that they may have changed. */
import { expect, test } from "vitest";
import { type CrashPoint, reply, type World } from "../../testing/index.ts";
import {
  type Action,
  callId,
  type Decision,
  type Facts,
  FaultError,
  type IntentBody,
  type Json,
  millis,
  type Outcome,
  type Resolution,
  type SkippedRecord,
} from "../../vocab/index.ts";
import { call, REST, type Run, stage, toolOf } from "../fixtures/stage.ts";
import type { Ports } from "../ports.ts";
import { foldRecorded } from "./evolve-records.ts";
import { findRecords } from "./record-facts.ts";

const lost: Run = () => {
  throw new FaultError({ kind: "outcome-unknown", cause: "connection-lost", detail: "it broke" });
};
const failing: Run = () => {
  throw new Error("half of it is done");
};
const ORDER = { of: "order", kind: "id" } as const;
const READS = { effects: ["read"], repeat: "read", records: [{ type: "order", key: { arg: "x" }, fields: { status: "status" } }] } as const;
const WRITES = { effects: ["write"], targets: { x: ORDER } } as const;
const BY_OUTPUT = [{ type: "order", key: "id", fields: { status: "status" } }] as const;
const account = { type: "account", key: { arg: "x" }, set: "project", maxAgeSeconds: 60 } as const;
const TOOLS = {
  look: toolOf("look", () => ({ status: "pending" }), READS),
  cancel: toolOf("cancel", lost, WRITES),
  cancel_done: toolOf("cancel_done", () => "done", WRITES),
  cancel_stranger: toolOf("cancel_stranger", lost, { ...WRITES, labels: ["untrusted"] }),
  cancel_failed: toolOf("cancel_failed", failing, WRITES),
  cancel_again: toolOf("cancel_again", failing, { ...WRITES, repeat: "idempotent" }),
  cancel_told: toolOf("cancel_told", lost, { ...WRITES, records: BY_OUTPUT }),
  cancel_asked: toolOf("cancel_asked", lost, {
    ...WRITES,
    repeat: "reconcile",
    reconcile: async () => ({ kind: "happened", output: null }),
  }),
  cancel_unsure: toolOf("cancel_unsure", failing, {
    ...{ ...WRITES, repeat: "reconcile", recover: [{ kind: "retry", times: 2, backoffMs: 0, maxBackoffMs: 0 }, "ask-model"] },
    reconcile: async () => ({ kind: "cannot-tell", detail: "no idea" }),
  }),
  cancel_half: toolOf("cancel_half", failing, {
    ...{ ...WRITES, repeat: "reconcile" },
    reconcile: async () => ({ kind: "happened", output: null }),
  }),
  peek: toolOf("peek", lost, { effects: ["read"], targets: { x: ORDER } }),
  ship_next: toolOf("ship_next", lost, { effects: ["write"], records: BY_OUTPUT }),
  ship_failed: toolOf("ship_failed", failing, { effects: ["write"], records: BY_OUTPUT }),
  look_account: toolOf("look_account", () => ({}), { ...READS, records: [account] }),
  close_account: toolOf("close_account", lost, { effects: ["write"], targets: { x: { kind: "account", of: "account" } } }),
  open_account: toolOf("open_account", lost, { effects: ["write"], records: [{ ...account, key: "id" }] }),
  check: toolOf("check", () => "checked", { effects: ["read"], repeat: "read", targets: { x: ORDER } }),
  check_account: toolOf("check_account", () => "checked", {
    effects: ["read"],
    repeat: "read",
    targets: { x: { kind: "account", of: "account" } },
  }),
};
type Name = keyof typeof TOOLS;
type Step = readonly [tool: Name | "later", x: string];

/** Journals with each decision which things of the call's arguments are on record. */
const telling = (p: Ports): Ports => ({
  ...p,
  gate: {
    ...p.gate,
    decide: (action: Action, facts: Facts): Decision => ({
      ...p.gate.decide(action, facts),
      read: { seen: Object.values(facts.records()).flatMap(({ each }) => each.map(({ id, fields }) => [id, fields["status"] ?? null])) },
    }),
  },
});

const LOOKED: readonly Step[] = [
  ["look", "A"],
  ["look", "B"],
];
const CHECKED: readonly Step[] = [
  ["check", "A"],
  ["check", "B"],
];
const repliesOf = (steps: readonly Step[]) => [...steps.map(([tool, x], i) => reply.calls([call(tool, x, `c${i}`)])), reply.text("done")];
type More = Readonly<{ crashes?: readonly CrashPoint[]; spoil?: (p: Ports) => Ports }>;

function worldOf(steps: readonly Step[], { crashes = [], spoil = (p) => p }: More = {}): World {
  return stage(repliesOf(steps), REST, { tools: Object.values(TOOLS), crashes, spoil: (p) => telling(spoil(p)) }).w;
}
/** Of each call that only checks: whether what it names was on record when it was decided. */
const onRecord = (w: World): readonly boolean[] =>
  w
    .events("gate.decided")
    .flatMap(({ action, read }) =>
      action.kind === "call" && action.tool.startsWith("check") ? [(read["seen"] as Json[]).length > 0] : [],
    );
const doubts = (w: World) =>
  w.events("known.recorded").flatMap(({ call: by, type, set, skipped }) => (skipped.length > 0 ? [{ by, type, set, skipped }] : []));
const skipped = (key: string | null): SkippedRecord => ({ key, field: "key", why: "unknown" });

test.each<[string, Step, readonly boolean[]]>([
  ["that names it has an unknown outcome", ["cancel", "A"], [false, true]],
  ["that spells it otherwise has an unknown outcome", ["cancel", "a"], [false, true]],
  ["of an untrusted tool has an unknown outcome", ["cancel_stranger", "A"], [false, true]],
  ["that cannot be repeated failed, and may have done half", ["cancel_failed", "A"], [false, true]],
  ["would only have said which one it is, in its output", ["ship_next", "7"], [false, false]],
  ["names it in a way that cannot be compared", ["cancel", "A\u200b"], [false, false]],
  ["names it at a length that no key has", ["cancel", "A".repeat(201)], [false, false]],
])("G-39 what was on record of a thing ends when a call %s", async (_, step, expected) => {
  const w = worldOf([...LOOKED, step, ...CHECKED]);
  await w.run("go");
  expect(onRecord(w)).toEqual(expected);
  const kinds = w.entries().map(({ event: e }) => (e.kind === "known.recorded" || e.kind === "act.ended" ? `${e.kind} ${e.call}` : e.kind));
  expect(kinds.slice(kinds.lastIndexOf("known.recorded 3.0")).slice(0, 2)).toEqual(["known.recorded 3.0", "act.ended 3.0"]);
});

test.each<[string, Step]>([
  ["is done: its own declaration says what it changed", ["cancel_done", "A"]],
  ["that changes nothing has an unknown outcome", ["peek", "A"]],
  ["that may be repeated failed", ["cancel_again", "A"]],
  ["that names nothing failed", ["ship_failed", "7"]],
])("G-39 what is on record of a thing stays when a call %s", async (_, step) => {
  const w = worldOf([...LOOKED, step, ...CHECKED]);
  await w.run("go");
  expect([onRecord(w), doubts(w)]).toEqual([[true, true], []]);
});

test.each<Name>(["cancel_half", "cancel_unsure"])(
  "G-39 a failed call of a tool that can tell what happened, and is not asked or cannot tell, ends the record of what it names (%s)",
  async (name) => {
    const w = worldOf([...LOOKED, [name, "A"], ...CHECKED]);
    await w.run("go");
    expect([onRecord(w), doubts(w)]).toEqual([[false, true], [{ by: "3.0", type: "order", set: "session", skipped: [skipped("A")] }]]);
  },
);

test("G-39 what is read after the unknown outcome counts again", async () => {
  const w = worldOf([...LOOKED, ["cancel", "A"], ["look", "A"], ["ship_next", "7"], ["look", "B"], ...CHECKED]);
  await w.run("go");
  expect(onRecord(w)).toEqual([false, true]);
  expect(doubts(w)).toEqual([
    { by: "3.0", type: "order", set: "session", skipped: [skipped("A")] },
    { by: "5.0", type: "order", set: "session", skipped: [skipped(null)] },
  ]);
});

test("G-39 a call that is lost with its process and given up ends the record of what it names; one whose tool is gone by then, all that policies can read", async () => {
  const crash: CrashPoint = { of: "effect", when: "after", nth: 2 };
  const steps = [...LOOKED, ["cancel_done", "A"] as const, ...CHECKED];
  const w = worldOf(steps, { crashes: [crash] });
  await w.run("go");
  expect(w.events("act.ended")[2]).toMatchObject({ outcome: { kind: "unknown", cause: "hold-lost" } });
  expect([onRecord(w), doubts(w)]).toEqual([[false, true], [{ by: "3.0", type: "order", set: "session", skipped: [skipped("A")] }]]);
  let booted = 0;
  const forgetful = (p: Ports): Ports => {
    booted += 1;
    return booted === 1 ? p : { ...p, tools: { ...p.tools, find: (name) => (name === "cancel_done" ? null : p.tools.find(name)) } };
  };
  const gone = worldOf(steps, { crashes: [crash], spoil: forgetful });
  await gone.run("go");
  expect(onRecord(gone)).toEqual([false, false]);
  expect(
    doubts(gone)
      .map(({ type }) => type)
      .sort(),
  ).toEqual(["account", "order"]);
});

const resolved = (as: Resolution): IntentBody => ({ kind: "resolve", call: callId("3.0"), as, note: "" });
const late = (outcome: Outcome): IntentBody => ({ kind: "late", call: callId("3.0"), outcome });

test.each<[string, Name, IntentBody, readonly boolean[]]>([
  ["ends by a late outcome", "cancel", late({ kind: "done", output: null }), [false, true]],
  [
    "is made again by a late outcome that says of it",
    "cancel_told",
    late({ kind: "done", output: { id: "A", status: "gone" } }),
    [true, true],
  ],
  ["ends when the tool is asked, and says that it happened", "cancel_asked", resolved("reconcile"), [false, true]],
  ["ends when a person says that it happened", "cancel", resolved("happened"), [false, true]],
  ["stays when a person says that it did not happen", "cancel", resolved("did-not-happen"), [true, true]],
  ["stays when a person gives it up", "cancel", resolved("abandon"), [true, true]],
])("G-39 what was read of a thing while nobody knew %s", async (_, tool, wish, expected) => {
  const w = worldOf([...LOOKED, [tool, "A"], ["look", "A"], ["look", "B"]]);
  await w.run("go");
  await w.wish(wish, wish.kind === "late" ? { kind: "system", id: "w1" } : undefined);
  await w.go();
  expect(w.state().unknowns.size).toBe(0);
  const isOnRecord = (key: string): boolean => "fields" in (w.state().things.get(`order\n${key}`) ?? {}); // one that has ended says nothing
  expect(["A", "B"].map(isOnRecord)).toEqual(expected);
});

test("G-39 a record of the project that a call with an unknown outcome names ends in every session; where only the output would have named it, in its own", async () => {
  const accounts: readonly Step[] = [
    ["look_account", "A"],
    ["look_account", "B"],
  ];
  const checks: readonly Step[] = [
    ["check_account", "A"],
    ["check_account", "B"],
  ];
  const sessions: readonly (readonly Step[])[] = [
    [...accounts, ["close_account", "A"], ...checks],
    checks,
    [...accounts, ["open_account", "7"], ...checks, ["later", ""], ["look_account", "B"], ...checks],
    checks,
  ];
  const later = toolOf("later", () => String(w.clock.advance(10)), { effects: ["read"] }); // what is said in the very millisecond of the doubt does not count
  const w = stage(sessions.flatMap(repliesOf), REST, { tools: [...Object.values(TOOLS), later], spoil: telling }).w;
  const seen: (readonly boolean[])[] = [];
  for (const _ of sessions) {
    await w.run("go");
    seen.push(onRecord(w));
  }
  expect(seen).toEqual([
    [false, true],
    [false, true],
    [false, false, false, true],
    [true, true],
  ]);
});

test("G-39 a record of the project is not believed again because what the session said of the thing since was dropped, or the clock was set back", async () => {
  const w = worldOf([["check", "A"]]);
  await w.run("go");
  const s = w.state();
  const recorded = (keys: readonly string[], skipped: readonly SkippedRecord[], at: number): unknown =>
    foldRecorded(
      s,
      {
        ...{ kind: "known.recorded", call: callId("9.0"), type: "order", set: "session", maxAgeSeconds: null, establishes: null },
        ...{ records: keys.map((key) => ({ key, owner: null, fields: {} })), skipped },
      },
      millis(at),
    );
  const action = w.events("gate.decided").find(({ action: one }) => one.kind === "call")?.action;
  const shared = { key: "A", owner: null, fields: {}, maxAgeSeconds: null };
  const isBelieved = (at: number): boolean => {
    const p = { journal: { recorded: () => ({ ...shared, at: millis(at) }) } };
    return action !== undefined && "order" in findRecords({ p, s, now: millis(9_000) }, TOOLS.check, action);
  };
  expect(isBelieved(1_000)).toBe(true);
  recorded([], [skipped("A")], 2_000);
  expect(isBelieved(1_000)).toBe(false);
  for (const start of Array(11).keys())
    recorded(
      Array.from({ length: 500 }, (_, i) => `B-${start}-${i}`),
      [],
      3_000,
    );
  expect([s.things.has("order\nA"), isBelieved(1_000), isBelieved(4_000)]).toEqual([false, false, true]);
  recorded([], [skipped(null)], 5_000);
  recorded([], [skipped(null)], 4_500);
  expect([isBelieved(4_800), isBelieved(5_001)]).toEqual([false, true]);
});
