import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { warmCommand } from "../fixtures/warm.ts";

let folder = "";
const orgate = (at: string, ...args: readonly string[]) => {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  return warmCommand(args, join(folder, at), join(folder, at), { PATH, NODE_COMPILE_CACHE, ORGATE_HOME: join(folder, "home") });
};
const team = (...args: readonly string[]) => orgate("team", ...args);
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "orgate-orchestrate-"));
  expect((await orgate(".", "init", "team", "--profile", "multi-agent", "--yes")).code).toBe(0);
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Ran = { ending: string; output: string; input: string; members: { agent: string; session: string; ending: string; tokens: number }[] };
async function ran(...args: readonly string[]): Promise<Readonly<{ code: number; result: Ran }>> {
  const { code, stdout, stderr } = await team(...args, "--json");
  if (stdout === "") throw new Error(stderr);
  return { code: code ?? -1, result: JSON.parse(stdout) as Ran };
}

describe("orgate chain, parallel, race, debate", { timeout: 60_000 }, () => {
  test("S-17 a chain in a new project: who worked, in order, and the last one's answer", async () => {
    const { code, result } = await ran("chain", "researcher", "writer", "--input", "what is on today?");
    expect(code).toBe(0);
    expect(result).toMatchObject({
      ending: "completed",
      members: [
        { agent: "researcher", ending: "completed", output: "It says: Call Ana about the contract." },
        { agent: "writer", ending: "completed" },
      ],
    });
    expect(result.output).toContain("What `researcher` came to, one step before you:\n\nIt says: Call Ana about the contract.");
  });

  test("S-17 a parallel of which one runs out of its part: its answer is there, the other is named, and the exit code is 1", async () => {
    const { code, result } = await ran("parallel", "researcher", "writer", "--input", "what is on today?", "--budget", "iterations=2");
    expect([code, result.ending]).toEqual([1, "completed"]);
    expect(result.members.map(({ ending }) => ending)).toEqual(["out-of-iterations", "completed"]);
    expect(result.output).toContain("## researcher did not complete");
    const said = await team("parallel", "researcher", "writer", "--input", "hello");
    expect(said.stdout).toMatch(/researcher +s_\w+ +completed/);
    expect(said.stdout).toMatch(/together/);
  });

  test("S-17 a parallel of which one may not be had work: it is among the members, denied, and the exit code is 1", async () => {
    const policy = join(folder, "team", "policies", "not-the-lead.cedar");
    writeFileSync(
      policy,
      '@id("x") @reason("it rests") forbid(principal == Agent::"conductor", action == Action::"delegate", resource == Agent::"lead");',
    );
    const { code, result } = await ran("parallel", "lead", "writer", "--input", "hello").finally(() => rmSync(policy));
    expect([code, result.ending]).toEqual([1, "completed"]);
    expect(result.members).toMatchObject([
      { agent: "lead", session: null, ending: "denied", detail: "it rests" },
      { agent: "writer", ending: "completed" },
    ]);
  });

  test("S-17 a debate of one round", async () => {
    const { code, result } = await ran("debate", "researcher", "writer", "--rounds", "1", "--input", "tea or coffee?");
    expect([code, result.members.map(({ agent }) => agent)]).toEqual([0, ["researcher", "writer"]]);
    expect(result.output).toContain("round 1 of 1. You are `writer`.");
  });

  test("S-18 the conductor may have any other agent work, but not the coordinator nor itself", async () => {
    const refused = await team("chain", "researcher", "coordinator", "--input", "x");
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringMatching(/`coordinator` is not among those that the conductor may have work\n.*names: lead, researcher, writer/),
    ]);
  });

  test.each([
    [["chain", "researcher", "--input", "x"], "chain takes at least two agents, and 1 is named"],
    [["race", "researcher", "writer"], "--input is missing"],
    [["debate", "researcher", "writer", "--rounds", "many", "--input", "x"], "a debate has 1 to 10 rounds, not NaN"],
    [["race", "researcher", "writer", "--budget", "lots", "--input", "x"], "`lots` is no budget"],
  ] as const)("S-17 what cannot be is refused before anything runs: %j", async (args, said) => {
    const { code, stderr } = await team(...args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(said)]);
  });
});
