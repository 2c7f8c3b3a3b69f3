import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Agent, isFault, type Tool } from "@orgate/core";
import { compilePolicies, readSymbi, type SymbiFile } from "@orgate/symbi";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openProject } from "../../config/project-toml.ts";
import { type FileCache, openFileCache } from "../../files/file-cache.ts";
import { sha256 } from "../../node/crypto.ts";
import { loadProject } from "../load.ts";
import { openProjectCache, openSymbiCache } from "./symbi-cache.ts";
import { toSymbiInputs } from "./symbi-inputs.ts";

let root = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "orgate-agents-"));
  write("orgate.toml", TOML);
  write("agents/a.symbi", agent("a", "allow: echo"));
  write("agents/b.symbi", agent("b", 'deny: echo if args.x == "y"'));
  write("tools/echo.clad.toml", ECHO);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const write = (path: string, text: string): void => {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
};
const TOML = '[project]\nname = "p"\nagents = ["agents/*.symbi"]\n\n[groups.users]\nops = ["ann"]\n';
const ECHO =
  '[tool]\nname = "echo"\nversion = "1.0.0"\ndescription = "Says it again."\n\n[args.x]\ntype = "string"\n\n[command]\ntemplate = "echo {x}"\n';
const agent = (name: string, rule: string): string =>
  `metadata { description = "It says things." }\nagent ${name} {\n  capabilities = [echo]\n  policy p {\n    ${rule}\n  }\n}\n`;

/** How often something was found, and how often it had to be made. */
function counted(memory: FileCache) {
  const met = { found: 0, made: 0 };
  const counting: FileCache = {
    ...memory,
    find(digest) {
      const json = memory.find(digest);
      if (json !== null) met.found += 1;
      return json;
    },
    keep(digest, json) {
      met.made += 1;
      memory.keep(digest, json);
    },
  };
  return { counting, met };
}
async function load(isRemembered = true) {
  const home = join(root, "home");
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const memory = openProjectCache({ root }, { ORGATE_HOME: home });
  const { counting, met } = counted(memory);
  const loaded = isRemembered
    ? await loadProject(openProject(root, root), { env: {}, cache: counting })
    : await loadProject(openProject(root, root), { env: {} });
  memory.save();
  return { met, agents: loaded.agents.map((one) => one.agent) };
}
const told = (agents: readonly Agent[]) =>
  agents.map((one) => ({ digest: one.digest(sha256), policies: one.policies, tools: one.tools.map(({ name, labels }) => [name, labels]) }));

test("R-9 files that have not changed are neither read nor compiled again, and are the same agents", async () => {
  const first = await load();
  expect(first.met).toEqual({ found: 0, made: 4 });
  const again = await load();
  expect(again.met).toEqual({ found: 4, made: 0 });
  expect(told(again.agents)).toEqual(told(first.agents));
  expect(told(again.agents)).toEqual(told((await load(false)).agents));
});

test.each([
  ["a rule", () => write("agents/a.symbi", agent("a", "deny: echo")), 2],
  ["a comment in front of a rule", () => write("agents/a.symbi", agent("a", "// why\n    allow: echo")), 2],
  ["the place of a file", () => renameSync(join(root, "agents/b.symbi"), join(root, "agents/c.symbi")), 2],
  ["an argument of the tool", () => write("tools/echo.clad.toml", ECHO.replace("[command]", '[args.z]\ntype = "string"\n\n[command]')), 2],
  ["what the tool may be used for", () => write("tools/echo.clad.toml", `${ECHO}\n[tool.orgate]\neffects = ["read"]\n`), 2],
  ["a group of people", () => write("orgate.toml", TOML.replace("ops", "leads")), 2],
  ["who is in a group", () => write("orgate.toml", TOML.replace("ann", "ben")), 2],
])("R-9 with %s changed, the agents are what they are without any memory", async (_, change, made) => {
  await load();
  change();
  const { met, agents } = await load();
  expect(met.made).toBe(made);
  expect(told(agents)).toEqual(told((await load(false)).agents));
});

test("R-9 a file that is wrong is refused, however often, whatever is remembered of it before and of the others", async () => {
  await load();
  for (const rule of ["allow: nothing", "allow: ?", 'allow: echo if args.nope == "y"']) {
    write("agents/a.symbi", agent("a", rule));
    for (const _ of [1, 2]) await expect(load()).rejects.toSatisfy((error) => isFault(error, "file-bad"));
  }
  write("agents/a.symbi", agent("a", "allow: echo"));
  write("tools/echo.clad.toml", ECHO.replaceAll("[args.x]", "[args.q]").replace("{x}", "{q}"));
  for (const _ of [1, 2]) await expect(load()).rejects.toSatisfy((error) => isFault(error, "file-bad")); // b is about an argument that is gone
});

test("R-9 every piece of the guide, and our own agent, come back as they were and are compiled alike", () => {
  const repository = join(import.meta.dirname, "../../../../..");
  const pages = ["docs/guide/symbi.md", "docs/guide/agents.md"].map((page) => readFileSync(join(repository, page), "utf8"));
  const snippets = pages.flatMap((page) => [...page.matchAll(/```symbi\n([\s\S]*?)```/g)].map(([, code = ""]) => code));
  const memory = openSymbiCache(openFileCache({ home: root, root, stamp: "", hash: sha256 }));
  let agents = 0;
  for (const text of [...snippets, readFileSync(join(repository, "agents/shell.symbi"), "utf8")]) {
    const read = readSymbi(text, "agents/x.symbi");
    if (read.kind === "problems") throw new Error(JSON.stringify(read.problems));
    memory.keepRead(text, read.symbi);
    const again = memory.read(text, "agents/x.symbi");
    expect(again).toStrictEqual(read.symbi);
    const world = { tools: [], subject: { kind: "record", fields: new Map() }, userGroups: null } as const;
    const rules = (symbi: SymbiFile | null) => symbi?.agents.map((draft) => compilePolicies(symbi, draft, world));
    expect(rules(again)).toEqual(rules(read.symbi));
    agents += read.symbi.agents.length;
  }
  expect(agents).toBeGreaterThan(3);
});

const ORDER: Tool["records"][number] = {
  type: "order",
  each: "",
  key: { arg: "x" },
  fields: {},
  owner: null,
  set: "session",
  maxAgeSeconds: null,
  establishes: null,
};
test("R-9 what a compiled file is known by holds all that is read of a tool and of the project", async () => {
  const { agents } = await load();
  const [one] = agents;
  const [tool] = one?.tools ?? [];
  if (one === undefined || tool === undefined) throw new Error("no tool");
  const read = readSymbi(agent("a", "allow: echo"), "agents/a.symbi");
  if (read.kind === "problems") throw new Error("refused");
  const [draft] = read.symbi.agents;
  if (draft === undefined) throw new Error("no agent");
  const asked = new Set<string>();
  const memory = openSymbiCache({
    find(digest) {
      asked.add(digest);
      return null;
    },
    keep: () => {},
    save: () => {},
  });
  const variants: readonly Partial<Tool>[] = [
    {},
    { name: "other" },
    { effects: ["spend"] },
    { inputSchema: { type: "object", properties: { x: { type: "integer" } } } },
    { targets: { x: { kind: "host", known: [], of: null } } },
    { outgoing: ["x"] },
    { resourceTypes: ["Host"] },
    { records: [ORDER] },
  ];
  const origin = { source: { symbi: read.symbi, path: "" }, draft };
  for (const variant of variants) memory.compiled(origin, toSymbiInputs({ tools: [{ ...tool, ...variant }] }, { users: {} }));
  memory.compiled(origin, toSymbiInputs({ tools: [tool] }, { users: {}, world: { zone: "UTC", subject: { tier: "string" } } }));
  expect(asked.size).toBe(variants.length + 1);
});
