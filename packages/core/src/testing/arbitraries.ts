/**
 * Arbitraries for property tests. fast-check is a parameter, so that a program that installs core without testing installs nothing more.
 * The odd cases are not left to luck: lone surrogates, `__proto__` and `$blob` keys, deep nesting, numbers at the edges.
 */

import type * as FastCheck from "fast-check";
import type { Arbitrary } from "fast-check";
import * as z from "zod";
import { defineTool } from "../agents/define-tool.ts";
import { type Json, type JsonObject, type Repeat, type Tool, type ToolContext, UNTRUSTED } from "../vocab/index.ts";
import { reply, type ScriptedCall, type Step } from "./scripted-model.ts";

type Check = Pick<
  typeof FastCheck,
  | "array"
  | "boolean"
  | "constant"
  | "constantFrom"
  | "double"
  | "integer"
  | "letrec"
  | "nat"
  | "oneof"
  | "option"
  | "record"
  | "string"
  | "tuple"
>;

/** A point around the n-th append, effect or model call (from 0) of a run at which its process dies. */
export type CrashPoint = Readonly<{ of: "append" | "effect" | "model"; when: "before" | "after"; nth: number }>;

/** One turn's worth of replies: some with calls, the last with text only. */
export type Script = Readonly<{ input: string; steps: readonly Step[] }>;

/** One tool of each way to be repeated; all take `{ n, say }`. */
export const SCRIPT_TOOLS: Readonly<Record<Repeat, string>> = Object.freeze({
  read: "look",
  idempotent: "put",
  reconcile: "send",
  once: "fire",
});

/** The tools that scripts call. `effect` is told of every run; what it throws is the tool's failure, what it never answers hangs. */
export function scriptTools(
  effect: (tool: string, args: JsonObject, context: ToolContext) => Promise<Json>,
  happened: (key: string) => boolean,
): readonly Tool[] {
  return (["read", "idempotent", "reconcile", "once"] as const).map((repeat) => {
    const name = SCRIPT_TOOLS[repeat];
    const tool = {
      name,
      description: `A tool whose calls may be repeated as \`${repeat}\`.`,
      input: z.strictObject({ n: z.int(), say: z.string() }),
      repeat,
      effects: repeat === "read" ? (["read"] as const) : (["write"] as const),
      labels: [UNTRUSTED],
      resource: ({ n }: { n: number }) => ({ type: "Thing", id: String(n) }),
      run: (args: { n: number; say: string }, context: ToolContext) => effect(name, args, context),
    };
    if (repeat !== "reconcile") return defineTool(tool);
    return defineTool({
      ...tool,
      reconcile: async (_, { key }) => (happened(key) ? { kind: "happened", output: "it had happened" } : { kind: "did-not-happen" }),
    });
  });
}

export function arbitraries(fc: Check) {
  const oddStrings: Arbitrary<string> = fc.oneof(
    { weight: 4, arbitrary: fc.string({ unit: "binary" }) },
    { weight: 2, arbitrary: fc.string() },
    {
      weight: 3,
      arbitrary: fc.constantFrom(
        "",
        "\ud800",
        "a\udfffb",
        "\udc00\ud800",
        "\u0000",
        "\u2028",
        "\u202e",
        "__proto__",
        "constructor",
        "$blob",
        "\ufeff",
        '"}',
        "🧨",
        "e\u0301",
      ),
    },
  );
  const numbers: Arbitrary<number> = fc.oneof(
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(0, -0, Number.MAX_SAFE_INTEGER, 2 ** 53, 1e21, 5e-324, -1e-7),
  );
  const leaves: Arbitrary<Json> = fc.oneof(fc.constant(null), fc.boolean(), numbers, oddStrings);

  const { json, object } = fc.letrec<{ json: Json; object: JsonObject }>((tie) => ({
    json: fc.oneof(
      { maxDepth: 5, withCrossShrink: true },
      leaves,
      fc.array(tie("json"), { maxLength: 4 }),
      tie("object"),
      fc.tuple(leaves, fc.integer({ min: 1, max: 100 })).map(([leaf, depth]) => nested(leaf, depth)),
    ),
    object: fc.array(fc.tuple(oddStrings, tie("json")), { maxLength: 4 }).map(objectFrom),
  }));

  /** Arguments that fit the tools of scripts; few values of `n`, so that calls meet on one resource. */
  const fittingArgs = fc.record({ n: fc.integer({ min: 0, max: 3 }), say: fc.string({ maxLength: 8 }) });
  const toolNames = fc.constantFrom(...Object.values(SCRIPT_TOOLS));

  const fittingCalls: Arbitrary<ScriptedCall> = fc.tuple(toolNames, fittingArgs).map(([tool, args]) => ({ tool, args }));
  /** Refused by their contract: unknown tool, not JSON, a key twice, not what the schema takes. */
  const unfitCalls: Arbitrary<ScriptedCall> = fc.oneof(
    fc
      .tuple(fc.oneof(fc.constantFrom("no_such_tool", "__proto__", "Look"), oddStrings), json)
      .map(([tool, args]) => ({ tool: isScriptTool(tool) ? "no_such_tool" : tool, args })),
    fc
      .tuple(toolNames, fc.constantFrom("{", '{"n":1', "nonsense", '{"n":1,"n":2,"say":""}', "[1,]", "NaN"))
      .map(([tool, text]) => ({ tool, text })),
    fc
      .tuple(toolNames, fc.constantFrom<Json>(null, 5, [], {}, { n: "1", say: "" }, { n: 1.5, say: "" }, { n: 1, say: "", more: true }))
      .map(([tool, args]) => ({ tool, args })),
  );
  const calls: Arbitrary<ScriptedCall> = fc.oneof({ weight: 5, arbitrary: fittingCalls }, { weight: 1, arbitrary: unfitCalls });

  const usage = fc.record({ input: fc.nat({ max: 200 }), output: fc.nat({ max: 50 }) });
  const answers: Arbitrary<Step> = fc
    .tuple(fc.string({ maxLength: 20 }), usage)
    .map(([text, used]) => reply.text(`so: ${text}`, { usage: used }));
  const callReplies: Arbitrary<Step> = fc
    .tuple(
      fc.array(calls, { minLength: 1, maxLength: 4 }),
      fc.option(fc.string({ maxLength: 12 })),
      fc.option(fc.string({ maxLength: 12 })),
      usage,
    )
    .map(([made, text, thinking, used]) =>
      reply.calls(
        made.map((call, i) => ({ id: `c${i}`, ...call })),
        { usage: used, ...(text === null ? {} : { text }), ...(thinking === null ? {} : { thinking }) },
      ),
    );
  /** Each reply has 0 to 4 calls; the only one without is the last, since it ends the turn. */
  const scripts: Arbitrary<Script> = fc
    .tuple(fc.string({ maxLength: 20 }), fc.array(callReplies, { maxLength: 4 }), answers)
    .map(([input, before, last]) => ({ input: `do it: ${input}`, steps: [...before, last] }));

  const crashPoints = (most = 24): Arbitrary<CrashPoint> =>
    fc.record({ of: fc.constantFrom("append", "effect", "model"), when: fc.constantFrom("before", "after"), nth: fc.nat({ max: most }) });

  return { oddStrings, json, objects: object, fittingCalls, unfitCalls, calls, answers, callReplies, scripts, crashPoints };
}

const isScriptTool = (name: string): boolean => Object.values(SCRIPT_TOOLS).includes(name);

function nested(leaf: Json, depth: number): Json {
  let value = leaf;
  for (let i = 0; i < depth; i += 1) value = i % 2 === 0 ? [value] : { in: value };
  return value;
}

/** As JSON.parse makes it: a key named `__proto__` is a key. */
function objectFrom(fields: readonly (readonly [string, Json])[]): JsonObject {
  const made: Record<string, Json> = {};
  for (const [key, value] of fields) Object.defineProperty(made, key, { value, enumerable: true, configurable: true, writable: true });
  return made;
}
