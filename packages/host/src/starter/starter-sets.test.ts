/** The starter sets as anybody copies them: into whatever project there is. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Agent, defineAgent, defineTool } from "@orgate/core";
import { afterEach, expect, test } from "vitest";
import * as z from "zod";
import { readProject } from "../adapters/project-toml.ts";
import { type PolicyOptions, tryFolder } from "../policies.ts";
import { loadProjectAgents } from "../project-agents.ts";
import { starterSet } from "./policies.ts";

const SETS = ["minimal", "assistant", "developer", "operations", "secretary", "team"] as const;
const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function loaded(kind: string, agents: readonly Agent[], groups: PolicyOptions["groups"]) {
  const root = mkdtempSync(join(tmpdir(), "orgate-set-"));
  folders.push(root);
  for (const { path, text } of starterSet(kind)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  const place = { folder: join(root, "policies"), label: "policies", within: root };
  const loading = tryFolder({ place, agents, groups, surface: "cli" });
  return { kind: loading.kind, problems: loading.report.problems };
}

const PEOPLE = { agents: {}, users: { operators: ["ann", "ben"], developers: ["ann"] } };
const order = defineTool({
  name: "order_parts",
  description: "Orders parts.",
  input: z.strictObject({ part: z.string(), amount: z.number() }),
  effects: ["spend", "network"],
  targets: { part: "id" },
  run: () => "ordered",
});
const fetch = defineTool({
  name: "fetch_page",
  description: "Fetches a page.",
  input: { type: "object", properties: { url: { type: "string" } } },
  effects: ["read", "network"],
  run: () => "page",
});
const other = defineAgent({ name: "buyer", instructions: "buy", model: "offline/echo", tools: [order, fetch] });

test.each(SETS)(
  "G350 the starter set `%s` loads in a project without agents, in one with other tools, and in the ops-desk",
  async (kind) => {
    expect(loaded(kind, [], PEOPLE)).toEqual({ kind: "loaded", problems: [] });
    expect(loaded(kind, [other], PEOPLE)).toEqual({ kind: "loaded", problems: [] });
    const desk = readProject(join(import.meta.dirname, "../../../../examples/ops-desk"));
    const { agents } = await loadProjectAgents(desk, "wanted", {});
    const groups = { ...desk.groups, users: { ...PEOPLE.users, ...desk.groups.users } };
    const own = agents.map(({ agent }) => agent);
    expect(own.length).toBeGreaterThan(2);
    expect(loaded(kind, own, groups)).toEqual({ kind: "loaded", problems: [] });
  },
);
