import { useSyncExternalStore } from "react";
import { cell } from "../link/cell.ts";
import { exactTime, shortTime } from "./time.ts";

/** One clock for the whole page, so that its times change together. */
const minute = cell(Date.now());
const second = cell(Date.now());
if (typeof window !== "undefined") {
  setInterval(() => second.set(Date.now()), 1_000);
  setInterval(() => minute.set(Date.now()), 15_000);
}
export const useNow = (each: "second" | "minute" = "minute"): number => {
  const watched = each === "second" ? second : minute;
  return useSyncExternalStore(watched.watch, watched.get, watched.get);
};

export function Time({ at }: Readonly<{ at: number }>) {
  const now = useNow();
  return (
    <time dateTime={new Date(at).toISOString()} title={exactTime(at)}>
      {shortTime(at, Math.max(now, at))}
    </time>
  );
}
