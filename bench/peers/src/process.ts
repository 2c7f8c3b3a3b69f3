/** What the system says of a process. Linux alone tells all of it; elsewhere the figures are left out. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";

/** Bytes of all write calls. */
export function writtenBy(pid: number | "self"): number | null {
  const file = `/proc/${pid}/io`;
  if (!existsSync(file)) return null;
  const found = /^wchar: (\d+)$/m.exec(readFileSync(file, "utf8"));
  return found === null ? null : Number(found[1]);
}

/** From now on the peak is that of what follows. */
export function resetPeak(): void {
  if (existsSync("/proc/self/clear_refs")) writeFileSync("/proc/self/clear_refs", "5");
}

/** Resident, in kilobytes. */
export function memory(): Readonly<{ now: number; peak: number }> | null {
  if (!existsSync("/proc/self/status")) return null;
  const text = readFileSync("/proc/self/status", "utf8");
  const read = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(text)?.[1] ?? Number.NaN);
  return { now: read("VmRSS"), peak: read("VmHWM") };
}

/** The fields of /proc/PID/stat after the name: state, parent, … Empty when there is no such process. */
export function statOf(pid: number): readonly string[] {
  const file = `/proc/${pid}/stat`;
  const text = existsSync(file) ? readFileSync(file, "utf8") : "";
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}

const TICKS_PER_SECOND = 100; // on every Linux that Node runs on

/** In steps of ten milliseconds; 0 where the system does not tell. */
export function cpuUsOf(pid: number): number {
  const stat = statOf(pid);
  return ((Number(stat[11] ?? 0) + Number(stat[12] ?? 0)) * 1_000_000) / TICKS_PER_SECOND;
}
