/** Y11: for every key there is a run, or a declaration, that changes with its value. A key without a row fails. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Agent, Equipment, Model } from "@orgate/core";
import { KEYS, readSymbi } from "@orgate/core/symbi";
import { refused, reply, type Step, scriptedModel } from "@orgate/core/testing";
import { afterAll, expect, test } from "vitest";
import { modelsWith, settingsOf, sha256 } from "./compose.ts";
import { gateOf, made } from "./fixtures/symbi-stand.ts";
import { type Completed, createRuntime } from "./runtime.ts";

const folder = mkdtempSync(join(tmpdir(), "orgate-keys-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const ALL = "permit(principal, action, resource);";
const call = (tool: string, args: object = {}) => reply.calls([{ tool, args: { ...args } }]);
type Seen = Readonly<{
  result: Completed;
  asked: readonly Readonly<{ system: string; temperature: number; maxOutputTokens: number; messages: readonly unknown[] }>[];
  agent: Agent;
}>;
type Row = Readonly<{
  /** Two values, and what comes of each: never the same. */
  values: readonly [string, string];
  look: (seen: Seen) => unknown;
  comes: readonly [unknown, unknown];
  script?: readonly Step[] | ((model: string) => readonly Step[]);
  /** The offline model by its rules, in place of a script. */
  offline?: true;
  tools?: string;
  returns?: string;
  more?: string;
  policies?: string;
  equipment?: Partial<Equipment>;
}>;

let runs = 0;
async function ran(text: string, row: Row): Promise<Seen> {
  const found = made(text, row.equipment);
  if (found.kind === "problems") throw new Error(`${found.text}\n${text}`);
  const [agent] = found.agents;
  if (agent === undefined) throw new Error("no agent");
  const asked: Seen["asked"][number][] = [];
  const scripts = new Map<string, Model>();
  const modelOf = (one: Agent): Model => {
    if (row.offline === true) return modelsWith(settingsOf({}, null))(one);
    const steps = typeof row.script === "function" ? row.script(one.model) : (row.script ?? [reply.text("done")]);
    const script = scripts.get(one.model) ?? scriptedModel([...steps], { id: one.model });
    scripts.set(one.model, script);
    return {
      ...script,
      ask: (request, ...rest) => {
        asked.push({
          system: request.system,
          temperature: request.temperature,
          maxOutputTokens: request.maxOutputTokens,
          messages: [...request.messages],
        });
        return script.ask(request, ...rest);
      },
    };
  };
  runs += 1;
  const { gate } = gateOf(found.agents, row.policies ?? ALL);
  const runtime = await createRuntime({
    directory: join(folder, String(runs)),
    agents: found.agents,
    gate,
    principal: { kind: "user", id: "ann" },
    synchronous: "off",
    model: modelOf,
  });
  try {
    return { result: await runtime.complete(agent.name, "go"), asked, agent };
  } finally {
    await runtime.close();
  }
}

const kinds = ({ result }: Seen, kind: string): readonly unknown[] =>
  result.events.filter(({ event }) => event.kind === kind).map(({ event }) => event);
const ending = ({ result }: Seen) => result.ending;
const limit = (name: string) => (seen: Seen) => Reflect.get(Object(Reflect.get(Object(kinds(seen, "turn.started")[0]), "limits")), name);
const system = ({ asked }: Seen) => asked[0]?.system ?? "";
/** Of two values one gives this, and the other something else. */
const digestOf = (seen: Seen) => Reflect.get(Object(Reflect.get(Object(kinds(seen, "session.opened")[0]), "agent")), "digest");
const PRICED = "prices = { input: 1000000, output: 1000000 }";

const WITH: Readonly<Record<keyof typeof KEYS.with, Row>> = {
  model: {
    values: ['"offline/a"', '"offline/b"'],
    look: (s) => Reflect.get(Object(kinds(s, "model.replied")[0]), "model"),
    comes: ["offline/a", "offline/b"],
  },
  fallbacks: {
    values: ["[ ]", '["offline/b"]'],
    more: 'model = "offline/a"',
    script: (model) => (model === "offline/a" ? [refused(401, { transient: false })] : [reply.text("b")]),
    look: ending,
    comes: ["failed", "completed"],
  },
  model_options: {
    values: ['{ rules: [{ when: {}, say: "one" }] }', '{ rules: [{ when: {}, say: "two" }] }'],
    more: 'model = "offline/a"',
    offline: true,
    look: ({ result }) => result.output,
    comes: ["one", "two"],
  },
  instructions: { values: ['"Be brief."', '"Be long."'], look: (s) => system(s).includes("brief"), comes: [true, false] },
  project_instructions: {
    values: ["true", "false"],
    equipment: { instructions: [{ file: "AGENTS.md", text: "House rules." }] },
    look: (s) => system(s).includes("House rules."),
    comes: [true, false],
  },
  memory: { values: ["persistent", "none"], look: ({ agent }) => agent.knowledge === null, comes: [false, true] },
  sandbox: {
    values: ["process", "none"],
    tools: "shell",
    script: [call("shell"), reply.text("x")],
    look: ({ result }) => result.calls,
    comes: [0, 1],
  },
  privacy: {
    values: ["high", "normal"],
    tools: "look",
    script: [call("look"), reply.text("x")],
    look: (s) => JSON.stringify(kinds(s, "labels.added")).includes("private"),
    comes: [true, false],
  },
  timeout: { values: ["90s", '"2m"'], look: limit("turnMs"), comes: [90_000, 120_000] },
  tool_timeout: { values: ["5", "5.minutes"], look: limit("toolMs"), comes: [5_000, 300_000] },
  budget: { values: ["0.01", "90000.00"], more: PRICED, look: ending, comes: ["out-of-money", "completed"] },
  iterations: {
    values: ["1", "2"],
    tools: "look",
    script: [call("look"), reply.text("x")],
    look: ending,
    comes: ["out-of-iterations", "completed"],
  },
  tokens: { values: ["40", "100000"], more: "context_tokens = 30", look: ending, comes: ["out-of-tokens", "completed"] },
  calls: {
    values: ["1", "2"],
    tools: "look",
    script: [
      reply.calls([
        { tool: "look", args: {}, id: "a" },
        { tool: "look", args: {}, id: "b" },
      ]),
      reply.text("x"),
    ],
    look: ending,
    comes: ["out-of-calls", "completed"],
  },
  context_tokens: { values: ["500", "1000"], look: limit("contextTokens"), comes: [500, 1_000] },
  output_tokens: { values: ["100", "200"], look: ({ asked }) => asked[0]?.maxOutputTokens, comes: [100, 200] },
  tools_at_once: { values: ["1", "2"], look: limit("toolsAtOnce"), comes: [1, 2] },
  refused_in_a_row: {
    values: ["1", "2"],
    tools: "look",
    policies: `${ALL}\nforbid(principal, action == Action::"tool:look", resource);`,
    script: [call("look"), reply.text("x")],
    look: ending,
    comes: ["denied", "completed"],
  },
  observation_chars: {
    values: ["10", "1000"],
    tools: "look",
    script: [call("look"), reply.text("x")],
    look: ({ asked }) => JSON.stringify(asked[1]?.messages).includes("done: it was a long look"),
    comes: [false, true],
  },
  temperature: { values: ["0", "1.5"], look: ({ asked }) => asked[0]?.temperature, comes: [0, 1.5] },
  output_repairs: {
    values: ["0", "1"],
    returns: "-> { n: int }",
    script: [reply.text("no"), reply.text('{"n":1}')],
    look: ending,
    comes: ["failed", "completed"],
  },
  groups: {
    values: ['["trusted"]', "[others]"],
    tools: "look",
    script: [call("look"), reply.text("x")],
    policies:
      'permit(principal, action in [Action::"model", Action::"respond"], resource);\npermit(principal in AgentGroup::"trusted", action, resource);',
    look: ({ result }) => result.calls,
    comes: [1, 0],
  },
  max_depth: { values: ["1", "2"], look: ({ agent }) => agent.maxDepth, comes: [1, 2] },
  recover: {
    values: ['"stop"', '"ask-model"'],
    tools: "fail",
    script: [call("fail"), reply.text("x")],
    look: ending,
    comes: ["failed", "completed"],
  },
  retry: {
    values: ["{ times: 1, backoffMs: 1 }", "{ times: 2, backoffMs: 1 }"],
    script: [refused(503), refused(503), reply.text("x")],
    look: ending,
    comes: ["failed", "completed"],
  },
  breaker: {
    values: ["{ failures: 1 }", "{ failures: 5 }"],
    tools: "fail",
    script: [call("fail"), call("fail"), reply.text("x")],
    look: (s) => kinds(s, "act.started").length,
    comes: [1, 2],
  },
  prices: {
    values: ["{ input: 0, output: 0 }", "{ input: 1000000, output: 1000000 }"],
    script: [reply.text("x", { usage: { input: 2, output: 3 } })],
    look: ({ result }) => result.cost,
    comes: [0, 5],
  },
  tokenizer: { values: ["estimate", "o200k_base"], look: ({ agent }) => agent.tokenizer, comes: ["estimate", "o200k_base"] },
  context: {
    values: ['{ kind: "window" }', '{ kind: "mask", keep: 1 }'],
    look: ({ agent }) => agent.context.kind,
    comes: ["window", "mask"],
  },
};

test.each(Object.keys(KEYS.with))("Y11 with %s: the run changes with its value", async (key) => {
  const row = Reflect.get(WITH, key) as Row | undefined;
  if (row === undefined) throw new Error(`there is no row for \`${key}\``);
  const instructions = key === "instructions" ? "" : 'instructions = "work",';
  const text = (value: string) =>
    `agent worker ${row.returns ?? ""} { capabilities = [${row.tools ?? ""}] with ${instructions} ${row.more === undefined ? "" : `${row.more}, `}${key} = ${value} { } }`;
  const [a, b] = [await ran(text(row.values[0]), row), await ran(text(row.values[1]), row)];
  expect([row.look(a), row.look(b)]).toEqual(row.comes);
  expect(digestOf(a)).not.toBe(digestOf(b));
});

const METADATA: Readonly<Record<keyof typeof KEYS.metadata, (seen: Seen) => unknown>> = {
  description: (s) => system(s).startsWith("one"),
  version: digestOf,
  author: digestOf,
};

test.each(Object.keys(KEYS.metadata))("Y11 Y5 metadata %s: the run changes with its value", async (key) => {
  const look = Reflect.get(METADATA, key) as ((seen: Seen) => unknown) | undefined;
  if (look === undefined) throw new Error(`there is no row for \`${key}\``);
  const text = (value: string) => `metadata { ${key} = "${value}" }\nagent worker { with instructions = "work" { } }`;
  const row: Row = { values: ["", ""], look: () => null, comes: [null, null] };
  const [a, b] = [await ran(text("one"), row), await ran(text("two"), row)];
  expect(look(a)).not.toEqual(look(b));
});

const MEMORY: Readonly<Record<keyof typeof KEYS.memory, readonly [string, string]>> = {
  scope: ["agent", "shared"],
  store: ["project", "shared"],
  max_items: ["1", "2"],
  max_tokens: ["100", "200"],
  threshold: ["0.1", "0.9"],
  keep_learnings: ["true", "false"],
};

test.each(Object.keys(KEYS.memory))("Y11 Y43 memory %s: what a session depends on changes with its value", (key) => {
  const values = Reflect.get(MEMORY, key) as readonly [string, string] | undefined;
  if (values === undefined) throw new Error(`there is no row for \`${key}\``);
  const agentWith = (value: string): Agent => {
    const found = made(`memory m { ${key} ${value} }\nagent worker { with instructions = "work" { } }`);
    if (found.kind === "problems" || found.agents[0] === undefined) throw new Error(JSON.stringify(found));
    return found.agents[0];
  };
  const [a, b] = [agentWith(values[0]), agentWith(values[1])];
  expect(a.knowledge).not.toEqual(b.knowledge);
  expect(a.digest(sha256)).not.toBe(b.digest(sha256));
});

/** What is declared is what the rest of the runtime goes by (section Z). */
const DECLARED: Readonly<Record<"schedule" | "webhook" | "webhook filter", Readonly<Record<string, readonly [string, string]>>>> = {
  schedule: {
    agent: ["a", "b"],
    input: ['"x"', '"y"'],
    cron: ['"* * * * *"', '"0 * * * *"'],
    at: ['"2030-01-01T00:00:00Z"', '"2031-01-01T00:00:00Z"'],
    timezone: ['"UTC"', '"Europe/Berlin"'],
    one_shot: ["true", "false"],
    jitter: ["1s", "2s"],
    overlap: ["skip", "queue"],
    missed: ["once", "all"],
    session: ["fresh", "shared"],
    retries: ["0", "1"],
    enabled: ["true", "false"],
  },
  webhook: {
    agent: ["a", "b"],
    path: ['"/a"', '"/b"'],
    provider: ["github", "slack"],
    secret: ["vault://a", '"$B"'],
    input: ['"x"', '"y"'],
    replay_window: ["1m", "2m"],
    max_bytes: ["1", "2"],
  },
  "webhook filter": { json_path: ['"$.a"', '"$.b"'], equals: ["1", "2"], contains: ['"x"', '"y"'] },
};
const BASE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  schedule: { agent: "a", input: '"x"', cron: '"* * * * *"' },
  webhook: { agent: "a", path: '"/a"', provider: "github", secret: "vault://a" },
  "webhook filter": { json_path: '"$.a"', equals: "1" },
};

test.each(["schedule", "webhook", "webhook filter"] as const)("Y11 every key of %s changes what is declared", (block) => {
  expect(Object.keys(DECLARED[block]).sort()).toEqual(Object.keys(KEYS[block]).sort());
  const declared = (key: string, value: string): string => {
    const other = { at: "cron", contains: "equals" }[key];
    const keys = Object.entries({ ...BASE[block], [key]: value }).filter(([name]) => name !== other);
    const body = keys.map(([name, one]) => `${name}: ${one}`).join("\n");
    const webhook = Object.entries(BASE["webhook"] ?? {})
      .map(([name, one]) => `${name}: ${one}`)
      .join("\n");
    const text = block === "webhook filter" ? `webhook x {\n${webhook}\nfilter {\n${body}\n}\n}` : `${block} x {\n${body}\n}`;
    const read = readSymbi(text, "x.symbi");
    if (read.kind === "problems") throw new Error(`${JSON.stringify(read.problems)}\n${text}`);
    const { schedules, webhooks } = read.symbi;
    return JSON.stringify([...schedules, ...webhooks].map(({ place: _, ...rest }) => rest));
  };
  for (const [key, [a, b]] of Object.entries(DECLARED[block])) expect([key, declared(key, a)]).not.toEqual([key, declared(key, b)]);
});

const APPROVAL: Readonly<Record<keyof typeof KEYS.approval, readonly [string, string]>> = {
  question: ['"One?"', '"Two?"'],
  approvers: ["[a]", "[b]"],
  quorum: ["1", "2"],
  expires: ["60s", "1h"],
  on_expiry: ["deny", "halt"],
  grant: ['"session"', '"turn"'],
};

test.each(Object.keys(KEYS.approval))("Y11 approval %s: the question changes with its value", async (key) => {
  const values = Reflect.get(APPROVAL, key) as readonly [string, string] | undefined;
  if (values === undefined) throw new Error(`there is no row for \`${key}\``);
  const asked = async (value: string) => {
    const text = `agent worker { capabilities = [look] policy p { require: approval(look, { ${key}: ${value} }) } with instructions = "x" { } }`;
    const thinks = 'permit(principal, action in [Action::"model", Action::"respond"], resource);';
    const { result } = await ran(text, {
      values: ["", ""],
      look: () => null,
      comes: [null, null],
      script: [call("look")],
      policies: thinks,
    });
    expect(result.state).toBe("waiting");
    return JSON.stringify(kinds({ result } as Seen, "gate.decided").at(-1));
  };
  expect(await asked(values[0])).not.toBe(await asked(values[1]));
});
