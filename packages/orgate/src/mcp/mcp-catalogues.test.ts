/** Catalogues of real MCP servers, read with a client of a few lines: every one can be typed, and policies about it are checked and decide. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type Action, callId, type Facts, type JsonObject, NO_MORE_FACTS, NO_TARGETS, type Tool } from "@orgate/core";
import { cedarGate, loadPolicies } from "@orgate/core/gate";
import { expect, test } from "vitest";
import { sha256 } from "../node/crypto.ts";
import { cedarEngine } from "../policies/cedar-engine.ts";

const engine = cedarEngine();
type Offered = Readonly<{ name: string; description?: string; inputSchema: JsonObject }>;

/** The folder where the repository's own tools lie. */
const INSTALLED = join(import.meta.dirname, "../../../../node_modules/@modelcontextprotocol");

async function catalogue(server: string, ...args: readonly string[]): Promise<readonly Tool[]> {
  const child = spawn(process.execPath, [join(INSTALLED, server, "dist/index.js"), ...args], { stdio: ["pipe", "pipe", "ignore"] });
  const say = (message: JsonObject): void => void child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  try {
    say({
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "0" } },
    });
    for await (const line of createInterface({ input: child.stdout })) {
      const message = JSON.parse(line);
      if (message.id === 1) {
        say({ method: "notifications/initialized" });
        say({ id: 2, method: "tools/list", params: {} });
      }
      if (message.id === 2) return message.result.tools.map(toTool);
    }
    throw new Error(`${server} closed without a catalogue`);
  } finally {
    child.kill();
  }
}

const toTool = ({ name, description, inputSchema }: Offered): Tool => ({
  name,
  description: description ?? name,
  inputSchema,
  repeat: "once",
  effects: ["execute"],
  labels: [],
  endsTurn: false,
  timeoutMs: null,
  recover: null,
  breaker: null,
  server: null,
  ...NO_TARGETS,
  maxCents: 0,
  version: null,
  riskTier: "high",
  humanApproval: false,
  sandbox: null,
  resourceTypes: ["Tool"],
  basis: null,
  check: () => ({ kind: "invalid", issues: ["not called here"] }),
  resource: () => ({ type: "Tool", id: name }),
  run: async () => null,
  reconcile: null,
});

const FACTS: Facts = {
  agent: "ops",
  onBehalfOf: { kind: "user", id: "ann" },
  surface: "cli",
  labels: [],
  calls: () => ({ turn: 0, session: 0 }),
  spent: { turn: 0, session: 0 },
  cents: null,
  ...NO_MORE_FACTS,
};
const call = (tool: string, args: JsonObject): Action => ({
  kind: "call",
  call: callId("1.1"),
  tool,
  toolDigest: null,
  effects: ["execute"],
  args,
  inexact: [],
  resource: { type: "Tool", id: tool },
});

function load(text: string, tools: readonly Tool[]) {
  const cast = { agents: [{ name: "ops", groups: [] }], users: [], tools };
  return loadPolicies([{ path: "p.cedar", name: "p", text, shadow: false }], cast, engine);
}
function decider(text: string, tools: readonly Tool[]): (tool: string, args: JsonObject) => string {
  const loaded = load(text, tools);
  if (loaded.kind === "refused") throw new Error(JSON.stringify(loaded.problems));
  const gate = cedarGate(loaded.set, engine, sha256);
  return (tool, args) => gate.decide(call(tool, args), FACTS).verdict.kind;
}

test("G-6 the files server: paths, lists of paths and lists of records are read by policies", async () => {
  const tools = await catalogue("server-filesystem", import.meta.dirname);
  expect(tools.length).toBeGreaterThan(8);
  const decide = decider(
    `permit (principal, action == Action::"tool:read_text_file", resource) when { context.args.path like "docs/*" };
     permit (principal, action == Action::"tool:read_multiple_files", resource) when { ["docs/a", "docs/b"].containsAll(context.args.paths) };
     permit (principal, action == Action::"tool:edit_file", resource) when { context.args has dryRun && context.args.dryRun };
     forbid (principal, action == Action::"tool:edit_file", resource) when { context.args.edits.contains({"oldText": "a", "newText": ""}) };
     permit (principal, action == Action::"tool:read_file", resource) when { context.args has head && context.args.head.lessThan(decimal("100.0")) };`,
    tools,
  );
  expect(decide("read_text_file", { path: "docs/a" })).toBe("allow");
  expect(decide("read_text_file", { path: "etc/passwd" })).toBe("deny");
  expect(decide("read_multiple_files", { paths: ["docs/a"] })).toBe("allow");
  expect(decide("read_multiple_files", { paths: ["docs/a", "etc/passwd"] })).toBe("deny");
  expect(decide("edit_file", { path: "x", edits: [], dryRun: true })).toBe("allow");
  expect(decide("edit_file", { path: "x", edits: [{ oldText: "a", newText: "" }], dryRun: true })).toBe("deny");
  expect(decide("read_file", { path: "x", head: 10 })).toBe("allow");
  expect(decide("read_file", { path: "x", head: 1_000 })).toBe("deny");
  const wrong = load('permit (principal, action == Action::"tool:edit_file", resource) when { context.args.edit.isEmpty() };', tools);
  expect(wrong).toMatchObject({ kind: "refused", problems: [{ line: 1, hint: "did you mean `edits`?" }] });
});

test("G-6 the server of everything: every tool has an action, with names that are no identifiers", async () => {
  const tools = await catalogue("server-everything", "stdio");
  expect(tools.length).toBeGreaterThan(5);
  const decide = decider(
    `permit (principal, action == Action::"tool:get-sum", resource) when { context.args.a.lessThan(decimal("10.0")) && context.calls["get-sum"].turn < 3 };
     permit (principal, action == Action::"tool:get-annotated-message", resource) when { context.args.messageType == "debug" };`,
    tools,
  );
  expect(decide("get-sum", { a: 1.5, b: 2 })).toBe("allow");
  expect(decide("get-sum", { a: 10, b: 2 })).toBe("deny");
  expect(decide("get-annotated-message", { messageType: "debug" })).toBe("allow");
  expect(decide("get-annotated-message", { messageType: "error" })).toBe("deny");
});

test("G-6 the memory server: records nested in lists are typed whole", async () => {
  const tools = await catalogue("server-memory");
  const decide = decider(
    `permit (principal, action == Action::"tool:create_entities", resource);
     forbid (principal, action == Action::"tool:create_entities", resource)
     when { context.args.entities.contains({"name": "root", "entityType": "user", "observations": ["is admin"]}) };
     permit (principal, action == Action::"tool:delete_entities", resource) when { context.args.entityNames.isEmpty() };`,
    tools,
  );
  expect(decide("create_entities", { entities: [{ name: "root", entityType: "user", observations: ["is admin"] }] })).toBe("deny");
  expect(decide("create_entities", { entities: [{ name: "root", entityType: "user", observations: [] }] })).toBe("allow");
  expect(decide("delete_entities", { entityNames: ["x"] })).toBe("deny");
});

test("G-6 what Cedar cannot type in the three catalogues is named, tool and path", async () => {
  const tools = [
    ...(await catalogue("server-filesystem", import.meta.dirname)),
    ...(await catalogue("server-everything", "stdio")),
    ...(await catalogue("server-memory")),
  ];
  const loaded = load("permit (principal, action, resource);", tools);
  if (loaded.kind === "refused") throw new Error(JSON.stringify(loaded.problems));
  const { vocabulary } = loaded.set;
  expect(vocabulary.args.size).toBe(tools.length);
  const offered = tools.flatMap((t) =>
    Object.keys((t.inputSchema["properties"] ?? {}) as JsonObject).map((name) => `${t.name} args.${name}`),
  );
  const typed = [...vocabulary.args].flatMap(([tool, { fields }]) => [...fields.keys()].map((name) => `${tool} args.${name}`));
  const named = vocabulary.untyped.map((u) => `${u.tool} ${u.path}`);
  expect(offered.filter((o) => !typed.includes(o) && !named.some((n) => n.startsWith(o)))).toEqual([]);
  expect(typed.length).toBeGreaterThan(30);
});
