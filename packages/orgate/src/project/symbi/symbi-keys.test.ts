/**
 * Y-3: for every key of every block there is a run whose outcome changes with its value. The keys are those of `KEYS`, which the grammar's blocks are read by (Y-3, in
 * core's `keys.test.ts`); a key without a row fails. All runs share one runtime: the real loop, the real gate, a journal on disk.
 */
import { type Agent, RECALL_KNOWLEDGE, STORE_KNOWLEDGE } from "@orgate/core";
import { refused, reply } from "@orgate/core/testing";
import { BLOCK_KEYS } from "@orgate/symbi";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type Planned, type Row, type Runs, removeRuns, runsOf, type Says, type Seen } from "./fixtures/symbi-runs.ts";

const call = (tool: string, args: object = {}) => reply.calls([{ tool, args: { ...args } }]);
const twice = (tool: string) =>
  reply.calls([
    { tool, args: {}, id: "a" },
    { tool, args: {}, id: "b" },
  ]);
/** Each in its turn, and the last one from then on. */
const inOrder =
  (...steps: readonly ReturnType<typeof call>[]): Says =>
  (_, n) =>
    steps[Math.min(n, steps.length - 1)] ?? reply.text("done");
/** Calls the one tool that it has. */
const first: Says = (_, n, agent) => (n === 0 ? call(agent.tools[0]?.name ?? "") : reply.text("x"));
const lookThen = inOrder(call("look"), reply.text("done"));
/** The answer is what the model can see. */
const tells =
  (what: (request: Parameters<Says>[0], agent: Agent) => unknown): Says =>
  (request, _, agent) =>
    reply.text(String(what(request, agent)));

const ending = ({ result }: Seen) => result.ending;
const output = ({ result }: Seen) => result.output;
const calls = ({ result }: Seen) => result.calls;
const outcomes = ({ result }: Seen) => result.events.flatMap(({ event }) => (event.kind === "act.ended" ? [event.outcome.kind] : []));
const PRICED = "prices = { input: 1000000, output: 1000000 }";
const THINKS = (name: string) => `permit(principal == Agent::"${name}", action == Action::"model", resource);`;

const WITH: Readonly<Record<keyof typeof BLOCK_KEYS.with, Row>> = {
  model: {
    values: ['"offline/a"', '"offline/b"'],
    says: tells((_, agent) => agent.model),
    look: output,
    comes: ["offline/a", "offline/b"],
  },
  fallbacks: {
    values: ["[ ]", '["offline/second"]'],
    says: (_, __, agent) => (agent.model === "offline/second" ? reply.text("b") : refused(401, { transient: false })),
    look: ending,
    comes: ["failed", "completed"],
  },
  model_options: {
    values: ['{ rules: [{ when: {}, say: "one" }] }', '{ rules: [{ when: {}, say: "two" }] }'],
    offline: true,
    look: output,
    comes: ["one", "two"],
  },
  instructions: {
    values: ['"Be brief."', '"Be long."'],
    says: tells(({ system }) => system.includes("brief")),
    look: output,
    comes: ["true", "false"],
  },
  project_instructions: {
    values: ["true", "false"],
    equipment: { instructions: [{ file: "AGENTS.md", text: "House rules." }] },
    says: tells(({ system }) => system.includes("House rules.")),
    look: output,
    comes: ["true", "false"],
  },
  memory: {
    values: ["persistent", "none"],
    says: inOrder(call(STORE_KNOWLEDGE, { subject: "a", predicate: "is", object: "b" }), reply.text("done")),
    look: calls,
    comes: [1, 0],
  },
  sandbox: { values: ["process", "none"], tools: "shell", says: inOrder(call("shell"), reply.text("x")), look: calls, comes: [0, 1] },
  privacy: {
    values: ["high", "normal"],
    tools: "look, fetch",
    says: inOrder(call("look"), call("fetch", { url: "u" }), reply.text("x")),
    rules: (name) =>
      `permit(principal == Agent::"${name}", action, resource);\nforbid(principal == Agent::"${name}", action in Action::"network", resource) when { context.labels.contains("private") };`,
    look: calls,
    comes: [1, 2],
  },
  timeout: { values: ["40ms", "1h"], tools: ["nap_a", "nap_b"], says: first, look: ending, comes: ["timed-out", "completed"] },
  tool_timeout: {
    values: ["40ms", "60"],
    tools: ["nap_c", "nap_d"],
    says: first,
    look: outcomes,
    comes: [["unknown"], ["done"]],
  },
  budget: { values: ["0.01", "90000.00"], more: PRICED, look: ending, comes: ["out-of-money", "completed"] },
  iterations: { values: ["1", "2"], tools: "look", says: lookThen, look: ending, comes: ["out-of-iterations", "completed"] },
  tokens: { values: ["40", "100000"], more: "context_tokens = 30", look: ending, comes: ["out-of-tokens", "completed"] },
  calls: {
    values: ["1", "2"],
    tools: "look",
    says: inOrder(twice("look"), reply.text("x")),
    look: ending,
    comes: ["out-of-calls", "completed"],
  },
  context_tokens: {
    values: ["100", "20000"],
    tools: "look",
    says: (request, n) => (n < 6 ? call("look") : reply.text(String(request.messages.length > 9))),
    look: output,
    comes: ["false", "true"],
  },
  output_tokens: { values: ["100", "200"], says: tells((request) => request.maxOutputTokens), look: output, comes: ["100", "200"] },
  tools_at_once: {
    values: ["1", "2"],
    tools: ["meet_a", "meet_b"],
    says: (_, n, agent) => (n === 0 ? twice(agent.tools[0]?.name ?? "") : reply.text("x")),
    look: ({ result }) =>
      result.events.flatMap(({ event }) => (event.kind === "act.ended" && event.outcome.kind === "done" ? [event.outcome.output] : [])),
    comes: [
      ["alone", "alone"],
      ["met", "met"],
    ],
  },
  refused_in_a_row: {
    values: ["1", "2"],
    tools: "look",
    rules: THINKS,
    says: lookThen,
    look: ending,
    comes: ["denied", "completed"],
  },
  observation_chars: {
    values: ["10", "1000"],
    tools: "look",
    says: (request, n) => (n === 0 ? call("look") : reply.text(String(JSON.stringify(request.messages).includes("it was a long look")))),
    look: output,
    comes: ["false", "true"],
  },
  temperature: { values: ["0", "1.5"], says: tells((request) => request.temperature), look: output, comes: ["0", "1.5"] },
  output_repairs: {
    values: ["0", "1"],
    returns: "-> { n: int }",
    says: inOrder(reply.text("no"), reply.text('{"n":1}')),
    look: ending,
    comes: ["failed", "completed"],
  },
  groups: {
    values: ['["trusted"]', "[others]"],
    tools: "look",
    says: lookThen,
    rules: (name) => `permit(principal in AgentGroup::"trusted", action, resource) when { principal.id == "${name}" };`,
    look: calls,
    comes: [1, 0],
  },
  max_depth: {
    values: ["1", "2"],
    file: (name, value) => `agent ${name} { capabilities = ["agent:${name}_mid"] with instructions = "x", max_depth = ${value} { } }
agent ${name}_mid { capabilities = ["agent:${name}_low"] with instructions = "x", max_depth = ${value} { } }
agent ${name}_low { with instructions = "x" { } }`,
    says: (request, n, { delegates: [next] }) =>
      next === undefined
        ? reply.text("deep")
        : n === 0
          ? call("delegate", { agent: next, task: "t" })
          : reply.text(JSON.stringify(request.messages).includes("deep") ? "deep" : "no"),
    look: output,
    comes: ["no", "deep"],
  },
  recover: {
    values: ['"stop"', '"ask-model"'],
    tools: "fail",
    says: inOrder(call("fail"), reply.text("x")),
    look: ending,
    comes: ["failed", "completed"],
  },
  retry: {
    values: ["{ times: 1, backoffMs: 1 }", "{ times: 2, backoffMs: 1 }"],
    says: (_, n) => (n < 2 ? refused(503) : reply.text("x")),
    look: ending,
    comes: ["failed", "completed"],
  },
  breaker: {
    values: ["{ failures: 1 }", "{ failures: 5 }"],
    tools: ["fail_a", "fail_b"],
    says: (_, n, agent) => (n < 2 ? call(agent.tools[0]?.name ?? "") : reply.text("x")),
    look: (seen) => outcomes(seen).length,
    comes: [1, 2],
  },
  prices: {
    values: ["{ input: 0, output: 0 }", "{ input: 1000000, output: 1000000 }"],
    says: () => reply.text("x", { usage: { input: 2, output: 3 } }),
    look: ({ result }) => result.cost,
    comes: [0, 5],
  },
  tokenizer: {
    values: ["estimate", "o200k_base"],
    more: `tokens = 2000, context_tokens = 1500, output_tokens = 100`,
    input: "internationalization ".repeat(400),
    look: ending,
    comes: ["out-of-tokens", "completed"],
  },
  context: {
    values: ['{ kind: "window" }', '{ kind: "mask", keep: 1 }'],
    tools: "recite",
    more: "context_tokens = 500",
    says: (request, n) => (n < 5 ? call("recite") : reply.text(String(request.messages.length))),
    look: output,
    comes: ["8", "12"],
  },
};

const METADATA: Readonly<Record<"description", Row>> = {
  description: {
    values: ['"one"', '"two"'],
    file: (name, value) => `metadata { description = ${value} }\nagent ${name} { with instructions = "work" { } }`,
    says: tells(({ system }) => system.startsWith("one")),
    look: output,
    comes: ["true", "false"],
  },
};

const remembers = (name: string, keys: string): string => `memory m { ${keys} }\nagent ${name} { with instructions = "work" { } }`;
const SEEDED = "ladder";
const shown = tells(({ context }) => context.join(" ").split(SEEDED).length - 1);
const recalling = (values: readonly [string, string], comes: readonly [string, string], more: string, key: string): Row => ({
  values,
  comes,
  file: (name, value) => remembers(name, `${key} ${value}\n${more}`),
  input: `where is the ${SEEDED}?`,
  says: shown,
  look: output,
});
const MEMORY: Readonly<Record<keyof typeof BLOCK_KEYS.memory, Row>> = {
  scope: recalling(["agent", "shared"], ["0", "3"], "", "scope"),
  max_items: recalling(["1", "2"], ["1", "2"], "scope shared", "max_items"),
  max_tokens: recalling(["100", "5000"], ["0", "3"], "scope shared", "max_tokens"),
  threshold: recalling(["0", "1"], ["3", "0"], "scope shared", "threshold"),
  store: {
    values: ["agent", "shared"],
    file: (name, value) => remembers(name, `store ${value}\nscope agent`),
    says: (request, n) =>
      n === 0
        ? call(STORE_KNOWLEDGE, { subject: "saw", predicate: "lies", object: "here" })
        : n === 1
          ? call(RECALL_KNOWLEDGE, { query: "saw" })
          : reply.text(String(JSON.stringify(request.messages.at(-1)).includes("here"))),
    look: output,
    comes: ["true", "false"],
  },
  keep_learnings: {
    values: ["true", "false"],
    file: (name, value) => remembers(name, `keep_learnings ${value}`),
    says: (request, n) => reply.text(n === 0 ? "hammers are in the cellar" : String(request.context.join(" ").includes("cellar"))),
    look: async ({ runtime, name }) => (await runtime.complete(name, "where are hammers?")).output,
    comes: ["true", "false"],
  },
};

const approval = (key: string, values: readonly [string, string], look: Row["look"], comes: Row["comes"], more = ""): Row => ({
  values,
  look,
  comes,
  file: (name, value) =>
    `agent ${name} { capabilities = [look] policy p { require: approval(look, { ${key}: ${value}${more} }) } with instructions = "x" { } }`,
  rules: THINKS,
  says: lookThen,
});
/** The result after one person's approval. */
const afterYes =
  (by: string, answer: "approve" | "grant" = "approve") =>
  async ({ result, runtime, person }: Seen): Promise<unknown> => {
    const [question] = result.questions;
    if (question === undefined) return "nothing was asked";
    const { approval: id, digest } = question;
    const said =
      answer === "approve" ? ({ kind: "approve" } as const) : ({ kind: "grant", grant: { scope: "tool", until: "session" } } as const);
    return runtime.approvals.answer({ approval: id, digest, answer: said }, person(by)).then(
      ({ result: after }) => after?.state ?? "waiting",
      () => "refused",
    );
  };
/** The result of the next call, when its own tool has labelled the session after the grant. */
const afterGrant = async (seen: Seen): Promise<unknown> => {
  await afterYes("ann", "grant")(seen);
  return (await seen.runtime.complete(seen.name, "again", { session: seen.result.session })).state;
};
/** The result of half an hour without an answer. */
const afterHalfAnHour = async ({ result, runtime }: Seen): Promise<unknown> => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 30 * 60_000 });
  try {
    const after = await runtime.resume(result.session).result;
    return after.ending ?? after.state;
  } finally {
    vi.useRealTimers();
  }
};
const APPROVAL: Readonly<Record<keyof typeof BLOCK_KEYS.approval, Row>> = {
  question: approval("question", ['"One?"', '"Two?"'], ({ result }) => result.questions[0]?.asks[0]?.question, ["One?", "Two?"]),
  approvers: approval("approvers", ["[operators]", "[leads]"], afterYes("ben"), ["refused", "ended"]),
  quorum: approval("quorum", ["1", "2"], afterYes("ann"), ["ended", "waiting"]),
  expires: approval("expires", ["60s", "1h"], afterHalfAnHour, ["completed", "waiting"]),
  on_expiry: approval("on_expiry", ["deny", "halt"], afterHalfAnHour, ["completed", "halted"], ", expires: 60s"),
  grant: approval("grant", ['"once"', '"tool session"'], afterYes("ann", "grant"), ["refused", "ended"]),
  grant_survives: {
    ...approval("grant_survives", ["[untrusted]", "[pii]"], afterGrant, ["ended", "waiting"], ', grant: "tool session"'),
    says: (_, n) => (n % 2 === 0 ? call("look", {}) : reply.text("looked")),
  },
};

const TABLE = { with: WITH, metadata: METADATA, memory: MEMORY, approval: APPROVAL };
const rowsOf = Object.entries(TABLE).flatMap(([block, rows]) => Object.entries<Row>(rows).map(([key, row]) => [block, key, row] as const));
const nameOf = (block: string, key: string, i: number): string => `${block}_${key}_${"ab"[i] ?? ""}_`;
const planned = rowsOf.flatMap(([block, key, row]) =>
  row.values.map((value, i): Planned => {
    const name = nameOf(block, key, i);
    const tools = typeof row.tools === "string" ? row.tools : (row.tools?.[i] ?? "");
    const settings = [
      ...(key === "instructions" ? [] : ['instructions = "work"']),
      ...(key === "model" ? [] : [`model = "offline/${name}"`]),
      ...(row.more === undefined ? [] : [row.more]),
      `${key} = ${value}`,
    ];
    const usual = `agent ${name} ${row.returns ?? ""} { capabilities = [${tools}] with ${settings.join(", ")} { } }`;
    return { name, text: row.file?.(name, value) ?? usual, row };
  }),
);
/** The agent that remembers what the others recall. */
const SEEDER: Planned = {
  name: "seeder",
  text: remembers("seeder", "store shared"),
  row: {
    values: ["", ""],
    look: output,
    comes: [null, null],
    says: (_, n) =>
      n < 3
        ? call(STORE_KNOWLEDGE, { subject: SEEDED, predicate: `has ${n}`, object: `place ${n} ${"far away ".repeat(60)}` })
        : reply.text("done"),
  },
};

let runs: Runs;
beforeAll(async () => {
  runs = await runsOf([SEEDER, ...planned], "one");
  await runs.run("seeder");
});
afterAll(async () => {
  await runs.close();
  removeRuns();
});

test("Y-3 every key of every block has a row", () => {
  const keys = (rows: object) => Object.keys(rows).sort();
  expect(Object.keys(BLOCK_KEYS).sort()).toEqual([...Object.keys(TABLE), "schedule", "webhook", "webhook filter"].sort());
  for (const block of ["with", "memory", "approval"] as const) expect(keys(TABLE[block])).toEqual(keys(BLOCK_KEYS[block]));
  expect([...keys(METADATA), ...OF_FILE].sort()).toEqual(keys(BLOCK_KEYS.metadata));
});

test.each(rowsOf)("Y-3 %s %s: what comes of a run changes with its value", async (block, key, { look, comes }) => {
  const found = [];
  for (const i of [0, 1]) found.push(await look(await runs.run(nameOf(block, key, i))));
  expect(found).toEqual(comes);
});

/** Keys that neither the model sees nor a limit depends on: they only identify the file that a session goes on with. */
const OF_FILE = ["version", "author", "license", "tags"] as const;
test("Y-3 Y-4 metadata version, author, license and tags: a session that goes on under another says so", async () => {
  const at = (value: string) =>
    [...OF_FILE, "description"].map(
      (key): Planned => ({
        name: `file_${key}`,
        text: `metadata { ${key} = ${key === "description" ? '"same"' : key === "tags" ? `["t${value}"]` : `"${value}"`} }\nagent file_${key} { with instructions = "x" { } }`,
        row: { values: ["", ""], look: output, comes: [null, null] },
      }),
    );
  const before = await runsOf(at("1"), "two");
  const sessions = new Map<string, Seen["result"]["session"]>();
  for (const { name } of at("1")) sessions.set(name, (await before.run(name)).result.session);
  await before.close();
  const after = await runsOf(at("2"), "two");
  const told = [];
  for (const [name, session] of sessions) {
    const { events } = await after.runtime.complete(name, "and now?", { session });
    told.push([name, events.some(({ event }) => event.kind === "agent.changed")]);
  }
  await after.close();
  expect(told).toEqual([
    ["file_version", true],
    ["file_author", true],
    ["file_license", true],
    ["file_tags", true],
    ["file_description", false],
  ]);
});

test('Y-3 a memory block is for the agents of its file; `memory = "none"` leaves one out, and it is offered nothing to remember with', async () => {
  const text = `memory m { scope agent }
agent memory_mine { with instructions = "x" { } }
agent memory_none { with instructions = "x", memory = none { } }`;
  const says = tells(({ tools }) => tools.some(({ name }) => name === STORE_KNOWLEDGE));
  const three = await runsOf([{ name: "memory", text, row: { values: ["", ""], look: output, comes: [null, null], says } }], "three");
  const told = [];
  for (const name of ["mine", "none"]) told.push(output(await three.run(`memory_${name}`)));
  await three.close();
  expect(told).toEqual(["true", "false"]);
});
