import { expect, test } from "vitest";
import { type ActionId, actionKind, actionText, callId, parseActionId, printActionId } from "./index.ts";

const IDS: readonly (readonly [string, ActionId])[] = [
  ["3.2", { kind: "call", call: callId("3.2") }],
  ["model:4", { kind: "model", iteration: 4 }],
  ["summary:4", { kind: "summary", iteration: 4 }],
  ["recall:4", { kind: "recall", iteration: 4 }],
  ["respond:4", { kind: "respond", iteration: 4 }],
  ["remember:2.7", { kind: "remember", turn: 2, iteration: 7 }],
  ["reconcile:3.2", { kind: "reconcile", call: callId("3.2") }],
];

test.each(IDS)("an action id is printed as `%s` and read back", (text, id) => {
  expect(printActionId(id)).toBe(text);
  expect(parseActionId(actionText(text))).toEqual(id);
  expect(actionKind(actionText(text))).toBe(id.kind);
});

test("a text with an unknown prefix names a call", () => {
  expect(parseActionId(actionText("constructor:1"))).toEqual({ kind: "call", call: "constructor:1" });
});
