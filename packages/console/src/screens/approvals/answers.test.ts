import { expect, test } from "vitest";
import { grantFor, readEdited, scopesWithin, untilsWithin, type Widest } from "./answers.ts";

const widest = (scope: Widest["scope"], lifetime: Widest["lifetime"]): Widest => ({ scope, lifetime });

test("O14 a grant is offered no wider and no longer than the policy lets it be", () => {
  expect(scopesWithin(widest("digest", "turn"))).toEqual(["digest"]);
  expect(scopesWithin(widest("tool", "turn"))).toEqual(["digest", "resource", "tool"]);
  expect(untilsWithin(widest("tool", "turn"))).toEqual(["turn"]);
  expect(untilsWithin(widest("tool", "session"))).toEqual(["turn", "session"]);
  expect(untilsWithin(widest("tool", { ms: 600_000 }))).toEqual(["turn", "longest"]);
  expect(untilsWithin(widest("tool", { ms: 86_400_000 }))).toEqual(["turn", "hour", "longest"]);
  const eightHours = widest("tool", { ms: 28_800_000 });
  const longest = grantFor("tool", "longest", eightHours, 1_000);
  expect(longest.kind === "grant" && typeof longest.grant.until === "number" && longest.grant.until < 28_801_000).toBe(true);
});

test("O14 edited arguments are a JSON object or they are not sent", () => {
  expect(readEdited('{"cents": 5}')).toEqual({ kind: "args", args: { cents: 5 } });
  for (const text of ["", "[]", "null", "3", "{"]) expect(readEdited(text).kind).toBe("wrong");
});
