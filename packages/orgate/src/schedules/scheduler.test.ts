import { isFault, type JournalEvent, millis, type ScheduleSpec, type SessionId, seq } from "@orgate/core";
import { describe, expect, test } from "vitest";
import { type Death, EACH_MINUTE, MINUTE, type Process, SERVER, START, type Stage, stage } from "./fixtures/stage.ts";

const declared = (spec: Partial<ScheduleSpec> = {}, name = "nightly") => ({ name, spec: { ...EACH_MINUTE, ...spec }, from: "orgate.toml" });
const minute = (n: number) => millis(START + n * MINUTE);
const kinds = async (s: Stage, name = "nightly"): Promise<readonly string[]> => (await s.entries(name)).map(({ event }) => event.kind);
const of = async <K extends JournalEvent["kind"]>(s: Stage, kind: K, name = "nightly") =>
  (await s.entries(name)).map(({ event }) => event).filter((e): e is Extract<JournalEvent, { kind: K }> => e.kind === kind);

async function serving(spec: Partial<ScheduleSpec> = {}): Promise<{ s: Stage; p: Process }> {
  const s = stage();
  const p = await s.start("a");
  await p.book.declare([declared(spec)], SERVER);
  await p.scheduler.start();
  return { s, p };
}
const turn = async (s: Stage, p: Process, to: number): Promise<void> => {
  s.clock.now = minute(to);
  await p.scheduler.settle();
};

test("Z-3 a firing is one commit: the schedule says so, the session is opened for its owner where schedules open them, and its turn has begun", async () => {
  const { s, p } = await serving();
  await turn(s, p, 1);
  const [fired] = await of(s, "schedule.fired");
  expect(fired).toMatchObject({ dueAt: minute(1), attempt: 1, why: "due", by: { kind: "user", id: "ana" } });
  expect([...new Set(p.woken)]).toEqual([fired?.session]);
  const session = fired?.session as SessionId;
  const [opened, started] = await p.journal.read(session, seq(0), 9);
  expect(opened?.event).toMatchObject({
    kind: "session.opened",
    surface: "schedule",
    principal: { id: "ana" },
    origin: { kind: "schedule", schedule: "nightly", dueAt: minute(1) },
  });
  expect(started?.event).toMatchObject({ kind: "turn.started", turn: 1, input: "look", by: { kind: "user", id: "ana" } });
  const [seal] = [...s.disk.seals.values()].flat().filter(({ wrote }) => wrote.includes(session));
  expect(seal?.wrote).toContain("schedule:nightly"); // in one transaction
});

describe("two processes, one of them killed around any append", () => {
  const POINTS = Array.from({ length: 14 }, (_, i) => i + 1).flatMap((append): Death[] => [
    { append, when: "before" },
    { append, when: "after" },
  ]);
  test.each(POINTS)("Z-3 every due time is fired exactly once (killed $when append $append)", async (death) => {
    const s = stage();
    let [a, b] = [await s.start("a", death), await s.start("b")];
    const both = async (work: (p: Process) => Promise<unknown>): Promise<void> => {
      await Promise.all(
        [a, b].map((p) => work(p).catch((error: unknown) => (isFault(error, "journal-unwritable") ? null : Promise.reject(error)))),
      );
      if (!a.isDead()) return;
      a.scheduler.stop();
      a = await s.start("a"); // somebody starts it again
      await a.scheduler.start();
    };
    await both((p) => p.book.declare([declared()], SERVER));
    await both((p) => p.scheduler.start());
    for (let n = 1; n <= 8; n += 1) {
      s.clock.now = minute(n);
      await both((p) => p.scheduler.settle());
      await both((p) => p.scheduler.settle());
      await s.finish();
      await both((p) => p.scheduler.settle());
    }
    const fired = await of(s, "schedule.fired");
    expect(fired.map(({ dueAt }) => dueAt)).toEqual([1, 2, 3, 4, 5, 6, 7, 8].map(minute));
    expect(s.sessions()).toHaveLength(8);
    expect([...s.disk.sessions.values()].every(({ turns, surface }) => turns === 1 && surface === "schedule")).toBe(true);
    expect((await kinds(s)).filter((kind) => kind === "schedule.declared")).toHaveLength(1); // Z-2, whoever starts first
    expect((await of(s, "schedule.ended")).map(({ dueAt }) => dueAt)).toEqual(fired.map(({ dueAt }) => dueAt));
  });
});

test("Z-3 a session that its firer did not live to drive is driven by whoever comes next", async () => {
  const s = stage();
  const a = await s.start("a", { append: 2, when: "after" });
  await a.book.declare([declared()], SERVER);
  await a.scheduler.start();
  await turn(s, a, 1);
  expect([a.isDead(), a.woken]).toEqual([true, []]);
  const b = await s.start("b");
  await b.scheduler.start();
  expect(b.woken).toEqual(s.sessions());
});

test("Z-5 what is due while one is not over: skipped and told, or fired when that is over, in order", async () => {
  const skipping = await serving({ overlap: "skip" });
  for (const n of [1, 2, 3]) await turn(skipping.s, skipping.p, n);
  expect(await kinds(skipping.s)).toEqual(["schedule.declared", "schedule.fired", "schedule.skipped", "schedule.skipped"]);
  const queueing = await serving({ overlap: "queue" });
  for (const n of [1, 2, 3]) await turn(queueing.s, queueing.p, n);
  expect(await of(queueing.s, "schedule.queued")).toHaveLength(2);
  for (let n = 0; n < 3; n += 1) {
    await queueing.s.finish();
    await queueing.p.scheduler.settle();
  }
  expect((await of(queueing.s, "schedule.fired")).map(({ dueAt, why }) => [dueAt, why])).toEqual([
    [minute(1), "due"],
    [minute(2), "queued"],
    [minute(3), "queued"],
  ]);
});

test("Z-5 a process that comes late makes up for what it missed, by what the schedule says", async () => {
  for (const [missed, expected] of [
    ["skip", []],
    ["once", [60]],
    ["all", [58, 59, 60]],
  ] as const) {
    const s = stage();
    const first = await s.start("a");
    await first.book.declare([declared({ missed, mostMissed: 3 })], SERVER);
    s.clock.now = millis(minute(60) + 30_000);
    const p = await s.start("b");
    await p.scheduler.start();
    for (let n = 0; n < 3; n += 1) {
      await s.finish();
      await p.scheduler.settle();
    }
    expect((await of(s, "schedule.fired")).map(({ dueAt }) => dueAt)).toEqual(expected.map(minute));
  }
});

test("Z-6 a turn that failed is tried again later, in a session of its own, then set aside; too many in a row and the schedule stops", async () => {
  const { s, p } = await serving({
    retries: 1,
    failures: 2,
    overlap: "skip",
    when: { kind: "cron", cron: "*/10 * * * *", timezone: "UTC" },
  });
  const failing = async (at: number): Promise<void> => {
    await turn(s, p, at);
    await s.finish("failed");
    await p.scheduler.settle();
  };
  await failing(10);
  expect((await of(s, "schedule.ended")).at(-1)).toMatchObject({ result: "retry", retryAt: minute(10.5) });
  await failing(10.5);
  expect((await of(s, "schedule.fired")).map(({ dueAt, attempt, why }) => [dueAt, attempt, why])).toEqual([
    [minute(10), 1, "due"],
    [minute(10), 2, "retry"],
  ]);
  expect((await of(s, "schedule.ended")).at(-1)).toMatchObject({ attempt: 2, result: "set-aside", retryAt: null });
  expect(p.book.get("nightly")).toMatchObject({ state: "active", failures: 1, setAside: [{ dueAt: minute(10) }] });
  await failing(20);
  await failing(20.5);
  expect(await of(s, "schedule.stopped")).toMatchObject([{ failures: 2, reason: "the last one ended `failed`" }]);
  await turn(s, p, 90);
  expect([await of(s, "schedule.fired").then((all) => all.length), p.book.get("nightly")?.state]).toEqual([4, "stopped"]);
});

test("Z-4 what its owner may not run, what has no agent, and what is halted is skipped and says why", async () => {
  const { s, p } = await serving({ failures: 3 });
  s.mayNot.set("ana", "no policy permits run");
  await turn(s, p, 1);
  s.mayNot.clear();
  s.agents.clear();
  await turn(s, p, 2);
  s.agents.add("clerk");
  s.disk.halts.add("agent:clerk");
  await turn(s, p, 3);
  s.disk.halts.clear();
  expect((await of(s, "schedule.skipped")).map(({ why, detail }) => [why, detail])).toMatchObject([
    ["not-permitted", "no policy permits run"],
    ["agent-missing", expect.stringContaining("clerk")],
    ["halted", expect.stringContaining("halted")],
  ]);
  expect(s.sessions()).toEqual([]);
  await turn(s, p, 4);
  expect(s.sessions()).toHaveLength(1);
});

test("Z-7 however many schedules there are, one timer runs, and only what is due is looked at", async () => {
  const s = stage();
  const p = await s.start("a");
  const many = Array.from({ length: 300 }, (_, i) => declared({ when: { kind: "at", at: minute(10 + i) }, oneShot: true }, `at-${i}`));
  await p.book.declare(many, SERVER);
  await p.scheduler.start();
  expect([p.timers.size, p.scheduler.timers()]).toEqual([1, 1]);
  s.clock.now = minute(11);
  const [tick] = p.timers;
  tick?.();
  await p.scheduler.settle();
  expect(s.sessions()).toHaveLength(2);
  expect(p.timers.size).toBe(1);
  expect(p.book.get("at-0")?.state).toBe("done");
  p.scheduler.stop();
  expect(p.timers.size).toBe(0);
});

test("Z-7 after a clock was ahead and set right, nothing is fired twice, and a person has it go on", async () => {
  const { s, p } = await serving({ missed: "skip" });
  await turn(s, p, 1);
  await s.finish();
  s.clock.now = minute(1_000_000); // somebody set the clock two years ahead
  await p.scheduler.settle();
  s.clock.now = minute(2);
  await p.scheduler.settle();
  const before = (await of(s, "schedule.fired")).length;
  await turn(s, p, 3);
  expect(await of(s, "schedule.fired")).toHaveLength(before);
  const by = { kind: "user", id: "ana" } as const;
  await p.book.change("nightly", () => ({
    events: [{ kind: "schedule.resumed", schedule: "nightly", by, reason: "the clock is right", after: s.clock.now }],
  }));
  await s.finish();
  await turn(s, p, 4);
  const fired = (await of(s, "schedule.fired")).map(({ dueAt }) => dueAt);
  expect([new Set(fired).size, fired.at(-1)]).toEqual([fired.length, minute(4)]);
});

test("Z-7 a due time that has opened its session is not fired again, whatever the clock and the schedule say", async () => {
  const { s, p } = await serving();
  await turn(s, p, 1);
  await s.finish();
  s.clock.now = minute(0.5);
  const by = { kind: "user", id: "ana" } as const;
  await p.scheduler.settle();
  await p.book.change("nightly", () => ({
    events: [{ kind: "schedule.resumed", schedule: "nightly", by, reason: "", after: s.clock.now }],
  })); // counts from half a minute on
  await turn(s, p, 1);
  expect(await of(s, "schedule.fired")).toHaveLength(1);
  expect((await of(s, "schedule.skipped")).at(-1)).toMatchObject({ first: minute(1), last: minute(1) });
  await turn(s, p, 2);
  expect(await of(s, "schedule.fired")).toHaveLength(2);
});

test("Z-2 a long past is carried: what is read at a start does not grow with it", async () => {
  const { s, p } = await serving({ overlap: "parallel", atOnce: 10_000, graceMs: 10 ** 9 });
  await turn(s, p, 450);
  const carried = (await of(s, "schedule.declared")).filter((e) => e.carried !== null);
  expect(carried.length).toBe(2);
  const q = await s.start("b");
  let read = 0;
  const reading = q.journal.read;
  const counting = {
    ...q.journal,
    async read(...args: Parameters<typeof reading>) {
      const page = await reading(...args);
      read += page.length;
      return page;
    },
  };
  const { ScheduleStore } = await import("./store.ts");
  const book = new ScheduleStore({ journal: counting, now: () => s.clock.now });
  await book.refresh();
  expect(book.get("nightly")).toEqual(p.book.get("nightly"));
  expect(read).toBeLessThanOrEqual(500);
});

test("Z-4 with a shared session each firing is a turn of the one session, told by its own word", async () => {
  const { s, p } = await serving({ session: "shared", overlap: "queue" });
  await turn(s, p, 1);
  await s.finish();
  await turn(s, p, 2);
  const [first, second] = await of(s, "schedule.fired");
  expect([second?.session, first?.intent, second?.intent]).toEqual([first?.session, null, `schedule-nightly-${minute(2)}-1`]);
  expect([...s.disk.inbox.values()].map(({ id, session }) => [id, session])).toEqual([[second?.intent, first?.session]]);
  expect(p.book.get("nightly")?.open).toHaveLength(1); // its word waits for whoever drives the session
});

test("Z-4 a firing whose session was closed under it comes again at once, in another session; one that was cancelled before it began is over", async () => {
  const { s, p } = await serving({ session: "shared", overlap: "queue", retries: 1 });
  await turn(s, p, 1);
  await s.finish();
  const [shared] = s.sessions();
  if (shared === undefined) throw new Error("no session");
  await turn(s, p, 2);
  await s.write(shared, { kind: "session.closed", by: { kind: "user", id: "ana" }, reason: "" });
  await p.scheduler.settle();
  const fired = await of(s, "schedule.fired");
  expect(fired.map(({ dueAt, attempt, why }) => [dueAt, attempt, why])).toEqual([
    [minute(1), 1, "due"],
    [minute(2), 1, "due"],
    [minute(2), 2, "retry"],
  ]);
  expect(fired[2]?.session).not.toBe(shared);
  await s.finish();
  await turn(s, p, 3);
  const third = (await of(s, "schedule.fired")).at(-1);
  if (third?.intent == null) throw new Error("not in the shared session");
  await s.write(third.session, { kind: "input.queued", text: "look", files: [], by: { kind: "user", id: "ana" }, intent: third.intent });
  await s.write(third.session, { kind: "turn.cancel-asked", by: { kind: "user", id: "ana" }, reason: "", all: true, intent: null });
  await p.scheduler.settle();
  expect((await of(s, "schedule.ended")).at(-1)).toMatchObject({ dueAt: minute(3), ending: "cancelled", result: "done" });
  expect(p.book.get("nightly")?.open).toEqual([]);
});

test("Z-4 a server takes over what no file says whose it is; who passes by leaves it whose it has been, and a file that says so is followed", async () => {
  const { p } = await serving();
  const owned = (owner: string, isOwned: boolean) => [{ ...declared({ owner }), isOwned }];
  const owner = () => p.book.get("nightly")?.spec.owner;
  await p.book.declare(owned("eve", false), SERVER, "kept");
  expect(owner()).toBe("ana");
  await p.book.declare(owned("ben", true), SERVER, "kept");
  expect(owner()).toBe("ben");
  await p.book.declare(owned("eve", false), SERVER);
  expect(owner()).toBe("eve");
});

test("Z-2 what is declared no more is removed, what a person added stays, and what comes back begins anew", async () => {
  const { s, p } = await serving();
  const by = { kind: "user", id: "ana" } as const;
  await p.book.change("mine", () => ({
    events: [{ kind: "schedule.declared", schedule: "mine", spec: EACH_MINUTE, from: null, by, after: s.clock.now, carried: null }],
  }));
  await p.book.declare([], SERVER);
  expect([p.book.get("nightly")?.state, p.book.get("mine")?.state]).toEqual(["removed", "active"]);
  await p.book.declare([], SERVER);
  expect(await kinds(s)).toEqual(["schedule.declared", "schedule.removed"]);
  await p.book.declare([declared()], SERVER);
  expect(p.book.get("nightly")?.state).toBe("active");
});
