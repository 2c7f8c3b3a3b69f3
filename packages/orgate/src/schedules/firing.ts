/** One firing of a schedule: the append that fires it, the events of its steps, and how its turn ended. */
import {
  type AgentFacts,
  type Ending,
  type Firing,
  firingPrefix,
  firstTurnEvents,
  type Intent,
  type IntentId,
  intentId,
  type JournalEvent,
  type Limits,
  type Millis,
  millis,
  type OutputSpec,
  openedEvent,
  type Principal,
  type ScheduleSpec,
  type SessionId,
  type SystemEvent,
  seq,
} from "@orgate/core";
import { eachEntry, type Journal, type SessionStart, type StandingSchedule } from "@orgate/core/journal";
import { retryAfter, type Step } from "./planning.ts";
import type { SchedulePlan } from "./store.ts";

/** Facts, limits and output of an agent's new session; null if there is no such agent, or it cannot be run. */
export type FindSessionStart = (agent: string) => Readonly<{ facts: AgentFacts; limits: Limits; output: OutputSpec | null }> | null;

export type FiringPorts = Readonly<{
  findSessionStart: FindSessionStart;
  /** Null if the owner may run the agent, otherwise the reason for the refusal. */
  mayNotRun(owner: string, agent: string): string | null;
  newSession(): SessionId;
  now(): Millis;
  /** Signs as the runtime itself. */
  sign(intent: Pick<Intent, "id" | "session" | "at" | "wish">): Intent;
}>;

/** `by`: the schedule's owner unless a person asked for it. `id`: made of due time and attempt unless given. */
type Fire = Pick<Extract<Step, { kind: "fire" }>, "dueAt" | "attempt" | "why"> & Readonly<{ by?: Principal; id?: string | undefined }>;

/** The id of the intent that tells a shared session that its schedule has fired. One commit records the firing and puts the intent, so that neither is without the other. */
export const toFiringId = (schedule: string, id: string): IntentId => intentId(`${firingPrefix(schedule)}${id}`);

/** The one append that fires a schedule, or the event that says why it is skipped. */
export function planFiring(
  ports: FiringPorts,
  s: StandingSchedule,
  { dueAt, attempt, why, by = { kind: "user", id: s.spec.owner }, id = `${dueAt}-${attempt}` }: Fire,
): Readonly<{ session: SessionId; plan: SchedulePlan }> | Extract<SystemEvent, { kind: "schedule.skipped" }> {
  const { schedule, spec } = s;
  const reason = ports.mayNotRun(spec.owner, spec.agent);
  if (reason !== null) return skipEvent(schedule, dueAt, "not-permitted", reason);
  const found = ports.findSessionStart(spec.agent);
  if (found === null) return skipEvent(schedule, dueAt, "agent-missing", `there is no agent \`${spec.agent}\` that can be run`);
  const unlessHalted = ["all", `agent:${spec.agent}`];
  const fired = (session: SessionId, intent: IntentId | null): SystemEvent => ({
    kind: "schedule.fired",
    schedule,
    dueAt,
    attempt,
    session,
    intent,
    why,
    by,
  });
  const at = ports.now();
  if (spec.session === "shared" && s.shared !== null) {
    const intent = ports.sign({
      id: toFiringId(schedule, id),
      session: s.shared,
      at,
      wish: { kind: "follow-up", text: spec.input },
    });
    return { session: s.shared, plan: { events: [fired(s.shared, intent.id)], tells: [intent], unlessHalted } };
  }
  const session = ports.newSession();
  const begin: SessionStart = { session, events: buildOpening(spec, found, { schedule, dueAt, attempt }).map((event) => ({ at, event })) };
  return { session, plan: { events: [fired(session, null)], opens: [begin], unlessHalted } };
}

function buildOpening(
  spec: ScheduleSpec,
  { facts, limits, output }: NonNullable<ReturnType<FindSessionStart>>,
  from: Readonly<{ schedule: string; dueAt: Millis; attempt: number }>,
): readonly JournalEvent[] {
  const owner: Principal = { kind: "user", id: spec.owner };
  const opened = openedEvent({ agent: facts, principal: owner, surface: "schedule", origin: { kind: "schedule", ...from } });
  return [opened, ...firstTurnEvents({ input: spec.input, by: owner, limits, output })];
}

export const stepEvent = (schedule: string, step: Extract<Step, { kind: "queue" | "skip" }>): SystemEvent => {
  if (step.kind === "queue") return { kind: "schedule.queued", schedule, dueAt: step.dueAt };
  const { first, last, count, why, detail } = step;
  return { kind: "schedule.skipped", schedule, first, last, count, why, detail };
};
export const skipEvent = (schedule: string, dueAt: Millis, why: "not-permitted" | "halted" | "agent-missing" | "missed", detail: string) =>
  ({ kind: "schedule.skipped", schedule, first: dueAt, last: dueAt, count: 1, why, detail: detail.slice(0, 500) }) as const;

/** Endings that a retry may change. A refusal by a policy, a person or a provider would come again. */
const PASSING: ReadonlySet<Ending> = new Set(["failed", "timed-out", "out-of-iterations", "out-of-tokens", "out-of-money", "out-of-calls"]);

export function endedEvent(
  s: StandingSchedule,
  { dueAt, attempt, session, intent }: Firing,
  ending: Ending | null,
  now: Millis,
): SystemEvent {
  const isGood = ending === "completed" || ending === "cancelled";
  const isLost = ending === null && intent !== null; // the shared session was closed: the next firing opens another
  const mayRetry = !isGood && (isLost || (ending !== null && PASSING.has(ending))) && attempt <= s.spec.retries;
  const result = isGood ? "done" : mayRetry && (s.state === "active" || s.state === "done") ? "retry" : "set-aside";
  const retryAt = result === "retry" ? millis(isLost ? now : now + retryAfter(attempt)) : null;
  return { kind: "schedule.ended", schedule: s.schedule, dueAt, attempt, session, ending, result, retryAt };
}

/** Z-6 The failure that reaches the limit stops the schedule in the same commit. */
export function withStop(s: StandingSchedule, events: readonly SystemEvent[]): readonly SystemEvent[] {
  const fails = events.some(
    (e) =>
      (e.kind === "schedule.ended" && e.result === "set-aside") ||
      (e.kind === "schedule.skipped" && (e.why === "not-permitted" || e.why === "agent-missing")),
  );
  const failures = s.failures + 1;
  if (!fails || s.spec.failures === 0 || failures < s.spec.failures || (s.state !== "active" && s.state !== "done")) return events;
  const [first] = events;
  const session = first?.kind === "schedule.ended" ? first.session : null;
  const reason =
    first?.kind === "schedule.ended"
      ? `the last one ended \`${first.ending ?? "lost"}\``
      : first?.kind === "schedule.skipped"
        ? first.detail
        : "";
  return [...events, { kind: "schedule.stopped", schedule: s.schedule, failures, session, reason }];
}

const PAGE = 500;

/** The ending of the turn that a firing began; null while the turn runs or waits. */
export async function findFiringEnd(
  journal: Pick<Journal, "session" | "read">,
  { session, intent }: Firing,
): Promise<Readonly<{ ending: Ending | null }> | null> {
  const summary = await journal.session(session);
  if (summary === null) return { ending: null };
  if (intent === null) {
    const isOver = summary.turns > 1 || (summary.turns === 1 && summary.state === "idle") || summary.state === "closed";
    return isOver ? { ending: summary.turns > 1 ? await readTurnEnding(journal, session, 1) : summary.ending } : null;
  }
  if (summary.state === "running" || summary.state === "waiting") return null; // or another turn of the shared session runs first
  const found = await findTurnEnd(journal, session, intent, summary.seq);
  return found ?? (summary.state === "closed" ? { ending: null } : null);
}

async function readTurnEnding(journal: Pick<Journal, "read">, session: SessionId, turn: number): Promise<Ending | null> {
  for await (const { event } of eachEntry(journal, session)) if (event.kind === "turn.ended" && event.turn === turn) return event.ending;
  return null;
}

/** Null: the session has not taken its intent yet, or the turn is queued. Reads from the end: the intent is among the newest entries. */
async function findTurnEnd(
  journal: Pick<Journal, "session" | "read">,
  session: SessionId,
  intent: IntentId,
  last: number,
): Promise<Readonly<{ ending: Ending | null }> | null> {
  for (let size = PAGE; ; size *= 4) {
    const start = Math.max(0, last - size);
    let turn: number | null = null;
    let isQueued = false;
    for await (const { event } of eachEntry(journal, session, seq(start))) {
      if (event.kind === "input.queued" && event.intent === intent) isQueued = true;
      if (event.kind === "turn.started" && event.intent === intent) turn = event.turn;
      if (event.kind === "turn.ended" && event.turn === turn) return { ending: event.ending };
      if (event.kind === "turn.cancel-asked" && event.all && isQueued && turn === null) return { ending: "cancelled" }; // before it began
      if (event.kind === "intent.refused" && event.intent === intent) return { ending: null };
    }
    if (start === 0 || turn !== null || isQueued) return null;
  }
}
