import { useSyncExternalStore } from "react";
import { cell } from "../link/cell.ts";
import { serverNow } from "../link/clock.ts";
import { exactTime, shortTime } from "./time.ts";

/** One clock for the whole page, so that its times change together. */
const minute = cell(serverNow());
const second = cell(serverNow());
if (typeof window !== "undefined") {
  setInterval(() => second.set(serverNow()), 1_000);
  setInterval(() => minute.set(serverNow()), 15_000);
}
export const useNow = (each: "second" | "minute" = "minute"): number => {
  const watched = each === "second" ? second : minute;
  return useSyncExternalStore(watched.watch, watched.get, watched.get);
};

export function Time({ at }: Readonly<{ at: number }>) {
  const now = useNow();
  return (
    <time dateTime={new Date(at).toISOString()} title={exactTime(at)}>
      {shortTime(at, now)}
    </time>
  );
}
