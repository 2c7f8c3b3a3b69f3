/**
 * When things are due. Cron expressions are read by `croner` (docs/decisions/0041); everything here is a pure function of its arguments.
 *
 * Z-1 cron has five fields, or six with seconds first, in a time zone that there is; `at` is one ISO time. What can never come is refused where it stands.
 * Z-1 local time that is left out in spring is due right after the gap; of an hour that comes twice in autumn a fixed time is due once, the first time, and
 *    what goes on through the day goes on evenly.
 */
import { type Fault, FaultError, type Millis, millis, type ScheduleTime, suggestNearest } from "@orgate/core";
import { Cron } from "croner";
import { isTimeZone } from "../config/time-zone.ts";

export type Calendar = Readonly<{
  /** The first due time after this one; null: there is none. */
  next(when: ScheduleTime, after: Millis): Millis | null;
  /** The last due time after `from` and not after `until`; null: there is none. */
  last(when: ScheduleTime, from: Millis, until: Millis): Millis | null;
}>;

/** An expression that was read is 80 kB (a flag for each of ten thousand years): those that were asked last are kept. */
const MOST_KEPT = 200;
/** Nobody plans further, and a JavaScript date is still one then. */
const END = Date.UTC(9999, 0, 1);

export function openCalendar(): Calendar {
  const kept = new Map<string, Cron>();
  /** Reading one costs ten times what asking it does, and one is asked several times in a row. */
  const cronOf = (cron: string, timezone: string): Cron => {
    const key = `${timezone}\n${cron}`;
    const found = kept.get(key) ?? new Cron(cron, { timezone, mode: "5-or-6-parts", paused: true });
    kept.delete(key);
    kept.set(key, found); // the last one
    const [oldest] = kept.size > MOST_KEPT ? kept.keys() : [];
    if (oldest !== undefined) kept.delete(oldest);
    return found;
  };
  const next: Calendar["next"] = (when, after) => {
    if (when.kind === "at") return when.at > after ? when.at : null;
    if (after >= END) return null;
    const found = cronOf(when.cron, when.timezone).nextRun(new Date(after));
    return found === null || found.getTime() >= END ? null : millis(found.getTime());
  };
  return {
    next,
    last(when, from, until) {
      const first = next(when, from);
      if (first === null || first > until) return null;
      // There is one. Due times are whole seconds: halve until no other lies between.
      let [due, high]: [Millis, number] = [first, until];
      for (;;) {
        const middle = due + Math.floor((high - due) / 2_000) * 1_000;
        if (middle <= due) break;
        const found = next(when, millis(middle - 1));
        if (found !== null && found <= until) due = found;
        else high = middle;
      }
      for (let more = next(when, due); more !== null && more <= until; more = next(when, due)) due = more;
      return due;
    },
  };
}

/** From the written form to due times. Throws `usage`; the caller adds the place. */
export function readTime(
  written: Readonly<{ cron: string | null; at: string | null; timezone: string }>,
  calendar: Calendar,
): ScheduleTime {
  const { cron, at, timezone } = written;
  if ((cron === null) === (at === null))
    throw wrong(
      cron === null ? "nothing says when: a schedule has `cron` or `at`" : "a schedule has `cron` or `at`, and not both",
      'write cron = "0 2 * * *", or at = "2030-01-31T08:00:00Z"',
    );
  if (!isTimeZone(timezone)) throw wrong(`there is no time zone \`${timezone}\``, zoneHint(timezone));
  const when: ScheduleTime = at !== null ? { kind: "at", at: readAt(at, timezone) } : { kind: "cron", cron: cron?.trim() ?? "", timezone };
  if (when.kind === "at") return when;
  if (!/^\S+(?:\s+\S+){4,5}$/.test(when.cron))
    throw wrong(`\`${when.cron}\` is no cron expression`, FIELDS[when.cron.toLowerCase()] ?? CRON_HINT);
  const text = `${timezone}\n${when.cron}`;
  if (comes.has(text)) return when;
  try {
    if (calendar.next(when, millis(Date.UTC(2000, 0, 1))) !== null) {
      if (comes.size < MOST_KNOWN) comes.add(text);
      return when;
    }
  } catch (error) {
    const detail = error instanceof Error ? error.message.replace(/^CronPattern: /, "") : String(error);
    throw wrong(`\`${when.cron}\` is no cron expression: ${detail}`, CRON_HINT);
  }
  throw wrong(`\`${when.cron}\` never comes`, "there is no such day");
}

const CRON_HINT = "write five fields: minute hour day month weekday; or six, with seconds first";
/** Hints for aliases that are refused: the five fields to write instead. */
const FIELDS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries({
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
  }).map(([word, fields]) => [word, `write \`${fields}\``]),
);

function zoneHint(zone: string): string {
  const near = suggestNearest(zone, Intl.supportedValuesOf("timeZone"));
  return near.startsWith("did you mean") ? near : "use an IANA name, such as UTC, Europe/Berlin or America/New_York";
}

/** Cache of expressions: ten thousand schedules have a few hundred between them. */
const comes = new Set<string>();
const MOST_KNOWN = 20_000;

const LOCAL = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2})?$/;
const WITH_OFFSET = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2})?(?:\.\d{1,3})?(?:Z|[+-]\d{2}:\d{2})$/;

/** With an offset it is that instant; without one it is that time on the clocks of the zone, by the same rules as cron. */
function readAt(at: string, timezone: string): Millis {
  const bad = wrong(`\`${at}\` is no time`, "write 2030-01-31T08:00:00Z, or 2030-01-31T08:00 with a timezone");
  const local = LOCAL.test(at);
  if (!local && !WITH_OFFSET.test(at)) throw bad;
  const [date = "", clock = ""] = at.split("T");
  if (new Date(`${date}T00:00:00Z`).toJSON()?.slice(0, 10) !== date || Number.isNaN(Date.parse(`${date}T${clock.slice(0, 5)}:00Z`)))
    throw bad; // 30 February is no day
  const time = local ? onTheClock(date, clock, timezone) : Date.parse(at);
  if (!Number.isFinite(time) || time < 0 || time >= END) throw bad;
  return millis(time);
}

/** The instant at which clocks of a zone show this; after a gap, the first there is; of two, the first. */
function onTheClock(date: string, clock: string, timezone: string): number {
  const [, month, day] = date.split("-").map(Number);
  const [hour, minute, second = 0] = clock.split(":").map(Number);
  const midnight = Date.parse(`${date}T00:00:00Z`);
  const found = new Cron(`${second} ${minute} ${hour} ${day} ${month} *`, { timezone, mode: "6-part", paused: true }).nextRun(
    new Date(midnight - 36 * 3_600_000),
  );
  return found === null || found.getTime() > midnight + 60 * 3_600_000 ? Number.NaN : found.getTime();
}

const wrong = (detail: string, hint: string): FaultError => {
  const fault: Fault = { kind: "usage", detail, hint };
  return new FaultError(fault);
};
