import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { defineAgent, tableGate } from "@orgate/core";
import { afterEach, expect, test } from "vitest";
import { openProject } from "../../config/project-toml.ts";
import { sha256 } from "../../node/crypto.ts";
import { loadProject } from "../../project/load.ts";
import { loadBuildPorts } from "../../project/ports-module.ts";
import { createRuntime } from "../runtime.ts";
import { loadProjectPorts } from "./project-ports.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const load = (source: string | null, ports: string | null = "ports.ts") => loadProjectPorts({ root: projectWith(source), ports }, {});
const buildPorts = (source: string) => loadBuildPorts({ root: projectWith(source), ports: "ports.ts" });
function projectWith(source: string | null): string {
  const root = mkdtempSync(join(tmpdir(), "orgate-project-ports-"));
  folders.push(root);
  mkdirSync(join(root, "agents"));
  writeFileSync(join(root, "orgate.toml"), `[project]\nname = "p"\n[ports]\nmodule = "ports.ts"\n`);
  if (source !== null) writeFileSync(join(root, "ports.ts"), source);
  return root;
}
const agent = defineAgent({ name: "a", instructions: "x", model: "offline/echo" });
async function errorOf(work: () => unknown): Promise<string> {
  try {
    await work();
    return "nothing was thrown";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

test("a project without ports has none", async () => {
  expect(await load(null, null)).toEqual({});
});

test("a module's factory makes the model; null leaves it to the usual lookup", async () => {
  const source = `export default { model: (agent) => agent.name === "a" ? { id: "own/m", ask: async () => { throw new Error("x"); } } : null };`;
  const { model } = await load(source);
  expect(model?.(agent).id).toBe("own/m");
  expect(model?.(defineAgent({ ...agent.definition, name: "b" })).id).toBe("offline/echo");
});

test.each([
  ["throws", `export default { model: () => { throw new Error("no key"); } };`, "failed: no key"],
  ["returns nonsense", `export default { model: () => ({ id: 3 }) };`, "returned something else than a model"],
])("a factory that %s refuses the agent", async (_, source, message) => {
  const { model } = await load(source);
  expect(await errorOf(() => model?.(agent))).toContain(message);
});

test.each([
  ["is not there", null, "ports"],
  ["throws", `throw new Error("at load");`, "at load"],
  ["exports nothing", `export const a = 1;`, "its default export is no object"],
  ["names an unknown port", `export default { gate: {} };`, "there is no port `gate`"],
  ["brings a runner that cannot run", `export default { running: {} };`, "`running` is not what docs/guide/project.md describes"],
  ["brings a port of another shape", `export default { tracer: 3 };`, "`tracer` is not what `createRuntime` takes"],
])("a module that %s is refused, and nothing runs", async (_, source, message) => {
  expect(await errorOf(() => load(source))).toContain(message);
});

test("a project's module brings model, skill prompter, secrets and the runner of its manifests", async () => {
  const root = mkdtempSync(join(tmpdir(), "orgate-project-ports-"));
  folders.push(root);
  const files = {
    "orgate.toml": `[project]\nname = "p"\n[ports]\nmodule = "ports.ts"\n`,
    "agents/clerk.toml": `name = "clerk"\ninstructions = "Ask."\ntools = ["ask_desk"]\nskills = ["manners"]\n`,
    "tools/manners.ts": `import { defineSkill } from "orgate";\nexport const manners = defineSkill({ name: "manners", description: "How to ask.", instructions: "Say please." });\n`,
    "scope/scope.toml": `[scope]\ndomains = ["desk.example.org"]\n`,
    "tools/ask.clad.toml": [
      `[tool]\nname = "ask_desk"\nversion = "1.0.0"\ndescription = "Asks the desk."\n`,
      `[http]\nmethod = "GET"\nurl = "https://desk.example.org/"\nheaders = { Authorization = "Bearer {_secret:desk_token}" }\n`,
    ].join("\n"),
    "ports.ts": `
      const seen = (globalThis.portsSeen = []);
      const say = (parts, finish) => ({ parts, finish, usage: { input: 1, output: 1 }, model: "own/m", meta: null });
      export default {
        model: () => ({ id: "own/m", ask: async ({ system, messages }) => {
          if (messages.length > 1) return say([{ kind: "text", text: "done", meta: null }], "stop");
          seen.push(system);
          return say([{ kind: "call", id: "c1", tool: "ask_desk", text: "{}", meta: null }], "calls");
        } }),
        skillPrompter: (skills, tool) => "You know " + skills.map((s) => s.name).join() + ": " + tool,
        secrets: async (name) => "the value of " + name,
        running: { run: async ({ headers }) => {
          seen.push(JSON.stringify(headers));
          return { kind: "responded", status: 200, headers: {}, body: "hello", truncated: false, durationMs: 1 };
        } },
      };`,
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  const config = openProject(root, root);
  const { agents } = await loadProject(config);
  const runtime = await createRuntime({
    directory: config.journal.directory,
    agents: agents.map(({ agent: one }) => one),
    gate: tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256),
    principal: { kind: "user", id: "ada" },
    ...(await loadProjectPorts(config, {})),
  });
  const { ending, events } = await runtime.complete("clerk", "Ask.");
  await runtime.close();
  const outcomes = events.flatMap(({ event }) => (event.kind === "act.ended" ? [event.outcome.kind] : []));
  expect([ending, outcomes]).toEqual(["completed", ["done"]]);
  const [system, headers] = Reflect.get(globalThis, "portsSeen") as readonly string[];
  expect(system).toContain("You know manners: load_skill");
  expect(system).not.toContain("# Skills");
  expect(headers).toContain("Bearer the value of desk_token");
});

test("a module may export an instance of a class: its methods keep their `this`, and what it names is checked all the same", async () => {
  const model = `model() { return this.#made; }`;
  const made = `#made = { id: "own/m", ask: async () => { throw new Error("x"); } };`;
  const ports = await load(`class P { ${made} ${model} get middleware() { return []; } }\nexport default new P();`);
  expect([ports.model?.(agent).id, ports.middleware]).toEqual(["own/m", []]);
  const build = await buildPorts(`class P { #vault = { a: "1" }; secrets(name) { return this.#vault[name]; } }\nexport default new P();`);
  expect(build.secrets?.("a")).toBe("1");
  for (const [source, message] of [
    [`class P { get running() { return {}; } }`, "`running` is not what docs/guide/project.md describes"],
    [`class P { get tracer() { return 3; } }`, "`tracer` is not what `createRuntime` takes"],
    [`class P { middlewares() { return []; } }`, "there is no port `middlewares`"],
  ] as const)
    expect(await errorOf(() => load(`${source}\nexport default new P();`))).toContain(message);
});
