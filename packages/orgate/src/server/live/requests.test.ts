/** What frames ask for, over a real runtime, its session driver and its journal. */
import { type JournalEvent, type SessionId, seq } from "@orgate/core";
import { reply } from "@orgate/core/testing";
import type { Reply } from "@orgate/protocol";
import { afterEach, expect, test } from "vitest";
import { type Act, act } from "../../operations/access.ts";
import { type Crank, type Mishap, openCrank, type Way } from "../fixtures/crank.ts";
import { openStage, type Stage, type StageOptions } from "../fixtures/stage.ts";
import { latch } from "../fixtures/stand.ts";
import { answerRequest } from "./requests.ts";

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
const sessionIn = (got: Reply): SessionId => {
  if (got.kind !== "done") throw new Error(JSON.stringify(got));
  return got.session;
};
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
        const got = crank.link.ask({ kind: "chat", agent: "clerk", session: null, text: "hello" }, { id: `ask-${asked}` });
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
  const chat = (id: string) => answerRequest(stage.ports, stage.caller, { kind: "chat", id, agent: "clerk", session: null, text: "hi" });
  const [a, b] = await Promise.all([chat("1"), chat("1")]);
  expect(b).toEqual(a);
  const session = sessionIn(a);
  await stage.sessionDriver.send({ session, wish: { kind: "follow-up", text: "and" }, as: stage.ann });
  expect(await chat("1")).toEqual(a);
  expect((await eventsOf(stage, session)).filter(({ kind }) => kind === "input.queued")).toHaveLength(2);
  expect(sessionIn(await chat("2"))).not.toBe(session);
});

test("W-25 Q-23 a running turn is steered and cancelled, and a question answered, over the connection it was asked on", async () => {
  const hold = latch();
  const steps = [reply.calls([{ tool: "wait", args: {} }]), reply.calls([{ tool: "pay", args: {} }]), reply.text("never")];
  const stage = await stageOf({ steps, hold });
  const ask = (frame: Parameters<typeof answerRequest>[2]) => answerRequest(stage.ports, stage.caller, frame);
  const session = sessionIn(await ask({ kind: "chat", id: "1", agent: "clerk", session: null, text: "go" }));
  await hold.reached;
  expect(await ask({ kind: "steer", id: "2", session, text: "left" })).toMatchObject({
    kind: "done",
    entry: { event: { kind: "input.steered", text: "left" } },
  });
  hold.open();
  for await (const live of stage.runtime.subscribe({ session }))
    if (live.kind === "entry" && live.entry.event.kind === "approval.asked") break;
  const [question] = await stage.runtime.approvals.list();
  if (question === undefined) throw new Error("nothing waits");
  const { approval, digest } = question;
  expect(
    await ask({ kind: "answer", id: "3", session: null, approval, digest, answer: { kind: "deny", reason: "too dear" } }),
  ).toMatchObject({
    entry: { event: { kind: "approval.answered", by: { kind: "user", id: "ann" } } },
  });
  const again = await ask({ kind: "answer", id: "3", session, approval, digest, answer: { kind: "deny", reason: "too dear" } });
  expect(again).toMatchObject({ kind: "done", session, entry: { event: { kind: "approval.answered" } } }); // sent again: told again
  await expect(ask({ kind: "answer", id: "4", session, approval, digest, answer: { kind: "approve" } })).rejects.toThrow(
    /is not open any more \(.+\): You denied it: too dear\./,
  );
  await expect(ask({ kind: "answer", id: "5", session: null, approval, digest, answer: { kind: "approve" } })).rejects.toThrow(
    /You denied it/,
  );
});

test("W-25 a cancel stops the turn that runs", async () => {
  const hold = latch();
  const stage = await stageOf({ steps: [reply.calls([{ tool: "wait", args: {} }])], hold });
  const session = sessionIn(
    await answerRequest(stage.ports, stage.caller, { kind: "chat", id: "1", agent: "clerk", session: null, text: "go" }),
  );
  await hold.reached;
  await answerRequest(stage.ports, stage.caller, { kind: "cancel", id: "2", session, reason: "enough", all: false });
  hold.open();
  for await (const live of stage.runtime.subscribe({ session }))
    if (live.kind === "entry" && live.entry.event.kind === "turn.ended") {
      expect(live.entry.event.ending).toBe("cancelled");
      break;
    }
});

test("W-6 each kind of request is decided before anything is done, on the session, its agent and whose it is", async () => {
  const stage = await stageOf({ steps: [reply.text("ok")] });
  const session = sessionIn(
    await answerRequest(stage.ports, stage.caller, { kind: "chat", id: "1", agent: "clerk", session: null, text: "hi" }),
  );
  const before = (await eventsOf(stage, session)).length;
  const wanted: unknown[] = [];
  const ports = {
    ...stage.ports,
    access: {
      mayDo: (_: unknown, one: Act) => {
        if (one.kind === "observe") return null; // they may look
        wanted.push(one);
        return "not you";
      },
    },
    open: () => Promise.reject(new Error("it was opened")),
    unknownTool: async () => "pay",
  };
  const about = { session, agent: "clerk", requester: "ann" };
  for (const [frame, decided] of [
    [{ kind: "chat", id: "a", agent: "clerk", session: null, text: "x" }, act("run", "agent", { agent: "clerk" })],
    [{ kind: "chat", id: "b", agent: "clerk", session, text: "x" }, act("say", "session", about)],
    [{ kind: "steer", id: "c", session, text: "x" }, act("steer", "session", about)],
    [{ kind: "cancel", id: "d", session, reason: "", all: false }, act("cancel", "session", about)],
    [{ kind: "history", id: "e", session, before: null, most: 10 }, act("read-journal", "session", about)],
    [
      { kind: "resolve", id: "f", session, call: "1.0" as never, as: "happened", note: "" },
      act("resolve", "call", { ...about, id: "1.0", tool: "pay" }),
    ],
  ] as const) {
    await expect(answerRequest(ports, stage.caller, frame)).rejects.toThrow(/not you/);
    expect(wanted.at(-1)).toEqual(decided);
  }
  expect((await eventsOf(stage, session)).filter(({ kind }) => kind !== "turn.ended").length).toBeGreaterThanOrEqual(before - 1);
  expect((await eventsOf(stage, session)).some(({ kind }) => kind === "turn.cancel-asked" || kind === "input.steered")).toBe(false);
});

test("W-6 history is read backwards, page by page, to its beginning", async () => {
  const stage = await stageOf({ steps: [reply.text("ok")] });
  const session = sessionIn(
    await answerRequest(stage.ports, stage.caller, { kind: "chat", id: "1", agent: "clerk", session: null, text: "hi" }),
  );
  for await (const live of stage.runtime.subscribe({ session })) if (live.kind === "entry" && live.entry.event.kind === "turn.ended") break;
  const all = await stage.runtime.place.store.journal.read(session, seq(0), 1_000);
  const found = [];
  for (let before: ReturnType<typeof seq> | null = null; ; ) {
    const page = await answerRequest(stage.ports, stage.caller, { kind: "history", id: "h", session, before, most: 4 });
    if (page.kind !== "page") throw new Error("no page");
    found.unshift(...page.entries);
    before = page.before;
    if (before === null) break;
  }
  expect(found).toEqual(all);
});
