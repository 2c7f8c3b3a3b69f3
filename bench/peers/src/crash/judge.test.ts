import { expect, test } from "vitest";
import { CASES, FINAL } from "./cases.ts";
import { differences, judge, noteOf } from "./judge.ts";
import type { Line } from "./wire.ts";

const asked = (step: number, ...seen: readonly string[]): Line => ({ kind: "asked", step, seen });
const answered = (step: number): Line => ({ kind: "answered", step });
const effect = (key: string): Line => ({ kind: "effect", key });
const killed: Line = { kind: "killed" };
const ended = { kind: "ended", text: FINAL } as const;
const done = ["step 1 was done", "step 2 was done"];

const inTool2 = [asked(1), answered(1), effect("step 1"), asked(2), answered(2), effect("step 2"), killed];

test("X-1 work without a kill counts only with every call, every effect, every result shown to the model, and the same text", () => {
  const [inARow] = CASES;
  if (inARow === undefined) throw new Error("there are no cases");
  const whole = [asked(1), effect("step 1"), asked(2, "step 1 was done"), effect("step 2"), asked(3, ...done)];
  const without = (at: number): readonly Line[] => whole.filter((_, i) => i !== at);
  expect(differences(inARow, whole, ended)).toEqual([]);
  expect(differences(inARow, whole, { kind: "ended", text: "sorry" })).toEqual(["its text is `sorry`"]);
  expect(differences(inARow, whole, { kind: "parked" })).toEqual(["it is parked again"]);
  expect(differences(inARow, without(0), ended)).toEqual(["2 model calls, not 3"]);
  expect(differences(inARow, [...whole, asked(3, ...done)], ended)).toEqual(["4 model calls, not 3"]);
  expect(differences(inARow, without(3), ended)).toEqual(["its effects are step 1"]);
  expect(differences(inARow, [...whole, effect("step 2")], ended)).toEqual(["its effects are step 1, step 2, step 2"]);
  expect(differences(inARow, [...whole.slice(0, 4), asked(3, "step 1 was done", "gone")], ended)).toEqual([
    "the model saw step 1 was done | gone",
  ]);
});

test("X-1 an effect that took place again is doubled, and a reply that had been given and was asked for again is repeated", () => {
  const lines = [...inTool2, asked(2, "step 1 was done"), answered(2), effect("step 2"), asked(3, ...done), answered(3)];
  expect(judge(lines, ended, false)).toMatchObject({ lost: false, effectsDoubled: 1, callsRepeated: 1, inFlightRepeated: 0, told: null });
});

test("X-1 the model call in flight at the kill is told apart from a repeated reply", () => {
  const lines = [asked(1), answered(1), effect("step 1"), asked(2, "step 1 was done"), killed, asked(2, "step 1 was done"), answered(2)];
  expect(judge(lines, ended, false)).toMatchObject({ effectsDoubled: 0, callsRepeated: 0, inFlightRepeated: 1 });
});

test("X-1 what the model is told in place of a result is in the note", () => {
  const finding = judge([...inTool2, asked(3, "step 1 was done", "unknown: nobody can tell"), answered(3)], ended, false);
  expect(finding).toMatchObject({ lost: false, effectsDoubled: 0, callsRepeated: 0, told: "unknown: nobody can tell" });
  expect(noteOf([finding], null)).toBe("the model was told: `unknown: nobody can tell`");
});

test("X-1 a run that ends in another text, parks again or cannot be taken up is lost, and doubled effects of it still count", () => {
  const lines = [...inTool2, effect("step 2")];
  expect(judge(lines, { kind: "ended", text: "sorry" }, false)).toMatchObject({ lost: true, why: "its text is `sorry`" });
  expect(judge(lines, { kind: "parked" }, false)).toMatchObject({ lost: true, effectsDoubled: 1, effectsStranded: 2 });
  expect(judge(lines, { kind: "lost", why: "no checkpoint" }, false)).toMatchObject({ lost: true, why: "no checkpoint" });
});

test("X-1 repetitions that differ are said to, and the worst is shown", () => {
  const fine = judge([...inTool2, asked(3, ...done), answered(3)], ended, false);
  const doubled = judge([...inTool2, effect("step 2"), asked(3, ...done), answered(3)], ended, false);
  expect(noteOf([fine, doubled], null)).toMatch(/^the repetitions differ, the worst is shown: lost false, doubled 0.*doubled 1/);
});
