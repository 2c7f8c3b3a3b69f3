import { expect, test } from "vitest";
import { type Entry, type JournalEvent, millis, type ScheduleSpec, seq, sessionId } from "../vocab/index.ts";
import { foldSchedule, type StandingSchedule, scheduleStream, toScheduleStanding } from "./schedules.ts";

const ana = { kind: "user", id: "ana" } as const;
const spec: ScheduleSpec = {
  agent: "clerk",
  input: "look",
  when: { kind: "cron", cron: "* * * * *", timezone: "UTC" },
  owner: "ana",
  jitterMs: 0,
  oneShot: false,
  overlap: "skip",
  atOnce: 10,
  missed: "once",
  mostMissed: 10,
  graceMs: 60_000,
  session: "fresh",
  retries: 1,
  failures: 3,
  enabled: true,
};
const schedule = "nightly";
const stream = scheduleStream(schedule);
const declared = (more: Partial<Extract<JournalEvent, { kind: "schedule.declared" }>> = {}): JournalEvent => ({
  kind: "schedule.declared",
  schedule,
  spec,
  from: "orgate.toml",
  by: ana,
  after: millis(100),
  carried: null,
  ...more,
});
const fired = (dueAt: number, why: "due" | "asked" = "due"): JournalEvent => ({
  kind: "schedule.fired",
  schedule,
  dueAt: millis(dueAt),
  attempt: 1,
  why,
  session: sessionId(`s_${dueAt}`),
  intent: null,
  by: ana,
});
const ended = (
  dueAt: number,
  ending: "completed" | "failed" | "cancelled" | null,
  result: "done" | "set-aside" = "done",
): JournalEvent => ({
  kind: "schedule.ended",
  schedule,
  dueAt: millis(dueAt),
  attempt: 1,
  session: sessionId(`s_${dueAt}`),
  ending,
  result,
  retryAt: null,
});
/** The n-th at a hundred times n. */
const entries = (...events: readonly JournalEvent[]): readonly Entry[] =>
  events.map((event, i) => ({ stream, seq: seq(i + 1), at: millis((i + 1) * 100), event }));
const stands = (...events: readonly JournalEvent[]): StandingSchedule => {
  const s = foldSchedule(null, entries(...events));
  if (s === null) throw new Error("it was never declared");
  return s;
};

test("Z-2 nothing counts before a declaration, and due times count from the declaration on", () => {
  expect(foldSchedule(null, entries(fired(1)))).toBe(null);
  expect(stands(declared())).toMatchObject({ state: "active", through: 100, queue: [], open: [], failures: 0, fired: 0, last: null });
});

test("Z-2 what was fired is dealt with and open until it is over; what a person asked for moves no due time", () => {
  const s = stands(declared(), fired(500));
  expect([s.through, s.open, s.last]).toMatchObject([500, [{ session: "s_500", dueAt: 500 }], { dueAt: 500, ending: null }]);
  expect(stands(declared(), fired(500), ended(500, "completed"))).toMatchObject({ open: [], failures: 0, last: { ending: "completed" } });
  expect(stands(declared(), fired(900, "asked"))).toMatchObject({ through: 100, fired: 1 });
});

test("Z-6 what failed is tried again at its time, then set aside; set aside are counted in a row: a success forgets them, a cancel is none", () => {
  const again: JournalEvent = { ...ended(1, "failed"), result: "retry", retryAt: millis(900) } as JournalEvent;
  const s = stands(declared(), fired(1), again);
  expect([s.retry, s.failures, s.setAside]).toEqual([[{ dueAt: 1, attempt: 2, at: 900 }], 0, []]);
  expect(stands(declared(), fired(1), again, { ...fired(1), attempt: 2 } as JournalEvent)).toMatchObject({
    retry: [],
    open: [{ attempt: 2 }],
  });
  const failing = [
    declared(),
    fired(1),
    ended(1, "failed", "set-aside"),
    fired(2),
    ended(2, null, "set-aside"),
    fired(3),
    ended(3, "cancelled"),
    ended(3, "failed", "set-aside"),
  ];
  expect(stands(...failing)).toMatchObject({ failures: 2, setAside: [{ dueAt: 2 }, { dueAt: 1 }] });
  expect(stands(...failing, fired(4), ended(4, "completed")).failures).toBe(0);
  const refused: JournalEvent = {
    kind: "schedule.skipped",
    schedule,
    first: millis(5),
    last: millis(5),
    count: 1,
    why: "not-permitted",
    detail: "",
  };
  expect(stands(...failing, refused).failures).toBe(3);
  expect(stands(...failing, { ...refused, why: "overlap" } as JournalEvent).failures).toBe(2);
});

test("Z-1 what comes once is done once it was fired, and stays so until it is declared at another time", () => {
  const once: ScheduleSpec = { ...spec, oneShot: true };
  const done = [declared({ spec: once }), fired(500)];
  expect(stands(declared({ spec: once }), fired(500, "asked")).state).toBe("active");
  expect([stands(...done).state, stands(...done, declared({ spec: { ...once, input: "x" } })).state]).toEqual(["done", "done"]);
  expect(stands(...done, declared({ spec })).state).toBe("active");
});

test("Z-3 what a person asked for and is tried again, fired or not, moves no due time, and does not do what comes once", () => {
  const once: ScheduleSpec = { ...spec, oneShot: true };
  const again = { ...ended(900, "failed"), result: "retry", retryAt: millis(950) } as JournalEvent;
  const retried = { ...fired(900), attempt: 2, why: "retry" } as JournalEvent;
  const s = stands(declared({ spec: once }), fired(900, "asked"), again, retried);
  expect([s.state, s.through, s.retry, s.open]).toMatchObject(["active", 100, [], [{ attempt: 2 }]]);
  const refused = {
    kind: "schedule.skipped",
    schedule,
    first: 900,
    last: 900,
    count: 1,
    why: "halted",
    detail: "",
  } as unknown as JournalEvent;
  expect(stands(declared(), fired(900, "asked"), again, refused)).toMatchObject({ through: 100, retry: [] });
  expect(
    stands(declared(), fired(900), { ...ended(900, "failed"), result: "retry", retryAt: millis(950) } as JournalEvent, retried),
  ).toMatchObject({
    through: 900,
  });
});

test("Z-3 one that has come once is not made to come again by pausing and resuming it; its retries are given up", () => {
  const once: ScheduleSpec = { ...spec, oneShot: true };
  const paused: JournalEvent = { kind: "schedule.paused", schedule, by: ana, reason: "" };
  const again = { ...ended(500, "failed"), result: "retry", retryAt: millis(900) } as JournalEvent;
  expect(stands(declared({ spec: once }), fired(500), again, paused)).toMatchObject({ state: "done", retry: [] });
});

test("Z-6 what was set aside is so no more once it is fired again", () => {
  const s = [declared(), fired(1), ended(1, "failed", "set-aside"), fired(2), ended(2, "failed", "set-aside")];
  const asked = { ...fired(1, "asked"), attempt: 2 } as JournalEvent;
  expect(stands(...s, asked)).toMatchObject({ setAside: [{ dueAt: 2 }], open: [{ dueAt: 1, attempt: 2 }] });
});

test("Z-4 a shared session is that of one agent and one owner: with another it is begun anew", () => {
  const shared: ScheduleSpec = { ...spec, session: "shared" };
  const before = [declared({ spec: shared }), fired(500), ended(500, "completed")];
  const after = (more: Partial<ScheduleSpec>) => stands(...before, declared({ spec: { ...shared, ...more } })).shared;
  expect([after({ input: "x" }), after({ when: { kind: "at", at: millis(9) } })]).toEqual(["s_500", "s_500"]);
  expect([after({ agent: "other" }), after({ owner: "ben" }), after({ session: "fresh" })]).toEqual([null, null, null]);
});

test("Z-8 what was due while it was paused or stopped is not made up for", () => {
  const paused: JournalEvent = { kind: "schedule.paused", schedule, by: ana, reason: "" };
  const resumed: JournalEvent = { kind: "schedule.resumed", schedule, by: ana, reason: "", after: millis(400) };
  const queued: JournalEvent = { kind: "schedule.queued", schedule, dueAt: millis(150) };
  expect(stands(declared(), queued, paused)).toMatchObject({ state: "paused", queue: [] });
  expect(stands(declared(), queued, paused, resumed)).toMatchObject({ state: "active", through: 400, failures: 0 });
  // a clock that was years ahead is forgotten too
  expect(stands(declared(), fired(10 ** 13), paused, resumed).through).toBe(400);
});

test("Z-2 declared again with other words it goes on where it was; at other times, or after it was removed, it begins anew", () => {
  const first = [declared(), fired(7_000)];
  expect(stands(...first, declared({ spec: { ...spec, input: "look again" } }))).toMatchObject({
    through: 7_000,
    spec: { input: "look again" },
  });
  const later: ScheduleSpec = { ...spec, when: { kind: "at", at: millis(9) } };
  expect(stands(...first, declared({ spec: later, after: millis(300) })).through).toBe(300);
  const removed: JournalEvent = { kind: "schedule.removed", schedule, by: ana, reason: "" };
  expect(stands(...first, removed).state).toBe("removed");
  expect(stands(...first, removed, declared({ after: millis(400) }))).toMatchObject({
    state: "active",
    through: 400,
    open: [{ dueAt: 7_000 }],
  });
});

test("Z-2 from a declaration that carries how it stood, the fold is the same as from the beginning", () => {
  const past = [declared(), fired(1), fired(2), ended(1, "failed"), { kind: "schedule.queued", schedule, dueAt: millis(3) } as const];
  const before = stands(...past);
  const carrying = declared({ carried: toScheduleStanding(before) });
  const whole = foldSchedule(null, entries(...past, carrying, fired(3)));
  const short = foldSchedule(null, entries(...past, carrying, fired(3)).slice(past.length));
  expect(short).toEqual(whole);
  expect([short?.since, short?.queue, short?.open.length]).toEqual([1, [], 2]);
});
