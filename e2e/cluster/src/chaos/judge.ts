/**
 * The judge: what the journal says after everything, against what happened outside and what clients were told. It reads an export, so it
 * needs no store and no code that drove anything.
 */
import { decisionsIn, type Entry, type EventKind, fold, type JournalEvent } from "@orgate/core";
import { decodePayload, type Records } from "@orgate/core/journal";
import { readExport } from "@orgate/core/proof";
import { checkSignature, nameKey, sha256 } from "orgate";
import type { Effect, ModelRequest } from "./outside.ts";
import { isUnrepeatable, jobIn, TICK } from "./plan.ts";

/** A broken promise in words; the id of its rule comes first. */
export type Violation = string;

/** What clients were told: entries they were shown, jobs that were taken on, approval requests whose answer was accepted. */
export type Acknowledged = Readonly<{
  entries: ReadonlyMap<string, string>;
  jobs: ReadonlyMap<string, string>;
  answers: ReadonlySet<string>;
}>;
/** The name of an entry, and what it was when a client saw it. */
export const placeOf = ({ stream, seq }: Pick<Entry, "stream" | "seq">): string => `${stream}#${seq}`;
export const looksLike = ({ at, event }: Pick<Entry, "at" | "event">): string => `${event.kind} ${at}`;

export type Evidence = Readonly<{
  /** Text of `orgate journal export`, and the public root key. */
  journal: string;
  root: string;
  effects: readonly Effect[];
  requests: readonly ModelRequest[];
  acknowledged: Acknowledged;
}>;
export type Verdict = Readonly<{ violations: readonly Violation[]; counts: Readonly<Record<string, number>> }>;

type Stream = Readonly<{ stream: string; entries: readonly Entry[] }>;

export function judge({ journal, root, effects, requests, acknowledged }: Evidence): Verdict {
  const read = readExport(journal, root, { hash: sha256, checkSignature, nameKey });
  const found: Violation[] = read.problems.slice(0, 20).map((p) => `J-11 the journal does not verify: ${JSON.stringify(p)}`);
  if (read.torn) found.push("J-11 the export is torn");
  if (read.counts.unsealed > 0) found.push(`J-31 ${read.counts.unsealed} entries are still unsealed`);
  const streams = streamsIn(read.records, found);
  const sessions = streams.filter(({ entries }) => entries[0]?.event.kind === "session.opened");
  const byName = new Map(sessions.map((session) => [session.stream, session]));
  const bySession = Map.groupBy(effects, ({ session }) => session);
  for (const session of sessions) found.push(...judgeSession(session, bySession.get(session.stream) ?? []));
  for (const name of bySession.keys())
    if (!byName.has(name)) found.push(`L-5 something took effect for ${name}, which the journal does not have`);
  found.push(...judgeJobs(sessions, requests, acknowledged), ...judgeEffects(effects), ...judgeTold(streams, acknowledged));
  found.push(...streams.filter(({ stream }) => stream.startsWith("schedule:")).flatMap((schedule) => judgeSchedule(schedule, sessions)));
  const count = (kind: EventKind): number => sessions.reduce((sum, { entries }) => sum + of(entries, kind).length, 0);
  return {
    violations: found,
    counts: {
      sessions: sessions.length,
      entries: read.counts.entries,
      seals: read.counts.seals,
      effects: effects.length,
      "model requests": requests.length,
      "holds taken": count("hold.taken"),
      "unknown outcomes": sessions.reduce((sum, { entries }) => sum + unknownsIn(entries), 0),
      "approvals answered": count("approval.answered"),
      "sub-agents": count("child.opened"),
      "entries shown to clients": acknowledged.entries.size,
    },
  };
}

function streamsIn(records: Records, found: Violation[]): readonly Stream[] {
  return [...records.streams()].map((stream) => ({
    stream,
    entries: [...records.entries(stream)].flatMap(({ seq, at, kind, payload }): readonly Entry[] => {
      const decoded = payload === null ? null : decodePayload(kind, payload, (address) => records.blob(address) ?? "");
      if (decoded?.kind === "event") return [{ stream, seq, at, event: decoded.event }];
      found.push(`J-11 ${stream}#${seq} cannot be read: ${decoded?.detail ?? "erased"}`);
      return [];
    }),
  }));
}

const isKind = <K extends EventKind>(event: JournalEvent, kind: K): event is Extract<JournalEvent, { kind: K }> => event.kind === kind;
const of = <K extends EventKind>(entries: readonly Entry[], kind: K): readonly Extract<JournalEvent, { kind: K }>[] =>
  entries.flatMap(({ event }) => (isKind(event, kind) ? [event] : []));
const unknownsIn = (entries: readonly Entry[]): number =>
  of(entries, "act.ended").filter(({ outcome }) => outcome.kind === "unknown").length;

function judgeSession({ stream, entries }: Stream, effects: readonly Effect[]): readonly Violation[] {
  const found: Violation[] = [];
  const must = (holds: boolean, violation: Violation): void => void (holds || found.push(`${violation} (${stream})`));
  must(
    entries.every(({ seq }, i) => seq === i + 1),
    "J-4 the sequence has a gap",
  );
  const begun = of(entries, "turn.started").length;
  const ended = of(entries, "turn.ended").length;
  const state = fold(entries);
  const waits = state?.turn !== null && (state?.unknowns.size ?? 0) > 0;
  must(ended === begun || (ended === begun - 1 && waits), `L-4 ${begun} turns began and ${ended} ended, and no unknown outcome says why`);
  const key = (call: string, edition: number): string => `${stream}/${call}${edition === 0 ? "" : `~${edition}`}`;
  for (const e of effects) {
    const isStart = (s: Extract<JournalEvent, { kind: "act.started" }>): boolean => key(s.call, s.edition) === e.key && s.start === e.start;
    const begins = entries.findIndex(({ event }) => isKind(event, "act.started") && isStart(event));
    must(begins !== -1, `L-5 ${e.tool} ${e.n} took effect and its start ${e.start} is not in the journal`);
    const call = e.key.slice(stream.length + 1).split("~")[0];
    const decided = entries
      .slice(0, begins + 1)
      .flatMap(({ event }) => decisionsIn(event))
      .findLast(({ id }) => id === call);
    must(decided?.verdict.kind === "allow", `L-5 ${e.tool} ${e.n} took effect without an allowing decision`);
  }
  const delegated = new Set<string>(of(entries, "child.opened").map(({ call }) => call));
  for (const { call, outcome } of of(entries, "act.ended"))
    must(
      outcome.kind !== "done" || delegated.has(call) || effects.some((e) => e.key.startsWith(`${stream}/${call}`)),
      `L-7 call ${call} is said to be done and never took effect`,
    );
  const calls = of(entries, "model.replied").flatMap(({ parts }) => parts.flatMap((p) => (p.kind === "call" ? [p.wireId] : [])));
  const results = state?.messages.flatMap((m) => (m.role === "tool" ? [m.wireId] : [])) ?? [];
  must(waits || results.join() === calls.join(), `L-10 calls ${calls.join()} have observations ${results.join()}`);
  for (const { approval } of of(entries, "approval.asked")) {
    const answers = of(entries, "approval.answered").filter((e) => e.approval === approval).length;
    const uses = of(entries, "approval.consumed").filter((e) => e.approval === approval).length;
    must(answers <= 1 && uses <= answers, `Q-3 approval request ${approval} was answered ${answers} times and used ${uses} times`);
  }
  return found;
}

const MOST_ATTEMPTS = 3;

/** Each job is one session; a request to the model has its own `model.asked`, and none comes after the reply is on record. */
function judgeJobs(sessions: readonly Stream[], requests: readonly ModelRequest[], { jobs }: Acknowledged): readonly Violation[] {
  const found: Violation[] = [];
  const jobOf = ({ entries }: Stream): string | null => jobIn(JSON.stringify(of(entries, "turn.started")[0] ?? null));
  const byJob = Map.groupBy(sessions, (session) => jobOf(session) ?? "?");
  for (const [job, same] of byJob)
    if (job !== TICK && same.length > 1)
      found.push(`W-5 job ${job} is ${same.length} sessions: ${same.map(({ stream }) => stream).join()}`);
  for (const [job, session] of jobs)
    if (byJob.get(job)?.[0]?.stream !== session) found.push(`J-1 job ${job} was accepted as ${session}, which the journal does not have`);
  for (const [what, same] of Map.groupBy(requests, ({ job, iteration }) => `${job} ${iteration}`)) {
    const [{ job, iteration } = { job: "", iteration: 0 }] = same;
    if (job === TICK) continue; // its sessions say the same words
    const entries = byJob.get(job)?.[0]?.entries ?? [];
    const asked = of(entries, "model.asked").filter((e) => e.iteration === iteration).length;
    if (same.length > asked)
      found.push(`M-4 the model was requested ${same.length} times for ${what}, and ${asked} requests are on record`);
    if (asked > MOST_ATTEMPTS) found.push(`M-4 the model was asked ${asked} times for ${what}`);
    const replied = entries.findIndex(({ event }) => isKind(event, "model.replied") && event.iteration === iteration);
    const again = entries.slice(replied + 1).some(({ event }) => isKind(event, "model.asked") && event.iteration === iteration);
    if (replied !== -1 && again) found.push(`M-4 the recorded reply ${what} was requested again`);
  }
  return found;
}

function judgeEffects(effects: readonly Effect[]): readonly Violation[] {
  const found: Violation[] = [];
  for (const same of Map.groupBy(effects, ({ key }) => key).values()) {
    const [first] = same;
    if (first !== undefined && isUnrepeatable(first.tool) && same.length > 1)
      found.push(`L-7 ${first.tool} ${first.n} took effect ${same.length} times (${first.key})`);
  }
  for (const [n, same] of Map.groupBy(effects, (e) => e.n)) {
    const keys = new Set(same.map(({ key }) => key));
    if (n > 0 && keys.size > 1) found.push(`L-7 effect ${n} happened under ${keys.size} keys: ${[...keys].join()}`);
  }
  return found;
}

/** Nothing that a client was shown or told is gone or has changed. */
function judgeTold(streams: readonly Stream[], { entries, answers }: Acknowledged): readonly Violation[] {
  const all = new Map(streams.flatMap((stream) => stream.entries.map((entry): [string, string] => [placeOf(entry), looksLike(entry)])));
  const answered = new Set<string>(streams.flatMap((stream) => of(stream.entries, "approval.answered").map(({ approval }) => approval)));
  return [
    ...[...entries]
      .filter(([place, was]) => all.get(place) !== was)
      .map(([place, was]) => `J-1 ${place} was shown as ${was} and is ${all.get(place) ?? "gone"}`),
    ...[...answers]
      .filter((approval) => !answered.has(approval))
      .map((approval) => `I-1 the answer to ${approval} was accepted and is gone`),
  ];
}

/** Each due time is one session with one turn, in order, and none is missing in between. */
function judgeSchedule({ stream, entries }: Stream, sessions: readonly Stream[]): readonly Violation[] {
  const fired = of(entries, "schedule.fired");
  const due = fired.map(({ dueAt }) => Number(dueAt));
  const twice = due.filter((at, i) => due.indexOf(at) !== i);
  const ticks = sessions.filter((session) => of(session.entries, "session.opened")[0]?.surface === "schedule").length;
  return [
    ...twice.map((at) => `Z-3 ${stream} fired twice for ${at}`),
    ...(ticks === fired.length ? [] : [`Z-3 ${stream} fired ${fired.length} times and opened ${ticks} sessions`]),
  ];
}
