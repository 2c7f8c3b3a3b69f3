import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { watchdog } from "./watchdog.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

const never = new AbortController().signal;
const PATIENCE = { firstByteMs: 1_000, idleMs: 100 };

test("M-10 before the first byte one patience counts, after it the other", () => {
  const first = watchdog(PATIENCE, never);
  vi.advanceTimersByTime(999);
  expect(first.signal.aborted).toBe(false);
  vi.advanceTimersByTime(1);
  expect(first.signal.reason).toMatchObject({ trouble: { detail: "no answer within 1000 ms", transient: true } });

  const later = watchdog(PATIENCE, never);
  for (let i = 0; i < 50; i += 1) {
    later.beat();
    vi.advanceTimersByTime(99);
  }
  expect(later.signal.aborted).toBe(false);
  vi.advanceTimersByTime(1);
  expect(later.signal.reason).toMatchObject({ trouble: { detail: "the answer stalled for 100 ms" } });
});

test("M-10 while somebody else is waited for, the clock stands still, whatever comes in; then it starts anew", async () => {
  const dog = watchdog(PATIENCE, never);
  dog.beat();
  const reader = Promise.withResolvers<void>();
  const waited = dog.during(reader.promise);
  dog.beat();
  vi.advanceTimersByTime(10_000);
  expect([dog.signal.aborted, vi.getTimerCount()]).toEqual([false, 0]);
  reader.resolve();
  await waited;
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(100);
  expect(dog.signal.aborted).toBe(true);
});

test("M-10 a reader that never comes back holds nobody up who is stopped", async () => {
  const stop = new AbortController();
  const dog = watchdog(PATIENCE, stop.signal);
  const waited = dog.during(new Promise(() => {}));
  stop.abort("enough");
  await expect(waited).rejects.toBe("enough");
  expect(dog.stopped()).toBe(true);
});

test("M-10 once it is over nothing is left behind, and nothing begins again", () => {
  const stop = new AbortController();
  const dog = watchdog(PATIENCE, stop.signal);
  dog.beat();
  dog.end();
  dog.beat();
  expect(vi.getTimerCount()).toBe(0);
  stop.abort();
  expect(dog.signal.aborted).toBe(false);
});
