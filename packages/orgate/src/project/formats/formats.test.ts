import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { defineAgent, label, withAgentFile } from "@orgate/core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openProject } from "../../config/project-toml.ts";
import { fileFault } from "../../files/file-fault.ts";
import { matchProjectFiles } from "../../guard/modules.ts";
import { loadProject } from "../load.ts";
import type { AgentFormat, FormatAgent } from "./format.ts";
import { AGENT_FORMATS } from "./formats.ts";

let root = "";
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "orgate-formats-")));
  write("package.json", '{ "type": "module" }');
  write("orgate.toml", '[project]\nname = "formats"\nagents = ["agents/*.toml", "agents/*.md"]\n');
  write(
    "tools/look.ts",
    'import { defineTool } from "orgate";\nexport const look = defineTool({ name: "look", description: "x", input: { type: "object", properties: {}, additionalProperties: false }, run: () => null });\n',
  );
  write("agents/clerk.toml", 'name = "clerk"\ninstructions = "Be brief."\n');
  write("agents/guide.md", "# guide\n\ntools: look\n\nShow people around.\n");
});
afterEach(() => rmSync(root, { recursive: true }));

const write = (name: string, text: string): void => {
  mkdirSync(dirname(join(root, name)), { recursive: true });
  writeFileSync(join(root, name), text);
};

/** Agents as Markdown: a heading with the name, a line of tools, instructions. Outputs of their tools are private. */
const markdown: AgentFormat = {
  name: "markdown",
  matches: (path) => path.endsWith(".md"),
  async load(patterns, { config, tools, report }) {
    const { box } = await tools();
    const agents = matchProjectFiles(config.root, patterns, "agents").flatMap((file): readonly FormatAgent[] => {
      const [, name = "", list = "", instructions = ""] = /^# (\S+)\n\ntools: ([^\n]*)\n\n(.+)$/s.exec(readFileSync(file, "utf8")) ?? [];
      if (name === "") {
        report(fileFault({ file, at: { line: 1, column: 1 }, detail: "has no heading", hint: "begin with `# NAME`" }), "agents");
        return [];
      }
      const named = list.split(", ").flatMap((tool) => box.get(tool)?.tool ?? []);
      return [
        {
          agent: defineAgent({ name, instructions, tools: named }),
          file,
          unfit: [],
          at: { line: 1, column: 3 },
          finish: async (agent) => ({ agent: withAgentFile(agent, { policies: [], labels: [label("private")], basis: {} }) }),
        },
      ];
    });
    return { agents, sources: [] };
  },
};
const formats = [...AGENT_FORMATS, markdown];
const load = (collect: { file: string; detail: string }[] | null = null) =>
  loadProject(openProject(root, root), {
    formats,
    collect: collect === null ? null : (problems) => collect.push(...problems.map(({ file, detail }) => ({ file, detail }))),
  });

test("a program adds an agent format of its own: its agents stand beside all others, with the project's tools and their own labels", async () => {
  const { agents } = await load();
  expect(agents.map(({ agent, format }) => [agent.name, format])).toEqual([
    ["clerk", "toml"],
    ["guide", "markdown"],
  ]);
  expect(agents[1]?.agent.tools).toMatchObject([{ name: "look", labels: expect.arrayContaining(["private"]) }]);
});

test("one name is one agent across formats, and the refusal has both places", async () => {
  write("agents/guide.toml", 'name = "guide"\ninstructions = "x"\n');
  await expect(load()).rejects.toThrow("guide.md:1:3: agent `guide` is already defined in");
});

test("a format reports its problems like any other: the first is thrown, or all are collected", async () => {
  write("agents/guide.md", "nothing");
  await expect(load()).rejects.toThrow("has no heading");
  const problems: { file: string; detail: string }[] = [];
  const { agents, unread } = await load(problems);
  expect(problems).toEqual([{ file: "agents/guide.md", detail: "has no heading" }]);
  expect([agents.map(({ agent }) => agent.name), unread.agents]).toEqual([["clerk"], true]);
});
