/** `examples/ops-desk`: what `npm start` and the demo stand on. */
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { readProject } from "../config/project-toml.ts";
import { openPolicies } from "../policies/policies.ts";
import { loadProject } from "../project/load.ts";
import type { Runtime } from "../runtime/api.ts";
import { createRuntime } from "../runtime/runtime.ts";
import { SHIPPED, SHIPPED_POLICIES } from "./fixtures/desk-stand.ts";

const EXAMPLE = join(import.meta.dirname, "../../../../examples/ops-desk");
const LEFT = /(^|[/\\])(\.orgate|effects\.jsonl|model-calls\.jsonl|reports|\.home)$/;
const away: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const leave of away.splice(0)) await leave();
});

async function opened(): Promise<Readonly<{ folder: string; runtime: Runtime }>> {
  const folder = mkdtempSync(join(tmpdir(), "orgate-ops-desk-"));
  cpSync(EXAMPLE, folder, { recursive: true, filter: (path) => !LEFT.test(path) });
  const config = readProject(folder);
  const agents = (await loadProject(config)).agents.map(({ agent }) => agent);
  const gate = openPolicies(config, agents, "api");
  const principal = { kind: "user", id: "ana" } as const;
  const runtime = await createRuntime({ directory: config.journal.directory, agents, gate, principal, powerCut: "lose-last-moments" });
  away.push(async () => {
    await runtime.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return { folder, runtime };
}

test("the example's coordinator and its policies are those that are shipped", () => {
  expect(readFileSync(join(EXAMPLE, "agents/coordinator.toml"), "utf8")).toBe(readFileSync(SHIPPED, "utf8"));
  const files = readdirSync(SHIPPED_POLICIES);
  expect(readdirSync(join(EXAMPLE, "policies/coordinator"))).toEqual(files);
  for (const file of files)
    expect(readFileSync(join(EXAMPLE, "policies/coordinator", file), "utf8")).toBe(readFileSync(join(SHIPPED_POLICIES, file), "utf8"));
});

test("the example has three agents and a coordinator, and each does its work as far as the policies go", async () => {
  const { folder, runtime } = await opened();
  expect(runtime.inspect.agents.map(({ name }) => name)).toEqual(["billing", "coordinator", "ops", "reporter"]);
  expect(await runtime.complete("reporter", "write up payments")).toMatchObject({ ending: "completed" });
  expect(readFileSync(join(folder, "reports/payments.txt"), "utf8")).toContain("pool of 20 connections exhausted");
  expect(await runtime.complete("billing", "what is ch_8812?")).toMatchObject({ output: "ch_8812: 4990 cents, timed out." });
  expect(await runtime.complete("billing", "refund ch_8811")).toMatchObject({ ending: null });
  expect(await runtime.approvals.list()).toMatchObject([{ tool: "refund", resource: { type: "Charge", id: "ch_8811" } }]);
  const large = await runtime.complete("billing", "refund ch_8813");
  expect(large.output).toContain("more than 200.00 is not paid back by an agent");
  expect(existsSync(join(folder, "effects.jsonl"))).toBe(true);
  expect(readFileSync(join(folder, "effects.jsonl"), "utf8")).not.toContain("refund");
});
