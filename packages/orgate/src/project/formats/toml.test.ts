import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { defineAgent, FaultError } from "@orgate/core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openProject } from "../../config/project-toml.ts";
import { sha256 } from "../../node/crypto.ts";
import { loadProject } from "../load.ts";

let root = "";
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "orgate-toml-")));
  write("package.json", '{ "type": "module" }');
  write("orgate.toml", '[project]\nname = "clerks"\n');
  write("tools/look.ts", TOOL("look"));
});
afterEach(() => rmSync(root, { recursive: true }));

const write = (name: string, text: string): void => {
  mkdirSync(dirname(join(root, name)), { recursive: true });
  writeFileSync(join(root, name), text);
};
const TOOL = (name: string): string =>
  `import { defineTool } from "orgate";\nexport const tool = defineTool({ name: "${name}", description: "x", input: { type: "object", properties: {}, additionalProperties: false }, run: () => null });\n`;
const AGENT = 'name = "clerk"\ninstructions = "Be brief."\nmodel = "offline/clerk"\ntools = ["look"]\n';

const load = async () => (await loadProject(openProject(root, root))).agents;
async function refusal(text: string): Promise<string> {
  write("agents/clerk.toml", text);
  try {
    await load();
  } catch (error) {
    if (!(error instanceof FaultError)) throw error;
    return error.message.replace(`${root}/`, "");
  }
  throw new Error("it was accepted");
}

test("A-1 A-2 an agent in TOML is the agent that a module would define, and its tools need nothing installed", async () => {
  write("agents/clerk.toml", `${AGENT}groups = ["desk"]\n[limits]\niterations = 3\n[[modelOptions.rules]]\nsay = "hello"\n`);
  const [loaded] = await load();
  if (loaded === undefined) throw new Error("none was loaded");
  const { agent } = loaded;
  const same = defineAgent({
    name: "clerk",
    instructions: "Be brief.",
    model: "offline/clerk",
    tools: agent.tools,
    groups: ["desk"],
    limits: { iterations: 3 },
    modelOptions: { rules: [{ say: "hello" }] },
  });
  expect(agent.tools.map((t) => t.name)).toEqual(["look"]);
  expect(agent.digest(sha256)).toBe(same.digest(sha256));
});

test("A-1 B-5 C-3 prices, tokenizer and the plan for the conversation are settings like any other", async () => {
  const more =
    'tokenizer = "o200k_base"\n[limits]\ncents = 25\n[prices]\ninput = 3\noutput = 15.5\n[context]\nkind = "summarise"\nkeep = 4\n';
  write("agents/clerk.toml", AGENT + more);
  expect((await load())[0]?.agent).toMatchObject({
    tokenizer: "o200k_base",
    limits: { cents: 25 },
    prices: { input: 3, output: 15.5 },
    context: { kind: "summarise", keep: 4, model: null },
  });
});

test.each<[string, string, string]>([
  [
    "money without a price",
    `${AGENT.replace("offline/clerk", "openai/unpriced")}[limits]\ncents = 5\n`,
    "agents/clerk.toml:6:1: agent `clerk`: limit `cents` is given",
  ],
  ["a price that is none", `${AGENT}[prices]\ninput = -3\noutput = 1\n`, "agents/clerk.toml:5:2: agent `clerk`: `prices`"],
  [
    "a plan that there is not",
    `${AGENT}[context]\nkind = "forget"\n`,
    "agents/clerk.toml:6:1: `context.kind`: invalid discriminator value",
  ],
  ["no TOML", `${AGENT}limits = {`, "agents/clerk.toml:"],
  ["an unknown setting", `${AGENT}modle = "x"\n`, "agents/clerk.toml:5:1: there is no setting `modle`; did you mean `model`?"],
  ["a missing setting", 'name = "clerk"\nmodel = "offline/x"\n', "agents/clerk.toml:1:1: `instructions` is missing"],
  ["a setting of another type", AGENT.replace('["look"]', '"look"'), "agents/clerk.toml:4:1: `tools`: invalid input"],
  ["a tool that nobody exports", AGENT.replace('"look"', '"lok"'), "agents/clerk.toml:4:1: there is no tool `lok`"],
  ["a bad name", AGENT.replace('"clerk"', '"two words"'), "agents/clerk.toml:1:1: an agent: `name`"],
  ["a bad model", AGENT.replace("offline/clerk", "clerk"), "agents/clerk.toml:3:1: agent `clerk`: `model`"],
  ["a bad limit", `${AGENT}[limits]\niterations = 0\n`, "agents/clerk.toml:6:1: agent `clerk`: limit `iterations` is 0"],
  ["a bad strategy", `${AGENT}recover = ["retry", "shrug"]\n`, "agents/clerk.toml:5:1: agent `clerk`: `recover`: `shrug` is no strategy"],
  ["a bad breaker", `${AGENT}[breaker]\nfailures = 0\n`, "agents/clerk.toml:6:1: agent `clerk`: `breaker.failures` must be"],
  ["a bad group", `${AGENT}groups = ["two words"]\n`, "agents/clerk.toml:5:1: agent `clerk`: `groups`"],
  ["a bad skill", `${AGENT}skills = ["Two Words"]\n`, "agents/clerk.toml:5:1: agent `clerk`: `skills[0]` is no skill"],
  ["a skill twice", `${AGENT}skills = ["a", "a"]\n`, "agent `clerk`: two skills are named `a`"],
  [
    "instructions asked for in words",
    `${AGENT}projectInstructions = "yes"\n`,
    "agents/clerk.toml:5:1: `projectInstructions`: invalid input",
  ],
  ["a date", `${AGENT}[modelOptions]\nat = 2026-01-01\n`, "agents/clerk.toml:6:1: `modelOptions.at`"],
])("A-1 %s is refused with file, line and column", async (_, text, line) => {
  expect(await refusal(text)).toContain(line);
});

test("A-1 two tools of one name, a module without a tool, and a file outside the project are refused", async () => {
  write("tools/again.ts", TOOL("look"));
  expect(await refusal(AGENT)).toContain("tool `look` is already defined in");
  rmSync(join(root, "tools/again.ts"));
  write("tools/none.ts", "export const x = 1;\n");
  expect(await refusal(AGENT)).toContain("tools/none.ts: exports no tool");
  rmSync(join(root, "tools/none.ts"));
  symlinkSync("/etc/hostname", join(root, "agents/out.toml"));
  await expect(load()).rejects.toThrow("lies outside the project");
});

test("A-1 F-2 what is done about failures can be said in TOML", async () => {
  write("agents/clerk.toml", `${AGENT}recover = [{ kind = "retry", times = 1 }, "escalate"]\n[breaker]\nopenMs = 5000\n`);
  const [clerk] = await load();
  expect(clerk?.agent.tools[0]?.recover).toEqual([{ kind: "retry", times: 1, backoffMs: 500, maxBackoffMs: 10_000 }, { kind: "escalate" }]);
  expect(clerk?.agent.breaker).toEqual({ failures: 5, openMs: 5_000, probes: 2 });
});

test("A-1 M-8 M-18 fallbacks, retries and prices by model can be said in TOML", async () => {
  const prices = '[prices]\n"offline/clerk" = { input = 1, output = 2 }\n"offline/deputy" = { input = 3, output = 4 }\n';
  const more = 'fallbacks = ["offline/deputy", "openai/gpt-5"]\nretry = { times = 2, backoffMs = 10 }\n';
  write("agents/clerk.toml", `${AGENT}${more}[limits]\ncents = 5\n${prices}`);
  expect((await load())[0]?.agent).toMatchObject({
    prices: { input: 1, output: 2 },
    fallbacks: [
      { model: "offline/deputy", prices: { input: 3, output: 4 } },
      { model: "openai/gpt-5", prices: { input: 1.25, output: 10 } },
    ],
    retry: { times: 2, backoffMs: 10, maxBackoffMs: 30_000 },
  });
  expect(await refusal(`${AGENT}fallbacks = ["nobody"]\n`)).toContain("agents/clerk.toml:5:");
  expect(await refusal(`${AGENT}fallbacks = ["a/b"]\n[limits]\ncents = 5\n[prices]\ninput = 1\noutput = 1\n`)).toContain(
    "not known: `a/b`",
  );
});

test("A-1 without an agent in TOML no tool is loaded", async () => {
  write("tools/broken.ts", 'throw new Error("never");\n');
  expect(await load()).toEqual([]);
});

const SCHEMA = '{ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"], "additionalProperties": false }';

test("M-25 an output is a table, or a file beside the agent: the same either way", async () => {
  write("agents/clerk.toml", `${AGENT}output = "shapes/debt.json"\noutputRepairs = 1\n`);
  write("agents/shapes/debt.json", SCHEMA);
  const table = '[output]\ntype = "object"\nrequired = ["n"]\nadditionalProperties = false\nproperties = { n = { type = "integer" } }\n';
  write("agents/other.toml", `${AGENT.replace("clerk", "other")}outputRepairs = 1\n${table}`);
  const [a, b] = (await load()).map(({ agent }) => agent.output);
  expect(a).toMatchObject({ schema: JSON.parse(SCHEMA), wrapped: false, repairs: 1 });
  expect(b?.schema).toEqual(a?.schema);
  expect(a?.check({ n: "1" })).toMatchObject({ kind: "misfit", issues: [expect.stringMatching(/^n: /)] });
});

test.each([
  ['output = "gone.json"', "agents/clerk.toml:5:1: `output`: there is no file `gone.json`"],
  ['output = "../../away.json"', "agents/clerk.toml:5:1: `output`: there is no file"],
  ['output = "link.json"', "agents/clerk.toml:5:1: `output`: `link.json` is outside the project"],
  ['output = "bad.json"', "agents/bad.json:2:2: not JSON: key `a` stands twice in one object"],
  ['output = "list.json"', "agents/list.json: a JSON Schema is an object"],
  ['output = { type = "object", propertys = {} }', "agents/clerk.toml:5:1: agent `clerk`: `output` cannot be enforced"],
  ["outputRepairs = 3", "agents/clerk.toml:5:1: agent `clerk`: `outputRepairs` is given without `output`"],
  ['output = { type = "object" }\noutputRepairs = 11', "`outputRepairs` must be a whole number of 0 to 10"],
  ['modelOptions = { tools = "none" }', "agent `clerk`: its model has no tool calls"],
])("M-25 M-26 what is wrong is told with its place: %s", async (setting, message) => {
  write("agents/bad.json", '{"a":1,\n "a":2}');
  write("agents/list.json", "[]");
  mkdirSync(join(root, "agents"), { recursive: true });
  symlinkSync("/etc/hostname", join(root, "agents/link.json"));
  expect(await refusal(`${AGENT}${setting}\n`)).toContain(message);
});
