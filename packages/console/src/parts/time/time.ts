/** Times for people: near ones relative, others by the clock; the exact time is always in the title. */
const DAY_MS = 86_400_000;

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const year = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });

export const exactTime = (at: number): string => `${exact.format(at)} · ${new Date(at).toISOString()}`;

export function shortTime(at: number, now: number): string {
  const ago = now - at;
  if (ago >= 0 && ago < 45_000) return "just now";
  if (ago >= 0 && ago < 3_600_000) return `${Math.max(1, Math.round(ago / 60_000))} min ago`;
  if (new Date(at).toDateString() === new Date(now).toDateString()) return clock.format(at);
  if (Math.abs(ago) < 300 * DAY_MS) return `${day.format(at)}, ${clock.format(at)}`;
  return year.format(at);
}

/** A future time: near ones relative, others by the clock. */
export function dueTime(at: number, now: number): string {
  const left = at - now;
  if (left <= 0) return "now";
  if (left < 60_000) return "in less than a minute";
  if (left < 3_600_000) return `in ${Math.round(left / 60_000)} min`;
  return shortTime(at, now);
}

/** A time in another time zone. */
export function zoneTime(at: number, timeZone: string): string {
  try {
    return new Intl.DateTimeFormat(undefined, { weekday: "short", hour: "2-digit", minute: "2-digit", timeZone }).format(at);
  } catch {
    return new Date(at).toISOString(); // a zone that this browser does not know
  }
}

/** Formats a duration. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  const minutes = Math.floor(ms / 60_000);
  const seconds = Math.floor((ms % 60_000) / 1_000);
  if (minutes < 60) return seconds === 0 ? `${minutes} min` : `${minutes} min ${seconds} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48
    ? minutes % 60 === 0
      ? `${hours} h`
      : `${hours} h ${minutes % 60} min`
    : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** Time left: `4:07`, `1:02:09`. */
export function formatCountdown(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1_000));
  const [h, m, s] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  const two = (n: number): string => String(n).padStart(2, "0");
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}

const number = new Intl.NumberFormat("en", { maximumFractionDigits: 1, notation: "compact" });
export const countText = (n: number): string => (n < 10_000 ? String(n) : number.format(n));
/** Formats an amount in millionths of a dollar. */
export const moneyText = (micros: number): string => (micros === 0 ? "$0" : `$${(micros / 1_000_000).toFixed(micros < 10_000 ? 4 : 2)}`);
/** Unpriced usage is never shown as zero: `unknown`, or `over` the known part. */
export const costText = ({ micros, unpriced }: Readonly<{ micros: number; unpriced: number }>): string =>
  unpriced === 0 ? moneyText(micros) : micros === 0 ? "unknown" : `over ${moneyText(micros)}`;
