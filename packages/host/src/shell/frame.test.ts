import { sessionFold, width } from "@orgate/core/journal/view";
import { sessionId } from "@orgate/core/vocab";
import { expect, test } from "vitest";
import { plain } from "../cli/paint.ts";
import { newEditor, withLine } from "./editor.ts";
import { type Footer, footerRow, lineRows, type Picture, regionOf } from "./frame.ts";

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
  expect(footerRow(footer, look(120))).toBe("  2 approvals wait · shop · local · @ops · offline/ops · context 12k · $0.0012 · Esc cancels");
  expect(footerRow({ ...footer, state: "connecting", addressee: null, waiting: 0 }, look(120))).toContain(
    "(connecting) · nobody addressed",
  );
});
