/** Real processes: one that is killed in the middle of a plan, and a loser whose own process has to be gone. */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { warmCommand } from "./fixtures/warm.ts";

let folder = "";
const env = () => {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  return { PATH, NODE_COMPILE_CACHE, ORGATE_HOME: join(folder, "home") };
};
const orgate = (at: string, ...args: readonly string[]) => warmCommand(args, join(folder, at), join(folder, at), env());
const BIN = join(import.meta.dirname, "../../../bin/orgate.js");
const file = (...path: readonly string[]) => join(folder, "team", ...path);

/** A tool whose work is a process of its own, which writes down who it is and then takes its time. */
const NAP = `import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { defineTool } from "orgate";
import * as z from "zod";
export const nap = defineTool({
  name: "nap",
  description: "takes its time",
  input: z.strictObject({}),
  repeat: "read",
  effects: ["read"],
  labels: [],
  run: (_, { signal }) =>
    new Promise((resolve, reject) => {
      const child = spawn(process.execPath, ["-e", "setTimeout(() => {}, Number(process.env.NAP_MS))"], { signal, stdio: "ignore" });
      writeFileSync("nap.pid", String(child.pid));
      child.on("error", reject);
      child.on("exit", () => resolve("rested"));
    }),
});
`;
const SLOW = `name = "slow"
model = "offline/slow"
instructions = "You rest before you answer."
tools = ["nap"]
[[modelOptions.rules]]
when = { notCalled = ["nap"] }
calls = [{ tool = "nap" }]
[[modelOptions.rules]]
when = { called = ["nap"] }
say = "slow is done: {{input}}"
`;
const PERMIT = `@id("rest")
permit(principal == Agent::"slow", action == Action::"tool:nap", resource);
`;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "orgate-orchestrate-kill-"));
  expect((await orgate(".", "init", "team", "--profile", "multi-agent", "--yes")).code).toBe(0);
  writeFileSync(file("tools/nap.ts"), NAP);
  writeFileSync(file("agents/slow.toml"), SLOW);
  writeFileSync(file("policies/slow.cedar"), PERMIT);
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function started(napMs: number, ...args: readonly string[]) {
  const child = spawn(process.execPath, [BIN, ...args], {
    cwd: file(),
    env: { ...env(), NAP_MS: String(napMs) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  child.stdout.on("data", (bytes) => {
    said += String(bytes);
  });
  const over = new Promise<number | null>((resolve) => child.on("exit", resolve));
  return { child, over, said: () => said };
}
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await sleep(20);
}
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test("S-17 the loser's session is cancelled and the process of its tool is gone", { timeout: 60_000 }, async () => {
  const race = started(600_000, "race", "slow", "researcher", "--input", "what is on today?", "--json");
  expect(await race.over).toBe(0);
  const { members, output } = JSON.parse(race.said()) as { output: string; members: { agent: string; ending: string }[] };
  expect(output).toContain("researcher was first.");
  expect(members.map(({ agent, ending }) => [agent, ending])).toEqual([
    ["slow", "cancelled"],
    ["researcher", "completed"],
  ]);
  if (existsSync(file("nap.pid"))) expect(isAlive(Number(readFileSync(file("nap.pid"), "utf8")))).toBe(false);
});

test("S-16 killed in the middle of a chain, it goes on where it was: one session for each step, and each is told once", {
  timeout: 60_000,
}, async () => {
  rmSync(file("nap.pid"), { force: true });
  const chain = started(600_000, "chain", "researcher", "slow", "writer", "--input", "what is on today?");
  await until(() => existsSync(file("nap.pid")) && readFileSync(file("nap.pid"), "utf8") !== "");
  chain.child.kill("SIGKILL");
  await chain.over;
  process.kill(Number(readFileSync(file("nap.pid"), "utf8"))); // it belongs to nobody any more
  const sessions = async () =>
    JSON.parse((await orgate("team", "sessions", "list", "--json")).stdout) as {
      session: string;
      agent: string;
      state: string;
      ending: string | null;
    }[];
  const [conductor] = (await sessions()).filter(({ agent, state }) => agent === "conductor" && state === "running");
  if (conductor === undefined) throw new Error("nothing was interrupted");
  const before = (await sessions()).length;
  const resumed = started(1, "sessions", "resume", conductor.session, "--json");
  expect(await resumed.over).toBe(0);
  const result = JSON.parse(resumed.said()) as { ending: string; output: string };
  expect(result.ending).toBe("completed");
  expect(result.output).toContain("What `slow` came to, one step before you:\n\nslow is done: what is on today?");
  expect((await sessions()).length, "the writer's alone is new").toBe(before + 1);
});
