/** Calls and histories of a socket, over a real runtime, its session driver and its journal. */
import { type JournalEvent, type SessionId, seq } from "@orgate/core";
import { reply } from "@orgate/core/testing";
import type { Called, OperationName, OperationOutput } from "@orgate/protocol";
import { afterEach, expect, test } from "vitest";
import { type Act, act } from "../../operations/access.ts";
import { callOperation, type OperationParts } from "../../operations/call-operation.ts";
import { type Crank, type Mishap, openCrank, type Way } from "../fixtures/crank.ts";
import { openStage, type Stage, type StageOptions } from "../fixtures/stage.ts";
import { latch } from "../fixtures/stand.ts";
import { readHistory } from "./history.ts";

const open: Stage[] = [];
afterEach(async () => {
  for (const stage of open.splice(0)) await stage.close();
});
async function stageOf(options: StageOptions): Promise<Stage> {
  const stage = await openStage(options);
  open.push(stage);
  return stage;
}
const crankOf = (stage: Stage): Crank =>
  openCrank({ fanout: stage.ports.fanout, journal: stage.runtime.place.store.journal }, { caller: stage.caller, ports: stage.ports });

/** The crank is turned until it is there. */
async function turned<T>(crank: Crank, wanted: Promise<T>): Promise<T> {
  let isThere = false;
  void wanted.finally(() => {
    isThere = true;
  });
  while (!isThere) await crank.calm();
  return wanted;
}

const eventsOf = async ({ runtime }: Stage, session: SessionId): Promise<readonly JournalEvent[]> =>
  (await runtime.place.store.journal.read(session, seq(0), 1_000)).map(({ event }) => event);
const sessionIn = (got: Called<Readonly<{ session: SessionId }>>): SessionId => {
  if (got.kind !== "ok") throw new Error(JSON.stringify(got));
  return got.value.session;
};
/** As the frame `call` does it; its id is the key. */
const call = async (stage: Stage, id: string, name: OperationName, input: OperationParts): Promise<unknown> =>
  (await callOperation(stage.ports.operations, { name, input, caller: stage.caller, key: id, gone: new AbortController().signal })).value;
const RUN = { params: { agent: "clerk" }, body: { input: "hi", waitMs: 0 } };
const begin = async (stage: Stage, id: string): Promise<SessionId> =>
  ((await call(stage, id, "execute", RUN)) as OperationOutput<"execute">).session;
const MISHAPS: readonly Mishap[] = ["drop", "double", "overtake", "delay", "cut"];
const WAYS: readonly Way[] = ["up", "down"];

test("W-5 whatever happens at any message of a request: it is answered once, and done once", async () => {
  const stage = await stageOf({ steps: Array.from({ length: 200 }, () => reply.text("ok")) });
  let asked = 0;
  const answered = new Set<SessionId>();
  for (const way of WAYS)
    for (const what of MISHAPS)
      for (let at = 0; at < 3; at += 1) {
        const crank = crankOf(stage);
        let answers = 0;
        asked += 1;
        const got = crank.link.call("execute", RUN, { key: `ask-${asked}` });
        void got.then(() => {
          answers += 1;
        });
        for (let delivered = 0; delivered < 3; delivered += 1) {
          await crank.tick();
          if (delivered === at) await crank.mishap(way, what);
          await crank.deliver("up");
          await crank.deliver("down");
        }
        answered.add(sessionIn(await turned(crank, got)));
        await crank.calm();
        expect(answers).toBe(1);
        crank.link.close();
      }
  expect(answered.size).toBe(asked);
  for (const session of answered)
    expect(
      (await eventsOf(stage, session)).filter(({ kind }) => kind === "turn.started" || kind === "input.queued").length,
    ).toBeLessThanOrEqual(2);
  expect(await stage.runtime.sessions.list({ most: 500 })).toHaveLength(asked);
  expect((await stage.runtime.sessions.list({ most: 500 })).every(({ turns }) => turns <= 1)).toBe(true);
});

test("W-5 the same id of the same person is one request, also over another connection and for another edition of it", async () => {
  const stage = await stageOf({ steps: [reply.text("once"), reply.text("twice")] });
  const [session, same] = await Promise.all([begin(stage, "1"), begin(stage, "1")]);
  expect(same).toBe(session);
  await stage.sessionDriver.send({ session, wish: { kind: "follow-up", text: "and" }, as: stage.ann });
  expect(await begin(stage, "1")).toBe(session);
  expect((await eventsOf(stage, session)).filter(({ kind }) => kind === "input.queued")).toHaveLength(2);
  expect(await begin(stage, "2")).not.toBe(session);
});

test("W-25 Q-23 a running turn is steered and cancelled, and a question answered, over the connection it was asked on", async () => {
  const hold = latch();
  const steps = [reply.calls([{ tool: "wait", args: {} }]), reply.calls([{ tool: "pay", args: {} }]), reply.text("never")];
  const stage = await stageOf({ steps, hold });
  const session = await begin(stage, "1");
  await hold.reached;
  expect(await call(stage, "2", "steer", { params: { session }, body: { text: "left" } })).toMatchObject({
    entry: { event: { kind: "input.steered", text: "left" } },
  });
  hold.open();
  for await (const live of stage.runtime.subscribe({ session }))
    if (live.kind === "entry" && live.entry.event.kind === "approval.asked") break;
  const [question] = await stage.runtime.approvals.list();
  if (question === undefined) throw new Error("nothing waits");
  const { approval, digest } = question;
  const answer = (id: string, given: object) => call(stage, id, "answer", { params: { approval }, body: { digest, answer: given } });
  const deny = { kind: "deny", reason: "too dear" };
  expect(await answer("3", deny)).toMatchObject({
    entry: { event: { kind: "approval.answered", by: { kind: "user", id: "ann" } } },
  });
  expect(await answer("3", deny)).toMatchObject({ session, entry: { event: { kind: "approval.answered" } } }); // sent again: the same answer
  await expect(answer("4", { kind: "approve" })).rejects.toThrow(/is not open any more \(.+\): You denied it: too dear\./);
});

test("W-25 a cancel stops the turn that runs", async () => {
  const hold = latch();
  const stage = await stageOf({ steps: [reply.calls([{ tool: "wait", args: {} }])], hold });
  const session = await begin(stage, "1");
  await hold.reached;
  await call(stage, "2", "cancel", { params: { session }, body: { reason: "enough" } });
  hold.open();
  for await (const live of stage.runtime.subscribe({ session }))
    if (live.kind === "entry" && live.entry.event.kind === "turn.ended") {
      expect(live.entry.event.ending).toBe("cancelled");
      break;
    }
});

test("W-6 each kind of request is decided before anything is done, on the session, its agent and whose it is", async () => {
  const stage = await stageOf({ steps: [reply.text("ok")] });
  const session = await begin(stage, "1");
  const before = (await eventsOf(stage, session)).length;
  const wanted: unknown[] = [];
  const access = {
    mayDo: (_: unknown, one: Act) => {
      if (one.kind === "observe") return null; // they may look
      wanted.push(one);
      return "not you";
    },
  };
  const operations = stage.operationsFor(access);
  const about = { session, agent: "clerk", requester: "ann" };
  const said = { text: "x" };
  for (const [name, input, decided] of [
    ["execute", RUN, act("run", "agent", { agent: "clerk" })],
    ["say", { params: { session }, body: said }, act("say", "session", about)],
    ["steer", { params: { session }, body: said }, act("steer", "session", about)],
    ["cancel", { params: { session }, body: {} }, act("cancel", "session", about)],
    ["close", { params: { session }, body: {} }, act("close", "session", about)],
  ] as const) {
    const order = { name, input, caller: stage.caller, key: name, gone: new AbortController().signal };
    await expect(callOperation(operations, order)).rejects.toThrow(/not you/);
    expect(wanted.at(-1)).toEqual(decided);
  }
  const page = readHistory({ ...stage.ports, access }, stage.caller, { kind: "history", id: "e", session, before: null, most: 10 });
  await expect(page).rejects.toThrow(/not you/);
  expect(wanted.at(-1)).toEqual(act("read-journal", "session", about));
  expect((await eventsOf(stage, session)).filter(({ kind }) => kind !== "turn.ended").length).toBeGreaterThanOrEqual(before - 1);
  expect((await eventsOf(stage, session)).some(({ kind }) => kind === "turn.cancel-asked" || kind === "input.steered")).toBe(false);
});

test("W-6 history is read backwards, page by page, to its beginning", async () => {
  const stage = await stageOf({ steps: [reply.text("ok")] });
  const session = await begin(stage, "1");
  for await (const live of stage.runtime.subscribe({ session })) if (live.kind === "entry" && live.entry.event.kind === "turn.ended") break;
  const all = await stage.runtime.place.store.journal.read(session, seq(0), 1_000);
  const found = [];
  for (let before: ReturnType<typeof seq> | null = null; ; ) {
    const page = await readHistory(stage.ports, stage.caller, { kind: "history", id: "h", session, before, most: 4 });
    found.unshift(...page.entries);
    before = page.before;
    if (before === null) break;
  }
  expect(found).toEqual(all);
});
