import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";

const entry = join(import.meta.dirname, "..", "..", "bin", "orgate.js");
/** Its own: another demo on this machine is none of ours. */
const temporary = mkdtempSync(join(tmpdir(), "orgate-demos-"));
afterAll(() => rmSync(temporary, { recursive: true, force: true }));
const env = { ...process.env, TMPDIR: temporary };
const leftBehind = () => readdirSync(temporary).filter((name) => name.startsWith("orgate-demo-"));

test("A-17 the demo's numbers hold: one process killed, nothing twice, the flipped byte found where it was flipped", () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [entry, "demo", "--json"], { env, encoding: "utf8" });
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
  expect(leftBehind()).toEqual([]);
});

test("A-17 whoever stops it in the middle finds nothing left behind", async () => {
  const child = spawn(process.execPath, [entry, "demo"], { env, stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  expect(leftBehind()).toHaveLength(1);
  child.kill("SIGINT");
  expect(await once(child, "exit")).toEqual([130, null]);
  expect(leftBehind()).toEqual([]);
});

test("A-17 without a terminal it is plain: no colour, no folded line, and it says that all holds", () => {
  const { status, stdout } = spawnSync(process.execPath, [entry, "demo"], { env, encoding: "utf8" });
  expect(status).toBe(0);
  expect(stdout).not.toContain(String.fromCodePoint(27));
  expect(stdout).toMatch(/^ {2}✗ denied: send_file .* · by desk\/customer-data-stays: files of customers do not leave this desk$/m);
  expect(stdout).toMatch(/^ {2}\? a_\w+: May it restart this service in production\? · touches Service::"payments"$/m);
  expect(stdout).toContain("Nothing without a permit, nothing twice, everything proved.");
});
