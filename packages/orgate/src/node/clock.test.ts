import { afterEach, expect, test, vi } from "vitest";
import { createUptime, nodeClock } from "./clock.ts";

afterEach(() => void vi.useRealTimers());
const DAY = 86_400_000;

test("L-25 a sleep of any length lasts that long, beyond what one timer can", async () => {
  vi.useFakeTimers();
  const started = nodeClock.now();
  let awake = false;
  const sleeping = nodeClock.sleep(60 * DAY, new AbortController().signal).then(() => {
    awake = true;
  });
  await vi.advanceTimersByTimeAsync(60 * DAY - 1);
  expect(awake).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  await sleeping;
  expect(nodeClock.now() - started).toBe(60 * DAY);
  expect(vi.getTimerCount()).toBe(0);
});

test("L-25 a sleep ends as soon as its signal fires, and leaves no timer behind", async () => {
  vi.useFakeTimers();
  const stop = new AbortController();
  const sleeping = nodeClock.sleep(60 * DAY, stop.signal);
  stop.abort();
  await sleeping;
  expect(vi.getTimerCount()).toBe(0);
  await nodeClock.sleep(DAY, stop.signal);
  await nodeClock.sleep(0, new AbortController().signal);
  await nodeClock.sleep(-5, new AbortController().signal);
  expect(vi.getTimerCount()).toBe(0);
});

test("G-25 the time that the machine has been up is read once a second, goes on in between, and has its sleep a second later", () => {
  let [ticks, slept, reads] = [0, 0, 0];
  const read = (): number => {
    reads += 1;
    return 5_000 + ticks + slept;
  };
  const up = createUptime(read, () => ticks);
  for (; ticks < 990; ticks += 10) expect(up()).toBe(5_000 + ticks);
  expect(reads).toBe(1);
  slept = DAY; // the ticks stand still meanwhile
  expect(up()).toBe(5_990);
  ticks = 1_000;
  expect(up()).toBe(6_000 + DAY);
  expect(reads).toBe(2);
});
