import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Agent, defineAgent, defineTool, type Gate, listDecisions, seq, tableGate } from "@orgate/core";
import { reply, scriptedModel } from "@orgate/core/testing";
import { afterAll, expect, test } from "vitest";
import * as z from "zod";
import { sha256 } from "../../node/crypto.ts";
import { cedarPolicies } from "../../policies/policies.ts";
import { createRuntime } from "../../runtime/runtime.ts";
import { openReadStore } from "../../store/journal.ts";
import { symbiAgents } from "./symbi-agents.ts";

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});
function folderWith(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), "orgate-symbi-"));
  folders.push(root);
  for (const [path, text] of Object.entries({ "policies/p.cedar": THINKS, ...files })) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}
const THINKS = 'permit(principal, action in [Action::"model", Action::"respond"], resource);\n';
const pay = defineTool({
  name: "pay",
  description: "pays",
  input: z.strictObject({ euros: z.int() }),
  effects: ["spend"],
  run: ({ euros }) => `paid ${euros}`,
});
const PAYER = `agent payer {
  capabilities = [pay]
  policy p {
    allow: pay
    deny: pay if args.euros > 100
    audit: pay if args.euros > 50
  }
  with instructions = "x" { }
}
`;
const start = (root: string, agents: readonly Agent[], gate: Gate, calls: readonly number[] = []) =>
  createRuntime({
    directory: join(root, "journal"),
    agents,
    gate,
    principal: { kind: "user", id: "ann" },
    powerCut: "lose-last-moments",
    model: () => scriptedModel([...calls.map((euros) => reply.calls([{ tool: "pay", args: { euros } }])), reply.text("done")]),
  });

test("Y-4 Y-11 a file loaded by a library call decides as in a project; what it audits stands in the journal, and changes nothing", async () => {
  const root = folderWith({ "agents/payer.symbi": PAYER });
  const agents = [defineAgent({ name: "other", instructions: "x", tools: [pay] }), ...(await symbiAgents({ root, tools: [pay] }))];
  const gate = cedarPolicies({ directory: join(root, "policies"), agents });
  const runtime = await start(root, agents, gate, [40, 60, 200]);
  const { session, calls, ending } = await runtime.complete("payer", "go");
  await runtime.close();
  expect([ending, calls]).toEqual(["completed", 2]);
  const store = openReadStore({ directory: join(root, "journal") });
  const entries = await store.journal.read(session, seq(0), 100);
  await store.close();
  const decided = listDecisions(entries).flatMap(({ event }) =>
    event.action.kind === "call" ? [{ args: event.action.args, verdict: event.verdict, shadow: event.shadow }] : [],
  );
  expect(decided).toMatchObject([
    { args: { euros: 40 }, verdict: { kind: "allow", because: ["agents/payer.symbi/4"] }, shadow: null },
    {
      args: { euros: 60 },
      verdict: { kind: "allow" },
      shadow: { kind: "deny", because: ["agents/payer.symbi/6"], reason: "audited by policy p of the agent (agents/payer.symbi:6)" },
    },
    { args: { euros: 200 }, verdict: { kind: "deny", because: ["agents/payer.symbi/5"] }, shadow: { kind: "deny" } },
  ]);
  expect(decided[2]?.shadow?.because).toContain("agents/payer.symbi/6");
});

test("Y-4 an agent whose file has policies is not run under a gate that does not read them", async () => {
  const root = folderWith({ "agents/payer.symbi": PAYER });
  const agents = await symbiAgents({ root, tools: [pay] });
  const all = ["model", "respond", "tool:pay"].map((action) => ({ id: action, action, verdict: "allow" as const }));
  await expect(start(root, agents, tableGate(all, sha256))).rejects.toThrow(
    "agent `payer`: its own file has policies, and the gate does not read them",
  );
  const others = [defineAgent({ name: "payer", instructions: "x", tools: [pay] })];
  await expect(start(root, agents, cedarPolicies({ directory: join(root, "policies"), agents: others }))).rejects.toThrow(
    "does not read them",
  );
});

test.each([
  ["a schedule", { "agents/a.symbi": '\nschedule s { cron: "* * * * *" agent: payer input: "x" }' }, /a\.symbi:2:10: `s` needs a project/],
  [
    "a name twice",
    { "agents/a.symbi": PAYER, "agents/b.dsl": `# second\n${PAYER}` },
    /b\.dsl:2:7: agent `payer` is already defined in agents\/a\.symbi:1/,
  ],
  ["a tool that nobody brings", { "agents/a.symbi": PAYER.replace("[pay]", "[pya]") }, /a\.symbi:2:19: there is no tool `pya`/],
  ["a skill that nobody brings", { "agents/a.symbi": PAYER.replace("[pay]", '[pay, "skill:none"]') }, /skill `none` cannot be used/],
  ["a rule about nothing", { "agents/a.symbi": PAYER.replace("allow: pay", "allow: spent") }, /a\.symbi:4:12: `spent` is no tool/],
  [
    "a group that is not there",
    { "agents/a.symbi": PAYER.replace("args.euros > 50", 'user in "leads"') },
    /there is no group of users `leads`/,
  ],
])("Y-4 %s is refused with its place", async (_, files, told) => {
  const root = folderWith(files);
  await expect(symbiAgents({ root, tools: [pay] })).rejects.toThrow(told);
});
