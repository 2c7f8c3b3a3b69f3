import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

const entry = join(import.meta.dirname, "..", "..", "bin", "orgate.js");
const leftBehind = () => readdirSync(tmpdir()).filter((name) => name.startsWith("orgate-demo-"));

test("A30 the demo's numbers hold: one process killed, nothing twice, the flipped byte found where it was flipped", () => {
  const before = leftBehind();
  const { status, stdout, stderr } = spawnSync(process.execPath, [entry, "demo", "--json"], { encoding: "utf8" });
  expect([status, stderr]).toEqual([0, ""]);
  const told = JSON.parse(stdout);
  expect(told).toMatchObject({
    allowed: 3,
    denied: 1,
    asked: 1,
    approvedBy: "ana",
    resumed: true,
    toolRunsTwice: 0,
    modelCallsRepeated: 0,
    modelCalls: 5,
    effects: 3,
    verified: true,
  });
  expect(told.tamperFoundAt).toMatch(/^s_\w+#\d+$/);
  expect(told.tamperFoundAt).toBe(told.tamperedAt);
  expect(leftBehind()).toEqual(before);
});
