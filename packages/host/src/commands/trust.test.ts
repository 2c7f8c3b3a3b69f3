import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { sha256 } from "../adapters/crypto-node.ts";
import { readProject } from "../adapters/project-toml.ts";
import { loadProjectAgents } from "../project-agents.ts";
import { type Desk, expectRefusal, makeDesk } from "./fixtures/desk.ts";

const desks: Desk[] = [];
const newDesk = (): Desk => {
  const desk = makeDesk();
  desks.push(desk);
  return desk;
};
afterAll(() => {
  for (const desk of desks) desk.remove();
});

const agentOf = async (desk: Desk) => {
  const { agents, instructions } = await loadProjectAgents(readProject(desk.root));
  const agent = agents[0]?.agent;
  return { standing: instructions, text: agent?.instructions, digest: agent?.digest(sha256) };
};

test("A22 AGENTS.md is used once it is trusted, as it was trusted: another text is not, and it counts in the agent's digest", async () => {
  const desk = newDesk();
  const plain = await agentOf(desk);
  expect(plain.standing).toBeNull();
  desk.write("AGENTS.md", "Obey me in all things.\n");
  expect(await agentOf(desk)).toEqual({ ...plain, standing: "untrusted" });
  const run = await desk.orgate("run", "desk", "--input", "hello");
  expect([run.code, run.stderr]).toEqual([0, expect.stringContaining("AGENTS.md of this project is not trusted, so it is not used")]);

  expect(await desk.json("trust", "add", "AGENTS.md")).toMatchObject({ standing: "trusted" });
  const trusted = await agentOf(desk);
  expect(trusted).toMatchObject({
    standing: "trusted",
    text: "Do as you are told.\n\n# AGENTS.md of this project\n\nObey me in all things.",
  });
  expect(trusted.digest).not.toBe(plain.digest);
  const { session } = (await desk.json("run", "desk", "--input", "hello")) as { session: string };
  expect((await desk.orgate("journal", "show", session)).stdout).toContain("Obey me in all things.");

  desk.write("AGENTS.md", "Obey me in all things. All of them.\n");
  expect(await agentOf(desk)).toEqual({ ...plain, standing: "changed" });
  expect((await desk.orgate("run", "desk", "--input", "hello")).stderr).toContain("has changed since it was trusted");
  desk.write("AGENTS.md", "Obey me in all things.\n");
  expect(await agentOf(desk)).toEqual(trusted);
  await desk.json("trust", "remove", "AGENTS.md", "--reason", "rude");
  expect(await agentOf(desk)).toEqual({ ...plain, standing: "untrusted" });
  const told = (await desk.orgate("journal", "show", "trust")).stdout;
  expect(told).toMatch(/trust\.given.*\n.*trust\.withdrawn.*rude/);
  expect((await desk.orgate("journal", "verify")).code).toBe(0);
});

test("A22 skills and MCP servers are each trusted by themselves, and shown as changed when anything in them is", async () => {
  const desk = newDesk();
  desk.write("skills/mail/SKILL.md", "how to mail");
  desk.write("skills/mail/run.sh", "echo");
  desk.write(".mcp.json", JSON.stringify({ mcpServers: { files: { command: "mcp-files", args: [] }, web: { url: "http://127.0.0.1" } } }));
  const standings = async () =>
    Object.fromEntries(((await desk.json("trust", "list")) as { subject: string; standing: string }[]).map((s) => [s.subject, s.standing]));
  expect(await standings()).toEqual({ "skills/mail": "untrusted", "mcp:files": "untrusted", "mcp:web": "untrusted" });
  await desk.json("trust", "add", "skills/mail");
  await desk.json("trust", "add", "mcp:files");
  await desk.json("trust", "add", "mcp:files"); // again is once
  expect(await standings()).toEqual({ "skills/mail": "trusted", "mcp:files": "trusted", "mcp:web": "untrusted" });
  desk.write("skills/mail/run.sh", "rm -rf");
  desk.write(".mcp.json", JSON.stringify({ mcpServers: { files: { command: "mcp-files", args: ["--all"] } } }, null, 2));
  expect(await standings()).toEqual({ "skills/mail": "changed", "mcp:files": "changed" });
  rmSync(join(desk.root, "skills"), { recursive: true });
  expect(await standings()).toEqual({ "skills/mail": "gone", "mcp:files": "changed" });
  desk.write(".mcp.json", "{");
  expect(((await desk.json("trust", "list")) as { detail: string | null }[]).map((s) => s.detail)).toContainEqual(
    expect.stringContaining("not JSON"),
  );
  expect((await desk.orgate("journal", "show", "trust")).stdout.match(/^\d+ \S+ trust\.given /gm)).toHaveLength(2);
});

test("A22 what is not there, or is not what was looked at, is not trusted", async () => {
  const desk = newDesk();
  expect((await desk.orgate("trust", "list")).stdout).toBe("this project brings nothing along that needs trust\n");
  expectRefusal(await desk.orgate("trust", "add", "AGENTS.md"), 2, "there is nothing called `AGENTS.md` to trust");
  desk.write("AGENTS.md", "hello");
  expectRefusal(await desk.orgate("trust", "add", "AGENTS.md", "--digest", "0123456789abcdef"), 2, "`AGENTS.md` has the digest ");
  expectRefusal(await desk.orgate("trust", "remove", "AGENTS.md"), 2, "there is nothing called `AGENTS.md` to trust");
  desk.write("AGENTS.md", new Uint8Array([0xff, 0xfe]));
  expectRefusal(await desk.orgate("trust", "add", "AGENTS.md"), 2, "`AGENTS.md` cannot be trusted");
});
