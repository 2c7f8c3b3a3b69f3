import { actionText, approvalId, digest, millis, policyId, seq, sessionId } from "@orgate/core/vocab";
import { createSessionFold, textWidth } from "@orgate/protocol/view";
import { expect, test } from "vitest";
import { plain } from "../terminal/paint.ts";
import { drawFrame, type Footer, footerRow, lineRows, type Picture } from "./frame.ts";
import { complete } from "./input/complete.ts";
import { newEditor, withLine } from "./input/editor.ts";
import { isRead, markDrawn, type Panel, press, resetPages } from "./panel.ts";

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
  halts: [],
  isRunning: true,
};
const view = createSessionFold(sessionId("s_00000001")).view;
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

test.each([4, 6, 24])("in %i rows the region fits, with the line and the footer in it", (rows) => {
  for (const text of ["", "a\nb\nc\nd\ne\nf\ng\nh\ni\nj", "word ".repeat(300)]) {
    const { rows: shown, cursor } = drawFrame(picture(text), look(40), rows);
    expect(shown.length).toBeLessThan(Math.max(rows, 5));
    for (const row of shown) expect(textWidth(row)).toBeLessThanOrEqual(40);
    expect(shown.at(-1)).toContain("2 approvals wait");
    expect(cursor === null ? -1 : cursor.row).toBeLessThan(shown.length - 1);
  }
});

test("the cursor stands where the next letter comes, also in wide ones and after a break", () => {
  const at = (text: string) => lineRows(written(text), look(20), 8, "› ").cursor;
  expect([at(""), at("ab"), at("漢字"), at("ab\ncd")]).toEqual([
    { row: 0, column: 2 },
    { row: 0, column: 4 },
    { row: 0, column: 6 },
    { row: 1, column: 4 },
  ]);
});

test("S-20 the footer says where, to whom, with which model, how full, what it cost, and first what waits for a person", () => {
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
  action: actionText("c_1"),
  call: null,
  tool: "save_artifact",
  summary: "agents/x.symbi",
  resource: null,
  quorum: { needed: 1, given: [] },
  subject: null,
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

test("S-4 Q-9 whom the session serves stands in the first row of what is asked, and no word of it where it serves nobody", () => {
  const first = (subject: string | null): string | undefined =>
    drawFrame({ ...picture(""), panel: { ...panel, asked: { ...panel.asked, item: { ...item, subject } } } }, look(80), 24).rows.find(
      (row) => row.includes("a_00000001"),
    );
  expect(first("C-7")).toMatch(/^── shell asks, serving C-7 · a_00000001 ─+/);
  expect(first(null)).toMatch(/^── shell asks · a_00000001 ─+/);
});

const LONG = `newly permits: x · tool:pay · deny → allow (agents/x.symbi/4), ${"and a long way to say so ".repeat(6)}END-OF-IT`;

test.each([
  [40, 9],
  [40, 12],
  [80, 6],
  [80, 10],
  [80, 24],
  [80, 60],
])(
  "S-5 at %i × %i what would change is read whole, page by page, before y is offered, and what to press is always there",
  (columns, rows) => {
    let at: Panel = { ...panel, asked: { ...panel.asked, edit: { ...edit, newly: [...edit.newly, LONG] } } };
    const seen: string[] = [];
    for (let pages = 0; pages < 200; pages += 1) {
      const { rows: shown, next } = drawFrame({ ...picture(""), panel: at }, look(columns), rows);
      expect(shown.length).toBeLessThan(rows);
      for (const row of shown) expect(textWidth(row)).toBeLessThanOrEqual(columns);
      const wasRead = at.isRead === true;
      at = markDrawn(at, next);
      const isChrome = /^ *(?:──|save_artifact|Save this|Space|y counts|y once|e edit|g grant|n no|\? why|Esc|›|2 approvals)/;
      seen.push(...shown.filter((row) => !isChrome.test(row)).map((row) => row.replace(/^ +(?:↪ )?/, "")));
      const text = shown.join(" ").replace(/\s+/g, " ");
      expect(text).toContain("n no");
      if (next !== null && !wasRead) {
        expect(text).toMatch(/Space shows \d+ more rows? · y counts after the last|Space shows \d+ more rows? y counts after the last/);
        expect(text).not.toContain("y once");
        for (const key of ["y", "e", "g"])
          expect(press(at, { kind: "text", text: key }, 1_000, true)).toEqual({ kind: "taken", panel: at });
      }
      if (next === null) break;
      const paged = press(at, { kind: "text", text: " " }, 1_000, true);
      at = paged.panel;
    }
    const all = seen.join("").replace(/\s/g, "");
    expect(all).toContain(LONG.replace(/\s/g, ""));
    for (let i = 0; i < 40; i += 1) expect(all).toContain(`+line${i}`);
    expect(press(at, { kind: "text", text: "y" }, 1_000, true)).toMatchObject({ kind: "chosen", choice: "approve" });
    expect(press({ ...at, isRead: false }, { kind: "text", text: "n" }, 1_000, true)).toMatchObject({ kind: "chosen", choice: "deny" });
  },
);

test("S-5 a save whose change is not known here is not said yes to by a key; another width is read from the beginning", () => {
  const blind: Panel = { ...panel, asked: { ...panel.asked, edit: null } };
  expect(press(markDrawn(blind, null), { kind: "text", text: "y" }, 1_000, true)).toMatchObject({ kind: "taken" });
  expect(drawFrame({ ...picture(""), panel: blind }, look(80), 24).rows.join(" ")).toContain("its change is not shown here");
  expect(isRead(resetPages(markDrawn(panel, null)))).toBe(false);
  const tiny = drawFrame({ ...picture(""), panel }, look(40), 6); // no row of it fits above the keys
  expect(isRead(markDrawn(panel, tiny.next))).toBe(false);
});

test("the key for a grant shows what it would cover, folded and whole, and another key gives it", () => {
  const says = `It would cover ${"every later call of pay ".repeat(10)}END.`;
  const plain: Panel = { ...panel, asked: { ...panel.asked, item: { ...item, tool: "pay" }, edit: null } };
  expect(press(plain, { kind: "text", text: "g" }, 1_000, true)).toMatchObject({ kind: "chosen", choice: "grant" });
  const granting: Panel = { ...plain, granting: { grant: { scope: "tool", until: "session" }, says } };
  const shown = drawFrame({ ...picture(""), panel: granting }, look(40), 24).rows.map((row) => row.replace(/^ +(?:↪ )?/, ""));
  expect(shown.join("").replace(/\s/g, "")).toContain(says.replace(/\s/g, ""));
  expect(shown.join(" ")).toContain("y grants that · Esc goes back");
  expect(press(granting, { kind: "text", text: "y" }, 1_000, true)).toMatchObject({ kind: "chosen", choice: "give-grant" });
  expect(press(granting, { kind: "text", text: "g" }, 1_000, true)).toMatchObject({ kind: "taken" });
  expect(press(granting, { kind: "named", name: "escape" }, 1_000, true).panel.granting).toBeNull();
});

test.each([12, 20, 33, 40, 80])("S-5 at %i columns no row is wider than the screen, and what to press is whole", (columns) => {
  const completion = complete(
    { text: "/", at: 1 },
    { commands: [{ word: "a-long-command", about: "x".repeat(80) }], agents: [], files: () => [], argumentOffers: () => null },
  );
  for (const more of [
    { panel: { ...panel, isRead: true } },
    { panel: { ...panel, writing: "reason" } as const },
    { completion, hint: "y".repeat(90) },
    { question: "z".repeat(90) },
    { panel: { ...panel, isRead: true }, footer: { ...footer, phase: "waits for you" } as const },
  ]) {
    const { rows, cursor } = drawFrame({ ...picture("some words that are written"), ...more }, look(columns), 30);
    for (const row of rows) expect(textWidth(row)).toBeLessThanOrEqual(columns);
    expect(cursor?.column).toBeLessThan(columns);
    expect(rows.length).toBeLessThan(30);
    if ("panel" in more && more.panel.writing === null && columns >= 20)
      for (const key of ["y once", "e edit", "n no", "? why", "Esc later"]) expect(rows.join("\n")).toContain(key);
  }
});
