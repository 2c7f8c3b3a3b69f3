import { actionText, approvalId, digest, millis, seq, sessionId } from "@orgate/core/vocab";
import type { QuestionItem } from "@orgate/protocol/view";
import { expect, test } from "vitest";
import type { Key } from "./input/keys.ts";
import { approvalRef, type Panel, panelFor, press, QUIET_MS, type ShownApproval } from "./panel.ts";

const item = (n: number): QuestionItem => ({
  kind: "question",
  key: `q${n}`,
  seq: seq(n),
  at: millis(n),
  turn: 1,
  approval: approvalId(`a_${n}`),
  action: actionText(`1.${n}`),
  call: null,
  tool: "pay",
  summary: "",
  resource: null,
  quorum: { needed: 1, given: [] },
  subject: null,
  digest: digest(String(n).repeat(64)),
  asks: [],
  again: null,
  expiresAt: null,
  state: "open",
  answers: [],
});
const asked = (n: number): ShownApproval => ({ session: sessionId("s_00000001"), agent: "clerk", item: item(n), edit: null });
const opened = (lastKeyAt: number, isLineEmpty = true): Panel => {
  const panel = panelFor(null, [asked(1)], { now: 1_000, lastKeyAt, isLineEmpty });
  if (panel === null) throw new Error("it did not open");
  return panel;
};
const letter = (text: string): Key => ({ kind: "text", text });
const tab: Key = { kind: "named", name: "tab" };

test("S-4 a key that was on its way when the question appeared is no answer, and belongs to the line", () => {
  const panel = opened(990);
  const early = press(panel, letter("y"), 1_000 + QUIET_MS - 1, true);
  expect(early).toMatchObject({ kind: "passed", panel: { focus: "line" } });
  expect(press(early.panel, letter("y"), 9_000, false)).toMatchObject({ kind: "passed" });
  expect(press(panel, letter("y"), 1_000 + QUIET_MS, true)).toMatchObject({ kind: "chosen", choice: "approve" });
});

test("S-4 whoever goes on pressing keys that are no letters is not taken to have answered either", () => {
  const moved = press(opened(0), { kind: "named", name: "left" }, 1_300, true).panel;
  expect(press(moved, letter("y"), 1_300 + QUIET_MS - 1, true).kind).toBe("passed");
  expect(press(moved, letter("y"), 1_300 + QUIET_MS, true).kind).toBe("chosen");
});

test("S-4 what is written goes on to be written; Tab goes to the question, and Esc back", () => {
  const panel = opened(0, false);
  expect(press(panel, letter("y"), 9_000, false).kind).toBe("passed");
  const there = press(panel, tab, 9_000, false);
  expect(there).toMatchObject({ kind: "taken", panel: { focus: "panel" } });
  expect(press(there.panel, letter("n"), 9_000 + QUIET_MS, false)).toMatchObject({ kind: "chosen", choice: "deny" });
  expect(press(there.panel, { kind: "named", name: "escape" }, 9_000 + QUIET_MS, false)).toMatchObject({
    kind: "taken",
    panel: { focus: "line" },
  });
});

test("S-4 a burst of letters and a letter that means nothing are the beginning of a message", () => {
  for (const text of ["yes", "x"])
    expect(press(opened(0), letter(text), 9_000, true)).toMatchObject({ kind: "passed", panel: { focus: "line" } });
});

test("S-4 the answer is to the question that is shown; when it goes, the next one has to be seen first", () => {
  const first = opened(0);
  expect(panelFor(first, [asked(2), asked(1)], { now: 5_000, lastKeyAt: 0, isLineEmpty: true })).toBe(first);
  const second = panelFor(first, [asked(2)], { now: 5_000, lastKeyAt: 4_900, isLineEmpty: true });
  expect(second === null ? null : approvalRef(second)).toEqual({ session: "s_00000001", approval: "a_2", digest: "2".repeat(64) });
  expect(second === null ? null : press(second, letter("y"), 5_100, true).kind).toBe("passed");
  expect(panelFor(second, [], { now: 6_000, lastKeyAt: 0, isLineEmpty: true })).toBeNull();
  const renewed = { ...asked(1), item: { ...item(1), digest: digest("f".repeat(64)) } };
  expect(panelFor(first, [renewed], { now: 7_000, lastKeyAt: 0, isLineEmpty: true })?.armedAt).toBe(7_000 + QUIET_MS);
});
