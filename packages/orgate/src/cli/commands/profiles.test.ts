import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PROFILE_STARTERS, PROFILES } from "../../starter/starters.ts";
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
  "A-14 profile %s is made without a question, checks with its tables, and its first run works without a key",
  { timeout: 60_000 },
  async (profile) => {
    const { agent, first } = PROFILE_STARTERS[profile];
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

test("A-14 a profile must be known, and is not a kind beside a kind", async () => {
  expect((await orgate(".", "init", "x", "--profile", "huge", "--yes")).code).toBe(2);
  expect((await orgate(".", "init", "x", "--profile", "minimal", "--kind", "assistant", "--yes")).stderr).toContain("two ways to say it");
});

const TOOLS = { assistant: ["read_note", "save_note", "name"], "dev-agent": ["read_file", "write_file", "path"] } as const;
test.each([
  ["assistant", TOOLS.assistant],
  ["dev-agent", TOOLS["dev-agent"]],
  ["multi-agent", TOOLS.assistant],
] as const)(
  "T-14 no tool of a new project of profile %s reads keys or variables, or has a person asked what it would refuse",
  { timeout: 60_000 },
  async (profile, [read, write, argument]) => {
    const at = `guarded-${profile}`;
    await orgate(".", "init", at, "--profile", profile, "--yes");
    const probe = `name = "probe"
instructions = "Try."
tools = ["${read}", "${write}"]
[[modelOptions.rules]]
when = { says = "read (?<at>.+)" }
calls = [{ tool = "${read}", args = { ${argument} = "{{at}}" } }]
[[modelOptions.rules]]
when = { says = "write (?<at>.+)" }
calls = [{ tool = "${write}", args = { ${argument} = "{{at}}", text = "x" } }]
[[modelOptions.rules]]
when = { called = ["${read}"] }
say = "got {{result}}"
`;
    writeFileSync(join(folder, at, "agents", "probe.toml"), probe);
    writeFileSync(join(folder, at, ".env"), "TOKEN=hidden\n");
    const run = async (input: string) => (await orgate(at, "run", "probe", "--input", input, "--json")).stdout;
    expect(await run("read ../.env")).not.toContain("hidden");
    const key =
      readFileSync(join(folder, at, ".orgate", "keys", "root.key"), "utf8")
        .trim()
        .split("\n")
        .at(0) ?? "";
    const stolen = await run("read ../.orgate/keys/root.key");
    expect([stolen.includes(key.slice(0, 20)), JSON.parse(stolen)]).toMatchObject([false, { calls: 0 }]);
    expect(stolen).toContain("must be a file in");
    expect(JSON.parse(await run("write ../policies/base.cedar"))).toMatchObject({ ending: expect.any(String), calls: 0 });
    expect(JSON.parse(await run("write mine"))).toMatchObject({ state: profile === "multi-agent" ? "ended" : "waiting" });
  },
);
