import { hash as nodeHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { defineTool } from "../../agents/define-tool.ts";
import type { ContextView, OwnContextPlan } from "../../reason/own-plan.ts";
import type { Message, Model, ModelRequest } from "../../reason/port.ts";
import { world } from "../../testing/index.ts";
import { digest } from "../../vocab/index.ts";

const CONTEXT_TOKENS = 1_000;
const TASK = "look forty times";

const look = defineTool({
  name: "look",
  description: "Looks.",
  input: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
  repeat: "read",
  run: async ({ n }) => `sight ${n} ${"lorem ipsum ".repeat(20)}`,
});

function walker(steps: number, asked: ModelRequest[]): Model {
  let n = 0;
  return {
    id: "w/w",
    async ask(request) {
      asked.push({ ...request, messages: [...request.messages] });
      n += 1;
      const call = { kind: "call", id: `c${n}`, tool: "look", text: JSON.stringify({ n }), meta: null } as const;
      const parts = n > steps ? [{ kind: "text", text: "done", meta: null } as const] : [call];
      return { parts, finish: n > steps ? "stop" : "calls", usage: { input: 1, output: 1 }, model: "w/w", meta: null };
    },
  };
}

const textOf = (m: Message): string => ("text" in m ? m.text : m.parts.map((p) => p.text).join(" "));

/** Runs forty calls under the plan, and checks what every request must be whatever a plan says. */
async function walk(plan: OwnContextPlan, plans: Readonly<Record<string, OwnContextPlan>> = { mine: plan }) {
  const asked: ModelRequest[] = [];
  const w = world({
    hash: (text) => digest(nodeHash("sha256", text, "hex")),
    model: walker(40, asked),
    tools: [look],
    context: { kind: "own", plan: "mine" },
    contextPlans: plans,
    limits: { tokens: 10_000_000, iterations: 100, calls: 100, outputTokens: 100, contextTokens: CONTEXT_TOKENS },
  });
  expect((await w.run(TASK)).last).toMatchObject({ ending: "completed", iterations: 41 });
  for (const [i, { messages }] of asked.entries()) {
    expect(10 + messages.reduce((sum, m) => sum + m.tokens, 0)).toBeLessThanOrEqual(CONTEXT_TOKENS);
    expect(messages.map(textOf).join("\n"), "the task is pinned").toContain(TASK);
    if (i > 0) expect(textOf(messages.at(-1) ?? fail()), "the newest result is there").toContain(`sight ${i} `);
    const open: string[] = [];
    for (const m of messages) {
      if (m.role === "tool") expect(open.shift(), "a result stands right after its call").toBe(m.wireId);
      else if (m.role === "assistant") open.push(...m.parts.flatMap((p) => (p.kind === "call" ? [p.wireId] : [])));
    }
  }
  return { asked, compacted: w.events("context.compacted") };
}

function fail(): never {
  throw new Error("there is no such message");
}

describe("a context plan of the program", () => {
  test("puts a text in place of old messages, and the journal names the plan", async () => {
    const { asked, compacted } = await walk(({ messages }) => ({
      kind: "replace",
      upTo: messages.length - 4,
      text: `seen so far: ${messages.length} messages`,
    }));
    expect(new Set(compacted.map(({ how, model }) => `${how} ${model}`))).toEqual(new Set(["summarise own/mine"]));
    expect(compacted.every(({ before, after }) => after < before)).toBe(true);
    expect(asked.at(-1)?.messages.map(textOf).join("\n")).toMatch(
      /summary of entries \d+ to \d+, made by own\/mine.*seen so far: \d+ messages/,
    );
  });

  test.each(["drop", "mask"] as const)("can %s: a boundary is lowered to where the conversation may be cut", async (kind) => {
    for (const upTo of [3, 4, 5, 1_000_000]) {
      const { compacted } = await walk(() => ({ kind, upTo }));
      expect(compacted.some(({ model }) => model === "own/mine")).toBe(true);
    }
  });

  test("is told what is shown, what that costs, and what a request may hold", async () => {
    const views: ContextView[] = [];
    await walk((view) => {
      views.push(view);
      return null;
    });
    for (const { messages, tokens, budget } of views) {
      expect(tokens).toBeGreaterThan(budget);
      expect(messages.some(({ role, tool, text }) => role === "tool" && tool === "look" && text.startsWith("sight"))).toBe(true);
    }
    expect(views.length).toBeGreaterThan(0);
  });

  const throws: OwnContextPlan = () => {
    throw new Error("no");
  };
  const nonsense =
    (step: unknown): OwnContextPlan =>
    () =>
      step as never;
  test.each<readonly [string, OwnContextPlan]>([
    ["throws", throws],
    ["returns null", () => null],
    ["returns a promise", () => Promise.reject(new Error("later")) as never],
    ["names an unknown step", nonsense({ kind: "forget", upTo: 3 })],
    ["counts halves", nonsense({ kind: "drop", upTo: 0.5 })],
    ["drops nothing", () => ({ kind: "drop", upTo: 0 })],
    ["goes back", () => ({ kind: "drop", upTo: -5 })],
    ["replaces by nothing", () => ({ kind: "replace", upTo: 3, text: " " })],
    ["replaces by more than it saves", () => ({ kind: "replace", upTo: 1, text: "x".repeat(100_000) })],
  ])("that %s is passed over: the oldest messages go", async (_, plan) => {
    const { compacted } = await walk(plan);
    expect(compacted.length).toBeGreaterThan(0);
    expect(new Set(compacted.map(({ how, model }) => `${how} ${model}`))).toEqual(new Set(["window null"]));
  });

  test("that the runtime does not have is passed over", async () => {
    const { compacted } = await walk(throws, {});
    expect(compacted.every(({ how, model }) => how === "window" && model === null)).toBe(true);
  });

  test("that changes what it is shown changes nothing", async () => {
    const { compacted } = await walk(({ messages }) => {
      (messages as unknown[]).length = 0;
      return null;
    });
    expect(compacted.length).toBeGreaterThan(0);
  });
});
