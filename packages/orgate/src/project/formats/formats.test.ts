import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describeFault, FaultError } from "@orgate/core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openProject } from "../../config/project-toml.ts";
import { findProtectedPlaces, isProtectedBy } from "../../guard/protected-paths.ts";
import { sha256 } from "../../node/crypto.ts";
import { loadProject } from "../load.ts";

let root = "";
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "orgate-formats-")));
  write("package.json", '{ "type": "module" }');
  write(
    "orgate.toml",
    '[project]\nname = "formats"\nagents = ["agents/*.toml", "agents/*.md"]\ntools = ["tools/*.ts", "tools/*.txt"]\n[ports]\nmodule = "ports.ts"\n',
  );
  write("ports.ts", PORTS);
  write(
    "tools/look.ts",
    'import { defineTool } from "orgate";\nexport const look = defineTool({ name: "look", description: "x", input: { type: "object", properties: {}, additionalProperties: false }, run: () => null });\n',
  );
  write("tools/facts.txt", "opening: ten to six\nparking: behind the house\n");
  write("agents/clerk.toml", 'name = "clerk"\ninstructions = "Be brief."\ntools = ["opening"]\n');
  write("agents/guide.md", "# guide\n\ntools: look, parking\n\nShow people around.\n");
});
afterEach(() => rmSync(root, { recursive: true }));

const write = (name: string, text: string): void => {
  mkdirSync(dirname(join(root, name)), { recursive: true });
  writeFileSync(join(root, name), text);
};

/** Agents as Markdown (a heading, a line of tools, instructions; outputs of their tools are private), tools as lines of facts. */
const PORTS = `
import { defineAgent, definePorts, defineTool, label, withAgentFile } from "orgate";
export default definePorts({
  agentFormats: [{
    name: "markdown",
    matches: (path) => path.endsWith(".md"),
    async load(patterns, { listFiles, readText, tools, report }) {
      const { box } = await tools();
      const agents = listFiles(patterns).flatMap((file) => {
        const text = readText(file);
        if (text === "skip") return [];
        if (text === "throw") throw new Error("a bug");
        const [, name = "", list = "", instructions = ""] = /^# (\\S+)\\n\\ntools: ([^\\n]*)\\n\\n(.+)$/s.exec(text) ?? [];
        if (name === "") {
          report({ file, at: { line: 1, column: 1 }, detail: "has no heading", hint: "begin with # NAME" }, "agents");
          return [];
        }
        const named = list.split(", ").flatMap((tool) => box.get(tool)?.tool ?? []);
        return [{
          agent: defineAgent({ name, instructions, tools: named }),
          file,
          at: { line: 1, column: 3 },
          finish: async (agent) => ({ agent: withAgentFile(agent, { policies: [], labels: [label("private")], basis: {} }) }),
        }];
      });
      return { agents };
    },
  }],
  toolFormats: [{
    name: "facts",
    matches: (path) => path.endsWith(".txt"),
    async load(patterns, { listFiles, readText }) {
      const tools = listFiles(patterns).flatMap((file) =>
        readText(file).trim().split("\\n").map((line) => {
          const [name = "", fact = ""] = line.split(": ");
          return { file, tool: defineTool({ name, description: "A fact.", input: { type: "object", properties: {}, additionalProperties: false }, repeat: "read", run: () => fact }) };
        }),
      );
      return { tools };
    },
  }],
});
`;

const load = (collect: { file: string; detail: string }[] | null = null) =>
  loadProject(openProject(root, root), {
    collect: collect === null ? null : (problems) => collect.push(...problems.map(({ file, detail }) => ({ file, detail }))),
  });
const refusal = async (): Promise<string> => {
  try {
    await load();
    return "loaded";
  } catch (error) {
    if (!(error instanceof FaultError)) throw error;
    const { message, hint } = describeFault(error.fault);
    return `${message.replaceAll(root, "")} | ${hint}`;
  }
};

test("a project's own formats stand beside all others: their agents have the project's tools and their own labels, their tools a file", async () => {
  const { agents, tools } = await load();
  expect(agents.map(({ agent, format }) => [agent.name, format, agent.tools.map(({ name }) => name)])).toEqual([
    ["clerk", "toml", ["opening"]],
    ["guide", "markdown", ["look", "parking"]],
  ]);
  expect(agents[1]?.agent.tools).toMatchObject([{ name: "look", labels: expect.arrayContaining(["private"]) }, { name: "parking" }]);
  expect([...tools].map(([name, { file }]) => [name, file])).toEqual([
    ["opening", join(root, "tools/facts.txt")],
    ["parking", join(root, "tools/facts.txt")],
  ]);
});

test("a change of a file of an own format changes the digest of its agent", async () => {
  const digest = async () => (await load()).agents[1]?.agent.digest(sha256);
  const before = await digest();
  expect(await digest()).toBe(before);
  write("agents/guide.md", "# guide\n\ntools: look, parking\n\nShow nobody around.\n");
  expect(await digest()).not.toBe(before);
});

test("files of own formats and the module that brings them are protected from tools", () => {
  const places = findProtectedPlaces(root);
  for (const file of ["agents/guide.md", "tools/facts.txt", "ports.ts"]) expect(isProtectedBy(places, join(root, file))).toBe(true);
});

test("a change that is being tried is read in place of the file", async () => {
  const config = { ...openProject(root, root), drafts: [{ path: "agents/host.md", text: "# host\n\ntools: look\n\nWelcome people.\n" }] };
  const { agents } = await loadProject(config);
  expect(agents.map(({ agent }) => agent.name)).toEqual(["clerk", "guide", "host"]);
});

test("one name is one agent across formats, and the refusal has both places", async () => {
  write("agents/guide.toml", 'name = "guide"\ninstructions = "x"\n');
  expect(await refusal()).toContain("guide.md:1:3: agent `guide` is already defined in /agents/guide.toml");
});

test("T-25 one name is one tool across formats", async () => {
  write("tools/facts.txt", "look: at this\n");
  expect(await refusal()).toContain("tool `look` is already defined in /tools/facts.txt");
});

test("a format reports its problems like any other: the first is thrown, or all are collected", async () => {
  write("agents/guide.md", "nothing");
  expect(await refusal()).toBe("/agents/guide.md:1:1: has no heading | begin with # NAME");
  const problems: { file: string; detail: string }[] = [];
  const { agents, unread } = await load(problems);
  expect(problems).toEqual([{ file: "agents/guide.md", detail: "has no heading" }]);
  expect([agents.map(({ agent }) => agent.name), unread.agents]).toEqual([["clerk"], true]);
});

test.each([
  ["passes over a file", "agents/guide.md", "skip", "/agents/guide.md:1:1: agent format `markdown` made no agent of it"],
  ["throws", "agents/guide.md", "throw", "/ports.ts: agent format `markdown` failed: a bug"],
  [
    "returns nonsense",
    "ports.ts",
    PORTS.replace("return { agents }", "return { agents: [{}] }"),
    "/ports.ts: agent format `markdown` returned",
  ],
  [
    "has no load",
    "ports.ts",
    "export default { agentFormats: [{ name: 'x' }] };",
    "/ports.ts: `agentFormats` is not what docs/guide/project.md",
  ],
  [
    "is not there",
    "ports.ts",
    "export default {};",
    "/orgate.toml:3:1: no format reads `agents/*.md` | formats: module, toml, symbi; `agentFormats`",
  ],
])("a format that %s is a fault with its place, never an absent agent", async (what, file, text, expected) => {
  write(file, what === "passes over a file" || what === "throws" ? text : `${text}\n// ${what}`);
  expect(await refusal()).toContain(expected);
});

test.each([
  [
    "context plan",
    "[context]\nkind = 'own'\nplan = 'headlnes'",
    "/agents/clerk.toml:4:2: there is no context plan `headlnes` | did you mean `headlines`?",
  ],
  ["token counter", "tokenizer = 'own/letters'", "/agents/clerk.toml:4:1: there is no token counter `own/letters` | "],
])("an agent that names a %s which nobody brings is refused with its place", async (what, setting, expected) => {
  write(
    "ports.ts",
    `${PORTS.replace("definePorts({", "definePorts({ contextPlans: { headlines: () => null }, counters: () => null,")} // ${what}`,
  );
  write("agents/clerk.toml", `name = "clerk"\ninstructions = "Be brief."\ntools = ["opening"]\n${setting}\n`);
  expect(await refusal()).toContain(expected);
});
