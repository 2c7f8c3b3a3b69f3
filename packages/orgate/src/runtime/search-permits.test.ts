/** A search shows only what the policies would permit by name: decided by real policies, in a real session. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Agent, defineAgent, type Json, type JsonObject, listDecisions, type Model, type ReplyPart } from "@orgate/core";
import { afterEach, expect, test } from "vitest";
import { fileTools } from "../tools/file-tools.ts";
import type { Runtime } from "./api.ts";
import { gateOf } from "./fixtures/counted-sessions.ts";
import { createRuntime } from "./runtime.ts";

const folders: string[] = [];
const runtimes: Runtime[] = [];
afterEach(async () => {
  for (const runtime of runtimes.splice(0)) await runtime.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const FILES = { "src/a.ts": "needle a", "src/keys.ts": "needle key", "notes/b.md": "needle b", "notes/private.md": "needle p" };
const WORDS = 'permit (principal, action in [Action::"model", Action::"respond"], resource);\n';
const READS = `${WORDS}permit (principal, action in Action::"read", resource);\n`;

/** Searches once, and ends. */
const searching =
  (args: JsonObject): ((agent: Agent) => Model) =>
  ({ name }) => {
    let asked = 0;
    return {
      id: `test/${name}`,
      ask: async () => {
        asked += 1;
        const call: ReplyPart = { kind: "call", id: "c1", tool: "search_files", text: JSON.stringify(args), meta: null };
        const part: ReplyPart = asked === 1 ? call : { kind: "text", text: "done", meta: null };
        return { parts: [part], finish: asked === 1 ? "calls" : "stop", usage: { input: 1, output: 1 }, model: name, meta: null };
      },
    };
  };

type Found = Readonly<{ verdict: string; shown: readonly string[]; withheld: Json; proof: Json }>;
async function search(policies: string, { path = ".", without = "" }: { path?: string; without?: string } = {}): Promise<Found> {
  const root = mkdtempSync(join(tmpdir(), "orgate-search-"));
  folders.push(root);
  for (const [file, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }
  const tools = fileTools({ root }).filter(({ name }) => name !== without);
  const runtime = await createRuntime({
    directory: join(root, ".orgate"),
    agents: [defineAgent({ name: "clerk", instructions: "look", model: "test/clerk", tools })],
    gate: gateOf(policies, tools),
    principal: { kind: "user", id: "ann" },
    model: searching({ text: "needle", path }),
    powerCut: "lose-last-moments",
  });
  runtimes.push(runtime);
  const { events } = await runtime.complete("clerk", "look for it");
  const decided = listDecisions(events).flatMap(({ event: e }) => (e.action.kind === "call" ? [e.verdict.kind] : []));
  const [ended] = events.flatMap(({ event: e }) => (e.kind === "act.ended" ? [e] : []));
  const output = (ended?.outcome.kind === "done" ? ended.outcome.output : { matches: [] }) as JsonObject;
  const matches = output["matches"] as readonly Readonly<{ path: string }>[];
  return {
    verdict: decided.join(),
    shown: matches.map((match) => match.path),
    withheld: output["withheld"] ?? 0,
    proof: ended?.evidence.proof ?? null,
  };
}
const ALL = Object.keys(FILES).sort();

test("T-13 where all may be read, all is shown", async () => {
  expect(await search(READS)).toEqual({ verdict: "allow", shown: ALL, withheld: 0, proof: null });
});

test.each([
  ["forbidden for all that reads", `${READS}forbid (principal, action in Action::"read", resource == File::"src/keys.ts");`],
  ["forbidden for read_file alone", `${READS}forbid (principal, action == Action::"tool:read_file", resource == File::"src/keys.ts");`],
  [
    "excepted from what is permitted",
    `${WORDS}permit (principal, action in Action::"read", resource) unless { resource == File::"src/keys.ts" };`,
  ],
  [
    "forbidden by its argument",
    `${READS}forbid (principal, action == Action::"tool:search_files", resource) when { context.args has path && context.args.path like "*/keys.ts" };`,
  ],
  [
    "for a person to say",
    `${READS}@ask("may it?") permit (principal, action == Action::"tool:read_file", resource == File::"src/keys.ts");`,
  ],
  [
    "a policy that cannot be evaluated",
    `${READS}forbid (principal, action == Action::"tool:read_file", resource == File::"src/keys.ts") when { 9007199254740991 * 9007199254740991 > 0 };`,
  ],
])("T-13 a file below the folder is not shown, and is counted, where it is %s", async (_, policies) => {
  for (const path of [".", "src"]) {
    const { verdict, shown, withheld, proof } = await search(policies, { path });
    expect(verdict).toBe("allow");
    expect(shown).toEqual(ALL.filter((file) => file !== "src/keys.ts" && (path === "." || file.startsWith("src/"))));
    expect([withheld, proof]).toEqual([1, { withheld: 1 }]);
  }
});

test("T-13 a permit for a folder by name speaks for that name alone; an agent without read_file is held to what a search may", async () => {
  const folder = `${WORDS}permit (principal, action == Action::"tool:search_files", resource == File::"src");`;
  expect(await search(folder, { path: "src" })).toMatchObject({ verdict: "allow", shown: [], withheld: 2 });
  const named = `${folder}\npermit (principal, action == Action::"tool:search_files", resource == File::"src/a.ts");`;
  expect(await search(named, { path: "src" })).toMatchObject({ shown: ["src/a.ts"], withheld: 1 });
  expect(await search(READS, { without: "read_file" })).toMatchObject({ shown: ALL, withheld: 0 });
});
