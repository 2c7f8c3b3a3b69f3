import { jsonSchema, tool } from "@ai-sdk/provider-utils";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { callId, callKey, epoch, type Json, sessionId, type ToolContext } from "../vocab/index.ts";
import { defineAgent } from "./define-agent.ts";
import { defineTool } from "./define-tool.ts";
import { type AiTool, fromAiTool } from "./from-ai-tool.ts";

const session = sessionId("s_00000001");
const context: ToolContext = {
  session,
  key: callKey(session, callId("1.1")),
  epoch: epoch(1),
  start: 1,
  signal: new AbortController().signal,
  note: () => {},
  spent: () => {},
  wouldPermit: () => "yes" as const,
  evidence: () => {},
};

const weather = tool({
  description: "The weather of a place.",
  inputSchema: z.object({ place: z.string(), days: z.number().default(1) }),
  execute: async ({ place, days }, { toolCallId, abortSignal }) => ({ place, days, toolCallId, stopped: abortSignal?.aborted ?? null }),
});

test("M-15 an AI SDK tool is a tool of ours, with the strictest of what it does not say", async () => {
  const made = fromAiTool("weather", weather);
  expect(made).toMatchObject({
    name: "weather",
    description: "The weather of a place.",
    repeat: "once",
    effects: ["execute"],
    labels: ["untrusted"],
    inputSchema: { type: "object", properties: { place: { type: "string" } } },
  });
  expect(made.check({ place: "Ulm" })).toEqual({ kind: "valid", args: { place: "Ulm", days: 1 } });
  expect(made.check({ place: 7 }).kind).toBe("invalid");
  expect(await made.run({ place: "Ulm", days: 2 }, context)).toEqual({ place: "Ulm", days: 2, toolCallId: context.key, stopped: false });
});

test("M-15 its settings may say more, and nothing less is enforced", () => {
  const made = fromAiTool("weather", weather, {
    repeat: "read",
    effects: ["read", "network"],
    labels: [],
    resource: ({ place }) => ({ type: "Place", id: String(place) }),
    resourceTypes: ["Place"],
  });
  expect(made).toMatchObject({ repeat: "read", effects: ["network", "read"], labels: [] });
  expect(made.resource({ place: "Ulm", days: 1 })).toEqual({ type: "Place", id: "Ulm" });
});

test("M-15 its schema may be a JSON Schema of the SDK's, checked whole; its results may come one after the other", async () => {
  const schema = jsonSchema<{ n: number }>({
    $schema: "http://json-schema.org/draft-07/schema#",
    type: "object",
    properties: { n: { type: "integer" } },
    required: ["n"],
    additionalProperties: false,
  });
  const counting = tool({
    description: "Counts.",
    inputSchema: schema,
    async *execute({ n }) {
      for (let i = 1; i <= n; i += 1) yield i;
    },
  });
  const made = fromAiTool("count", counting);
  expect(made.inputSchema).not.toHaveProperty("$schema");
  expect(made.check({ n: "3" }).kind).toBe("invalid");
  expect(await made.run({ n: 3 }, context)).toBe(3);
  expect(fromAiTool("late", { ...counting, inputSchema: () => schema }).inputSchema).toEqual(made.inputSchema);
});

const plain = { description: "x", inputSchema: z.object({}), execute: (): Json => null };
test.each([
  ["past the gate", { ...plain, type: "provider", id: "anthropic.web_search", args: {} }],
  ["no `execute`", { description: "x", inputSchema: z.object({}) }],
  ["needsApproval", { ...plain, needsApproval: true }],
  ["needsApproval", { ...plain, needsApproval: () => false }],
  ["return just that from `execute`", { ...plain, toModelOutput: () => ({ type: "text", value: "only this" }) }],
  ["its description is a function", { ...plain, description: () => "x" }],
  ["`description` must say", { ...plain, description: "" }],
  ["no schema", { ...plain, inputSchema: undefined }],
  ["makes its JSON Schema later", { ...plain, inputSchema: { jsonSchema: Promise.resolve({}) } }],
  ["must describe an object", { ...plain, inputSchema: z.string() }],
  ["it is no tool", null],
])("M-15 what would run past the gate or lose a safeguard is refused: %s (%#)", (why, given) => {
  expect(() => fromAiTool("t", given as AiTool)).toThrow(why);
});

test("M-15 a policy may take over where the tool would have asked itself", () => {
  expect(fromAiTool("t", { ...plain, needsApproval: true }, { approval: "policy" }).name).toBe("t");
});

describe("M-15 agents", () => {
  const own = defineTool({ name: "own", description: "x", input: z.object({}), run: () => null });
  test("M-15 an agent takes tools by name, of either kind", () => {
    const agent = defineAgent({ name: "a", instructions: "x", tools: { weather, own } });
    expect(agent.tools.map(({ name, repeat }) => [name, repeat])).toEqual([
      ["own", "once"],
      ["weather", "once"],
    ]);
    expect(() => defineAgent({ name: "a", instructions: "x", tools: { other: own } })).toThrow("`tools.other` is the tool `own`");
  });

  test("M-19 an agent that names no model gets the offline one, and a warning", () => {
    const agent = defineAgent({ name: "a", instructions: "x" });
    expect(agent.model).toBe("offline/echo");
    expect(agent.warnings).toEqual([expect.stringContaining("it names no model")]);
    expect(defineAgent({ name: "a", instructions: "x", model: "offline/echo" }).warnings).toEqual([]);
  });
});
