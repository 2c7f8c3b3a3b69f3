import { hash as nodeHash } from "node:crypto";
import { describe, expect, expectTypeOf, test } from "vitest";
import * as z from "zod";
import { digest, type Hash, type Json } from "../vocab/index.ts";
import type { Agent } from "./agent.ts";
import { defineAgent } from "./define-agent.ts";
import { checkBySpec, readRunOutput, toOutputSpec } from "./define-output.ts";
import { defineTool } from "./define-tool.ts";

const sha256: Hash = (text) => digest(nodeHash("sha256", text, "hex"));
const plain = { name: "clerk", instructions: "Be brief." } as const;
const made = (schema: Parameters<typeof readRunOutput>[0]) => readRunOutput(schema, undefined, "clerk", sha256);

describe("what an agent answers with", () => {
  test("M-23 the type of the answer is known wherever the agent is", () => {
    const agent = defineAgent({ ...plain, output: z.object({ n: z.string().transform(Number) }) });
    expectTypeOf(agent).toExtend<Agent<{ n: number }>>();
    expectTypeOf(defineAgent({ ...plain, output: { type: "object" } })).toExtend<Agent<Json>>();
    expect(agent.output).toMatchObject({ wrapped: false, repairs: 2, schema: { type: "object", properties: { n: { type: "string" } } } });
  });

  test("M-23 it is part of what the agent is; one without is what it was", () => {
    const without = defineAgent(plain).digest(sha256);
    const one = defineAgent({ ...plain, output: z.object({ n: z.int() }) }).digest(sha256);
    const other = defineAgent({ ...plain, output: z.object({ n: z.int() }), outputRepairs: 0 }).digest(sha256);
    expect(new Set([without, one, other]).size).toBe(3);
  });

  test.each([
    ["no schema", 5, "`output` must be a schema"],
    ["one that would not be enforced", { type: "object", propertys: {} }, "`output` cannot be enforced: at `propertys`"],
    ["one that cannot describe itself", z.object({ at: z.date() }), "`output` cannot be described to a model"],
    [
      "one that is itself, and no object",
      { anyOf: [{ type: "string" }, { type: "array", items: { $ref: "#" } }] },
      "refers to itself as a whole",
    ],
  ])("M-23 refused where it stands: %s", (_, output, why) => {
    expect(() => defineAgent({ ...plain, output: output as z.ZodType })).toThrow(`agent \`clerk\`: `);
    expect(() => defineAgent({ ...plain, output: output as z.ZodType })).toThrow(why);
    expect(() => made(output as z.ZodType)).toThrow("this run of `clerk`: ");
  });

  test("M-23 by its JSON Schema alone it is what it is by itself, for what JSON Schema can say", () => {
    const output = made(z.union([z.strictObject({ kind: z.literal("a"), n: z.int() }), z.array(z.string())]));
    const values: readonly Json[] = [
      { value: { kind: "a", n: 1 } },
      { value: ["x"] },
      { value: { kind: "b", n: 1 } },
      { kind: "a", n: 1 },
      ["x"],
      {},
      { value: [], more: 1 },
    ];
    for (const value of values) {
      const [own, journal] = [output.check(value), checkBySpec(toOutputSpec(output), value)];
      expect(journal.kind, JSON.stringify(value)).toBe(own.kind);
      if (own.kind === "fits") expect(journal).toEqual(own);
    }
    expect(values.map((value) => output.check(value).kind)).toEqual(["fits", "fits", "misfit", "misfit", "misfit", "misfit", "misfit"]);
  });

  test("M-26 an agent with tools on a model that has no calls is refused, with the setting to use", () => {
    const look = defineTool({ name: "look", description: "x", input: { type: "object" }, run: () => null });
    for (const more of [{ tools: [look] }, { delegates: ["other"] }])
      expect(() => defineAgent({ ...plain, ...more, modelOptions: { tools: "none" } })).toThrow(/has no tool calls .* and it has tools/);
    expect(defineAgent({ ...plain, modelOptions: { tools: "none" } }).tools).toEqual([]);
    expect(defineAgent({ ...plain, tools: [look], modelOptions: { tools: "prompted" } }).tools).toHaveLength(1);
  });
});
