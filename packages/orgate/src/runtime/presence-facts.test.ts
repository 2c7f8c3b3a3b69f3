/** `has` on lists and facts, over generated schemas: it loads where the official validator finds it, and says what the call says. */
import { defineTool, type Json, type JsonObject, type Tool } from "@orgate/core";
import { caseSchema, cedarGate, decideCase, loadPolicies } from "@orgate/core/gate";
import { expect, test } from "vitest";
import { sha256 } from "../node/crypto.ts";
import { cedarEngine } from "../policies/cedar-engine.ts";
import { type Dice, dice } from "./fixtures/gate-oracle.ts";

const engine = cedarEngine();
const NAMES = ["a", "b", "c"];
/** `leaf`: what a value of it looks like; absent: a list. */
type Shape = Readonly<{ schema: JsonObject; draw(d: Dice): Json }>;
const TEXT: Shape = { schema: { type: "string" }, draw: (d) => d.pick(["x", "y"]) };
const NUMBER: Shape = { schema: { type: "number" }, draw: (d) => d.pick([1, 2.5]) };
const TEXTS: Shape = { schema: { type: "array", items: { type: "string" } }, draw: (d) => d.pick([[], ["x"], ["x", "y"]]) };
const NUMBERS: Shape = { schema: { type: "array", items: { type: "number" } }, draw: (d) => d.pick([[], [1], [2.5, 3]]) };
const ROWS: Shape = {
  schema: { type: "array", items: { type: "object", properties: { n: { type: "number" }, t: { type: "string" } } } },
  draw: (d) => d.pick<Json>([[], [{ n: 1 }], [{ t: "x" }, { n: 2, t: "y" }]]),
};
const SHAPES = [TEXT, NUMBER, TEXTS, NUMBERS, ROWS];
type Fields = Readonly<Record<string, Readonly<{ shape: Shape; required: boolean }>>>;

function drawn(d: Dice, fields: Fields): JsonObject {
  const given = Object.entries(fields).filter(([, { required }]) => required || d.chance(50));
  return Object.fromEntries(given.map(([name, { shape }]) => [name, shape.draw(d)]));
}

/** By nothing but the call itself. */
function isThere(asked: string, args: JsonObject): boolean {
  const [, root, name = "", attr] = /^context\.(lists|facts)(?: has |\.)(\w+)(?: has (\w+))?$/.exec(asked) ?? [];
  const [arg = "", field] = name.split("_");
  const value = args[arg];
  if (root === "facts") return value !== undefined && !(Array.isArray(value) && value.length === 0);
  if (!Array.isArray(value)) return false;
  const elements = field === undefined ? value : value.flatMap((row) => (row as JsonObject)[field] ?? []);
  return attr === undefined || elements.length > 0;
}

test("G-6 G-12 G-42 over generated schemas and calls, `has` on lists and facts loads where it can be true, and is true where it is", () => {
  const seed = 2_411;
  const tally = { there: 0, absent: 0, refused: 0 };
  for (let round = 0; round < 120; round += 1) {
    const d = dice(seed * 1_000 + round);
    const fields: Fields = Object.fromEntries(
      NAMES.filter(() => d.chance(75)).map((name) => [name, { shape: d.pick(SHAPES), required: d.chance(40) }]),
    );
    const of = (is: (shape: Shape) => boolean): readonly string[] =>
      Object.entries(fields).flatMap(([name, { shape }]) => (is(shape) ? [name] : []));
    const tool: Tool = defineTool({
      name: "t",
      description: "A tool.",
      input: {
        type: "object",
        properties: Object.fromEntries(Object.entries(fields).map(([name, { shape }]) => [name, shape.schema])),
        required: Object.entries(fields).flatMap(([name, { required }]) => (required ? [name] : [])),
        additionalProperties: false,
      },
      effects: ["write"],
      targets: {
        ...Object.fromEntries(of((s) => s === NUMBER).map((name) => [name, "number"])),
        ...Object.fromEntries(of((s) => s === TEXT).map((name) => [name, "text"])),
      },
      run: () => null,
    });
    const lists = of((s) => s === TEXTS || s === NUMBERS || s === ROWS);
    const asked = d.pick([
      ...NAMES.map((name) => `context.lists has ${name}`),
      ...NAMES.flatMap((name) => [`context.lists has ${name}_n`, `context.facts has ${name}`]),
      ...lists.map((name) => `context.lists.${name} has min`),
      ...of((s) => s === ROWS).map((name) => `context.lists.${name}_n has max`),
    ]);
    const guard = /^context\.lists\.(\w+) has/.exec(asked)?.[1];
    const condition = guard === undefined ? asked : `context.lists has ${guard} && ${asked}`;
    const text = `permit (principal, action, resource);\nforbid (principal, action == Action::"tool:t", resource) when { ${condition} };`;
    const loaded = loadPolicies(
      [{ path: "p.cedar", name: "p", text, shadow: false }],
      { agents: [{ name: "ops", groups: [] }], users: [], tools: [tool] },
      engine,
    );
    const where = `seed ${seed} round ${round} ${asked} ${JSON.stringify(tool.inputSchema)}`;
    const [, root, name = "", attr] = /^context\.(lists|facts)(?: has |\.)(\w+)(?: has (\w+))?$/.exec(asked) ?? [];
    const shape = fields[name.split("_")[0] ?? ""]?.shape;
    const can =
      root === "facts"
        ? shape === TEXT || shape === NUMBER
        : name.includes("_")
          ? shape === ROWS
          : (attr === undefined && (shape === TEXTS || shape === NUMBERS || shape === ROWS)) || (attr !== undefined && shape === NUMBERS);
    expect([loaded.kind, where]).toEqual([can ? "set" : "refused", where]);
    if (loaded.kind === "refused") {
      tally.refused += 1;
      continue;
    }
    const gate = cedarGate(loaded.set, engine, sha256);
    for (let nth = 0; nth < 6; nth += 1) {
      const args = drawn(d, fields);
      const has = isThere(asked, args);
      tally[has ? "there" : "absent"] += 1;
      const one = caseSchema.parse({ name: "n", agent: "ops", action: "tool:t", args, verdict: "allow" });
      expect([decideCase(one, gate, [tool]).verdict.kind, args, where]).toEqual([has ? "deny" : "allow", args, where]);
    }
  }
  expect([tally.there > 60, tally.absent > 60, tally.refused > 20]).toEqual([true, true, true]);
});

type FieldType = NonNullable<
  Exclude<NonNullable<NonNullable<Parameters<typeof defineTool>[0]["records"]>[number]["fields"]>[string], string>["type"]
>;
const VALUES: Readonly<Record<FieldType, Json>> = { string: "x", integer: 1, number: 1.5, boolean: true, strings: ["x"], time: 5 };
const TYPES = ["string", "integer", "number", "boolean", "strings", "time"] as const;

test("G-6 G-39 G-40 over generated declarations, `has` on records, on all records and on the subject loads where it can be true, and is true where it is", () => {
  const seed = 3_911;
  const tally = { there: 0, absent: 0, refused: 0 };
  const object = { type: "object", properties: { x: { type: "string" } }, required: ["x"], additionalProperties: false } as const;
  for (let round = 0; round < 150; round += 1) {
    const d = dice(seed * 1_000 + round);
    const some = () => Object.fromEntries(NAMES.filter(() => d.chance(60)).map((name) => [name, d.pick(TYPES)]));
    const readers = ["r0", "r1"]
      .map((name) => ({ name, fields: some(), owner: d.chance(40), establishes: false }))
      .filter(() => d.chance(80));
    const given = some();
    const signsIn = d.chance(50) ? [{ name: "sign_in", fields: some(), owner: false, establishes: true }] : [];
    const base = { description: "A tool.", input: object, labels: [], run: () => null };
    const made = [...readers, ...signsIn].map(({ name, fields, owner, establishes }) =>
      defineTool({
        ...base,
        name,
        effects: ["read"],
        records: [
          {
            type: establishes ? "customer" : "order",
            key: "id",
            fields: Object.fromEntries(
              Object.entries(fields).map(([field, type]) => [field, { path: field, type, optional: d.chance(50) }]),
            ),
            ...(owner ? { owner: "who" } : {}),
            ...(establishes ? { establishes: "subject" } : {}),
          },
        ],
      }),
    );
    const acts = defineTool({
      ...base,
      name: "t",
      effects: ["write"],
      targets: { x: { kind: "id", ...(d.chance(85) ? { of: "order" } : {}) } },
    });
    const isOrder = acts.targets["x"]?.of === "order" && readers.length > 0;
    /** Tools that disagree about its type leave it without one. */
    const declares = (all: readonly Readonly<Record<string, FieldType>>[], name: string): boolean =>
      new Set(all.flatMap((fields) => fields[name] ?? [])).size === 1;
    const [field, root] = [d.pick([...NAMES, "owner", "id", null]), d.pick(["records", "allRecords", "subject"] as const)];
    const asked =
      root === "subject"
        ? `context has subject${field === null ? "" : `.${field}`}`
        : `context.${root} has order${field === null ? "" : `.${field}`}`;
    const isField = (): boolean => {
      if (field === null || field === "id") return true;
      if (root === "subject") return field !== "owner" && declares([given, ...signsIn.map(({ fields }) => fields)], field);
      return field === "owner"
        ? readers.some(({ owner }) => owner)
        : declares(
            readers.map(({ fields }) => fields),
            field,
          );
    };
    const can = (root === "subject" || isOrder) && isField();
    const text = `permit (principal, action, resource);\nforbid (principal, action == Action::"tool:t", resource) when { ${asked} };`;
    const tools: readonly Tool[] = [...made, acts];
    const cast = { agents: [{ name: "ops", groups: [] }], users: [], tools, subject: given };
    const loaded = loadPolicies([{ path: "p.cedar", name: "p", text, shadow: false }], cast, engine);
    const where = `seed ${seed} round ${round} ${asked} ${JSON.stringify([readers, given, signsIn])}`;
    expect([loaded.kind, where]).toEqual([can ? "set" : "refused", where]);
    if (loaded.kind === "refused") {
      tally.refused += 1;
      continue;
    }
    const gate = cedarGate(loaded.set, engine, sha256);
    const typeOf = (all: readonly Readonly<Record<string, FieldType>>[], name: string): FieldType =>
      all.flatMap((fields) => fields[name] ?? [])[0] ?? "string";
    const draw = (all: readonly Readonly<Record<string, FieldType>>[]): JsonObject =>
      Object.fromEntries(NAMES.filter(() => d.chance(60)).map((name) => [name, VALUES[typeOf(all, name)]]));
    for (let nth = 0; nth < 5; nth += 1) {
      const orders = Array.from({ length: d.upTo(3) }, () => ({
        ...draw(readers.map(({ fields }) => fields)),
        ...(d.chance(60) ? { owner: "c1" } : {}),
      }));
      const subject = d.chance(60) ? { id: "c1", ...draw([given, ...signsIn.map(({ fields }) => fields)]) } : null;
      const told = {
        ...(orders.length === 0 ? {} : { records: { order: orders.length === 1 ? (orders[0] ?? {}) : orders } }),
        ...(subject === null ? {} : { subject }),
      };
      const holds = (one: JsonObject): boolean => field === null || field === "id" || Object.hasOwn(one, field);
      const has =
        root === "subject"
          ? subject !== null && holds(subject)
          : (root === "records" ? orders.length === 1 : orders.length > 0) && orders.every(holds);
      tally[has ? "there" : "absent"] += 1;
      const one = caseSchema.parse({ name: "n", agent: "ops", action: "tool:t", args: { x: "O-1" }, verdict: "allow", ...told });
      expect([decideCase(one, gate, tools).verdict.kind, told, where]).toEqual([has ? "deny" : "allow", told, where]);
    }
  }
  expect([tally.there > 60, tally.absent > 60, tally.refused > 20]).toEqual([true, true, true]);
});

const pay = defineTool({
  name: "pay",
  description: "Pays.",
  input: {
    type: "object",
    properties: { amount: { type: "number" }, count: { type: "integer" }, note: { type: "string" } },
    required: ["amount", "count"],
  },
  effects: ["spend"],
  targets: { amount: "number" },
  run: () => null,
});
const problemsOf = (condition: string) => {
  const text = `permit (principal, action == Action::"tool:pay", resource) when { ${condition} };`;
  const loaded = loadPolicies([{ path: "p.cedar", name: "p", text, shadow: false }], { agents: [], users: [], tools: [pay] }, engine);
  return loaded.kind === "refused" ? loaded.problems.map(({ hint }) => hint) : [];
};

test("G-6 what reads an optional argument without a test is told the forms that load, and they do", () => {
  for (const condition of ['context.args.note == "x"', '!(context.args has note) || context.args.note == "x"'])
    expect(problemsOf(condition)).toEqual([
      "absent or fine is `if context.args has note then … else true`, given and fine is `context.args has note && …`: docs/guide/policies.md#optional-arguments",
    ]);
  expect(problemsOf("context.facts.amount.said.turnsAgo == 0")[0]).toContain("`if context.facts.amount has said then … else true`");
  for (const condition of [
    'if context.args has note then context.args.note == "x" else true',
    'context.args has note && context.args.note == "x"',
  ])
    expect(problemsOf(condition)).toEqual([]);
});

test("G-6 what compares a decimal as a whole number is told the form that loads, and it does", () => {
  for (const condition of [
    "context.args.amount < 100",
    "context.args.amount == 100",
    "context.args.amount.lessThan(100)",
    'context.args.amount.lessThan(decimal("100"))',
    'context.facts.amount.total.day < decimal("1.0")',
    'context.args.count == decimal("1.0")',
  ])
    for (const hint of problemsOf(condition))
      expect([condition, hint]).toEqual([
        condition,
        expect.stringContaining('`….lessThan(decimal("100.00"))`; a whole number is compared by `<`: docs/guide/policies.md#numbers'),
      ]);
  expect(problemsOf("context.args.amount < 100")).toHaveLength(1);
  for (const condition of [
    'context.args.amount.lessThan(decimal("100.00"))',
    "context.args.count < 100",
    'context.args.amount == decimal("9.90")',
  ])
    expect(problemsOf(condition)).toEqual([]);
});

test("G-6 what compares a list, a set or a record as if it were one value, or asks of a model's call what only tools have, is told the form that loads and its page, and it does", () => {
  const input = { type: "object", properties: { tags: { type: "array", items: { type: "string" } } }, required: ["tags"] } as const;
  const tag = defineTool({ name: "tag", description: "Tags.", input, effects: ["write"], targets: { tags: "text" }, run: () => null });
  const hintOf = (condition: string, action = "tool:tag"): string | undefined => {
    const text = `permit (principal, action == Action::"${action}", resource) when { ${condition} };`;
    const loaded = loadPolicies([{ path: "p.cedar", name: "p", text, shadow: false }], { agents: [], users: [], tools: [tag] }, engine);
    return loaded.kind === "refused" ? loaded.problems[0]?.hint : "it loads";
  };
  const LISTS = "docs/guide/facts-and-labels.md#lists";
  const wrong: readonly (readonly [string, string, string])[] = [
    ['context.lists.tags == "x"', '`["x"].containsAll(….values)`', LISTS],
    ['context.lists.tags.contains("x")', '`….values.contains("x")`', LISTS],
    ['context.lists.tags.values == "x"', '`.contains("x")`', LISTS],
    ['context.labels == "secret"', '`.contains("x")`', LISTS],
    ["context.lists.note.size > 5", "no argument of that name is a list", LISTS],
    ["context.now > 5", "`.epoch`, `.hour`", "docs/guide/policies.md#what-a-policy-can-read"],
    ['context has subject && context.subject == "C-7"', "`.id`", "docs/guide/policies.md#what-a-policy-can-read"],
    ['context.targets.owned == "yes"', "`!context.targets.owned`", "docs/guide/policies.md"],
  ];
  for (const [condition, form, page] of wrong) {
    const hint = hintOf(condition);
    expect(hint, condition).toContain(form);
    expect(hint?.endsWith(`: ${page}`), `${condition}: ${hint}`).toBe(true);
  }
  expect(hintOf("context.targets.vouched", "model")).toBe("only calls of tools have `targets`: docs/guide/facts-and-labels.md#targets");
  for (const condition of [
    '["x"].containsAll(context.lists.tags.values) && context.lists.tags.values.contains("x") && context.lists.tags.size < 5',
    'context.labels.contains("secret")',
    'context has subject && context.subject.id == "C-7" && context.now.hour > 5 && !context.targets.owned',
  ])
    expect([condition, hintOf(condition)]).toEqual([condition, "it loads"]);
});
