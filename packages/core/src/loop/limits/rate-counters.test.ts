import { hash as nodeHash } from "node:crypto";
import { expect, test } from "vitest";
import { memoryDisk, openMemory } from "../../testing/memory-journal.ts";
import { type Digest, digest, type Hash, keyId, millis, writerId } from "../../vocab/index.ts";
import { countingTime, openCounts } from "./rate-counters.ts";

const sha256: Hash = (text): Digest => digest(nodeHash("sha256", text, "hex"));

const now = () => millis(1_800_000_000_000);
const disk = memoryDisk();
const store = (writer: string) =>
  openMemory(disk, { writer: writerId(writer), key: keyId("k"), hash: sha256, sign: sha256, salt: () => "0".repeat(32) }, now);
const SEND = { name: "calls:send", agent: "clerk", value: "" };

test("G-25 what a decision sets aside is seen by the next one in any session, and not by itself", async () => {
  const counts = openCounts(store("w1").journal, now);
  await counts.keep(["calls:send"]);
  const [a, b] = [
    { session: "a", action: "1.0" },
    { session: "b", action: "1.0" },
  ];
  expect(counts.reader(a, now())(SEND)).toEqual({ hour: 0, day: 0 });
  counts.reserve(a, [{ ...SEND, by: 1 }]);
  expect(counts.reader(a, now())(SEND).hour).toBe(0);
  expect(counts.reader(b, now())(SEND).hour).toBe(1);
  counts.reserve(a, [{ ...SEND, by: 1 }]); // decided again: still one
  expect(counts.reader(b, now())(SEND).hour).toBe(1);
  counts.release(a);
  expect(counts.reader(b, now())(SEND).hour).toBe(0);
});

test("G-25 what has begun counts on when its session is left, and what has not does not", async () => {
  const counts = openCounts(store("w2").journal, now);
  await counts.keep(["calls:send"]);
  const begun = { session: "a", action: "1.0" };
  counts.reserve(begun, [{ ...SEND, by: 1 }]);
  counts.reserve({ session: "a", action: "1.1" }, [{ ...SEND, by: 1 }]);
  counts.begun([begun], counts.conditions([begun], [{ ...SEND, by: 1, at: now() }]));
  counts.leave("a");
  expect(counts.reader({ session: "b", action: "1.0" }, now())(SEND)).toEqual({ hour: 1, day: 1 });
});

test("G-25 a counter that is not kept yet cannot be read: whatever wanted to is denied", () => {
  const counts = openCounts(store("w3").journal, now);
  expect(counts.areKept(["tokens"])).toBe(false);
  expect(() => counts.reader({ session: "a", action: "1.0" }, now())({ ...SEND, name: "tokens" })).toThrow("not counted yet");
});

test("G-25 a leap forward is believed once a day has really passed, one back at once, and small steps as they come", () => {
  const HOUR = 3_600_000;
  let [wall, ticks] = [1_000 * HOUR, 0];
  const time = countingTime(
    () => millis(wall),
    () => ticks,
  );
  const pass = (ms: number, leap = 0): number => {
    wall += ms + leap;
    ticks += ms;
    return time() / HOUR;
  };
  expect(pass(HOUR)).toBe(1_001);
  expect(pass(HOUR, 72 * HOUR)).toBe(1_002); // not believed
  expect(pass(HOUR, -72 * HOUR)).toBe(1_003);
  expect(pass(HOUR, 72 * HOUR)).toBe(1_004);
  expect(pass(12 * HOUR, 24 * HOUR)).toBe(1_016); // a second leap: from here on a day again
  expect(pass(23 * HOUR)).toBe(1_039);
  expect(pass(HOUR)).toBe(1_040 + 96);
  expect(pass(HOUR, -200 * HOUR)).toBe(1_041 + 96 - 200);
  expect(pass(HOUR, 30_000) - (1_042 + 96 - 200)).toBeCloseTo(30_000 / HOUR);
});
