import { expect, test } from "vitest";
import * as z from "zod";
import { DEFAULT_LIMITS, digest, FaultError, type Json } from "../vocab/index.ts";
import type { AgentDefinition } from "./agent.ts";
import { refuseUnpricedLimit } from "./agent-prices.ts";
import { defineAgent, equipAgent, isAgent } from "./define-agent.ts";
import { defineMiddleware } from "./define-middleware.ts";
import { defineTool } from "./define-tool.ts";
import { PRICE_TABLE } from "./price-table.ts";
import { NO_RESOURCES } from "./skills/agent-skills.ts";

const hash = (text: string) => digest(text);
const tool = (name: string, description = "Does it.") => defineTool({ name, description, input: z.strictObject({}), run: () => null });
const plain: AgentDefinition = { name: "clerk", instructions: "Be brief.", model: "offline/echo", tools: [tool("b"), tool("a")] };

test("A-1 an agent is frozen, with every limit known", () => {
  const agent = defineAgent({ ...plain, limits: { iterations: 3 } });
  expect(agent.limits).toEqual({ ...DEFAULT_LIMITS, iterations: 3 });
  expect(agent.tools.map(({ name }) => name)).toEqual(["a", "b"]);
  expect([agent, agent.limits, agent.tools, agent.modelOptions].every(Object.isFrozen)).toBe(true);
  expect([isAgent(agent), isAgent({ ...plain }), isAgent(null)]).toEqual([true, false, false]);
});

test.each<[string, object]>([
  ["`name`", { name: "two words" }],
  ["`name`", { name: undefined }],
  ["no field `tool`", { tool: [] }],
  ["`instructions`", { instructions: "  " }],
  ["`model`", { model: "echo" }],
  ["`model`", { model: "offline/ec\nho" }],
  ["unknown limit `turns`", { limits: { turns: 3 } }],
  ["limit `iterations` is 0", { limits: { iterations: 0 } }],
  ["contextTokens (500) is not smaller than tokens (500)", { limits: { contextTokens: 500, tokens: 500 } }],
  ["two tools are named `a`", { tools: [tool("a"), tool("a")] }],
  ["`tools[0]` is no tool", { tools: [{ name: "a" }] }],
  ["`tools` is not a list", { tools: tool("a") }],
  ['`groups` holds "two words"', { groups: ["ops", "two words"] }],
  ['`groups` holds "ops"', { groups: "ops" }],
  ["`modelOptions` is not plain JSON", { modelOptions: { at: new Date(0) } }],
])("A-1 %s is refused where it stands, with what to do", (detail, change) => {
  const given: unknown = { ...plain, ...change };
  try {
    defineAgent(given as AgentDefinition);
    expect.unreachable();
  } catch (error) {
    if (!(error instanceof FaultError) || error.fault.kind !== "agent-invalid") throw error;
    expect(error.fault.where).toMatch(/agent/);
    expect(error.fault.detail).toContain(detail);
    expect(error.fault.hint).not.toBe("");
  }
});

test.each<[string, object]>([
  ["limit `cents` is given, and the price", { model: "a/b", limits: { cents: 50 } }],
  ["`prices` is not a price", { prices: { input: 3 } }],
  ["`prices` is not a price", { prices: { input: -1, output: 2 } }],
  ["`prices` is not a price", { prices: { input: 1, output: 2, cached: 0 } }],
  ["`prices` names `a/c`, which is no model of this agent's", { model: "a/b", prices: { "a/c": { input: 1, output: 2 } } }],
  [
    "the price of the model is not known: `a/c`",
    { model: "a/b", fallbacks: ["a/c"], prices: { input: 1, output: 2 }, limits: { cents: 5 } },
  ],
  ["`fallbacks` holds", { fallbacks: ["nothing"] }],
  ["`a/b` is asked twice", { model: "a/b", fallbacks: ["a/b"] }],
  ["`retry` has no field `often`", { retry: { often: 1 } }],
  ["`retry.times` must be at most 20", { retry: { times: 21 } }],
  ["whose price is not known", { prices: { input: 1, output: 2 }, limits: { cents: 5 }, context: { kind: "summarise", model: "a/b" } }],
])("B-5 %s: refused where it stands, with what to do", (detail, change) => {
  const given: unknown = { ...plain, ...change };
  expect(() => defineAgent(given as AgentDefinition)).toThrow(detail);
});

test("M-18 what is put into Anthropic's cache counts a quarter more where nobody said what it costs", () => {
  const prices = { input: 4, output: 20 };
  expect(defineAgent({ ...plain, model: "anthropic/own", prices }).prices).toEqual({ ...prices, cacheWrite: 5 });
  expect(defineAgent({ ...plain, model: "anthropic/own", prices: { ...prices, cacheWrite: 4 } }).prices).toEqual({
    ...prices,
    cacheWrite: 4,
  });
  expect(defineAgent({ ...plain, model: "openai/own", prices }).prices).toEqual(prices);
});

test("B-5 a run that brings a limit on money is refused where the agent has a model of unknown price, the one for summaries too", () => {
  const prices = { input: 1, output: 2 };
  const cents = { ...DEFAULT_LIMITS, cents: 5 };
  const named = defineAgent({ ...plain, prices, context: { kind: "summarise", model: "a/b" } });
  expect(refuseUnpricedLimit(cents, named, "this run")).toMatchObject({
    kind: "agent-invalid",
    detail: expect.stringContaining("`context` names another model"),
  });
  expect(refuseUnpricedLimit(cents, defineAgent({ ...plain, prices, context: { kind: "summarise" } }), "this run")).toBeNull();
  expect(refuseUnpricedLimit(DEFAULT_LIMITS, named, "this run")).toBeNull();
});

test.each<[string, object]>([
  ["it is no plan", { context: "window" }],
  ["there is no kind", { context: { kind: "forget" } }],
  ["window has no `keep`", { context: { kind: "window", keep: 3 } }],
  ["`keep` must be", { context: { kind: "mask", keep: 0 } }],
  ["`model` is not", { context: { kind: "summarise", model: "cheap" } }],
])("C-2 C-3 a plan for the conversation of which %s is refused", (detail, change) => {
  const given: unknown = { ...plain, ...change };
  expect(() => defineAgent(given as AgentDefinition)).toThrow(detail);
});

test("M-8 M-18 prices: what the agent says, then the table, then nobody knows; a money limit needs them all", () => {
  const table = defineAgent({ ...plain, model: "anthropic/claude-opus-5", fallbacks: ["openai/gpt-5"], limits: { cents: 50 } });
  expect([table.prices, table.fallbacks]).toEqual([
    { input: 5, output: 25, cachedInput: 0.5, cacheWrite: 6.25 },
    [{ model: "openai/gpt-5", prices: { input: 1.25, output: 10 } }],
  ]);
  const prices = { "a/b": { input: 1, output: 2 }, "openai/gpt-5": { input: 7, output: 8 } };
  const own = defineAgent({ ...plain, model: "a/b", fallbacks: ["openai/gpt-5", "a/c"], prices });
  expect([own.prices, ...own.fallbacks.map((f) => f.prices)]).toEqual([{ input: 1, output: 2 }, { input: 7, output: 8 }, null]);
  expect(defineAgent({ ...plain, model: "anthropic/claude-unheard-of" }).prices).toBeNull();
  expect(own.digest(hash)).not.toBe(defineAgent({ ...plain, model: "a/b", prices: prices["a/b"] }).digest(hash));
});

test("M-18 every price of the table has its day and its source", () => {
  for (const [model, { prices, on, source }] of Object.entries(PRICE_TABLE)) {
    expect(model).toMatch(/^[a-z-]+\/\S+$/);
    expect(prices.input > 0 && prices.output > 0 && source.length > 10).toBe(true);
    expect(on).toMatch(/^20\d\d-\d\d-\d\d$/);
  }
});

test("M-18 a cached price is a price like any other: given, checked, kept", () => {
  const prices = { input: 3, output: 15, cachedInput: 0.3, cacheWrite: 3.75 };
  expect(defineAgent({ ...plain, prices }).prices).toEqual(prices);
  for (const wrong of [
    { ...prices, cachedInput: -1 },
    { ...prices, cacheWrite: Number.NaN },
    { ...prices, cached: 1 },
  ])
    expect(() => defineAgent({ ...plain, prices: wrong })).toThrow("`prices` is not a price");
});

test.each([
  ["openrouter/anthropic/claude-sonnet-4.5", "anthropic/claude-sonnet-4-5"],
  ["openrouter/openai/gpt-5-mini", "openai/gpt-5-mini"],
  ["openrouter/google/gemini-2.5-flash", "google/gemini-2.5-flash"],
])("M-18 %s costs what its maker charges", (routed, known) => {
  expect(defineAgent({ ...plain, model: routed }).prices).toEqual(PRICE_TABLE[known]?.prices);
});

test.each(["openrouter/openai/gpt-5-mini:free", "openrouter/nobody/m", "openrouter/__proto__/x", "anthropic/constructor", "ollama/gpt-4o"])(
  "M-18 %s has no price",
  (model) => {
    expect(defineAgent({ ...plain, model }).prices).toBeNull();
  },
);

test("M-18 a project's prices stand between the agent's own and the table", () => {
  const project = {
    ...NO_RESOURCES,
    prices: { "openai/gpt-5": { input: 1, output: 9 }, "a/b": { input: 4, output: 5 }, "a/c": { input: 6, output: 7 } },
  };
  const own = { "a/b": { input: 2, output: 3 } };
  const agent = equipAgent(defineAgent({ ...plain, model: "a/b", fallbacks: ["openai/gpt-5", "a/c", "a/d"], prices: own }), project);
  expect([agent.prices, ...agent.fallbacks.map((f) => f.prices)]).toEqual([
    own["a/b"],
    { input: 1, output: 9 },
    { input: 6, output: 7 },
    null,
  ]);
});

test("B-5 C-3 prices and plans are kept as given, with what is left out filled in", () => {
  const agent = defineAgent({ ...plain, prices: { input: 3, output: 15 }, limits: { cents: 50 }, context: { kind: "summarise" } });
  expect([agent.prices, agent.limits.cents, agent.context]).toEqual([
    { input: 3, output: 15 },
    50,
    { kind: "summarise", keep: 6, model: null },
  ]);
  expect(defineAgent({ ...plain, context: { kind: "mask" } }).context).toEqual({ kind: "mask", keep: 8 });
  expect([defineAgent({ ...plain, model: "a/b" }).prices, defineAgent(plain).context]).toEqual([null, { kind: "window" }]);
});

test("A-1 the digest covers name, instructions, model and options, limits, groups and tools, and nothing of their order", () => {
  const of = (change: Partial<AgentDefinition>) => defineAgent({ ...plain, ...change }).digest(hash);
  const changes: Partial<AgentDefinition>[] = [
    {},
    { name: "other" },
    { instructions: "Be long." },
    { model: "offline/other" },
    { modelOptions: { rules: [] as Json[] } },
    { limits: { iterations: 3 } },
    { groups: ["ops"] },
    { groups: ["ops", "support"] },
    { tools: [tool("a")] },
    { tools: [tool("a"), tool("b", "Does more.")] },
  ];
  expect(new Set(changes.map(of)).size).toBe(changes.length);
  expect(of({ tools: [tool("a"), tool("b")] })).toBe(of({}));
  expect(of({ groups: ["support", "ops", "ops"] })).toBe(of({ groups: ["ops", "support"] }));
});

test("A-1 an agent's middleware is in order, by name, part of its digest; without any the digest is what it was", () => {
  const [a, b] = ["a", "b"].map((name) => defineMiddleware({ name, userMessage: (text) => text }));
  if (a === undefined || b === undefined) throw new Error("there are two");
  const digests = [[], [a], [a, b], [b, a]].map((middleware) => defineAgent({ ...plain, middleware }).digest(hash));
  expect(new Set(digests).size).toBe(4);
  expect(defineAgent(plain).digest(hash)).toBe(digests[0]);
  expect(() => defineAgent({ ...plain, middleware: [a, a] })).toThrow(/two middlewares are named `a`/);
  expect(() => defineAgent({ ...plain, middleware: [{ ...b, name: "c" }, {} as never] })).toThrow(/`middleware\[1\]` is no middleware/);
});
