import { describe, expect, test } from "vitest";
import { argumentsOf, type ReplyPart } from "../vocab/index.ts";
import { checkReply, parseReply } from "./parse.ts";

const usage = { input: 1, output: 2 };
const whole = { parts: [{ kind: "text", text: "hi", meta: null }], finish: "stop", usage, model: "m", meta: null };
const called = (id: string, text = "{}"): ReplyPart => ({ kind: "call", id, tool: "t", text, meta: null });

describe("what an adapter returns", () => {
  test("L-28 a reply is taken as a frozen, well-formed copy", () => {
    const parts = [{ kind: "text", text: "a\ud800", meta: { deep: ["\udfff"] } }];
    const checked = checkReply({ ...whole, parts, extra: () => {} });
    if (checked.kind !== "reply") throw new Error(checked.detail);
    const usage = { ...whole.usage, cached: 0, reasoning: 0 };
    expect(checked.reply).toEqual({ ...whole, usage, parts: [{ kind: "text", text: "a\ufffd", meta: { deep: ["\ufffd"] } }] });
    expect(Object.isFrozen(checked.reply.parts[0])).toBe(true);
  });

  test("L-28 a reply without meta has none", () => {
    const { meta: _, ...rest } = whole;
    expect(checkReply(rest)).toMatchObject({ kind: "reply", reply: { meta: null } });
  });

  test.each<[string, unknown]>([
    ["null", null],
    ["a text", "hi"],
    ["parts that are no list", { ...whole, parts: {} }],
    ["a part that is null", { ...whole, parts: [null] }],
    ["a part of no known kind", { ...whole, parts: [{ kind: "image", text: "" }] }],
    ["a call without an id", { ...whole, parts: [{ kind: "call", tool: "t", text: "{}" }] }],
    ["a call without a tool", { ...whole, parts: [{ kind: "call", id: "1", text: "{}" }] }],
    ["a call whose arguments are no text", { ...whole, parts: [{ kind: "call", id: "1", tool: "t", text: {} }] }],
    ["a part with a function in it", { ...whole, parts: [{ kind: "text", text: "", meta: () => {} }] }],
    ["no finish", { ...whole, finish: undefined }],
    ["an inherited finish", { ...whole, finish: "toString" }],
    ["no usage", { ...whole, usage: null }],
    ["negative tokens", { ...whole, usage: { input: -1, output: 0 } }],
    ["tokens as text", { ...whole, usage: { input: "1", output: 0 } }],
    ["endless tokens", { ...whole, usage: { input: 1, output: Number.POSITIVE_INFINITY } }],
    ["no model", { ...whole, model: null }],
    ["meta that is no JSON", { ...whole, meta: new Map() }],
  ])("L-28 %s is no reply, and it says why", (_, given) => {
    expect(checkReply(given)).toEqual({ kind: "no-reply", detail: expect.stringMatching(/.+/) });
  });
});

describe("from a reply to proposals", () => {
  test("L-10 ids of ours count replies and places; a wire id that is empty or was used is replaced by one of ours", () => {
    const parts = parseReply(
      [called("a"), { kind: "text", text: "and", meta: null }, called("a"), called(""), called("old")],
      3,
      new Set(["old"]),
    );
    expect(parts).toMatchObject([
      { id: "3.0", wireId: "a" },
      { kind: "text" },
      { id: "3.1", wireId: "orgate_3_1" },
      { id: "3.2", wireId: "orgate_3_2" },
      { id: "3.3", wireId: "orgate_3_3" },
    ]);
  });

  test("M-5 arguments are read as they stand: nothing is an empty object, what is not JSON says where", () => {
    const args = parseReply([called("a", " "), called("b", '{"x":1}'), called("c", '{"x":\n1,}')], 1, new Set()).map((p) =>
      p.kind === "call" ? argumentsOf(p) : null,
    );
    expect(args).toEqual([
      { kind: "json", value: {} },
      { kind: "json", value: { x: 1 } },
      { kind: "not-json", detail: expect.stringContaining("line 2") },
    ]);
  });

  test("L-22 arguments are in memory what the journal reads back: well-formed, without a negative zero", () => {
    const [part] = parseReply([called("a", '{"x":"a\\ud800","n":-0}')], 1, new Set());
    const args = part?.kind === "call" ? argumentsOf(part) : null;
    expect(args).toMatchObject({ value: { x: "a\ufffd", n: 0 } });
    expect(args?.kind === "json" && Object.is((args.value as { n: number }).n, 0)).toBe(true);
  });
});
