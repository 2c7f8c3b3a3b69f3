import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PROFILE_FACTS, PROFILES } from "../starter/profiles.ts";
import { warmCommand } from "./fixtures/warm.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "orgate-profiles-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const orgate = (cwd: string, ...args: readonly string[]) => {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const at = join(folder, cwd);
  return warmCommand(args, at, at, { PATH, NODE_COMPILE_CACHE, ORGATE_HOME: join(folder, "home") });
};

test.each(PROFILES)(
  "A54 profile %s is made without a question, checks with its tables, and its first run works without a key",
  { timeout: 60_000 },
  async (profile) => {
    const { agent, first } = PROFILE_FACTS[profile];
    const made = await orgate(".", "init", profile, "--profile", profile, "--yes", "--json");
    expect([made.code, made.stderr]).toEqual([0, expect.any(String)]);
    const checked = await orgate(profile, "policy", "check", "--json");
    const { ok, cases } = JSON.parse(checked.stdout) as { ok: boolean; cases: unknown[] };
    expect([ok, cases.length > 10]).toEqual([true, true]);
    expect((await orgate(profile, "agents", "fmt", "--check")).code).toBe(0);
    const ran = await orgate(profile, "run", agent, "--input", first, "--json");
    expect([ran.code, JSON.parse(ran.stdout)]).toMatchObject([0, { ending: "completed" }]);
    const toml = readFileSync(join(folder, profile, "orgate.toml"), "utf8");
    const again = await orgate(".", "init", profile, "--profile", profile, "--yes");
    expect([again.code, readFileSync(join(folder, profile, "orgate.toml"), "utf8")]).toEqual([1, toml]);
  },
);

test("A54 a profile must be known, and is not a kind beside a kind", async () => {
  expect((await orgate(".", "init", "x", "--profile", "huge", "--yes")).code).toBe(2);
  expect((await orgate(".", "init", "x", "--profile", "minimal", "--kind", "assistant", "--yes")).stderr).toContain("two ways to say it");
});
