import { dirname } from "node:path";
import { setImmediate as turnOfLoop } from "node:timers/promises";
import { type ApprovalId, type Entry, intentId, isFault, type JournalEvent, type SessionId, seq, streamId, tableGate } from "@orgate/core";
import { afterEach, expect, test } from "vitest";
import { sha256 } from "../node/crypto.ts";
import { watchLiftedHalts } from "../operations/driving/resume-after-halt.ts";
import { type DriveReport, openSessionDriver, type SessionDriver } from "../operations/session-driver.ts";
import { databaseIn } from "../runtime/fixtures/forging.ts";
import { eraseEntries } from "../runtime/people/erase.ts";
import { noteOf, stamped } from "../store/fixtures/store.ts";
import { type Latch, latch, openStand, type Stand, type StandOptions } from "./fixtures/stand.ts";

const open: Stand[] = [];
afterEach(async () => {
  for (const stand of open.splice(0)) await stand.close();
});

type Place = Stand & Readonly<{ sessionDriver: SessionDriver; told: DriveReport[] }>;

async function place({
  atOnce = 10,
  waitMs = 5_000,
  ...options
}: StandOptions & { atOnce?: number; waitMs?: number } = {}): Promise<Place> {
  const stand = await openStand(options);
  open.push(stand);
  const told: DriveReport[] = [];
  return {
    ...stand,
    told,
    sessionDriver: openSessionDriver({ runtime: stand.runtime, role: "server", atOnce, waitMs, report: (one) => told.push(one) }),
  };
}

const opened = async ({ runtime }: Place, id: string): Promise<SessionId> =>
  (await runtime.sessions.create({ agent: "clerk", id })).session;
const kinds = async ({ runtime }: Place, session: SessionId): Promise<readonly JournalEvent["kind"][]> =>
  (await runtime.place.store.journal.read(session, seq(0), 1_000)).map(({ event }) => event.kind);
async function ended({ runtime }: Place, session: SessionId, turns = 1): Promise<Entry> {
  let left = turns;
  for await (const live of runtime.subscribe({ session }))
    if (live.kind === "entry" && live.entry.event.kind === "turn.ended") {
      left -= 1;
      if (left === 0) return live.entry;
    }
  throw new Error("it did not end");
}

test("W-16 a wish is answered with the entry it became, and the same id again with the same one; the turn goes on without its sender", async () => {
  const at = await place();
  const session = await opened(at, "one");
  const sending = { session, wish: { kind: "follow-up", text: "hello" }, as: at.ann, id: intentId("i-1") } as const;
  const sent = await at.sessionDriver.send(sending);
  expect(sent.entry?.event).toMatchObject({ kind: "input.queued", text: "hello", by: { id: "ann" } });
  expect((await ended(at, session)).event).toMatchObject({ kind: "turn.ended", ending: "completed", output: "You said: hello" });
  expect(await at.sessionDriver.send(sending)).toEqual(sent);
  expect((await kinds(at, session)).filter((k) => k === "turn.started")).toHaveLength(1);
});

test("W-16 what is refused is said with its reason, and an unknown session is named", async () => {
  const at = await place();
  const session = await opened(at, "one");
  const refused = at.sessionDriver.send({ session, wish: { kind: "steer", text: "left" }, as: at.ann });
  await expect(refused).rejects.toSatisfy((e) => isFault(e, "intent-refused"));
  const nobody = at.sessionDriver.send({ session: "s_00000000" as SessionId, wish: { kind: "cancel", reason: "" }, as: at.ann });
  await expect(nobody).rejects.toSatisfy((e) => isFault(e, "session-unknown"));
});

test("W-16 the outcome of a wish's own turn is told, of none other, and that it waits for a person", async () => {
  const at = await place();
  const session = await opened(at, "one");
  const say = (text: string, id: string) =>
    at.sessionDriver.send({ session, wish: { kind: "follow-up", text }, as: at.ann, id: intentId(id) });
  await say("first", "i-1");
  await say("second", "i-2");
  const outputs = await Promise.all(["i-1", "i-2"].map((id) => at.sessionDriver.outcome(session, intentId(id), 5_000)));
  expect(outputs.map((one) => one !== null && one !== "waiting" && one.event)).toMatchObject([
    { output: "You said: first" },
    { output: "You said: second" },
  ]);
  await say("pay", "i-3");
  expect(await at.sessionDriver.outcome(session, intentId("i-3"), 5_000)).toBe("waiting");
});

test("W-28 a turn that was interrupted is taken up when the server starts, once; what had run does not run again", async () => {
  const hold = latch();
  const first = await place({ keep: true, hold });
  const session = await opened(first, "one");
  await first.sessionDriver.send({ session, wish: { kind: "follow-up", text: "wait" }, as: first.ann });
  await hold.reached;
  const leaving = first.sessionDriver.leave(0, 5_000);
  hold.open();
  expect(await leaving).toBe(true);
  await first.close();
  open.pop();

  const second = await place({ folder: first.folder });
  await second.sessionDriver.sweep("interrupted");
  expect((await ended(second, session)).event).toMatchObject({ ending: "completed" });
  expect([first.runs.wait, second.runs.wait]).toEqual([1, 0]);
  const after = (await kinds(second, session)).length;
  await second.sessionDriver.sweep("interrupted");
  expect(await kinds(second, session)).toHaveLength(after);
});

test("W-28 a parked session goes on when an answer comes, also one that another process put there, and is left alone until then", async () => {
  const at = await place();
  const session = await opened(at, "one");
  await at.sessionDriver.send({ session, wish: { kind: "follow-up", text: "pay" }, as: at.ann, id: intentId("i-1") });
  expect(await at.sessionDriver.outcome(session, intentId("i-1"), 5_000)).toBe("waiting");
  const [question] = await at.runtime.approvals.list();
  if (question === undefined) throw new Error("nothing is asked");
  const before = await kinds(at, session);
  await at.sessionDriver.sweep("interrupted");
  expect(await kinds(at, session)).toEqual(before);
  const approve = {
    kind: "answer",
    approval: question.approval as ApprovalId,
    digest: question.digest,
    answer: { kind: "approve" },
  } as const;
  await at.sessionDriver.send({ session, wish: approve, as: at.ann });
  expect((await ended(at, session)).event).toMatchObject({ ending: "completed" });
  expect(at.runs.pay).toBe(1);
});

test("W-28 a question that has expired ends its turn without anybody asking for it", async () => {
  const { tableGate } = await import("@orgate/core");
  const { sha256 } = await import("../node/crypto.ts");
  const gate = tableGate(
    [
      { id: "asks", action: "tool:pay", verdict: "ask", terms: { expiresMs: 1 } },
      { id: "all", action: "*", verdict: "allow" },
    ],
    sha256,
  );
  const at = await place({ gate });
  const session = await opened(at, "one");
  await at.sessionDriver.send({ session, wish: { kind: "follow-up", text: "pay" }, as: at.ann });
  const over = ended(at, session);
  while ((await at.runtime.inspect.session(session))?.state !== "idle") {
    await at.sessionDriver.sweep();
    await turnOfLoop();
  }
  await over;
  expect(await kinds(at, session)).toContain("approval.expired");
  expect(at.runs.pay).toBe(0);
});

test("S-15 what was said to an agent while it was halted begins when the halt is lifted; another's halt holds it back no longer", async () => {
  const at = await place();
  const session = await opened(at, "one");
  await at.runtime.halt("agent:clerk", "too fast", at.ann);
  const sent = await at.sessionDriver.send({ session, wish: { kind: "follow-up", text: "hello" }, as: at.ann });
  expect(sent.entry?.event.kind).toBe("input.queued");
  await turnOfLoop();
  expect(await kinds(at, session)).not.toContain("turn.started");
  await at.runtime.resumeWork("agent:clerk", "looked", at.ann);
  expect((await ended(at, session)).event).toMatchObject({ ending: "completed", output: "You said: hello" });
});

test("S-15 lifting a halt looks at what came during it and next to it, not at what the journal held already or holds since", async () => {
  const at = await place();
  const session = await opened(at, "one");
  const { journal } = at.runtime.place.store;
  const notes = { stream: streamId("notes:long"), hold: null, consumes: [], unlessHalted: [] };
  const grow = async (from: number): Promise<void> => {
    for (let i = from; i < from + 4; i += 1)
      await journal.append({ ...notes, after: seq(i * 1_000), events: stamped(...Array.from({ length: 1_000 }, (_, n) => noteOf(n))) });
  };
  await grow(0);
  await at.runtime.halt("agent:clerk", "too fast", at.ann);
  await at.sessionDriver.send({ session, wish: { kind: "follow-up", text: "hello" }, as: at.ann });
  await at.sessionDriver.settle();
  at.sessionDriver.stop();
  await at.runtime.resumeWork("agent:clerk", "looked", at.ann);
  await grow(4);
  let read = 0;
  const tail: typeof journal.tail = async (after, most) => {
    const page = await journal.tail(after, most);
    read += page.length;
    return page;
  };
  const { place: all } = at.runtime;
  const runtime = { ...at.runtime, place: { ...all, store: { ...all.store, journal: { ...journal, tail } } } };
  const { promise, resolve, reject } = Promise.withResolvers<SessionId>();
  const lifting = watchLiftedHalts({ runtime, wake: resolve, failed: reject });
  expect(await promise).toBe(session);
  lifting.stop();
  expect(read).toBeLessThan(1_600);
});

test("S-15 also where it was lifted while no server was there, and where a turn was ended by the halt before what was said to follow it", async () => {
  const hold = latch();
  const before = await place({ hold, keep: true });
  const [idle, busy] = [await opened(before, "one"), await opened(before, "two")];
  const say = (session: SessionId, text: string) =>
    before.sessionDriver.send({ session, wish: { kind: "follow-up", text }, as: before.ann });
  await say(busy, "wait");
  await hold.reached;
  await say(busy, "and then");
  await before.runtime.halt("all", "stop", before.ann);
  hold.open();
  expect((await ended(before, busy)).event).toMatchObject({ ending: "halted" });
  await say(idle, "hello");
  await before.sessionDriver.leave(0, 5_000);
  await before.runtime.resumeWork("all", "looked", before.ann);
  await open.pop()?.close();

  const after = await place({ folder: before.folder });
  expect((await ended(after, idle)).event).toMatchObject({ output: "You said: hello" });
  expect((await ended(after, busy, 2)).event).toMatchObject({ output: "You said: and then" });
});

test.each(["all", "agent:clerk", "tool:pay"])(
  "Q-14 what was approved while %s was halted runs once when that is lifted, also where no server was there at that moment",
  async (scope) => {
    const at = await place({ keep: true });
    const approved = async (id: string): Promise<SessionId> => {
      const session = await opened(at, id);
      await at.sessionDriver.send({ session, wish: { kind: "follow-up", text: "pay" }, as: at.ann, id: intentId(`say-${id}`) });
      expect(await at.sessionDriver.outcome(session, intentId(`say-${id}`), 5_000)).toBe("waiting");
      const question = (await at.runtime.approvals.list()).find((one) => one.session === session);
      if (question === undefined) throw new Error("nothing is asked");
      await at.runtime.halt(scope, "look first", at.ann);
      const { approval, digest } = question;
      await at.sessionDriver.send({ session, wish: { kind: "answer", approval, digest, answer: { kind: "approve" } }, as: at.ann });
      return session;
    };
    const one = await approved("one");
    await at.sessionDriver.sweep("interrupted");
    expect([at.runs.pay, (await kinds(at, one)).includes("turn.ended")]).toEqual([0, false]);
    await at.runtime.resumeWork(scope, "looked", at.ann);
    expect((await ended(at, one)).event).toMatchObject({ ending: "completed" });
    expect(at.runs.pay).toBe(1);

    const two = await approved("two");
    await at.sessionDriver.leave(0, 5_000);
    await at.runtime.resumeWork(scope, "looked", at.ann);
    await open.pop()?.close();
    const after = await place({ folder: at.folder });
    expect((await ended(after, two)).event).toMatchObject({ ending: "completed" });
    expect([at.runs.pay, after.runs.pay]).toEqual([1, 1]);
  },
);

test("S-15 what was erased holds back nobody else's words when a halt is lifted, and is named", async () => {
  const at = await place();
  const [gone, other] = [await opened(at, "one"), await opened(at, "two")];
  await at.runtime.halt("agent:clerk", "too fast", at.ann);
  for (const session of [gone, other]) await at.sessionDriver.send({ session, wish: { kind: "follow-up", text: "hello" }, as: at.ann });
  await eraseEntries(at.runtime.place, {
    session: gone,
    first: seq(2),
    last: seq(2),
    by: { kind: "user", id: "ann" },
    reason: "asked for",
  });
  expect(await at.runtime.inspect.session(gone)).toMatchObject({ state: "closed" });
  const db = databaseIn(dirname(at.runtime.place.keys.dir)); // as versions left it that did not close what they erased
  db.prepare("UPDATE sessions SET state = 'idle', summary = json_set(summary, '$.state', 'idle') WHERE session = ?").run(gone);
  db.close();
  await at.runtime.resumeWork("agent:clerk", "looked", at.ann);
  expect((await ended(at, other)).event).toMatchObject({ output: "You said: hello" });
  expect(at.told).toContainEqual({
    kind: "failed",
    session: gone,
    error: expect.objectContaining({ fault: expect.objectContaining({ kind: "entry-erased" }) }),
  });
});

test("W-28 no more than the limit are driven at a time, and all are", async () => {
  const hold = latch();
  const at = await place({ hold, atOnce: 2 });
  const sessions = await Promise.all(["a", "b", "c", "d"].map((id) => opened(at, id)));
  const sends = sessions.map((session) => at.sessionDriver.send({ session, wish: { kind: "follow-up", text: "wait" }, as: at.ann }));
  await hold.reached;
  expect([at.sessionDriver.driving(), at.sessionDriver.queued()]).toEqual([2, 2]);
  hold.open();
  await Promise.all(sends);
  for (const session of sessions) expect((await ended(at, session)).event).toMatchObject({ ending: "completed" });
});

test("W-29 who leaves takes no turn any more, lets those in progress finish, and parks what does not", async () => {
  const hold = latch();
  const at = await place({ hold });
  const [slow, quick] = [await opened(at, "slow"), await opened(at, "quick")];
  await at.sessionDriver.send({ session: slow, wish: { kind: "follow-up", text: "wait" }, as: at.ann });
  await hold.reached;
  await at.sessionDriver.send({ session: quick, wish: { kind: "follow-up", text: "look" }, as: at.ann });
  await ended(at, quick);
  const leaving = at.sessionDriver.leave(10, 5_000);
  const late = at.sessionDriver.send({ session: quick, wish: { kind: "follow-up", text: "more" }, as: at.ann });
  await expect(late).rejects.toSatisfy((e) => isFault(e, "runtime-closed"));
  await untilParked(at, hold);
  expect(await leaving).toBe(true);
  const told = await kinds(at, slow);
  expect(told).toContain("act.ended"); // it landed
  expect(told).not.toContain("turn.ended"); // and nothing was begun after it
  expect(told.filter((k) => k === "model.asked")).toHaveLength(1);
  expect(await at.runtime.place.store.holder(slow)).toBeNull();
});

/** Once the time to finish is over and nothing new is begun, the tool may end. */
async function untilParked({ runtime }: Place, hold: Latch): Promise<void> {
  for (;;) {
    const refused = await runtime.run("clerk", "anything").result.then(
      () => false,
      (e: unknown) => isFault(e, "runtime-closed"),
    );
    if (refused) return hold.open();
  }
}

test.each(["halted", "deferred"] as const)("W-28 two processes do not take turns at a %s turn: each looks at it once", async (why) => {
  const gate = tableGate(
    [
      { id: "asks", action: "tool:pay", verdict: "ask" },
      { id: "later", action: "tool:look", verdict: "defer" },
      { id: "all", action: "*", verdict: "allow" },
    ],
    sha256,
  );
  const a = await place({ keep: true, gate });
  const session = await opened(a, "one");
  const say = intentId("say");
  await a.sessionDriver.send({ session, wish: { kind: "follow-up", text: why === "halted" ? "pay" : "look" }, as: a.ann, id: say });
  if (why === "halted") {
    await a.sessionDriver.outcome(session, say, 5_000);
    const [question] = await a.runtime.approvals.list();
    if (question === undefined) throw new Error("nothing is asked");
    await a.runtime.halt("tool:pay", "look first", a.ann);
    const { approval, digest } = question;
    await a.sessionDriver.send({ session, wish: { kind: "answer", approval, digest, answer: { kind: "approve" } }, as: a.ann });
  }
  await a.sessionDriver.settle();
  const b = await place({ folder: a.folder, keep: true, gate });
  const takings = async () => (await kinds(a, session)).filter((kind) => kind === "hold.taken").length;
  const before = await takings();
  for (let round = 0; round < 5; round += 1)
    for (const { sessionDriver } of [b, a]) {
      await sessionDriver.sweep("interrupted");
      await sessionDriver.settle();
    }
  expect((await takings()) - before).toBeLessThanOrEqual(1);
  expect(await kinds(a, session)).not.toContain("turn.ended");
});

test("W-28 a driver that lost its hold stops and appends nothing; where nobody else has the session, the next sweep takes it up again", async () => {
  const at = await place();
  const { journal } = at.runtime.place.store;
  const { holds } = journal;
  let isLost = true;
  Object.assign(journal, { holds: (hold: Parameters<typeof holds>[0]) => !isLost && holds(hold) });
  const session = await opened(at, "one");
  await at.sessionDriver.send({ session, wish: { kind: "follow-up", text: "look" }, as: at.ann });
  await at.sessionDriver.settle();
  expect([at.runs.look, at.told.at(-1)]).toMatchObject([0, { kind: "failed", session, error: { fault: { kind: "hold-lost" } } }]);
  expect(await kinds(at, session)).not.toContain("turn.ended");
  isLost = false;
  await at.sessionDriver.sweep("interrupted");
  expect((await ended(at, session)).event).toMatchObject({ ending: "completed" });
  expect(at.runs.look).toBe(1);
});

test("W-29 what does not land in time is said so, and nothing waits for it", async () => {
  const hold = latch();
  const at = await place({ hold });
  const session = await opened(at, "one");
  await at.sessionDriver.send({ session, wish: { kind: "follow-up", text: "wait" }, as: at.ann });
  await hold.reached;
  expect(await at.sessionDriver.leave(0, 10)).toBe(false);
  hold.open();
});

test("W-29 a parked turn holds nothing, has not ended, and goes on in another process from where it was", async () => {
  const hold = latch();
  const first = await place({ keep: true, hold });
  const session = await opened(first, "one");
  const run = first.runtime.run("clerk", "wait", { session });
  await hold.reached;
  const parked = first.runtime.park();
  hold.open();
  await parked;
  expect((await run.result).ending).toBeNull();
  expect(await first.runtime.place.store.holder(session)).toBeNull();
  await first.close();
  open.pop();
  const second = await place({ folder: first.folder });
  expect(await second.runtime.resume(session).result).toMatchObject({ ending: "completed", iterations: 2 });
  expect([first.runs.wait, second.runs.wait]).toEqual([1, 0]);
});

test("S-16 what was interrupted is taken up from above: who conducts sees what is no longer wanted", async () => {
  const hold = latch();
  const names = ["clerk", "other", "conductor"];
  const first = await openStand({ names, hold, keep: true });
  const line = '/chain clerk other "wait"';
  void first.runtime.complete("conductor", line).catch(() => {});
  await hold.reached;
  const parked = first.runtime.park();
  hold.open();
  await parked;
  await first.close();
  const at = await place({ folder: first.folder, names });
  const [conductor] = await at.runtime.place.store.journal.sessions({ state: "running", agent: "conductor", before: null, most: 1 });
  if (conductor === undefined) throw new Error("nothing was interrupted");
  await at.sessionDriver.sweep("interrupted");
  expect((await ended(at, conductor.session)).event).toMatchObject({ ending: "completed" });
  await at.sessionDriver.leave(1_000, 1_000);
  expect(at.told.map((drove) => drove.session)).toEqual([conductor.session]);
});
