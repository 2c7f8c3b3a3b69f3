import fc from "fast-check";
import { expect, test } from "vitest";
import { toolbox } from "../agents/define-tool.ts";
import { parseReply } from "../reason/parse.ts";
import { argumentsOf, callId, callKey, digest, epoch, type Json, sessionId, type ToolContext, toCanonicalJson } from "../vocab/index.ts";
import { arbitraries, SCRIPT_TOOLS, scriptTools } from "./arbitraries.ts";

const draw = arbitraries(fc);
const tools = toolbox(
  scriptTools(
    async (tool, args) => ({ tool, args }),
    (key) => key.endsWith("/1.0"),
  ),
  (text) => digest(text),
);

test("every JSON value drawn is JSON, and reads back as itself but for what was ill-formed", () => {
  fc.assert(
    fc.property(draw.json, (value) => {
      let text: string;
      try {
        text = toCanonicalJson(value);
      } catch (error) {
        // two keys that become one are refused, never merged
        expect(String(error)).toContain("two keys are the same once they are well-formed");
        return;
      }
      expect(toCanonicalJson(JSON.parse(text))).toBe(text);
    }),
  );
});

/** How many of a sample meet a condition: an arbitrary that never draws the odd case proves nothing. */
const among = <T>(drawn: fc.Arbitrary<T>, is: (one: T) => boolean): number =>
  fc.sample(drawn, { numRuns: 2000, seed: 7 }).filter(is).length;

test("the odd cases are drawn", () => {
  const text = (value: Json) => JSON.stringify(value);
  expect(among(draw.json, (value) => /\\ud[89a-f]/.test(text(value)))).toBeGreaterThan(20);
  expect(among(draw.json, (value) => text(value).includes('"__proto__":'))).toBeGreaterThan(5);
  expect(among(draw.json, (value) => text(value).includes('"$blob":'))).toBeGreaterThan(5);
  expect(among(draw.json, (value) => /[[{]{1}("in":)?([[{]("in":)?){50}/.test(text(value)))).toBeGreaterThan(20);
});

test("fitting calls fit and unfit ones are refused, by every kind of contract", () => {
  const verdict = (call: { tool: string; text: string }) => {
    const [part] = parseReply([{ kind: "call", id: "a", meta: null, ...call }], 1, new Set());
    const tool = tools.find(call.tool);
    if (tool === null) return "unknown tool";
    const args = part?.kind === "call" ? argumentsOf(part) : null;
    if (args?.kind !== "json") return "not JSON";
    return tool.check(args.value).kind === "valid" ? "fits" : "schema";
  };
  const textOf = (call: object) => ("text" in call ? String(call.text) : JSON.stringify("args" in call ? call.args : null));
  fc.assert(fc.property(draw.fittingCalls, (call) => verdict({ tool: call.tool, text: textOf(call) }) === "fits"));
  fc.assert(fc.property(draw.unfitCalls, (call) => verdict({ tool: call.tool, text: textOf(call) }) !== "fits"));
  const kinds = new Set(
    fc.sample(draw.unfitCalls, { numRuns: 200, seed: 7 }).map((call) => verdict({ tool: call.tool, text: textOf(call) })),
  );
  expect(kinds).toEqual(new Set(["unknown tool", "not JSON", "schema"]));
});

test("a script ends in text, calls in every reply before, and reaches every tool", () => {
  const called = new Set<string>();
  fc.assert(
    fc.property(draw.scripts, ({ steps }) => {
      const counts = steps.map((step) => {
        if (step.kind !== "reply") throw new Error("only replies were expected");
        const calls = step.parts.filter((part) => part.kind === "call");
        for (const call of calls) called.add(call.tool);
        return calls.length;
      });
      expect(counts.pop()).toBe(0);
      expect(counts.every((count) => count >= 1 && count <= 4)).toBe(true);
    }),
    { seed: 7 },
  );
  expect([...called]).toEqual(expect.arrayContaining(Object.values(SCRIPT_TOOLS)));
});

test("crash points lie before and after appends, effects and model calls", () => {
  const drawn = fc.sample(draw.crashPoints(3), { numRuns: 500, seed: 7 });
  expect(new Set(drawn.map(({ of, when, nth }) => `${when} ${of} ${nth}`)).size).toBe(24);
});

test("the tools of scripts are one of each way to be repeated, and only the one that can be asked what happened is asked", async () => {
  const session = sessionId("s_00000001");
  const at = (call: string): ToolContext => ({
    session,
    key: callKey(session, callId(call)),
    epoch: epoch(1),
    start: 1,
    signal: new AbortController().signal,
    note: () => {},
    spent: () => {},
    wouldPermit: () => "yes" as const,
    evidence: () => {},
  });
  for (const [repeat, name] of Object.entries(SCRIPT_TOOLS)) {
    const tool = tools.find(name);
    expect(tool?.repeat).toBe(repeat);
    expect(tool?.reconcile === null).toBe(repeat !== "reconcile");
    expect(await tool?.run({ n: 1, say: "" }, at("1.0"))).toEqual({ tool: name, args: { n: 1, say: "" } });
    expect(tool?.resource({ n: 1, say: "" })).toEqual({ type: "Thing", id: "1" });
  }
  const asked = (call: string) => tools.find(SCRIPT_TOOLS.reconcile)?.reconcile?.({ n: 1, say: "" }, at(call));
  expect([await asked("1.0"), await asked("1.1")]).toMatchObject([{ kind: "happened" }, { kind: "did-not-happen" }]);
});
