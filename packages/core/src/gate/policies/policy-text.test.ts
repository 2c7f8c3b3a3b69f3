import { expect, test } from "vitest";
import { durationWords, suggestNearest } from "../../vocab/index.ts";
import { readGrant } from "../approvals.ts";
import { findAnnotation, readDuties, splitPolicies, toCharacterOffset, toPlace, utf8Length } from "./policy-text.ts";

test("G-9 a policy ends where Cedar ends it, whatever stands in texts and comments", () => {
  const text =
    '// one; "two\n@reason("a; // b \\" ;") permit (principal, action, resource); // after;\n\n  forbid (principal, action, resource) when { "x" == ";" };\n// end';
  expect(splitPolicies(text).map((p) => [p.offset, p.text.slice(0, 9), p.text.slice(-3)])).toEqual([
    [13, '@reason("', "e);"],
    [text.indexOf("forbid"), "forbid (p", " };"],
  ]);
  expect(splitPolicies("\ufeff// only a comment")).toEqual([]);
});

test("G-9 what is left at the end is a piece too, and blanks before it cost no more than their number", () => {
  expect(splitPolicies(`permit (principal, action, resource);${" \n".repeat(50_000)}forbid (`)).toMatchObject([{}, { text: "forbid (" }]);
});

test("G-9 the engine counts bytes, people count characters", () => {
  const text = "é🙂x\nü!";
  expect(utf8Length(text)).toBe(11);
  expect([0, 2, 6, 7, 8, 10, 99].map((byte) => toCharacterOffset(text, byte))).toEqual([0, 1, 3, 4, 5, 6, 7]);
  expect(toPlace(text, 6)).toEqual({ line: 2, column: 2 });
});

test("G-9 an annotation is found outside of texts, comments and longer names", () => {
  const text = '// @ask\n@reason("@ask") @asker("x") @ask("y") permit';
  expect(findAnnotation(text, "ask")).toBe(text.lastIndexOf("@ask("));
  expect(findAnnotation(text, "none")).toBe(0);
});

test("G-9 times and suggestions", () => {
  expect([durationWords("30s"), durationWords("15m"), durationWords("8h"), durationWords("60d")]).toEqual([
    30_000, 900_000, 28_800_000, 5_184_000_000,
  ]);
  expect([durationWords("0s"), durationWords("1"), durationWords("-1s"), durationWords("1.5h"), durationWords("")]).toEqual([
    null,
    null,
    null,
    null,
    null,
  ]);
  expect(suggestNearest("tool:sned", ["model", "tool:send"])).toBe("did you mean `tool:send`?");
  expect(suggestNearest("zzz", ["model", "tool:send"])).toBe("known: model, tool:send");
});

test.each(["once", "turn", "session", "8h", "tool 8h", "digest turn", "resource session", "tool 60d"])(
  "Q-9 @grant takes what a grant is later measured by: %s",
  (grant) => {
    expect(readGrant(grant)).not.toBe(undefined);
    expect(readDuties("p", "permit", { ask: "?", grant })).toMatchObject({ kind: "duties", duties: { ask: { terms: { grant } } } });
  },
);

test.each(["time", "forever", "tool", "once tool", "tool once", "session tool", "tool  8h", "tool 8h now", "0h", "Session"])(
  "Q-9 @grant takes nothing else: %s",
  (grant) => {
    expect(readGrant(grant)).toBe(undefined);
    expect(readDuties("p", "permit", { ask: "?", grant })).toMatchObject({ kind: "wrong", annotation: "grant" });
  },
);

test("G-9 a comment ends where the engine ends it: a lone carriage return too, so no policy hides behind it", () => {
  const found = splitPolicies(
    '// over \r@id("stop") forbid(principal, action, resource);\n// and\r\npermit(principal, action, resource); // \r',
  );
  expect(found.map((p) => p.text)).toEqual(['@id("stop") forbid(principal, action, resource);', "permit(principal, action, resource);"]);
});
