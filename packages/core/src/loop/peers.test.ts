/**
 * Complaints of users of other runtimes, one test each: runs that are lost or cannot be recovered after a crash, and tools that run again on resume.
 * The names say where it was reported.
 */

import { expect, test } from "vitest";
import type { Message } from "../reason/port.ts";
import { type CrashPoint, reply, world } from "../testing/index.ts";
import { callKey, type Json } from "../vocab/index.ts";
import { ANN, asks, call, open, pay, REST, say, sha256, stage, toolOf } from "./fixtures/stage.ts";
import { callsIn } from "./state.ts";

const killed = (of: CrashPoint["of"], nth: number, when: CrashPoint["when"] = "after"): CrashPoint => ({ of, nth, when });

function expectAnswered(messages: readonly Message[]): void {
  const calls = messages.flatMap((m) => (m.role === "assistant" ? m.parts.flatMap((p) => (p.kind === "call" ? [p.wireId] : [])) : []));
  expect(messages.flatMap((m) => (m.role === "tool" ? [m.wireId] : []))).toEqual(calls);
}

test("H-14 mastra#19056: a deploy that kills runs in flight strands none of them: the next process takes each up and ends it", async () => {
  for (const point of [
    killed("append", 0),
    killed("model", 0),
    killed("append", 1),
    killed("effect", 0),
    killed("append", 2),
    killed("model", 1),
  ]) {
    const look = toolOf("look", () => "seen", { repeat: "read" });
    const steps = [reply.calls([call("look", "1")]), reply.calls([call("look", "1", "b")]), reply.text("done"), reply.text("done")];
    const model = { id: "placed/model", ask: askAt(steps.slice(0, 1), "done") };
    const w = world({ hash: sha256, model, rows: REST, tools: [look], crashes: [point] });
    expect((await w.run("go")).last, JSON.stringify(point)).toMatchObject({ ending: "completed", output: "done" });
    expect(w.processes()).toBe(2);
  }
});

/** Calls first, then the answer, by how far the conversation is. */
function askAt(steps: readonly ReturnType<typeof reply.calls>[], answer: string) {
  return async ({ messages }: { readonly messages: readonly Message[] }) => {
    const step = steps[messages.filter((m) => m.role === "assistant").length] ?? reply.text(answer);
    if (step.kind !== "reply") throw new Error("only replies");
    return { parts: step.parts, finish: step.finish, usage: step.usage, model: "placed/model", meta: null };
  };
}

test("H-14 mastra#22636: nothing that taking up needs is pruned: the fold of the journal is the state that the process had", async () => {
  const { w } = stage([reply.calls([pay("1"), call("nothing", "x")]), reply.text("done")], REST);
  const had = await w.run("go");
  expect(plain(w.state())).toEqual(plain(had));
});
/** Maps and sets included. */
const plain = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, v: unknown) => (v instanceof Map ? [...v] : v instanceof Set ? [...v] : v)));

test("H-14 mastra PR #23239: a take-up that fails deletes no evidence: what was there before is there still, and the next one goes on", async () => {
  const { w, ran } = stage([reply.calls([pay("1")]), reply.text("done")], asks());
  await w.run("go");
  const before = w.entries();
  await say(w, { kind: "approve" });
  w.disk.broken.detail = "the disk is full";
  await expect(w.go()).rejects.toThrow("the disk is full");
  expect(w.entries()).toEqual(before);
  w.disk.broken.detail = null;
  w.disk.alive.clear(); // that process ends
  await w.go();
  expect(ran).toEqual(["1"]);
  expect(w.entries().slice(0, before.length)).toEqual(before);
});

test("H-14 mastra#24749: a call that waits for a person in the third iteration is taken up there, by a process of its own", async () => {
  const look = toolOf("look", () => "seen", { repeat: "read" });
  const steps = [reply.calls([call("look", "1")]), reply.calls([call("look", "2")]), reply.calls([pay("1")]), reply.text("done")];
  const { w, ran, model } = stage(steps, asks(), { tools: [look] });
  await w.run("go");
  expect(open(w)).toMatchObject([{ action: "3.0" }]);
  await say(w, { kind: "approve" });
  expect((await w.go()).last).toMatchObject({ ending: "completed", iterations: 4 });
  expect(ran).toEqual(["1"]);
  model.done();
});

test("H-14 openai-agents-js#441: a run is on record while it runs, in the middle of a call too", async () => {
  let seen: Json = null;
  const peek = toolOf("peek", () => {
    const { turn } = w.state();
    seen = { iterations: turn?.iterations ?? 0, run: callsIn(turn)[0]?.run.kind ?? "" };
    return "ok";
  });
  const { w } = stage([reply.calls([call("peek", "1")]), reply.text("done")], REST, { tools: [peek] });
  await w.run("go");
  expect(seen).toEqual({ iterations: 1, run: "running" });
});

test("H-14 vercel/eve#2866: an upgrade fails no session that waits: another agent, other tools, the same events, and the change is on record", async () => {
  const { w, ran } = stage([reply.calls([pay("1")]), reply.text("done")], asks());
  await w.run("go");
  await say(w, { kind: "approve" });
  const edited = toolOf("pay", ({ x }) => String(ran.push(`new ${x}`)), {
    description: "pays, better",
    resource: (input: unknown) => ({ type: "Account", id: (input as { x: string }).x }),
  });
  const next = world({ hash: sha256, model: { id: "scripted/model", ask: askAt([], "done") }, rows: asks(), tools: [edited] });
  for (const [stream, entries] of w.disk.entries) next.disk.entries.set(stream, entries);
  for (const [stream, head] of w.disk.heads) next.disk.heads.set(stream, head);
  for (const [session, summary] of w.disk.sessions) next.disk.sessions.set(session, summary);
  for (const [id, row] of w.disk.inbox) next.disk.inbox.set(id, row);
  next.turnTo(w.session());
  const s = await next.go();
  expect(next.events("agent.changed")).toHaveLength(1);
  expect(s.turn === null || [...s.turn.questions.values()].some((q) => q.answer === null)).toBe(true); // goes on, or asks about the other tool: never a dead end
  expect(ran.every((x) => x.startsWith("new"))).toBe(true);
});

test("H-14 vercel/eve#1152: no callback need be there in a fresh process: the question is data, and so is its answer", async () => {
  const { w, ran } = stage([reply.calls([pay("1")]), reply.text("done")], asks());
  await w.run("go");
  await w.go();
  await w.go(); // processes come and go, and it still waits
  expect(open(w)).toHaveLength(1);
  await say(w, { kind: "approve" });
  expect((await w.go()).last).toMatchObject({ ending: "completed" });
  expect(ran).toEqual(["1"]);
});

test("H-14 strands sdk-typescript#956: there is one way to save, and a question is durable before anybody sees it", async () => {
  const { w } = stage([reply.calls([pay("1")])], asks(), {
    spoil: (p) => ({
      ...p,
      watch: (live) => {
        if (live.kind === "entry" && live.entry.event.kind === "approval.asked")
          expect(w.entries().map((e) => e.seq)).toContain(live.entry.seq);
        p.watch(live);
      },
    }),
  });
  await w.run("go");
  expect(w.live.some((l) => l.kind === "entry" && l.entry.event.kind === "approval.asked")).toBe(true);
});

test("H-14 google/adk-python#1484, adk-web#306: a turn that is stopped leaves no call unanswered, and the session goes on", async () => {
  const stop = new AbortController();
  const slow = toolOf("slow", (_, { signal }) => {
    stop.abort("the page was closed");
    return new Promise((_done, failed) => signal.addEventListener("abort", () => failed(signal.reason)));
  });
  const { w, model } = stage([reply.calls([call("slow", "1"), pay("2")]), reply.text("and on")], REST, {
    tools: [slow],
    limits: { toolsAtOnce: 1 },
  });
  expect((await w.run("go", stop.signal)).last).toMatchObject({ ending: "cancelled" });
  expectAnswered(w.state().messages);
  expect((await w.say("go on")).last).toMatchObject({ ending: "completed", output: "and on" });
  expectAnswered(model.asked.at(-1)?.messages ?? []);
});

test("H-14 langgraph#7417: a tool that was running when its process was lost is not run again in silence: its outcome is unknown, and listed", async () => {
  const { w, ran } = stage([reply.calls([pay("1")]), reply.text("done")], REST, { crashes: [killed("effect", 0)] });
  const s = await w.run("go");
  expect(ran).toEqual(["1"]);
  expect([...s.unknowns.values()]).toMatchObject([{ tool: "pay", outcome: { cause: "hold-lost" } }]);
  expect(w.disk.sessions.get(w.session())).toMatchObject({ openUnknowns: 1 });
});

test("H-14 deepagents#420: a question about one call does not run its siblings again", async () => {
  const ran: string[] = [];
  const look = toolOf("look", ({ x }) => String(ran.push(x)));
  const stage1 = stage([reply.calls([call("look", "a"), pay("1"), call("look", "b")]), reply.text("done")], asks(), { tools: [look] });
  await stage1.w.run("go");
  expect(ran).toEqual(["a", "b"]);
  await say(stage1.w, { kind: "approve" });
  await stage1.w.go();
  expect([ran, stage1.ran]).toEqual([["a", "b"], ["1"]]);
});

test("H-14 langgraph PR #6603, #6577: taking up begins where it stood, not at the top: nothing that was done is done again", async () => {
  const ran: string[] = [];
  const step = toolOf("step", ({ x }) => String(ran.push(x)));
  const { w, model } = stage(
    [reply.calls([call("step", "1")]), reply.calls([pay("1")]), reply.calls([call("step", "2")]), reply.text("done")],
    asks(),
    { tools: [step] },
  );
  await w.run("go");
  for (let i = 0; i < 3; i += 1) await w.go();
  await say(w, { kind: "approve" });
  await w.go();
  expect(ran).toEqual(["1", "2"]);
  model.done(); // no reply was asked for twice
});

test("H-14 inngest/agent-kit#196, PR #206: three turns with a question each are three replies and one each, however often they are taken up", async () => {
  const steps = ["1", "2", "3"].flatMap((x) => [reply.calls([pay(x)]), reply.text(`done ${x}`)]);
  const { w, ran, model } = stage(steps, asks());
  for (const x of ["1", "2", "3"]) {
    await (x === "1" ? w.run("go") : w.say("again"));
    await w.go();
    await say(w, { kind: "approve" });
    expect((await w.go()).last).toMatchObject({ output: `done ${x}` });
  }
  expect(ran).toEqual(["1", "2", "3"]);
  expect(w.events("model.asked")).toHaveLength(6);
  expect(w.state().turns).toBe(3);
  model.done();
});

test("H-14 microsoft/agent-framework#3938: a refund that may be repeated is repeated with the same key, so that it happens once", async () => {
  const refunds = new Map<string, number>();
  const refund = toolOf(
    "refund",
    (_, { key }) => {
      refunds.set(key, (refunds.get(key) ?? 0) + 1);
      return "refunded";
    },
    { repeat: "idempotent" },
  );
  const { w } = stage([reply.calls([call("refund", "1")]), reply.text("done")], REST, {
    tools: [refund],
    crashes: [killed("effect", 0), killed("effect", 0)],
  });
  expect((await w.run("go")).last).toMatchObject({ ending: "completed" });
  expect([...refunds.values()]).toEqual([3]);
});

test("H-14 strands harness-sdk#2884: every call has a key of its own, the same at every start, also when two calls are alike", async () => {
  const keys: string[] = [];
  const note = toolOf("note", (_, { key }) => String(keys.push(key)));
  const { w } = stage([reply.calls([call("note", "1", "a"), call("note", "1", "b")]), reply.text("done")], REST, { tools: [note] });
  await w.run("go");
  expect(keys).toEqual([`${w.session()}/1.0`, `${w.session()}/1.1`]);
  expect(w.events("act.started").map((e) => callKey(w.session(), e.call, e.edition))).toEqual(keys);
});

test("H-14 vertz#2835: at most once, with the start on record before it and the outcome with what follows from it", async () => {
  for (const when of ["before", "after"] as const) {
    const { w, ran } = stage([reply.calls([pay("1")]), reply.text("done")], REST, { crashes: [killed("effect", 0, when)] });
    await w.run("go");
    expect(ran).toHaveLength(when === "before" ? 0 : 1);
    expect(w.events("act.started")).toHaveLength(1);
    expect(w.events("act.ended")).toMatchObject([{ outcome: { kind: "unknown" } }]);
  }
});

test("H-14 crewAI#5802: a payment whose outcome is unknown is not made again without a person, whatever the policies permit", async () => {
  const { w, ran } = stage([reply.calls([pay("1")]), reply.calls([pay("1", "again")])], REST, { crashes: [killed("effect", 0)] });
  await w.run("go");
  expect(ran).toEqual(["1"]);
  expect(open(w)).toMatchObject([{ action: "2.0" }]);
  await say(w, { kind: "deny", reason: "it went through" }, ANN);
  await w.go().catch(() => {});
  expect(ran).toEqual(["1"]);
});
