/** The starter sets as anybody copies them: into whatever project there is. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Agent, defineAgent, defineTool, type Effect, type Tool, type UserAct } from "@orgate/core";
import * as fc from "fast-check";
import { afterEach, expect, test } from "vitest";
import * as z from "zod";
import { readProject } from "../config/project-toml.ts";
import { type PolicyOptions, tryLoadFolder } from "../policies/policy-load.ts";
import { loadProject } from "../project/load.ts";
import { readStarterPolicies, readStarterSet, type StarterFile } from "./starter-files.ts";
import { KIND_STARTERS, KINDS, PROFILE_STARTERS, PROFILES, starterProject } from "./starters.ts";

const SETS = ["minimal", "assistant", "developer", "operations", "payments", "secretary", "support", "team"] as const;
const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function loaded(kind: string, agents: readonly Agent[], groups: PolicyOptions["groups"]) {
  const root = mkdtempSync(join(tmpdir(), "orgate-set-"));
  folders.push(root);
  for (const { path, text } of readStarterSet(kind)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  const place = { folder: join(root, "policies"), label: "policies", within: root };
  const loading = tryLoadFolder({ place, agents, groups, surface: "cli" });
  return { kind: loading.kind, problems: loading.report.problems };
}

/** The files of `orgate init`, and what they let people do; of agents and tools nothing is needed for that. */
function gateOfNew(files: readonly StarterFile[], set: string) {
  const root = mkdtempSync(join(tmpdir(), "orgate-new-"));
  folders.push(root);
  for (const { path, text } of [...files, ...readStarterSet(set)]) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  const { groups } = readProject(root);
  const place = { folder: join(root, "policies"), label: "policies", within: root };
  const loading = tryLoadFolder({ place, agents: [], groups, surface: "cli" });
  if (loading.kind !== "loaded") throw new Error(JSON.stringify(loading.report.problems));
  return loading.loaded.gateFor("cli");
}

const [agent, requester, tool, approval, session, call, schedule] = ["hello", "ann", "t", "a_1", "s_1", "1.0", "nightly"];
/** Every action of a person, as the owner of a new project would do it: a new action fails to compile until it is here. */
const OWNERS_ACTS: Readonly<Record<UserAct["kind"], UserAct>> = {
  observe: { kind: "observe", what: { kind: "project" } },
  run: { kind: "run", agent },
  open: { kind: "open", what: { kind: "agent", agent } },
  say: { kind: "say", session, agent, requester },
  steer: { kind: "steer", session, agent, requester },
  cancel: { kind: "cancel", session, agent, requester },
  close: { kind: "close", session, agent, requester },
  approve: { kind: "approve", approval, agent, tool, requester },
  deny: { kind: "deny", approval, agent, tool, requester },
  withdraw: { kind: "withdraw", approval, agent, tool, requester },
  resolve: { kind: "resolve", call, agent, tool },
  halt: { kind: "halt", scope: "all" },
  "set-breaker": { kind: "set-breaker", breaker: "tool:t" },
  "edit-known": { kind: "edit-known", set: "payees" },
  "edit-knowledge": { kind: "edit-knowledge", scope: "project" },
  "remove-label": { kind: "remove-label", label: "untrusted", session, agent },
  "read-journal": { kind: "read-journal", what: { kind: "project" } },
  "edit-policy": { kind: "edit-policy", surface: "cli" },
  "edit-schedule": { kind: "edit-schedule", schedule, agent, requester },
  "run-schedule": { kind: "run-schedule", schedule, agent, requester },
  "give-access": { kind: "give-access", to: "ben" },
  erase: { kind: "erase", session, agent, requester },
  acknowledge: { kind: "acknowledge" },
  "manage-keys": { kind: "manage-keys" },
  trust: { kind: "trust" },
};
/** A stranger may act only on their own session and their own approval request. */
const OWN = ["say", "steer", "cancel", "close", "withdraw"];

const OWNER = { name: "new", user: "ann" };
const NEW: readonly (readonly [string, string, readonly StarterFile[]])[] = [
  ...KINDS.map((kind) => [`kind ${kind}`, kind, starterProject(KIND_STARTERS[kind], OWNER)] as const),
  ...PROFILES.map((profile) => {
    const starter = PROFILE_STARTERS[profile];
    return [`profile ${profile}`, starter.folder, starterProject(starter, OWNER)] as const;
  }),
];
test.each(NEW)(
  "G-22 the owner of a new project of %s may do everything that an owner does, and a stranger nothing of it",
  (_, set, files) => {
    const gate = gateOfNew(files, set);
    const allowed = (user: string) =>
      Object.entries(OWNERS_ACTS).flatMap(([kind, act]) => (gate.decideFor(user, act).verdict.kind === "allow" ? [kind] : []));
    // four eyes: as an operator the owner answers for others; what was asked for in their own name only where it is asked of them
    const isAnswer = (kind: string): boolean => set === "payments" && (kind === "approve" || kind === "deny");
    expect(allowed("ann").toSorted()).toEqual(
      Object.keys(OWNERS_ACTS)
        .filter((kind) => !isAnswer(kind))
        .toSorted(),
    );
    for (const act of [OWNERS_ACTS.approve, OWNERS_ACTS.deny])
      for (const other of [{ requester: "ben" }, { requester, forRequester: true }])
        expect([act.kind, other, gate.decideFor("ann", { ...act, ...other }).verdict.kind]).toEqual([act.kind, other, "allow"]);
    expect(allowed("eve")).toEqual([]);
    const own = Object.values(OWNERS_ACTS).map((act) => ("requester" in act ? { ...act, requester: "eve" } : act));
    expect(own.flatMap((act) => (gate.decideFor("eve", act).verdict.kind === "allow" ? [act.kind] : [])).toSorted()).toEqual(
      OWN.toSorted(),
    );
  },
);

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
  "G-22 the starter set `%s` loads in a project without agents, in one with other tools, and in the ops-desk",
  async (kind) => {
    expect(loaded(kind, [], PEOPLE)).toEqual({ kind: "loaded", problems: [] });
    expect(loaded(kind, [other], PEOPLE)).toEqual({ kind: "loaded", problems: [] });
    const desk = readProject(join(import.meta.dirname, "../../../../examples/ops-desk"));
    const { agents } = await loadProject(desk, { env: {} });
    const groups = { ...desk.groups, users: { ...PEOPLE.users, ...desk.groups.users } };
    const own = agents.map(({ agent }) => agent);
    expect(own.length).toBeGreaterThan(2);
    expect(loaded(kind, own, groups)).toEqual({ kind: "loaded", problems: [] });
  },
);

const EFFECTS: readonly Effect[] = ["read", "write", "execute", "network", "spend"];
/** Tools of projects that nobody has thought of: what they do, what they take and what they declare of it. */
const anyTool = fc
  .record({
    name: fc.stringMatching(/^[a-z][a-z_]{0,12}$/),
    effects: fc.subarray([...EFFECTS], { minLength: 1 }),
    riskTier: fc.constantFrom("low", "medium", "high"),
    labels: fc.subarray(["untrusted", "secret", "pii", "private"]),
    marks: fc.subarray(["to", "amount", "thing", "title", "leaves", "optional"]),
    records: fc.boolean(),
    open: fc.boolean(),
  })
  .map(({ name, effects, riskTier, labels, marks, records, open }): Tool => {
    const has = (mark: string): boolean => marks.includes(mark);
    const to = has("optional") ? z.string().optional() : z.string();
    const [per, fields] = [has("to") ? { per: "to" } : {}, { price: { path: "price", type: "number" as const }, state: "state" }];
    return defineTool({
      name,
      description: name,
      input: open
        ? { type: "object", properties: { to: { type: "string" }, amount: { type: "number" }, thing: {}, title: { type: "string" } } }
        : z.strictObject({ to, amount: z.number(), thing: z.string(), title: z.string() }),
      effects,
      riskTier: riskTier as "low" | "medium" | "high",
      labels,
      targets: {
        ...(has("to") ? { to: "recipient" as const } : {}),
        ...(has("amount") ? { amount: { kind: "number" as const, ...per } } : {}),
        ...(has("thing") && !open ? { thing: { kind: "id" as const, of: "thing" } } : {}),
        ...(has("title") ? { title: "text" as const } : {}),
      },
      outgoing: has("leaves") ? ["title"] : [],
      records: records ? [{ type: "thing", key: "id", owner: "owner", fields }] : [],
      run: () => "done",
    });
  });
const anyProject = fc
  .uniqueArray(anyTool, { maxLength: 5, selector: ({ name }) => name })
  .map((tools) => [defineAgent({ name: "somebody", instructions: "work", model: "offline/echo", tools })]);

test.each(SETS)("G-22 the starter set `%s` loads in whatever project is made up", { timeout: 120_000 }, (kind) => {
  fc.assert(
    fc.property(anyProject, (agents) => {
      expect(loaded(kind, agents, PEOPLE)).toEqual({ kind: "loaded", problems: [] });
    }),
    { numRuns: 12, seed: 24 },
  );
});

test.each(KINDS)("a new project of kind `%s` has its whole set as it is, and its limits permit nothing without a question", (kind) => {
  const files = readStarterPolicies(kind);
  expect(files).toEqual(expect.arrayContaining([...readStarterSet(kind)]));
  const limits = files.filter(({ path }) => !readStarterSet(kind).some((own) => own.path === path) && path.endsWith(".cedar"));
  const rules = limits.flatMap(({ text }) => text.split(/^(?=@id\()/m).slice(1));
  expect(rules.filter((rule) => !/^(?:forbid\(|@ask\()/m.test(rule))).toEqual([]);
});

test.each(SETS)("the guide explains every rule of the starter set `%s`", (kind) => {
  const guide = readFileSync(join(import.meta.dirname, "../../../../docs/guide/starter-policies.md"), "utf8");
  const parts = guide.split(/^## /m);
  const own = parts.filter((part) => part.startsWith(`${kind}\n`) || part.startsWith("Rules that several sets have\n"));
  const text = own.join("") + (kind === "secretary" || kind === "minimal" ? guide : "");
  const ids = readStarterSet(kind).flatMap((file) =>
    file.path.endsWith(".cedar") ? [...file.text.matchAll(/^@id\("([^"]+)"\)/gm)].flatMap(([, id]) => id ?? []) : [],
  );
  expect(ids.filter((id) => !text.includes(`\`${id}\``))).toEqual([]);
});
