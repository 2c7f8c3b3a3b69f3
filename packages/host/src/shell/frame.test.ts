import { sessionFold, width } from "@orgate/core/journal/view";
import { actionId, approvalId, digest, millis, policyId, seq, sessionId } from "@orgate/core/vocab";
import { expect, test } from "vitest";
import { plain } from "../cli/paint.ts";
import { completionOf } from "./complete.ts";
import { newEditor, withLine } from "./editor.ts";
import { type Footer, footerRow, lineRows, type Picture, regionOf } from "./frame.ts";
import type { Panel } from "./panel.ts";

const look = (columns: number) => ({ columns, paint: plain, showThinking: false });
const footer: Footer = {
  where: "shop · local",
  state: "connected",
  addressee: "ops",
  model: "offline/ops",
  contextTokens: 12_345,
  contextLimit: 80_000,
  phase: "acts",
  micros: 1_234,
  waiting: 2,
  isRunning: true,
};
const view = sessionFold(sessionId("s_00000001")).view;
const written = (text: string) => withLine(newEditor(), { text, at: text.length });
const picture = (text: string): Picture => ({
  talks: [{ view, settled: 0 }],
  editor: written(text),
  panel: null,
  completion: null,
  modal: null,
  question: null,
  hint: "",
  now: 0,
  footer,
});

test.each([4, 6, 24])("S26 in %i rows the region fits, with the line and the footer in it", (rows) => {
  for (const text of ["", "a\nb\nc\nd\ne\nf\ng\nh\ni\nj", "word ".repeat(300)]) {
    const { rows: shown, cursor } = regionOf(picture(text), look(40), rows);
    expect(shown.length).toBeLessThan(Math.max(rows, 5));
    for (const row of shown) expect(width(row)).toBeLessThanOrEqual(40);
    expect(shown.at(-1)).toContain("2 approvals wait");
    expect(cursor === null ? -1 : cursor.row).toBeLessThan(shown.length - 1);
  }
});

test("S26 the cursor stands where the next letter comes, also in wide ones and after a break", () => {
  const at = (text: string) => lineRows(written(text), look(20), 8, "› ").cursor;
  expect([at(""), at("ab"), at("漢字"), at("ab\ncd")]).toEqual([
    { row: 0, column: 2 },
    { row: 0, column: 4 },
    { row: 0, column: 6 },
    { row: 1, column: 4 },
  ]);
});

test("S29 the footer says where, to whom, with which model, how full, what it cost, and first what waits for a person", () => {
  expect(footerRow(footer, look(120))).toBe(
    "  2 approvals wait · acts · shop · local · @ops · offline/ops · context 12k of 80k · $0.0012 · Esc cancels",
  );
  expect(footerRow({ ...footer, phase: null }, look(120))).not.toContain("acts");
  expect(footerRow({ ...footer, state: "connecting", addressee: null, waiting: 0 }, look(120))).toContain(
    "(connecting) · nobody addressed",
  );
});

const lines = Array.from({ length: 40 }, (_, i) => ({ kind: "added", text: `line ${i}` }) as const);
const edit = {
  path: "agents/x.symbi",
  added: 40,
  removed: 0,
  whole: true,
  lines,
  newly: ["newly permits: x · tool:pay · deny → allow", "newly asks: x · tool:send · deny → ask"],
};
const item = {
  kind: "question",
  key: "q",
  seq: seq(1),
  at: millis(1),
  turn: 1,
  approval: approvalId("a_00000001"),
  action: actionId("c_1"),
  call: null,
  tool: "save_artifact",
  summary: "agents/x.symbi",
  resource: null,
  digest: digest("0".repeat(64)),
  asks: [
    {
      policy: { id: policyId("shell/save"), file: null },
      question: "Save this?",
      approvers: [],
      quorum: 1,
      grant: "tool session",
      onExpiry: "deny",
    },
  ],
  again: null,
  expiresAt: null,
  state: "open",
  answers: [],
} as const;
const panel: Panel = {
  asked: { session: sessionId("s_00000001"), agent: "shell", item, edit },
  armedAt: 0,
  focus: "panel",
  writing: null,
};

test.each([6, 10, 24, 60])(
  "S119 in %i rows a question about a file shows what it newly permits and its difference as far as there is room, and always what to press",
  (rows) => {
    const { rows: shown } = regionOf({ ...picture(""), panel }, look(80), rows);
    const text = shown.join("\n");
    expect(shown.length).toBeLessThan(rows);
    expect(text).toContain("y once · e edit · g grant (tool session) · n no");
    if (rows >= 10) expect(text).toContain("newly permits: x · tool:pay");
    if (rows === 10 || rows === 24) expect(text).toContain("more: /why shows all");
    if (rows === 60) expect(text).toContain("+ line 39");
  },
);

test.each([12, 20, 33, 40, 80])("S119 S211 at %i columns no row is wider than the screen, and what to press is whole", (columns) => {
  const completion = completionOf(
    { text: "/", at: 1 },
    { commands: [{ word: "a-long-command", about: "x".repeat(80) }], agents: [], files: () => [], taking: () => null },
  );
  for (const more of [
    { panel },
    { panel: { ...panel, writing: "reason" } as const },
    { completion, hint: "y".repeat(90) },
    { question: "z".repeat(90) },
    { panel, footer: { ...footer, phase: "waits for you" } as const },
  ]) {
    const { rows, cursor } = regionOf({ ...picture("some words that are written"), ...more }, look(columns), 30);
    for (const row of rows) expect(width(row)).toBeLessThanOrEqual(columns);
    expect(cursor?.column).toBeLessThan(columns);
    expect(rows.length).toBeLessThan(30);
    if ("panel" in more && more.panel.writing === null && columns >= 20)
      for (const key of ["y once", "e edit", "n no", "? why", "Esc later"]) expect(rows.join("\n")).toContain(key);
  }
});
