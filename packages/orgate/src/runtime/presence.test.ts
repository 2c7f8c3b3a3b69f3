/** Tests for presence: what a policy asks for is there to be asked for, and the answer is right. */
import {
  type Action,
  callId,
  defineTool,
  type Effect,
  type Facts,
  type Json,
  type JsonObject,
  NO_MORE_FACTS,
  type Tool,
} from "@orgate/core";
import { cedarGate, loadPolicies, type PolicyProblem } from "@orgate/core/gate";
import { describe, expect, test } from "vitest";
import { sha256 } from "../node/crypto.ts";
import { cedarEngine } from "../policies/cedar-engine.ts";
import { type Dice, dice } from "./fixtures/gate-oracle.ts";

const engine = cedarEngine();
const PERMIT = "permit (principal, action, resource);\n";

function tool(name: string, input: JsonObject, effects: readonly Effect[], targets: Readonly<Record<string, "recipient">> = {}): Tool {
  return defineTool({ name, description: "A tool.", input, effects, targets, run: () => "done" });
}
const object = (
  properties: JsonObject,
  required: readonly string[] = [],
  more: JsonObject = { additionalProperties: false },
): JsonObject => ({
  type: "object",
  properties,
  required,
  ...more,
});
const TEXT = { type: "string" };

const send = tool(
  "send",
  object(
    {
      to: TEXT,
      subject: TEXT,
      attachments: { type: "array", items: { type: "object" } },
      headers: { type: "object" },
      format: { anyOf: [object({ kind: TEXT, size: { type: "integer" } }), object({ kind: TEXT, size: TEXT })] },
      deep: object({ kind: TEXT, extra: {} }),
      both: { anyOf: [TEXT, { type: "integer" }] },
    },
    ["to"],
  ),
  ["network"],
  { to: "recipient" },
);
const post = tool("post", object({ to: TEXT, body: TEXT }, ["to"]), ["network"]);
const look = tool("look", object({ path: TEXT }, ["path"]), ["read"]);
/** As most MCP servers declare theirs: nothing is said of further arguments, so they are taken. */
const open = tool("open", { type: "object", properties: { title: TEXT } }, ["write"]);
const save = tool("save", object({ path: TEXT, title: TEXT, mode: TEXT }), ["write"]);
const TOOLS = [send, post, look, open, save];

const load = (text: string, tools: readonly Tool[] = TOOLS) =>
  loadPolicies(
    [{ path: "policies/p.cedar", name: "p", text, shadow: false }],
    { agents: [{ name: "ops", groups: [] }], users: [], tools },
    engine,
  );
function problems(text: string, tools: readonly Tool[] = TOOLS): readonly PolicyProblem[] {
  const loaded = load(text, tools);
  return loaded.kind === "refused" ? loaded.problems : [];
}
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
const decider = (text: string, tools: readonly Tool[] = TOOLS) => deciderOf(load(text, tools));
function deciderOf(loaded: ReturnType<typeof load>): (tool: Tool, args: JsonObject) => string {
  if (loaded.kind === "refused") throw new Error(JSON.stringify(loaded.problems));
  const gate = cedarGate(loaded.set, engine, sha256);
  return ({ name, effects }, args) => {
    const resource = { type: "Tool", id: name };
    const action: Action = { kind: "call", call: callId("1.1"), tool: name, toolDigest: null, effects, args, inexact: [], resource };
    return gate.decide(action, FACTS).verdict.kind;
  };
}
const on = (what: string, condition: string): string => `${PERMIT}forbid (principal, ${what}, resource)\n${condition};`;
const SEND = 'action == Action::"tool:send"';
const NETWORK = 'action in Action::"network"';

describe("G-6 a test for presence that is never true does not load, with its place and what may have been meant", () => {
  const NEVER = "is never true";
  test.each([
    [SEND, "when { context.args has atachments }", "`context.args has atachments`", "did you mean `attachments`?", 3, 21],
    [SEND, "unless { context.args has atachments }", "no tool under this policy takes an argument `atachments`", "attachments", 3, 23],
    [NETWORK, 'unless { context.args has "recipients" }', "no tool under this policy takes", "known: attachments", 3, 23],
    [SEND, 'when { context.labels.contains("x") || context.args has deep.knid }', "`context.args has deep.knid`", "`kind`", 3, 53],
    [SEND, "when { context.args has deep && context.args.deep has knid }", "`context.args.deep has knid`", "`kind`", 3, 51],
    [SEND, "when { if context.args has sbject then true else context.targets.known }", "context.args has sbject", "`subject`", 3, 24],
    [SEND, "when { context.facts has subject }", "marks `subject` as a target", "ask `context.args has subject`", 3, 22],
    [SEND, "when { context.facts has too }", "marks `too` as a target", "did you mean `to`?", 3, 22],
    [SEND, "when { context.facts.to has nmae }", "no such attribute", "did you mean `name`?", 3, 25],
    [SEND, "when { context.calls has sned }", "there is no tool `sned` to count", "did you mean `send`?", 3, 22],
    [SEND, "when { context.targets has knwon }", "no such attribute", "did you mean `known`?", 3, 24],
    [SEND, "when { context.spent has cent }", "no such attribute", "did you mean `cents`?", 3, 22],
    [SEND, "when { context.origin has shedule }", "no such attribute", "did you mean `schedule`?", 3, 23],
    [SEND, "when { context has lables }", "`context has lables`", "did you mean `labels`?", 3, 16],
    [SEND, "when { principal has name }", "`principal has name`", "id", 3, 18],
    ['action == Action::"approve"', "when { resource has requster }", "no such attribute", "did you mean `requester`?", 3, 17],
    [SEND, "when { context.args.headers has name }", "`context.args.headers has name`", "", 3, 29],
    ["action", 'when { action == Action::"tool:look" && context.args has subject }', "context.args has subject", "", 3, 54],
  ])("%s %s", (scope, condition, detail, hint, line, column) => {
    const guard = condition.includes("headers has") ? condition.replace("{ ", "{ context.args has headers && ") : condition;
    const [first] = problems(on(scope, guard));
    const shift = guard.length - condition.length;
    expect(first).toMatchObject({ file: "policies/p.cedar", line, column: column + shift, detail: expect.stringContaining(detail) });
    expect(first?.detail).toContain(NEVER);
    expect(first?.hint).toContain(hint);
  });

  test("the nth of several tests of one name, and none in strings and comments", () => {
    const text = on(
      SEND,
      'when { context.args.to == "context.args has nope" // has nope\n && context.args has subject }\nunless { context.args.to == "x" && context.args has nope }',
    );
    expect(problems(text)).toMatchObject([{ line: 5, column: 49 }]);
  });

  test("a permit that a person believes to except something is refused just so, also in shadow", () => {
    const text = `permit (principal, ${SEND}, resource) unless { context.args has atachment };`;
    expect(problems(text)).toHaveLength(1);
    const shadow = loadPolicies(
      [{ path: "policies/shadow/p.cedar", name: "shadow/p", text, shadow: true }],
      { agents: [], users: [], tools: TOOLS },
      engine,
    );
    expect(shadow.kind).toBe("refused");
  });

  test("what one tool under the policy has may be asked of all of them", () => {
    for (const condition of [
      "when { context.args has subject }",
      "unless { context.args has body }",
      "when { context.facts has to }",
      "when { context.spent has cents && context.spent.cents.turn > 5 }",
      "when { context.args has deep && context.args.deep has extra }",
      "when { context.args has format.kind }",
    ])
      expect([condition, problems(on(NETWORK, condition))]).toEqual([condition, []]);
  });
});

describe("G-12 an argument that Cedar cannot type can be asked for, and not read", () => {
  test("it is there when it is given", () => {
    for (const [asked, given] of [
      ["attachments", { attachments: [{ name: "a" }] }],
      ["attachments", { attachments: [] }],
      ["headers", { headers: {} }],
      ["both", { both: 3 }],
      ["format.size", { format: { size: "big" } }],
      ["deep.extra", { deep: { extra: [1] } }],
    ] as const) {
      const decide = decider(on(NETWORK, `when { context.args has ${asked} }`));
      expect([asked, decide(send, { to: "x", ...(given as JsonObject) })]).toEqual([asked, "deny"]);
      expect([asked, decide(send, { to: "x" }), decide(post, { to: "x" })]).toEqual([asked, "allow", "allow"]);
      expect([asked, decide(send, { to: "x", [asked.split(".")[0] ?? ""]: null })]).toEqual([asked, "allow"]);
    }
  });

  test("a policy that reads it is refused where it reads it, with why", () => {
    expect(problems(on(SEND, 'when { context.args has headers && context.args.headers == "x" }'))).toMatchObject([
      {
        line: 3,
        detail: expect.stringContaining("`context.args.headers` of send cannot be read: a free-form object"),
        hint: expect.stringContaining("`context.args has headers`"),
      },
    ]);
    expect(
      problems(on(SEND, "when { context.args has headers && context.args has both && context.args.headers == context.args.both }")),
    ).toMatchObject([
      { detail: expect.stringContaining("`context.args.headers` of send cannot be read") },
      { detail: expect.stringContaining("`context.args.both` of send cannot be read") },
    ]);
  });

  test("an argument that a tool takes without declaring it is there too, and reading it denies", () => {
    const asks = decider(on('action in Action::"write"', "when { context.args has mode }"));
    expect(asks(open, { title: "a" })).toBe("allow");
    expect(asks(open, { title: "a", mode: "x" })).toBe("deny");
    const reads = decider(
      'permit (principal, action in Action::"write", resource) when { context.args has mode && context.args.mode like "safe*" };',
    );
    expect(reads(save, { mode: "safe" })).toBe("allow");
    expect(reads(open, { mode: "safe" })).toBe("deny");
  });

  test("a record that is compared whole holds all that was given, or is denied", () => {
    const one = tool("one", { type: "object", properties: { a: TEXT }, required: ["a"] }, ["write"]);
    const decide = decider('permit (principal, action == Action::"tool:one", resource) when { context.args == {"a": "x"} };', [one]);
    expect(decide(one, { a: "x" })).toBe("allow");
    expect(decide(one, { a: "x", bcc: "me" })).toBe("deny");
  });
});

describe("G-6 a policy that can never apply does not load", () => {
  test.each([
    `permit (principal, ${SEND}, resource) when { false };`,
    `forbid (principal, ${SEND}, resource) when { context.args.to == "a" && !true };`,
    'permit (principal is User, action == Action::"model", resource);',
    'permit (principal == Agent::"ops", action == Action::"approve", resource);',
    'permit (principal, action == Action::"model", resource is Tool);',
  ])("%s", (text) => {
    expect(problems(text)).toMatchObject([
      { line: 1, column: 1, detail: expect.stringContaining("no request that there can be makes it true") },
    ]);
  });

  test("one that waits for a tool loads without a word", () => {
    for (const text of [
      'permit (principal, action in Action::"spend", resource);',
      'permit (principal, action in Action::"read", resource) unless { action in [Action::"write", Action::"network"] };',
      'forbid (principal, action in Action::"spend", resource) when { context.args has amount };',
      'forbid (principal, action, resource) when { action in Action::"spend" && context.args has to.name };',
    ]) {
      const loaded = load(text, [tool("fetch", object({ url: TEXT }), ["read", "network"])]);
      expect([text, loaded.kind, loaded.kind === "set" ? loaded.warnings : []]).toEqual([text, "set", []]);
    }
  });
});

// ── whatever the schema ──

type Field = Readonly<{ schema: JsonObject; inner: Readonly<Record<string, Field>>; draw(d: Dice): Json }>;
const leaf = (schema: JsonObject, draw: (d: Dice) => Json): Field => ({ schema, inner: {}, draw });
const some = (d: Dice): Json => d.pick<Json>(["x", "", 0, 7, true, false, [], ["a"], {}, { a: 1 }]);
const LEAVES: readonly Field[] = [
  leaf(TEXT, (d) => d.pick(["a", ""])),
  leaf({ type: ["string", "null"] }, (d) => d.pick<Json>(["a", null])),
  leaf({ type: "integer" }, (d) => d.pick([0, 3])),
  leaf({ type: "boolean" }, (d) => d.chance(50)),
  leaf({ type: "array", items: TEXT }, (d) => d.pick<Json>([[], ["a"]])),
  leaf({ type: "object" }, (d) => d.pick<Json>([{}, { z: 1 }])),
  leaf({}, (d) => d.pick<Json>([some(d), null])),
  leaf({ type: "array", items: { type: "object" } }, (d) => d.pick<Json>([[], [{ a: 1 }]])),
  leaf({ anyOf: [TEXT, { type: "integer" }] }, (d) => d.pick<Json>(["a", 1])),
  leaf({ $ref: "#" }, () => ({})),
];
const NAMES = ["a", "b", "c", "d"];

function fieldsOf(d: Dice): Readonly<Record<string, Field>> {
  return Object.fromEntries(NAMES.filter(() => d.chance(60)).map((name) => [name, d.chance(30) ? nested(d) : d.pick(LEAVES)]));
}
const drawFrom = (d: Dice, inner: Readonly<Record<string, Field>>): JsonObject =>
  Object.fromEntries(Object.entries(inner).flatMap(([name, field]) => (d.chance(60) ? [[name, field.draw(d)]] : [])));
function nested(d: Dice): Field {
  const inner = Object.fromEntries(NAMES.filter(() => d.chance(50)).map((name) => [name, d.pick(LEAVES)]));
  const other = Object.fromEntries(NAMES.filter(() => d.chance(50)).map((name) => [name, d.pick(LEAVES)]));
  const schemas = (of: typeof inner) => object(Object.fromEntries(Object.entries(of).map(([name, field]) => [name, field.schema])));
  if (d.chance(50)) return { schema: schemas(inner), inner, draw: (dd) => drawFrom(dd, inner) };
  const variants = [inner, other].filter((of) => Object.keys(of).length > 0);
  return {
    schema: { anyOf: variants.map(schemas) },
    inner: { ...inner, ...other },
    draw: (dd) => drawFrom(dd, dd.pick(variants.length === 0 ? [{}] : variants)),
  };
}

/** Whether it is there, by nothing but the call itself. */
function isThere(args: Json, path: readonly string[]): boolean {
  const [name, ...rest] = path;
  if (name === undefined) return args !== null;
  return (
    typeof args === "object" &&
    args !== null &&
    !Array.isArray(args) &&
    Object.hasOwn(args, name) &&
    isThere((args as JsonObject)[name] ?? null, rest)
  );
}

test("G-12 G-6 over generated schemas and calls, `has` loads where some tool has it, and says what the call says", () => {
  const seed = 340;
  let [there, absent, refused] = [0, 0, 0];
  for (let round = 0; round < 50; round += 1) {
    const d = dice(seed * 1_000 + round);
    const made = ["t0", "t1"].map((name) => {
      const inner = fieldsOf(d);
      const properties = Object.fromEntries(Object.entries(inner).map(([key, field]) => [key, field.schema]));
      const isOpen = d.chance(40);
      return { tool: tool(name, object(properties, [], isOpen ? {} : { additionalProperties: false }), ["write"]), inner, isOpen };
    });
    const tools = made.map((m) => m.tool);
    for (const path of [[d.pick(NAMES)], [d.pick(NAMES), d.pick(NAMES)]]) {
      const [first = "", second] = path;
      const text = `${PERMIT}forbid (principal, action in Action::"write", resource) when { context.args has ${path.join(".")} };`;
      const where = `seed ${seed} round ${round} ${text}\n${JSON.stringify(tools.map((t) => t.inputSchema))}`;
      const loaded = load(text, tools);
      const declared = made.some(
        ({ inner }) => Object.hasOwn(inner, first) && (second === undefined || Object.hasOwn(inner[first]?.inner ?? {}, second)),
      );
      if (!declared) {
        expect(loaded.kind, where).toBe("refused");
        refused += 1;
        continue;
      }
      const whole = made.some(({ inner }) => second !== undefined && inner[first] !== undefined && LEAVES.includes(inner[first]));
      if (loaded.kind === "refused" && whole) continue; // of the other tool it is no record: told, and not read as absent
      expect(loaded.kind === "refused" ? loaded.problems : [], where).toEqual([]);
      const decide = deciderOf(loaded);
      for (let nth = 0; nth < 6; nth += 1) {
        const { tool: called, inner, isOpen } = d.pick(made);
        const args = {
          ...drawFrom(d, inner),
          ...(isOpen && d.chance(40) ? { [d.pick(NAMES.filter((n) => !Object.hasOwn(inner, n)).concat("e"))]: some(d) } : {}),
        };
        const has = isThere(args, path);
        if (has) there += 1;
        else absent += 1;
        const got = decide(called, args);
        // what is there and cannot be looked into is denied, whichever way it is asked
        if (has || !isThere(args, path.slice(0, 1))) expect([got, args], where).toEqual([has ? "deny" : "allow", args]);
      }
    }
  }
  expect([there > 60, absent > 60, refused > 10]).toEqual([true, true, true]);
});

describe("G-18 a word that nothing can be is warned of, with its place and what may have been meant", () => {
  const file = tool("file", object({ kind: { type: "string", enum: ["urgent", "plain"] }, path: TEXT }), ["write"]);
  const cast = { agents: [{ name: "ops", groups: ["desk"] }], users: [{ name: "ann", groups: ["admins"] }], tools: [...TOOLS, file] };
  const warned = (text: string, of: Parameters<typeof loadPolicies>[1] = cast): readonly string[] => {
    const loaded = loadPolicies([{ path: "policies/p.cedar", name: "p", text, shadow: false }], of, engine);
    if (loaded.kind === "refused") throw new Error(JSON.stringify(loaded.problems));
    return loaded.warnings.map(({ line, column, detail, hint }) => `${line}:${column} ${detail} | ${hint}`);
  };
  const FILE = 'action == Action::"tool:file"';
  test.each([
    [SEND, 'when { context.labels.contains("untrsted") }', "3:32 `context.labels` knows no `untrsted` | did you mean `untrusted`?"],
    [SEND, 'when { context.labels.containsAny(["secrte", "mine"]) }', "3:36 `context.labels` knows no `secrte` | did you mean `secret`?"],
    [
      SEND,
      'when { context.facts.to.seenUnder.contains("untrustd") }',
      "3:44 `context.facts.to.seenUnder` knows no `untrustd` | did you mean `untrusted`?",
    ],
    [
      'action == Action::"model"',
      'when { context.origin.surface == "clii" }',
      "3:34 `context.origin.surface` is never `clii` | did you mean `cli`?",
    ],
    [
      'action == Action::"model"',
      'when { ["cli", "cron"].contains(context.origin.surface) }',
      "3:16 `context.origin.surface` is never `cron` | known: cli, library, coordinator, shell, api, schedule, webhook, mcp",
    ],
    [
      FILE,
      'when { context.args has kind && context.args.kind == "urgnet" }',
      "3:54 `context.args.kind` is never `urgnet` | did you mean `urgent`?",
    ],
    [SEND, "when { context.now.weekday == 8 }", "3:8 `context.now.weekday` is never `8` | 1 is Monday, 7 is Sunday"],
    [SEND, "when { [6, 0].contains(context.now.weekday) }", "3:24 `context.now.weekday` is never `0` | 1 is Monday, 7 is Sunday"],
    [SEND, "when { context.now.minute < 5 && context.now.hour != 24 }", "3:34 `context.now.hour` is never `24` | an hour is 0 to 23"],
    [SEND, 'when { context.now.date == "18.11.2026" }', "3:8 `context.now.date` is never `18.11.2026` | a day is written 2026-11-18"],
    ["action", 'when { principal in AgentGroup::"dsek" }', "3:33 there is no group of agents `dsek` | did you mean `desk`?"],
    [SEND, 'unless { context.onBehalfOf in UserGroup::"admin" }', "3:43 there is no group of users `admin` | did you mean `admins`?"],
  ])("%s %s", (what, condition, line) => expect(warned(on(what, condition))).toContain(line));

  test("what there is, what anybody may invent and what is only said in an annotation is not warned of", () => {
    expect(warned(on(SEND, 'when { context.labels.containsAny(["untrusted", "pii", "customer-4711"]) }'))).toEqual([]);
    expect(warned(on(FILE, 'when { context.args has kind && context.args.kind == "plain" }'))).toEqual([]);
    expect(warned(on(FILE, 'when { context.args has path && context.args.path == "urgnet" }'))).toEqual([]);
    expect(
      warned(on(SEND, 'when { [6, 7].contains(context.now.weekday) || context.now.hour == 0 || context.now.date == "2026-11-18" }')),
    ).toEqual([]);
    expect(warned(`@reason("untrsted")\n${on(SEND, 'when { context.labels.contains("untrsted") }')}`)).toEqual([
      "4:32 `context.labels` knows no `untrsted` | did you mean `untrusted`?",
    ]);
  });

  test("a group of which there is none at all is warned of too", () => {
    expect(warned('permit (principal in UserGroup::"operators", action == Action::"halt", resource);', { ...cast, users: [] })).toEqual([
      "1:1 there is no group of users `operators` | there is none yet: name it under [groups] in orgate.toml",
    ]);
  });
});
