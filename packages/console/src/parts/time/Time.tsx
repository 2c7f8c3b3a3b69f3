import { useSyncExternalStore } from "react";
import { clock, serverNow } from "../../link/clock.ts";
import { cell } from "../../state/cell.ts";
import { dueTime, exactTime, shortTime, zoneTime } from "./time.ts";

/** One clock for the whole page, so that its times change together. */
const minute = cell(serverNow());
const second = cell(serverNow());
if (typeof window !== "undefined") {
  setInterval(() => second.set(serverNow()), 1_000);
  setInterval(() => minute.set(serverNow()), 15_000);
  clock.corrected.watch(() => {
    second.set(serverNow());
    minute.set(serverNow());
  });
}
export const useNow = (each: "second" | "minute" = "minute"): number => {
  const watched = each === "second" ? second : minute;
  return useSyncExternalStore(watched.watch, watched.get, watched.get);
};

export function Time({ at }: Readonly<{ at: number }>) {
  const now = useNow();
  return (
    <time dateTime={new Date(at).toISOString()} title={exactTime(at)}>
      {at > now + TICK_MS ? dueTime(at, now) : shortTime(at, Math.max(now, at))}
    </time>
  );
}
/** The page's clock may lag this much: an event that just happened is not shown as future. */
const TICK_MS = 16_000;

/** A due time in the viewer's time zone; the title adds its own zone. */
export function Due({ at, zone }: Readonly<{ at: number; zone: string | null }>) {
  const now = useNow();
  return (
    <time dateTime={new Date(at).toISOString()} title={`${exactTime(at)}${zone === null ? "" : ` · ${zoneTime(at, zone)} in ${zone}`}`}>
      {dueTime(at, now)}
    </time>
  );
}
