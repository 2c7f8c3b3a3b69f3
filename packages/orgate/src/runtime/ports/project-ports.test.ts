import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineAgent } from "@orgate/core";
import { afterEach, expect, test } from "vitest";
import { loadProjectPorts } from "./project-ports.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function load(source: string | null, ports: string | null = "ports.ts") {
  const root = mkdtempSync(join(tmpdir(), "orgate-project-ports-"));
  folders.push(root);
  mkdirSync(join(root, "agents"));
  writeFileSync(join(root, "orgate.toml"), `[project]\nname = "p"\n[ports]\nmodule = "ports.ts"\n`);
  if (source !== null) writeFileSync(join(root, "ports.ts"), source);
  return loadProjectPorts({ root, ports }, {});
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
  ["brings a port of another shape", `export default { tracer: 3 };`, "`tracer` is not what `createRuntime` takes"],
])("a module that %s is refused, and nothing runs", async (_, source, message) => {
  expect(await errorOf(() => load(source))).toContain(message);
});
