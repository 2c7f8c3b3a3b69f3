import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineAgent } from "@orgate/core";
import { type Case, caseSchema, cedarGate, loadPolicies, runCase } from "@orgate/core/gate";
import { expect, test } from "vitest";
import { sha256 } from "../../node/crypto.ts";
import { cedarEngine } from "../../policies/cedar-engine.ts";
import { NO_GROUPS, toPolicyWorld, tryLoadFolder } from "../../policies/policy-load.ts";
import { GROUPS, deciderOf as gateOf, made, tools } from "./fixtures/symbi-stand.ts";

const agentText = (rules: string, more = "") => `agent worker {
  capabilities = [pay, transfer, write_note, look, fetch]
  policy p {
${rules}
  }
  with instructions = "work" ${more} { }
}
`;

type Row = readonly [rules: string, table: readonly (readonly [given: Partial<Case>, verdict: string])[]];
const pay = (args: object, more: Partial<Case> = {}): Partial<Case> => ({
  action: "tool:pay",
  args: { account: "a", euros: 1, ...args },
  ...more,
});
const transfer = (args: object): Partial<Case> => ({ action: "tool:transfer", args: { amount: 1, ...args } });
const note = (path: string, more: Partial<Case> = {}): Partial<Case> => ({ action: "tool:write_note", args: { path, text: "x" }, ...more });
const look: Partial<Case> = { action: "tool:look", args: {} };
const fetch: Partial<Case> = { action: "tool:fetch", args: { url: "u" } };

const TABLES: readonly Row[] = [
  [
    "allow: look",
    [
      [look, "allow"],
      [fetch, "deny"],
      [pay({}), "deny"],
      [{ action: "model" }, "deny"],
    ],
  ],
  [
    "allow: [look, pay]",
    [
      [look, "allow"],
      [pay({}), "allow"],
      [fetch, "deny"],
    ],
  ],
  [
    'allow: "look"',
    [
      [look, "allow"],
      [fetch, "deny"],
    ],
  ],
  [
    "allow: tools",
    [
      [look, "allow"],
      [fetch, "allow"],
      [pay({}), "allow"],
      [{ action: "respond" }, "deny"],
    ],
  ],
  // Y-11: `fetch` does more than read, so that it takes both words
  [
    "allow: read",
    [
      [look, "allow"],
      [fetch, "deny"],
    ],
  ],
  [
    "allow: [read, network]",
    [
      [look, "allow"],
      [fetch, "allow"],
    ],
  ],
  [
    "allow: tools\ndeny: network",
    [
      [look, "allow"],
      [fetch, "deny"],
    ],
  ],
  [
    "allow: tools\ndeny: read",
    [
      [look, "deny"],
      [fetch, "deny"],
      [pay({}), "allow"],
    ],
  ],
  [
    'allow: model\nallow: respond\nallow: tools\ndeny: model("offline/b")',
    [
      [{ action: "model", resource: { type: "Model", id: "offline/a" } }, "allow"],
      [{ action: "model", resource: { type: "Model", id: "offline/b" } }, "deny"],
      [{ action: "respond" }, "allow"],
    ],
  ],
  [
    'allow: model("offline/*")',
    [
      [{ action: "model", resource: { type: "Model", id: "offline/a" } }, "allow"],
      [{ action: "model", resource: { type: "Model", id: "other/a" } }, "deny"],
    ],
  ],
  [
    'allow: write(File("notes/*"))',
    [
      [note("notes/a"), "allow"],
      [note("secret/a"), "deny"],
    ],
  ],
  [
    'allow: write_note(File("notes/today"))',
    [
      [note("notes/today"), "allow"],
      [note("notes/today2"), "deny"],
    ],
  ],
  [
    'allow: write\ndeny: write(File("policies/*"))',
    [
      [note("notes/a"), "allow"],
      [note("policies/a"), "deny"],
    ],
  ],
  // conditions
  [
    "allow: pay if args.euros < 50",
    [
      [pay({ euros: 49 }), "allow"],
      [pay({ euros: 50 }), "deny"],
    ],
  ],
  [
    'allow: pay if args.euros <= 50 && args.account == "a"',
    [
      [pay({ euros: 50 }), "allow"],
      [pay({ euros: 50, account: "b" }), "deny"],
    ],
  ],
  [
    'allow: pay if args.euros > 5 || args.euros >= 2 && args.account != "a"',
    [
      [pay({ euros: 6 }), "allow"],
      [pay({ euros: 2 }), "deny"],
      [pay({ euros: 2, account: "b" }), "allow"],
    ],
  ],
  [
    "allow: pay if !(args.euros == 3)",
    [
      [pay({ euros: 2 }), "allow"],
      [pay({ euros: 3 }), "deny"],
    ],
  ],
  ["allow: pay if not (args.euros == 3)", [[pay({ euros: 3 }), "deny"]]],
  [
    "allow: pay if args.euros + 2 * 3 - 1 == 10",
    [
      [pay({ euros: 5 }), "allow"],
      [pay({ euros: 6 }), "deny"],
    ],
  ],
  [
    "allow: pay if -args.euros == -4",
    [
      [pay({ euros: 4 }), "allow"],
      [pay({ euros: -4 }), "deny"],
    ],
  ],
  [
    'allow: pay if args.account in ["a", "b"]',
    [
      [pay({ account: "b" }), "allow"],
      [pay({ account: "c" }), "deny"],
    ],
  ],
  [
    'allow: pay if "x" in labels',
    [
      [pay({}, { labels: ["x"] }), "allow"],
      [pay({}), "deny"],
    ],
  ],
  [
    'allow: pay if labels.contains_any(["x", "y"]) && !labels.contains_all(["x", "y"])',
    [
      [pay({}, { labels: ["x"] }), "allow"],
      [pay({}, { labels: ["x", "y"] }), "deny"],
      [pay({}), "deny"],
    ],
  ],
  [
    "allow: pay if labels.is_empty()",
    [
      [pay({}), "allow"],
      [pay({}, { labels: ["x"] }), "deny"],
    ],
  ],
  [
    'allow: pay if args.account.like("a*z")',
    [
      [pay({ account: "abz" }), "allow"],
      [pay({ account: "ab" }), "deny"],
    ],
  ],
  [
    'allow: pay if args.account.starts_with("a*")',
    [
      [pay({ account: "a*b" }), "allow"],
      [pay({ account: "ab" }), "deny"],
    ],
  ],
  [
    'allow: pay if args.account.ends_with("z")',
    [
      [pay({ account: "az" }), "allow"],
      [pay({ account: "za" }), "deny"],
    ],
  ],
  [
    'allow: pay if if args.euros > 5 { args.account == "big" } else { true }',
    [
      [pay({ euros: 6 }), "deny"],
      [pay({ euros: 6, account: "big" }), "allow"],
      [pay({ euros: 5 }), "allow"],
    ],
  ],
  [
    "allow: pay if calls.pay.day < 3 && spent.tokens.session < 100",
    [
      [pay({}, { calls: { pay: { turn: 0, session: 0, hour: 0, day: 2 } } }), "allow"],
      [pay({}, { calls: { pay: { turn: 0, session: 0, hour: 0, day: 3 } } }), "deny"],
      [pay({}, { spent: { turn: 0, session: 100, hour: 0, day: 0 } }), "deny"],
    ],
  ],
  [
    "allow: pay if facts.account.known",
    [
      [
        pay(
          {},
          {
            facts: {
              account: {
                inRequest: false,
                known: true,
                seenUnder: [],
                calls: { turn: 0, session: 0, hour: 0, day: 0 },
                touched: { turn: 0, session: 0, hour: 0, day: 0 },
                nameInRequest: false,
              },
            },
          },
        ),
        "allow",
      ],
      [pay({}), "deny"],
    ],
  ],
  [
    'allow: pay if user == "ann"',
    [
      [pay({}, { onBehalfOf: "ann" }), "allow"],
      [pay({}, { onBehalfOf: "bob" }), "deny"],
    ],
  ],
  [
    'allow: pay if user in "operators"',
    [
      [pay({}, { onBehalfOf: "ann" }), "allow"],
      [pay({}, { onBehalfOf: "bob" }), "deny"],
    ],
  ],
  [
    'allow: pay if origin.surface == "cli"',
    [
      [pay({}), "allow"],
      [pay({}, { surface: "webhook" }), "deny"],
    ],
  ],
  [
    'allow: write if resource.id == "a"',
    [
      [note("a"), "allow"],
      [note("b"), "deny"],
    ],
  ],
  ['allow: pay if tool.riskTier == "low"', [[pay({}), "deny"]]],
  // decimals are exact, and a whole number that is written here may stand for one
  [
    "allow: transfer if args.amount < 100",
    [
      [transfer({ amount: 99.9999 }), "allow"],
      [transfer({ amount: 100 }), "deny"],
      [transfer({ amount: 99.99999 }), "deny"],
    ],
  ],
  [
    "allow: transfer if args.amount <= 0.3",
    [
      [transfer({ amount: 0.3 }), "allow"],
      [transfer({ amount: 0.3001 }), "deny"],
    ],
  ],
  [
    "allow: transfer if args.amount in [1, 2.5]",
    [
      [transfer({ amount: 2.5 }), "allow"],
      [transfer({ amount: 2 }), "deny"],
    ],
  ],
  ["allow: transfer if args.amount == 1.50", [[transfer({ amount: 1.5 }), "allow"]]],
  [
    "allow: transfer if facts.amount.total.day <= 5",
    [
      [transfer({ amount: 5 }), "allow"],
      [transfer({ amount: 5.0001 }), "deny"],
    ],
  ],
  [
    "allow: pay if lists.tags.size < 2",
    [
      [pay({ tags: ["a"] }), "allow"],
      [pay({ tags: ["a", "b"] }), "deny"],
      [pay({}), "deny"],
    ],
  ],
  [
    "allow: pay if facts.account.said.turnsAgo < 2",
    [
      [pay({}, { facts: { account: { said: { turnsAgo: 1, secondsAgo: 0 } } } }), "allow"],
      [pay({}, { facts: { account: { said: { turnsAgo: 2, secondsAgo: 0 } } } }), "deny"],
      [pay({}), "deny"],
    ],
  ],
  // Y-10: what is not there
  [
    'allow: pay if args.note == "ok"',
    [
      [pay({ note: "ok" }), "allow"],
      [pay({ note: "no" }), "deny"],
      [pay({}), "deny"],
    ],
  ],
  [
    'allow: pay if args.note != "no"',
    [
      [pay({ note: "ok" }), "allow"],
      [pay({}), "deny"],
    ],
  ],
  [
    'allow: pay if !(args.note == "no")',
    [
      [pay({ note: "ok" }), "allow"],
      [pay({ note: "no" }), "deny"],
      [pay({}), "deny"],
    ],
  ],
  [
    'allow: tools\ndeny: pay if args.note == "no"',
    [
      [pay({ note: "ok" }), "allow"],
      [pay({ note: "no" }), "deny"],
      [pay({}), "deny"],
    ],
  ],
  [
    'allow: tools\ndeny: pay if has(args.note) && args.note == "no"',
    [
      [pay({ note: "ok" }), "allow"],
      [pay({ note: "no" }), "deny"],
      [pay({}), "allow"],
    ],
  ],
  [
    "allow: tools\ndeny: pay if !has(args.note)",
    [
      [pay({ note: "ok" }), "allow"],
      [pay({}), "deny"],
    ],
  ],
  [
    'allow: tools\ndeny: pay if args.tags.contains("x") || args.euros > 5',
    [
      [pay({ tags: ["y"] }), "allow"],
      [pay({ tags: ["x"] }), "deny"],
      [pay({}), "deny"],
    ],
  ],
  [
    'allow: pay\nrequire: approval(pay) if args.note == "ask"',
    [
      [pay({ note: "ask" }), "ask"],
      [pay({ note: "ok" }), "allow"],
      [pay({}), "deny"],
    ],
  ],
  // require
  [
    'allow: tools\nrequire: !labels.contains("stop")',
    [
      [pay({}), "allow"],
      [pay({}, { labels: ["stop"] }), "deny"],
      [look, "allow"],
    ],
  ],
  [
    'allow: tools\nrequire: user == "ann" if "x" in labels',
    [
      [pay({}), "allow"],
      [pay({}, { labels: ["x"] }), "deny"],
      [pay({}, { labels: ["x"], onBehalfOf: "ann" }), "allow"],
    ],
  ],
  [
    "require: approval(pay)",
    [
      [pay({}), "ask"],
      [look, "deny"],
    ],
  ],
  [
    "allow: pay\nrequire: approval(pay) if args.euros > 5",
    [
      [pay({ euros: 5 }), "allow"],
      [pay({ euros: 6 }), "ask"],
    ],
  ],
  [
    "allow: pay\nrequire: approval(spend) if spent.tokens.turn > 5",
    [
      [pay({}), "allow"],
      [pay({}, { spent: { turn: 6, session: 6, hour: 6, day: 6 } }), "ask"],
    ],
  ],
  // a choice ends where its brace does: what is joined to it counts in both branches
  [
    'allow: pay if (if args.euros > 5 { true } else { true }) && args.account == "big"',
    [
      [pay({ euros: 6 }), "deny"],
      [pay({ euros: 5 }), "deny"],
      [pay({ euros: 6, account: "big" }), "allow"],
    ],
  ],
  [
    'allow: tools\ndeny: pay if (if args.euros > 5 { false } else { false }) || args.account == "bad"',
    [
      [pay({ euros: 6, account: "bad" }), "deny"],
      [pay({ euros: 6 }), "allow"],
    ],
  ],
  ['allow: write(File("a*")) if if true { true } else { false }', [[note("ab"), "allow"]]],
  // Y-11: nothing that has the effect passes by without the question
  [
    "allow: tools\nrequire: approval(read)",
    [
      [look, "ask"],
      [fetch, "ask"],
      [pay({}), "allow"],
    ],
  ],
  // one rule about several things, each with what it is done to
  [
    'allow: tools\ndeny: [write(File("a")), write(File("b*"))]',
    [
      [note("a"), "deny"],
      [note("bb"), "deny"],
      [note("c"), "allow"],
    ],
  ],
  [
    'allow: [write_note(File("a")), write_note(File("b"))]',
    [
      [note("a"), "allow"],
      [note("b"), "allow"],
      [note("c"), "deny"],
    ],
  ],
  // texts are texts, whatever stands in them
  [
    'allow: pay if args.account == "a\\") || true || (\\"a"',
    [
      [pay({}), "deny"],
      [pay({ account: 'a") || true || ("a' }), "allow"],
    ],
  ],
  [
    'allow: pay if args.account == "\\u{0}é\\u{1f600}*"',
    [
      [pay({ account: "\u0000é😀*" }), "allow"],
      [pay({ account: "\u0000é😀x" }), "deny"],
    ],
  ],
  // what overflows is denied, whichever way it was written (G-3); what is only audited is not
  ["allow: tools\ndeny: pay if args.euros * 9007199254740991 * 9007199254740991 < 0", [[pay({ euros: 5 }), "deny"]]],
  ["allow: pay if args.euros * 9007199254740991 * 9007199254740991 > 0", [[pay({ euros: 5 }), "deny"]]],
  ["allow: tools\naudit: pay if args.euros * 9007199254740991 * 9007199254740991 > 0", [[pay({ euros: 5 }), "allow"]]],
  // audit never decides
  ["allow: look\naudit: look", [[look, "allow"]]],
  ["audit: look", [[look, "deny"]]],
];

test.each(TABLES)("Y-10 Y-11 %s is decided as it reads, by the real gate", (rules, table) => {
  const decide = gateOf(agentText(rules));
  expect(table.map(([given]) => decide(given).kind)).toEqual(table.map(([, verdict]) => verdict));
});

test("Y-11 what is audited is recorded as it would be refused, and nothing else comes of it", () => {
  const found = made(agentText("allow: tools\naudit: pay if args.euros > 5"));
  if (found.kind === "problems") throw new Error(found.text);
  const loaded = loadPolicies(
    found.agents.flatMap((a) => a.policies),
    toPolicyWorld(found.agents, GROUPS),
    cedarEngine(),
  );
  if (loaded.kind === "refused") throw new Error(JSON.stringify(loaded.problems));
  const gate = cedarGate(loaded.set, cedarEngine(), sha256);
  const decide = (euros: number) => {
    const { got, case: c } = runCase(
      caseSchema.parse({ name: "x", agent: "worker", verdict: "allow", ...pay({ euros }) }),
      gate,
      tools,
      sha256,
    );
    void c;
    return got;
  };
  expect([decide(5).kind, decide(6).kind]).toEqual(["allow", "allow"]);
  expect(loaded.set.policies.filter((p) => p.shadow).map((p) => p.id)).toEqual(["agents/worker.symbi/5"]);
});

test("Y-11 a verdict names the file and the line of the rule, whichever it is", () => {
  const decide = gateOf(agentText("allow: look\n\nallow: pay\ndeny: pay if args.euros > 5 deny: transfer"));
  expect(decide(look).because).toEqual(["agents/worker.symbi/4"]);
  expect(decide(pay({ euros: 6 }))).toMatchObject({
    because: ["agents/worker.symbi/7.1"],
    reason: expect.stringContaining("(agents/worker.symbi:7)"),
  });
  expect(decide(transfer({})).because).toEqual(["agents/worker.symbi/7.29"]);
});

test("Y-8 what a file says is about its own agents only, and takes no refusal and no question of the project's away", () => {
  const other = defineAgent({ name: "other", instructions: "x", tools });
  const base = `@id("no") forbid(principal, action == Action::"tool:pay", resource) when { context.args.euros > 100 };
    @id("ask") @ask("May it?") permit(principal, action == Action::"tool:fetch", resource);`;
  const decide = gateOf(agentText("allow: tools\nallow: model\nallow: respond"), base, [other]);
  expect([look, pay({}), { action: "model" }, { action: "respond" }].map((c) => decide({ ...c, agent: "other" }).kind)).toEqual([
    "deny",
    "deny",
    "deny",
    "deny",
  ]);
  expect(decide({ ...pay({}), agent: "nobody" }).kind).toBe("deny");
  expect(decide(pay({ euros: 101 }))).toMatchObject({ kind: "deny", because: ["base/no"] });
  expect(decide(fetch).kind).toBe("ask");
  expect(decide(look).kind).toBe("allow");
});

test("Y-8 a policy of the whole file is about each of its agents", () => {
  const decide = gateOf(`policy p { allow: look }
agent worker { capabilities = [look] with instructions = "x" { } }
agent second { capabilities = [look] with instructions = "x" { } }`);
  expect(decide(look).because).toEqual(["agents/worker.symbi/1-worker"]);
  expect(decide({ ...look, agent: "second" }).because).toEqual(["agents/worker.symbi/1-second"]);
  expect(decide({ ...look, agent: "third" }).kind).toBe("deny");
});

test("Y-11 that something runs without a sandbox is a leave of its own: naming the tool gives none, naming `unsandboxed` does", () => {
  const decide = (rules: string, given: Partial<Case> = {}) =>
    gateOf(`agent worker { capabilities = [bare, look] policy p { ${rules} } with instructions = "x" { } }`)({
      action: "tool:bare",
      args: {},
      ...given,
    });
  expect(decide("allow: tools")).toMatchObject({ kind: "deny", reason: expect.stringContaining("it runs without a sandbox") });
  expect(decide("allow: [execute, unsandboxed]").kind).toBe("allow");
  expect(decide("allow: tools allow: [execute, unsandboxed] if labels.is_empty()", { labels: ["x"] }).kind).toBe("deny");
  expect(decide("allow: [execute, unsandboxed] deny: unsandboxed").kind).toBe("deny");
  expect(decide("require: approval(unsandboxed)")).toMatchObject({ kind: "ask", asks: [{ question: "May it do this?" }] });
  expect(decide("allow: tools require: approval(unsandboxed)").kind).toBe("ask");
});

test("Y-11 long names do not make two policies one", () => {
  const long = "l".repeat(60);
  const [one, two] = [`${long}_one`, `${long}_two`];
  const rules = `policy p { allow: [look, fetch] deny: [look, fetch] if calls.look.day > 5 ${"deny: pay if args.euros > 5 ".repeat(2)}require: approval(pay) if args.note == "x" }`;
  const text = [one, two].map((name) => `agent ${name} { capabilities = [look, fetch, pay] with instructions = "x" { } }`).join("\n");
  const found = made(`${rules}\n${text}`);
  if (found.kind === "problems") throw new Error(found.text);
  const ids = found.agents.flatMap(({ policies }) => policies.flatMap(({ pieces }) => pieces.map(({ id }) => id)));
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.every((id) => id.length <= 100 + "agents/worker.symbi/".length)).toBe(true);
});

const REFUSED: readonly (readonly [rule: string, problem: string])[] = [
  ['require: approval(pay, { question: "" })', "`question` asks nothing"],
  ["require: approval(pay, { approvers: [operatrs] })", "there is no group of users `operatrs` | did you mean `operators`?"],
  ["allow: lok", "`lok` is no tool of this agent's | did you mean `look`?"],
  ["allow: [ ]", "this rule is about nothing"],
  ["allow: 3", "a rule is about a tool, an effect"],
  ["allow: look(x)", "in brackets stands what it is done to"],
  ['allow: look(File("x"))', "`look` touches no File | it touches Tool"],
  ['deny: spend(File("x"))', "no tool with the effect `spend` touches File"],
  ["allow: execute", "no tool of this agent's has the effect `execute`"],
  ["allow: network", "every tool with the effect `network` has others too: fetch (network, read)"],
  ['allow: delegate("reader")', "`reader` is no delegate of this agent's"],
  ["allow: pay if args.eurs < 5", "for a call of `pay` there is no `args.eurs` | did you mean `euros`?"],
  ["allow: [pay, look] if args.euros < 5", "for a call of `look` there is no `args.euros`"],
  ["allow: pay if arg.euros < 5", "for a call of `pay` there is no `arg` | did you mean `args`?"],
  ["allow: model if args.euros < 5", "for `model` there is no `args`"],
  ["allow: pay if args.euros", "a whole number is no condition"],
  ["allow: pay if args.euros < 5.5", "`<` compares numbers of one kind, and these are a whole number and a decimal number"],
  ['allow: pay if args.euros == "5"', "a whole number is never equal to a text"],
  ['allow: pay if args.account < "b"', "`<` compares numbers of one kind"],
  ["allow: pay if args.euros / 2 == 3", "not supported: `/` in a condition"],
  ["allow: transfer if args.amount + 1 == 3", "`+` is for whole numbers"],
  ["allow: transfer if args.amount < 0.00001", "0.00001 is more than a decimal can hold"],
  ["allow: pay if args.euros < 9007199254740993", "9007199254740993 is more than a number can hold exactly"],
  ["allow: pay if args.account in [ ]", "an empty list holds nothing"],
  ["allow: pay if args.account in [1, 2]", "a text is never in a list"],
  ['allow: pay if args.account in ["a", 1]', "a list holds things of one kind"],
  ["allow: pay if args.account.size() == 3", "there is no `size`"],
  ["allow: pay if safe(args.account)", "a condition calls no functions"],
  ["allow: pay if args.note == null", "null is no value that a policy knows"],
  ["allow: pay if has(args.euros)", "it is always there"],
  ["allow: pay if 30s == 30s", "a time is nothing that a condition can be about"],
  ["allow: pay if vault://x == args.account", "a policy reads no secrets"],
  ['allow: pay if user in "admins"', "there is no group of users `admins`"],
  ["allow: pay if x => true", "not supported: functions in a condition"],
  ["allow: pay if { a: 1 } == { a: 1 }", "a record cannot be compared"],
  ['allow: pay if args.tags[0] == "x"', "not supported: a place in a list"],
  ["require: args.euros < 5", "for a call of `transfer` there is no `args.euros`"],
  ["require: approval()", "`approval` takes what is to be approved, and how"],
  ["require: approval(pay, { quorums: 2 })", "there is no `quorums` in approval | did you mean `quorum`?"],
  ["require: approval(pay, { expires: 1.5s })", "`expires` is in whole seconds"],
  ['require: approval(pay, { approvers: ["a b"] })', "`approvers` are names of groups of users"],
  ['require: approval(pay, question = "Pay?")', "`approval` takes what is to be approved, and how"],
  ["require: { rate_limiting: true }", "`rate_limiting` is nothing that a policy can require | take it out"],
  ['audit: { log_level: "info" }', "`log_level` is nothing that a policy can audit | every decision is in the journal"],
  ["allow: pay if Limit { euros: 5 } == args.euros", "a `Limit` cannot be compared"],
  ["allow: pay if args.note? == true", "not supported: `?` in a condition"],
  ['allow: pay if args.account.starts_with(text = "a")', "a condition names no arguments"],
  ["allow: pay if if args.euros > 5 { log(); true } else { false }", "in a condition each side of an `if` is one value"],
];

test.each(REFUSED)("Y-3 Y-10 %s is refused where it stands", (rule, problem) => {
  const found = made(agentText(`    ${rule}`));
  expect(found).toMatchObject({ kind: "problems" });
  const text = found.kind === "problems" ? found.text : "";
  expect(text).toMatch(/^4:\d+ /);
  expect(text).toContain(problem);
});

test("G-9 an approval that nobody could ever give is refused at its word", () => {
  const found = made(agentText("    require: approval(pay, { approvers: [operators], quorum: 9 })"));
  expect(found).toMatchObject({ kind: "problems" });
  expect(found.kind === "problems" && found.text).toMatch(
    /^4:\d+ 9 people have to say yes, but \d is in `operators`: it could never be approved \| ask for 1/,
  );
});

test("Y-10 what the agent is told is no part of a condition", () => {
  const found = made(
    'agent worker(bill: String) { capabilities = [pay] policy p { allow: pay if bill == "x" } with instructions = "x" { } }',
  );
  expect(found).toMatchObject({
    kind: "problems",
    text: expect.stringContaining("`bill` is what the agent is told, and no policy reads that"),
  });
});

test("Y-15 where one agent is run, what the files of others say is not read by Cedar: the set is known by the same digest, and decides nothing for them", () => {
  const found = made(`agent worker { capabilities = [look] policy p { allow: look } with instructions = "x" { } }
agent second { capabilities = [look] policy p { allow: look } with instructions = "x" { } }`);
  if (found.kind === "problems") throw new Error(found.text);
  const load = (idle: string | null) => {
    const files = found.agents.flatMap((a) =>
      a.policies.map((file) => (file.agent === idle ? { ...file, idle: { agent: file.agent, pieces: file.pieces } } : file)),
    );
    const loaded = loadPolicies(files, toPolicyWorld(found.agents, GROUPS), cedarEngine());
    if (loaded.kind === "refused") throw new Error(JSON.stringify(loaded.problems));
    return cedarGate(loaded.set, cedarEngine(), sha256);
  };
  const [all, some] = [load(null), load("second")];
  expect(some.digest).toBe(all.digest);
  const kinds = (gate: typeof all) =>
    ["worker", "second"].map(
      (agent) => runCase(caseSchema.parse({ name: "x", verdict: "allow", ...look, agent }), gate, tools, sha256).got.kind,
    );
  expect([kinds(all), kinds(some)]).toEqual([
    ["allow", "allow"],
    ["allow", "deny"],
  ]);
});

test("Y-15 a table that names another agent has its file read too: its cases are decided as they are when all run", () => {
  const found = made(`agent worker { capabilities = [look] policy p { allow: look } with instructions = "x" { } }
agent second { capabilities = [look] policy p { allow: look } with instructions = "x" { } }`);
  if (found.kind === "problems") throw new Error(found.text);
  const folder = mkdtempSync(join(tmpdir(), "orgate-tables-"));
  try {
    writeFileSync(join(folder, "base.cedar"), 'permit(principal, action == Action::"model", resource);');
    const load = (...cases: readonly object[]) => {
      writeFileSync(join(folder, "base.cases.json"), JSON.stringify(cases));
      const place = { folder, label: "policies", within: folder };
      return tryLoadFolder({ place, agents: found.agents, groups: NO_GROUPS, surface: "cli", only: new Set(["worker"]) });
    };
    expect(load({ name: "it looks", ...look, agent: "second", verdict: "allow" })).toMatchObject({ kind: "loaded" });
    expect(load({ name: "it looks", ...look, agent: "second", verdict: "deny" })).toMatchObject({
      kind: "refused",
      problems: [{ detail: "case `it looks`: expected deny, got allow" }],
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("Y-10 a pattern is what it says, whatever stands in it", () => {
  const decide = gateOf(agentText('allow: pay if args.account.like("a\\u{0}*") || args.account.ends_with("\\"z")'));
  const kinds = ["a\u0000b", "a*b", 'x"z', "xz"].map((account) => decide(pay({ account })).kind);
  expect(kinds).toEqual(["allow", "deny", "allow", "deny"]);
});
