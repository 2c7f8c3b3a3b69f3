/**
 * A past for the console to show, written through the journal itself: a session of ten thousand entries (turns with calls at once, a denial, a question
 * that waited, crashes and resumes, labels), some sessions of the last days with what they cost, a
 * schedule that has stopped, and many that go on. `node past.ts DIRECTORY ENTRIES SCHEDULES`; tells the session.
 */
import { viewJournals as j } from "@orgate/protocol/testing";
import {
  createRuntime,
  type JournalEvent,
  millis,
  SCHEDULE_DEFAULTS,
  type ScheduleSpec,
  type SessionId,
  type SystemEvent,
  seq,
  sessionId,
  sha256,
  streamId,
  tableGate,
} from "orgate";

const [directory = "", count = "10000", schedules = "0"] = process.argv.slice(2);
const AT_ONCE = 500;
const HOUR = 3_600_000;

const runtime = await createRuntime({
  directory,
  agents: [],
  gate: tableGate([], sha256),
  principal: { kind: "system", id: "e2e" },
  powerCut: "lose-last-moments",
});
const { journal } = runtime.place.store;

type Told = Readonly<{ at: number; event: JournalEvent }>;

async function write(session: SessionId, told: readonly Told[]): Promise<void> {
  const hold = await journal.take(session);
  for (let i = 0; i < told.length; i += AT_ONCE) {
    const events = told.slice(i, i + AT_ONCE).map(({ at, event }) => ({ at: millis(at), event }));
    await journal.append({ stream: session, after: seq(i), hold, events, consumes: [], unlessHalted: [] });
  }
  await journal.release(hold);
}

const opened = (agent: string): JournalEvent => {
  const event = j.opened();
  return event.kind === "session.opened" ? { ...event, agent: { ...event.agent, name: agent, model: `offline/${agent}` } } : event;
};

/** One turn from `at` on, of the `n`th iterations on; every kind of thing in its season. */
function turnOf(n: number, at: number, agent: string): readonly Told[] {
  const told: Told[] = [];
  let now = at;
  const tell = (after: number, ...events: readonly JournalEvent[]): void => {
    now += after;
    for (const event of events) told.push({ at: now, event: priced(event, agent) });
  };
  const call = (i: number): string => `${n}.${i}`;
  const look = { tool: "find_charge", args: { id: `ch_${n}`, path: `charges/${n}.json` }, file: `ch_${n}` };
  tell(0, j.turn(n, `What became of ch_${n}, and is it to be paid back?`), j.mayAsk(n), j.mayTell(n));
  tell(3, j.asks(n));
  tell(
    120 + (n % 7) * 90,
    j.replies(n, j.says("I look it up."), ...[1, 2, 3].map((i) => j.wants(call(i), i === 3 ? "refund" : look.tool, look.args))),
  );
  tell(1, j.decides(call(1), look, j.allow("desk/find-charges")), j.decides(call(2), look, j.allow("desk/find-charges")));
  const ask = j.askFor("desk/refund", "Pay this back?", { approvers: ["ops"], grant: "session" });
  const isDenied = n % 5 === 0;
  const isAsked = !isDenied && n % 4 === 0;
  tell(
    0,
    j.decides(
      call(3),
      { ...look, tool: "refund" },
      isDenied
        ? j.deny("more than 200.00 is not paid back by an agent", "desk/no-large-refund")
        : isAsked
          ? j.asking(ask)
          : j.allow("desk/refund"),
    ),
  );
  tell(0, j.starts(call(1), look.tool), j.starts(call(2), look.tool));
  tell(30, j.notes(call(1), "output", `looking for ch_${n}\n`));
  tell(40, j.ends(call(1), j.done(`ch_${n}: 4990 cents, timed out`), { ms: 70 }));
  if (n % 9 === 0) tell(45_000, j.held(n), j.starts(call(2), look.tool, 2));
  tell(60, j.ends(call(2), j.done({ id: `ch_${n}`, cents: 4_990 }), { ms: 130 }));
  if (n % 11 === 0) tell(0, j.labels(null, n % 22 === 0 ? "pii" : "untrusted"));
  if (isAsked) {
    tell(0, j.question(`a_past${n}`, call(3), ask));
    tell(
      240_000,
      j.answers(`a_past${n}`, "bo", n % 8 === 0 ? { kind: "deny", reason: "not this one" } : { kind: "approve" }, ["desk/refund"]),
    );
    if (n % 8 !== 0) tell(1, j.decides(call(3), { ...look, tool: "refund" }, j.allow("desk/refund")), j.uses(`a_past${n}`, call(3)));
  }
  if (!isDenied && !(isAsked && n % 8 === 0)) {
    tell(1, j.starts(call(3), "refund"));
    tell(80, j.ends(call(3), n % 13 === 0 ? { kind: "failed", error: "the bank is closed" } : j.done("paid back"), { ms: 80 }));
  }
  tell(2, j.asks(n + 0.5));
  tell(200, { ...j.replies(n + 0.5, j.says(`ch_${n} was 49.90 and is settled.`)) });
  tell(1, j.over(n, isDenied && n % 10 === 0 ? "denied" : "completed", `ch_${n} was 49.90 and is settled.`, { iterations: 2, calls: 3 }));
  return told;
}

const priced = (event: JournalEvent, agent: string): JournalEvent =>
  event.kind === "model.replied" || event.kind === "model.asked"
    ? {
        ...event,
        model: `offline/${agent}`,
        iteration: Math.ceil(event.iteration),
        ...(event.kind === "model.replied" ? { micros: 2_100 + agent.length * 700 } : {}),
      }
    : event;

function sessionOf(agent: string, start: number, entries: number): readonly Told[] {
  const told: Told[] = [
    { at: start, event: opened(agent) },
    { at: start, event: j.held(1) },
  ];
  // whole turns: what is left open would be taken up by the server
  for (let n = 1; told.length < entries; n += 1) told.push(...turnOf(n, (told.at(-1)?.at ?? start) + 4_000, agent));
  return told;
}

const specOf = (agent: string, cron: string): ScheduleSpec => ({
  ...SCHEDULE_DEFAULTS,
  agent,
  when: { kind: "cron", cron, timezone: "Europe/Berlin" },
  owner: "ana",
});

/** One that failed until it was stopped, after a long past; one that is paused; and more, due in the far future. */
async function pastOfSchedules(many: number, isFirst: boolean): Promise<void> {
  const by = { kind: "user", id: "ana" } as const;
  const tell = async (schedule: string, spec: ScheduleSpec, ...then: readonly SystemEvent[]): Promise<void> => {
    const at = millis(now);
    const events = [{ kind: "schedule.declared", schedule, spec, from: null, by, after: at, carried: null } as const, ...then];
    const stream = streamId(`schedule:${schedule}`);
    await journal.append({
      stream,
      after: seq(0),
      hold: null,
      events: events.map((event) => ({ at, event })),
      consumes: [],
      unlessHalted: [],
    });
  };
  const fired = (n: number): readonly SystemEvent[] => {
    const dueAt = millis(now - (5_000 - n) * HOUR);
    const session = sessionId("s_past100000");
    const isLast = n > 4_995;
    return [
      { kind: "schedule.fired", schedule: "reconcile", dueAt, attempt: 1, session, intent: null, why: "due", by },
      {
        kind: "schedule.ended",
        schedule: "reconcile",
        dueAt,
        attempt: 1,
        session,
        ending: isLast ? "timed-out" : "completed",
        result: isLast ? "set-aside" : "done",
        retryAt: null,
      },
    ];
  };
  if (isFirst) {
    const stopped = {
      kind: "schedule.stopped",
      schedule: "reconcile",
      failures: 5,
      session: null,
      reason: "5 firings in a row were set aside",
    } as const;
    const past = Array.from({ length: 5_000 }, (_, n) => fired(n)).flat();
    await tell("reconcile", specOf("billing", "*/10 9-17 * * 1-5"), ...past, stopped);
    const paused = { kind: "schedule.paused", schedule: "stock-count", by, reason: "until the move is over" } as const;
    await tell("stock-count", specOf("stage", "0 6 1 * *"), paused);
  }
  for (let n = 0; n < many; n += 1) await tell(`customer-${String(n).padStart(5, "0")}`, specOf("billing", `${n % 60} ${n % 24} 1 1 *`));
}

const now = Date.now();
const isThere = (await journal.session(sessionId("s_past000000"))) !== null; // told again, only the long one is new
for (let day = isThere ? -1 : 6; day >= 0; day -= 1)
  for (const [i, agent] of ["billing", "orders", "stage"].entries())
    await write(
      sessionId(`s_past${day}${i}0000`),
      sessionOf(agent, now - day * 24 * HOUR - (i + 1) * 400_000, 60 + ((day * 37 + i * 53) % 90)),
    );
const long = sessionId("s_past000long");
if (Number(count) > 0) await write(long, sessionOf("billing", now - 4 * HOUR, Number(count)));
await pastOfSchedules(Number(schedules), !isThere);
await runtime.close();
console.log(JSON.stringify({ session: long }));
