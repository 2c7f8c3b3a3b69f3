/**
 * Activity and usage by hour, agent and model: rows to be added up, so that any day in any time zone can be computed from them.
 *
 * V-5 an entry adds to exactly the row of its own hour, and the sum over the rows is what the entries say: a reply at its cost, a reply that was lost at
 *     its reservation, a tool at what it settled; what delegates use is counted in their own sessions, once.
 */
import { decisionsIn, type Entry, type JournalEvent, type Millis, totalTokens, type Verdict } from "@orgate/core/vocab";

export const HOUR_MS = 3_600_000;
export const hourOf = (at: number): number => Math.floor(at / HOUR_MS);

const COUNTS = {
  turns: 0,
  completed: 0,
  /** Turns that ended `denied`. */
  denied: 0,
  /** Turns that ended in any other way but `completed`, `denied` and `cancelled`. */
  failed: 0,
  activeMs: 0,
  replies: 0,
  tokens: 0,
  micros: 0,
  /** Replies whose price nobody knows. */
  unpriced: 0,
  calls: 0,
  callsFailed: 0,
  callMs: 0,
  /** Of calls and delegations. */
  decisions: 0,
  denials: 0,
  asks: 0,
} as const;
export type UsageCounts = Readonly<Record<keyof typeof COUNTS, number>>;
export const USAGE_FIELDS = Object.freeze(Object.keys(COUNTS) as (keyof UsageCounts)[]);
export const NO_USAGE_COUNTS: UsageCounts = Object.freeze({ ...COUNTS });
/** `model` is empty for what is of no model. */
export type UsageRow = Readonly<{ hour: number; agent: string; model: string }> & UsageCounts;

export const addCounts = (a: UsageCounts, b: Partial<UsageCounts>): UsageCounts => {
  const sum: Record<keyof UsageCounts, number> = { ...a };
  for (const name of USAGE_FIELDS) sum[name] += b[name] ?? 0;
  return sum;
};

type Asked = Extract<JournalEvent, { kind: "model.asked" }>;
/** `asked`: the request that a reply was lost of; looked for only then. Null: the entry counts nothing. */
export function listUsage(
  { at, event: e }: Pick<Entry, "at" | "event">,
  asked: () => Asked | null,
): Readonly<{ hour: number; model: string; counts: Partial<UsageCounts> }> | null {
  const hour = hourOf(at);
  switch (e.kind) {
    case "turn.ended":
      return { hour, model: "", counts: { turns: 1, activeMs: e.activeMs, ...endedAs(e.ending) } };
    case "model.replied": {
      const cost = e.micros === null ? { unpriced: 1 } : { micros: e.micros };
      return { hour, model: e.model, counts: { replies: 1, tokens: totalTokens(e.usage), ...cost } };
    }
    case "model.failed": {
      const lost = e.broke ? asked() : null;
      if (lost === null) return null;
      const cost = lost.reservedMicros === null ? { unpriced: 1 } : { micros: lost.reservedMicros };
      return { hour, model: lost.model, counts: { tokens: totalTokens(lost.reserved), ...cost } };
    }
    case "budget.settled":
      return e.amount.iterations > 0 || (e.amount.micros ?? 0) === 0 ? null : { hour, model: "", counts: { micros: e.amount.micros ?? 0 } };
    case "gate.decided":
    case "act.started":
    case "model.asked":
      return decidedIn(hour, e);
    case "act.ended":
      return { hour, model: "", counts: { calls: 1, callsFailed: e.outcome.kind === "done" ? 0 : 1, callMs: e.evidence.durationMs } };
    default: // the others use nothing
      return null;
  }
}

/** Decisions on calls and delegations. */
function decidedIn(hour: number, e: JournalEvent): ReturnType<typeof listUsage> {
  const verdicts = decisionsIn(e).flatMap(({ action, verdict }) =>
    action.kind === "call" || action.kind === "delegate" ? [verdict.kind] : [],
  );
  const of = (kind: Verdict["kind"]): number => verdicts.filter((one) => one === kind).length;
  return verdicts.length === 0 ? null : { hour, model: "", counts: { decisions: verdicts.length, denials: of("deny"), asks: of("ask") } };
}

function endedAs(ending: Extract<JournalEvent, { kind: "turn.ended" }>["ending"]): Partial<UsageCounts> {
  if (ending === "completed") return { completed: 1 };
  if (ending === "denied") return { denied: 1 };
  return ending === "cancelled" ? {} : { failed: 1 };
}

export type UsageSum = Readonly<{ name: string }> & UsageCounts;

/** Added up by what `nameOf` says of a row; the dearest first, then by name. */
export function sumUsage(rows: Iterable<UsageRow>, nameOf: (row: UsageRow) => string | null): readonly UsageSum[] {
  const sums = new Map<string, UsageCounts>();
  for (const row of rows) {
    const name = nameOf(row);
    if (name !== null) sums.set(name, addCounts(sums.get(name) ?? NO_USAGE_COUNTS, row));
  }
  return [...sums].map(([name, counts]) => ({ name, ...counts })).sort((a, b) => b.micros - a.micros || (a.name < b.name ? -1 : 1));
}

/** The day that an hour lies in, by the viewer's own clock: `offsetMs` is what is to be added to UTC then. */
export const dayOf = (hour: number, offsetMs: (at: number) => number): string => {
  const at = hour * HOUR_MS;
  return new Date(at + offsetMs(at)).toISOString().slice(0, 10);
};

/** One number per hour, from `first` on; hours without a row are nothing. */
export function sumByHour(rows: Iterable<UsageRow>, first: number, hours: number, of: (counts: UsageCounts) => number): readonly number[] {
  const series = new Array<number>(hours).fill(0);
  for (const row of rows) {
    const at = row.hour - first;
    if (at >= 0 && at < hours) series[at] = (series[at] ?? 0) + of(row);
  }
  return series;
}

export const isBefore = (row: UsageRow, at: Millis): boolean => row.hour < hourOf(at);
