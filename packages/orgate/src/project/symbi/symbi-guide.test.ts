import { readFileSync } from "node:fs";
import { join } from "node:path";
import { defineTool } from "@orgate/core";
import { formatSymbi, readSymbi } from "@orgate/symbi";
import { expect, test } from "vitest";
import * as z from "zod";
import { finishAgent } from "./project-symbi.ts";
import { compileAgent } from "./symbi-compile.ts";
import { buildAgent } from "./symbi-files.ts";
import { toSymbiInputs } from "./symbi-inputs.ts";

const root = join(import.meta.dirname, "../../../../..");
const pages = ["docs/guide/symbi.md", "docs/guide/agents.md"].map((page) => readFileSync(join(root, page), "utf8"));
const snippets = pages.flatMap((page) => [...page.matchAll(/```symbi\n([\s\S]*?)```/g)].map(([, code = ""]) => code));
const tools = [
  defineTool({ name: "read_bill", description: "reads", input: z.strictObject({}), effects: ["read"], run: () => "x" }),
  defineTool({
    name: "pay",
    description: "pays",
    input: z.strictObject({ account: z.string(), euros: z.int(), note: z.string().optional() }),
    effects: ["spend"],
    targets: { account: "account" },
    run: () => "x",
  }),
];
const box = new Map(tools.map((tool) => [tool.name, { tool }]));

test("Y-3 every piece of the language in the guide is read, checked, compiled, and in its layout", () => {
  expect(snippets.length).toBeGreaterThan(3);
  for (const text of snippets) {
    const read = readSymbi(text, "agents/guide.symbi");
    if (read.kind === "problems") throw new Error(`${JSON.stringify(read.problems)}\n${text}`);
    const source = { symbi: read.symbi, path: "agents/guide.symbi" };
    for (const draft of read.symbi.agents) {
      const built = buildAgent(source, draft, { box, broken: new Map(), prices: {}, isIncomplete: false });
      if (built.kind === "problems") throw new Error(JSON.stringify(built.problems));
      const { agent } = built;
      const seen = toSymbiInputs(agent, { users: { operators: ["ann"] } });
      const finished = finishAgent(agent, { source, draft }, () => compileAgent({ source, draft }, seen));
      if (finished.kind === "problems") throw new Error(JSON.stringify(finished.problems));
    }
    expect(formatSymbi(text, "x")).toEqual({ kind: "text", text });
  }
});

test.each(["agents/shell.symbi", "examples/src/symbi-30/agents/payer.symbi"])("Y-3 %s, which is handed out, is in its layout", (file) => {
  const text = readFileSync(join(root, file), "utf8");
  expect(formatSymbi(text, file)).toEqual({ kind: "text", text });
});
