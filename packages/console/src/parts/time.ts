/**
 * Times as people read them: near ones by how long ago or how soon, others by the clock; the exact one is always there too.
 * O86 what is still to come is never told as past: until when a grant holds, when a breaker is tried again.
 */
const DAY_MS = 86_400_000;
/** A page looks at its clock every quarter of a minute: what came since is not the future. */
const NEARLY_MS = 20_000;

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const year = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });

export const exactTime = (at: number): string => `${exact.format(at)} · ${new Date(at).toISOString()}`;

export function shortTime(at: number, now: number): string {
  const ago = now - at;
  if (ago > -NEARLY_MS && ago < 45_000) return "just now";
  const minutes = Math.max(1, Math.round(Math.abs(ago) / 60_000));
  if (Math.abs(ago) < 3_600_000) return ago > 0 ? `${minutes} min ago` : `in ${minutes} min`;
  if (new Date(at).toDateString() === new Date(now).toDateString()) return clock.format(at);
  if (Math.abs(ago) < 300 * DAY_MS) return `${day.format(at)}, ${clock.format(at)}`;
  return year.format(at);
}

/** How long something took, or is still to take. */
export function span(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % 60_000) / 1_000)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** What is left, on a clock: `4:07`, `1:02:09`. */
export function leftClock(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1_000));
  const [h, m, s] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  const two = (n: number): string => String(n).padStart(2, "0");
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}

const number = new Intl.NumberFormat("en", { maximumFractionDigits: 1, notation: "compact" });
export const countText = (n: number): string => (n < 10_000 ? String(n) : number.format(n));
/** Of an amount in millionths of a dollar. */
export const moneyText = (micros: number): string => (micros === 0 ? "$0" : `$${(micros / 1_000_000).toFixed(micros < 10_000 ? 4 : 2)}`);
/** What was never priced is not nothing: it is said, or that there is more than this. */
export const costText = ({ micros, unpriced }: Readonly<{ micros: number; unpriced: number }>): string =>
  unpriced === 0 ? moneyText(micros) : micros === 0 ? "unknown" : `over ${moneyText(micros)}`;
