/** One file for each construct of the language, as other systems write it: each loads, is formatted to itself, and has the effect that the guide promises. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type AgentDraft, readSymbi, type SymbiFile } from "./declare.ts";
import { formatSymbi } from "./format.ts";
import { parseSymbi } from "./parse.ts";
import type { ConditionRecord } from "./policies/condition-values.ts";
import { type CompiledPolicy, compilePolicies } from "./policies/rules.ts";
import type { ToolShape } from "./policies/scope.ts";
import { symbiTokens } from "./tokens.ts";

const folder = join(import.meta.dirname, "fixtures/constructs");
const files = readdirSync(folder).sort();

const args = (fields: Readonly<Record<string, "string" | "long">>): ConditionRecord => ({
  kind: "record",
  fields: new Map(Object.entries(fields).map(([name, kind]) => [name, { type: { kind }, required: true }])),
});
const tool = (name: string, effect: "read" | "spend" | "network", given: ConditionRecord): ToolShape => ({
  name,
  effects: [effect],
  args: given,
  targets: [],
  lists: [],
  records: { kind: "record", fields: new Map() },
  outgoing: [],
  resourceTypes: [],
});
const TOOLS = [
  tool("renew_loan", "read", args({ loan: "string" })),
  tool("count_cash", "read", args({ drawer: "string" })),
  tool("search", "read", args({ query: "string" })),
  tool("notify", "network", args({ text: "string" })),
  tool("pay", "spend", args({ euros: "long" })),
];

type Loaded = Readonly<{ symbi: SymbiFile; of(name: string): AgentDraft; rules(name: string): readonly CompiledPolicy[] }>;

function loaded(name: string): Loaded {
  const read = readSymbi(readFileSync(join(folder, name), "utf8"), `agents/${name}`);
  if (read.kind === "problems") throw new Error(JSON.stringify(read.problems, null, 1));
  const { symbi } = read;
  const of = (agent: string): AgentDraft => {
    const found = symbi.agents.find((draft) => draft.name === agent);
    if (found === undefined) throw new Error(`no agent ${agent}`);
    return found;
  };
  const rules = (agent: string): readonly CompiledPolicy[] => {
    const draft = of(agent);
    const tools = TOOLS.filter((one) => draft.tools.some(({ name: used }) => used === one.name));
    const made = compilePolicies(symbi, draft, { tools, subject: { kind: "record", fields: new Map() }, userGroups: null });
    if (made.kind === "problems") throw new Error(JSON.stringify(made.problems, null, 1));
    return made.policies;
  };
  return { symbi, of, rules };
}

/** The text of an agent's bodies for the model, without the lines around it. */
const told = (draft: AgentDraft): string => draft.procedure?.text.split(/^`{3,}.*$/m)[1]?.trim() ?? "";
const calls = (draft: AgentDraft): readonly string[] => draft.procedure?.calls.map(({ name }) => name) ?? [];
const doubts = (draft: AgentDraft): readonly string[] => draft.procedure?.doubts.map(({ detail }) => detail) ?? [];

const BECOMES: Readonly<Record<string, (file: Loaded) => void>> = {
  "metadata-equals.symbi": ({ of }) =>
    expect(of("renewals")).toMatchObject({
      version: "2.4.0",
      author: "The lending desk",
      license: "CC0-1.0",
      tags: ["library", "loans", "renewal"],
      definition: { instructions: "You renew loans of the town library." },
    }),
  "metadata-colons.dsl": ({ of }) => expect(of("till")).toMatchObject({ version: "0.9", license: "MIT", tags: ["till", "closing"] }),
  "comments.symbi": ({ of }) => {
    expect(told(of("waterer"))).toBe("{\n  let dry = measure(bed);\n  if dry {\n    notify(bed);\n  }\n}");
    expect(of("waterer").definition.instructions).not.toMatch(/kind|inside|behind|before/);
  },
  "agent-parameters.symbi": ({ of }) => {
    expect(of("packer").params).toEqual(["order", "weight", "fragile"]);
    expect(of("packer").input).toMatchObject({
      required: ["order", "weight", "fragile"],
      properties: { order: { required: ["number", "lines", "note"] }, fragile: { type: "boolean" } },
    });
    expect(of("packer").definition.output).toMatchObject({
      anyOf: [{ properties: { ok: { type: "string" } } }, { properties: { error: { type: "integer" } } }],
    });
  },
  "types.symbi": ({ of }) =>
    expect(of("counter").definition.output).toMatchObject({
      properties: {
        stock: { additionalProperties: { items: { required: ["row", "place"] } } },
        counts: { items: { properties: { amount: { type: "integer" }, checked: { type: "boolean" }, weight: { type: "number" } } } },
        seen: { type: "array" },
        extra: { anyOf: [{}, { type: "null" }] },
      },
    }),
  "capability-forms.symbi": ({ of }) => {
    for (const name of ["quoted", "bare"]) expect(of(name).tools.map((one) => one.name)).toEqual(["renew_loan", "notify"]);
    expect(of("others").definition).toMatchObject({ skills: ["bookbinding"], mcp: ["catalogue"], delegates: ["quoted"] });
  },
  "with-settings.symbi": ({ of }) => {
    expect(of("settled")).toMatchObject({ isPrivate: true, sandbox: expect.any(Number) });
    expect(of("settled").definition).toMatchObject({
      model: "offline/x",
      groups: ["trusted", "day_shift"],
      limits: { turnMs: 30_000, toolMs: 90_000, iterations: 12, temperature: 0.2 },
      instructions: "Your task: sort the post.",
    });
    expect(of("settled").definition.knowledge).toBeUndefined();
  },
  "durations.symbi": ({ symbi }) =>
    expect(symbi.agents.map((draft) => [draft.name, draft.definition.limits?.turnMs])).toEqual([
      ["seconds", 45_000],
      ["minutes", 300_000],
      ["hours", 7_200_000],
      ["short", 90_000],
      ["bare", 60_000],
      ["spelled", 5_400_000],
      ["quoted", 120_000],
    ]),
  "policy-lists.symbi": ({ rules }) =>
    expect(rules("clerk").map(({ cedar, shadow }) => [cedar.replace(/^(?:@\w+\("[^"]*"\) )*/, ""), shadow])).toEqual([
      [
        'permit(principal == Agent::"clerk", action in [Action::"tool:renew_loan", Action::"tool:count_cash"], resource) when { true };',
        false,
      ],
      [
        'forbid(principal == Agent::"clerk", action == Action::"tool:count_cash", resource) when { (context.args.drawer == "safe") };',
        false,
      ],
      ['forbid(principal == Agent::"clerk", action == Action::"tool:renew_loan", resource);', true],
    ]),
  "policy-conditions.symbi": ({ rules }) => {
    const [allow, ask, deny] = rules("spender").map(({ cedar }) => cedar);
    expect(allow).toContain('context.labels.contains("vetted")');
    expect(ask).toContain('@ask("Shall I?")');
    expect(deny).toContain("(!((context.args.euros > 0)) || (context.args.euros >= 10000))");
  },
  "policy-of-file.symbi": ({ rules }) => {
    expect(rules("one").map(({ block }) => block)).toEqual(["everybody"]);
    expect(rules("two").map(({ cedar }) => cedar)[0]).toContain("if (context.args.euros > 5) then false else true");
  },
  "named-arguments.symbi": ({ of }) => {
    expect(told(of("teller"))).toContain('notify(to = who, text: "Your book is here", retries = 2);');
    expect(calls(of("teller"))).toEqual(["notify", "greet"]);
  },
  "struct-literals.symbi": ({ of }) => {
    expect(told(of("slips"))).toContain('return Slip { title: "late: " + slip.title, days: 0, renewed: false };');
    expect(told(of("slips"))).toMatch(/^type Slip = \{ title: String, days: int, renewed\?: bool \}\n\ntype Empty = \{\}\n\n\{/);
    expect(doubts(of("slips"))).toEqual([]);
  },
  "if-let.symbi": ({ of }) => {
    expect(told(of("finder"))).toContain("if let Some(copy) = search(isbn) {");
    expect(told(of("finder"))).toContain("} else if let Err(problem, _) = search(isbn) {");
    expect(doubts(of("finder"))).toEqual([]);
  },
  "match.symbi": ({ of }) => {
    expect(told(of("sorter"))).toContain('Some(box) => open(box),\n    other => pile = other,\n    _ => { reason: "nobody knows" }');
    expect(calls(of("sorter"))).toEqual(["stamp", "weigh", "wait", "open"]);
  },
  "loops.symbi": ({ of }) =>
    expect(told(of("rounds"))).toContain("while seen > 0 {\n    seen -= 1;\n    if seen == 3 {\n      break;\n    }\n  }"),
  "try-catch.symbi": ({ of }) => {
    expect(told(of("carrier"))).toContain("} catch (Blocked where) {\n    go_around(where);\n  } catch (problem) {");
    expect(doubts(of("carrier"))).toEqual([]);
  },
  "lambdas.symbi": ({ of }) => expect(told(of("editor"))).toContain("let pairs = long.map(t => { text: t, size: t.length });"),
  "method-chains.symbi": ({ of }) => {
    expect(told(of("chained"))).toContain('let cleaned = input.trim().split(",")[0].lower();');
    expect(told(of("chained"))).toContain("return fetch(cleaned)?.body?.lines[2].text;");
  },
  "operators.symbi": ({ of }) => expect(told(of("sums"))).toContain("let x = a + 2 * 3 - 4 / 5 % 6;\n  let y = -(a) + b;"),
  "if-expressions.symbi": ({ of }) => {
    expect(told(of("chooser"))).toContain('let coat = if tall { "long" } else { "short" };');
    expect(told(of("chooser"))).toContain('if tall { "x" } else { "y" } + hat;');
  },
  "tail-values.symbi": ({ of }) =>
    expect(told(of("tails"))).toContain("function double(m: int) -> int {\n  let twice = m + m;\n  twice\n}"),
  "records.symbi": ({ of }) => expect(told(of("notes"))).toContain("let loose = { a: 1 b: 2 };"),
  "functions-in-agent.symbi": ({ of }) => {
    expect(told(of("Archivist"))).toMatch(/^function find_box\(label: String\) -> Result<String> \{/);
    expect(calls(of("Archivist"))).toEqual(["search"]);
  },
  "functions-of-file.symbi": ({ of }) => {
    expect([...told(of("copier")).matchAll(/^(?:type|function) \w+/gm)].map(([head]) => head)).toEqual([
      "type Page",
      "function tidy",
      "function strip",
    ]);
    expect(of("reader").procedure).toBeNull();
    expect(calls(of("copier"))).toEqual(["write_down"]);
  },
  "recursion.symbi": ({ of }) => {
    expect(told(of("climber"))).toContain("return climb(step = height);");
    expect(calls(of("climber"))).toEqual([]);
  },
  "bare-task.symbi": ({ of }) => {
    expect(of("translator").procedure).toBeNull();
    expect(of("translator").definition.instructions).toMatch(/^Your task: translate text `text`, `language`\./);
  },
  "strings.symbi": ({ of }) => {
    expect(of("speaker").definition.instructions).toMatch(/^First line\nsecond line, with a "quote" and a \\d\+ pattern\n/);
    expect(told(of("speaker"))).toContain('say("tab\\tand\\u{2014}dash", """long\n  # text""");');
  },
  "schedule-cron.symbi": ({ symbi }) =>
    expect(symbi.schedules).toMatchObject([
      {
        name: "tidy_up",
        when: { kind: "cron", expression: "30 2 * * 1-5" },
        timezone: "Europe/Lisbon",
        agent: "nightly",
        input: "It is time for schedule `tidy_up`.",
      },
    ]),
  "schedule-at.symbi": ({ symbi }) =>
    expect(symbi.schedules).toMatchObject([
      { when: { kind: "at", at: "2030-06-01T09:00:00" }, oneShot: true, input: "The doors open now." },
    ]),
  "webhook-loose.symbi": ({ symbi }) =>
    expect(symbi.webhooks).toMatchObject([
      {
        path: "/hooks/orders",
        provider: "github",
        secrets: [{ kind: "secret", name: "orders-hook" }],
        agent: "desk",
        filter: { path: "$.action", test: { kind: "equals", value: "opened" } },
      },
    ]),
  "webhook-colons.symbi": ({ symbi }) =>
    expect(symbi.webhooks).toMatchObject([{ provider: "custom", secrets: [{ kind: "env", name: "PARCELS_SECRET" }] }]),
  "memory-block.symbi": ({ of }) => {
    expect(of("keeper").definition.knowledge).toEqual({ scope: "project", store: "agent", maxItems: 4 });
    expect(of("guest").definition.knowledge).toBeUndefined();
  },
  "workflow.symbi": ({ of, rules }) => {
    expect(rules("stocktaker")).toHaveLength(2);
    expect(doubts(of("stocktaker"))).toEqual([]);
    expect(calls(of("stocktaker"))).toEqual(["search", "notify", "pay", "audit_log"]);
    expect(of("stocktaker").definition.instructions).toMatch(
      /^You take a stock .*\n\nYour procedure stands below, .*\n\n```symbi\ntype Part = .*\n```\n\nYou are given `parts`/s,
    );
  },
};

test("Y-3 there are more than thirty, and each says what becomes of it", () => {
  expect(files).toEqual(Object.keys(BECOMES).sort());
  expect(files.length).toBeGreaterThanOrEqual(30);
});

test.each(files)("Y-3 %s loads, compiles, and has the effect that is said of it", (name) => {
  const file = loaded(name);
  for (const draft of file.symbi.agents) file.rules(draft.name);
  BECOMES[name]?.(file);
});

const PLACES = new Set(["at", "open", "opAt", "stepAt"]);
const meant = (text: string): string => {
  const parsed = parseSymbi(text, "x.symbi");
  return parsed.kind === "tree" ? JSON.stringify(parsed.tree, (key, one: unknown) => (PLACES.has(key) ? undefined : one)) : "";
};
const comments = (text: string): readonly string[] => symbiTokens(text).flatMap((t) => (t.kind === "comment" ? [t.text] : []));

test.each(files)("Y-3 Y-5 Y-7 %s is formatted to itself, with every comment, and says the same to the model", (name) => {
  const text = readFileSync(join(folder, name), "utf8");
  const once = formatSymbi(text, name);
  if (once.kind !== "text") throw new Error("not formatted");
  expect(formatSymbi(once.text, name)).toEqual(once);
  expect(meant(once.text)).toBe(meant(text));
  expect(comments(once.text)).toEqual(comments(text));
  const said = (of: string) => {
    const read = readSymbi(of, name);
    return read.kind === "file" ? read.symbi.agents.map(({ definition }) => definition.instructions) : read.problems;
  };
  expect(said(once.text)).toEqual(said(text));
});
