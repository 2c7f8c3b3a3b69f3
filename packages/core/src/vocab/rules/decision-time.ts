/** The time of a decision, as policies read it. */
import type { Millis } from "../ids.ts";

/** `epoch`: seconds, the same everywhere; the rest is read off the clocks of the project's zone. `weekday`: 1 is Monday, 7 Sunday. */
export type DecisionTime = Readonly<{ epoch: number; date: string; weekday: number; hour: number; minute: number }>;

export const UTC = "UTC";

type ZoneClock = Readonly<{ formatter: Intl.DateTimeFormat; minute: number; shown: Omit<DecisionTime, "epoch"> }>;
/** A formatter is dear, and what it says holds for a minute. A project has one zone. */
const clocks = new Map<string, ZoneClock>();

export function toDecisionTime(at: Millis, zone: string): DecisionTime {
  const minute = Math.floor(at / 60_000);
  let clock = clocks.get(zone);
  if (clock === undefined || clock.minute !== minute) {
    const formatter = clock?.formatter ?? formatterOf(zone);
    clock = { formatter, minute, shown: readClock(formatter, at) };
    clocks.set(zone, clock);
  }
  return { epoch: Math.floor(at / 1000), ...clock.shown };
}

const formatterOf = (timeZone: string): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat("en-GB", {
    timeZone,
    hourCycle: "h23",
    ...{ year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit" },
  });

function readClock(formatter: Intl.DateTimeFormat, at: Millis): ZoneClock["shown"] {
  const parts = Object.fromEntries(formatter.formatToParts(at).map(({ type, value }) => [type, value]));
  const date = `${parts["year"]?.padStart(4, "0")}-${parts["month"]}-${parts["day"]}`;
  const weekday = new Date(`${date}T00:00:00Z`).getUTCDay();
  return { date, weekday: weekday === 0 ? 7 : weekday, hour: Number(parts["hour"]), minute: Number(parts["minute"]) };
}
