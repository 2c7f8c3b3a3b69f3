/**
 * The picture at the bottom of the screen: what is in progress, the question, the line that is written, the footer. Pure.
 * The region is never higher than the screen, whatever is in it; the line that is written and the footer are always in it.
 * No row of it is wider than the screen, however narrow that is: one that the terminal breaks would be drawn over wrongly from then on.
 */
import { countNoun, quorumText, type SessionView, shorten, textWidth, type ViewItem } from "@orgate/protocol/view";
import { foldText } from "../terminal/fold.ts";
import type { Tone } from "../terminal/paint.ts";
import { visible } from "../terminal/visible.ts";
import type { Completion } from "./input/complete.ts";
import type { Editor, Line } from "./input/editor.ts";
import type { Region } from "./live-region.ts";
import { formatMoney, type ScreenLook } from "./look.ts";
import { isRead, type Panel } from "./panel.ts";
import { isQueued, queuedTexts, renderItem, renderStreaming } from "./screen.ts";
import type { Modal } from "./ui.ts";

export type Footer = Readonly<{
  /** `local`, or the server's name. */
  where: string;
  state: "starting" | "connected" | "connecting" | "closed";
  addressee: string | null;
  model: string;
  contextTokens: number;
  /** Token limit of a request; null if none is set. */
  contextLimit: number | null;
  /** The phase of the turn in progress. */
  phase: "thinks" | "answers" | "acts" | "waits for you" | null;
  micros: number | null;
  /** Open approval requests in all sessions that this operator may see. */
  waiting: number;
  /** The scopes of the halts in force. */
  halts: readonly string[];
  isRunning: boolean;
}>;
/** Shown until a server is connected. */
export const STARTING: Footer = {
  where: "",
  state: "starting",
  addressee: null,
  model: "",
  contextTokens: 0,
  contextLimit: null,
  phase: null,
  micros: null,
  waiting: 0,
  halts: [],
  isRunning: false,
};
export type Picture = Readonly<{
  talks: readonly Readonly<{ view: SessionView; settled: number }>[];
  editor: Editor;
  panel: Panel | null;
  completion: Completion | null;
  /** Has the keys, and the place of what is in progress. */
  modal: Pick<Modal, "rows"> | null;
  /** A hidden question, in place of the line. */
  question: string | null;
  /** One line above the footer: what a key just did, or would do. */
  hint: string;
  /** By the clock that panels are armed by. */
  now: number;
  footer: Footer;
}>;

const MOST_LINE_ROWS = 8;

/** `next`: where the next page of what the panel asks about begins; null: that was the last. */
export function drawFrame(picture: Picture, look: ScreenLook, rows: number): Region & Pick<Paged, "next"> {
  const { rows: drawn, cursor, next } = drawnIn(picture, look, rows);
  return { rows: drawn.map((row) => within(row, look.columns)), cursor, next };
}
/** Cuts a row that is too wide; it loses its colours. */
function within(row: string, columns: number): string {
  const bare = row.replace(COLOURS, "");
  return textWidth(bare) <= columns ? row : shorten(bare, columns);
}
const COLOURS = /\u001b\[[0-9;]*m/g;

function drawnIn(picture: Picture, look: ScreenLook, rows: number): Region & Pick<Paged, "next"> {
  const most = Math.max(rows - 1, 4);
  const below = [...completionRows(picture.completion, look), ...hintRows(picture.hint, look), footerRow(picture.footer, look)].slice(
    -(most - 1),
  );
  const written = picture.question === null ? picture.editor : NOTHING_WRITTEN;
  const prompt = shorten(promptOf(picture), Math.max(look.columns - 4, 2));
  const line = lineRows(written, look, Math.max(1, Math.min(MOST_LINE_ROWS, most - below.length)), prompt);
  const room = most - below.length - line.rows.length;
  if (picture.modal !== null) {
    const rows = picture.modal.rows(look, room).slice(0, Math.max(room, 0));
    const cursor = { row: rows.length + line.cursor.row, column: line.cursor.column };
    return { rows: [...rows, ...line.rows, ...below], cursor, next: picture.panel?.next ?? 0 };
  }
  const { rows: panel, next } = picture.panel === null ? NO_PANEL : panelRows(picture.panel, picture.now, look, Math.max(room, 0));
  const live = picture.talks.flatMap((talk) => liveRows(talk, look, Math.max(room - panel.length, 0)));
  const above = [...live.slice(-Math.max(room - panel.length, 0) || live.length), ...panel].slice(0, Math.max(room, 0));
  return {
    rows: [...above, ...line.rows, ...below],
    cursor: { row: above.length + line.cursor.row, column: line.cursor.column },
    next,
  };
}
const NO_PANEL: Paged = { rows: [], next: null };

function liveRows({ view, settled }: Picture["talks"][number], look: ScreenLook, most: number): readonly string[] {
  if (most === 0) return [];
  const isShown = (item: ViewItem): boolean => !isQueued(item) && !(item.kind === "question" && item.state === "open"); // that one is the panel's
  const items = view.items.slice(settled).flatMap((item) => (isShown(item) ? renderItem(item, look) : []));
  const later = queuedTexts(view).map((text) =>
    look.paint("dim", shorten(`› ${text.replaceAll("\n", " ")} (for later)`, look.columns - 1)),
  );
  return [...items, ...renderStreaming(view, look, most), ...later].slice(-most);
}

const NOTHING_WRITTEN: Pick<Editor, "line" | "search"> = { line: { text: "", at: 0 }, search: null };
const promptOf = ({ panel, editor, question }: Picture): string =>
  question !== null
    ? visible(question)
    : editor.search !== null
      ? `search \`${visible(editor.search.query)}\`: `
      : panel?.writing === "reason"
        ? "why not? "
        : panel?.writing === "arguments"
          ? "arguments: "
          : "› ";

const characters = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** As many rows as are shown, around the one that the cursor is in. */
export function lineRows(
  { line, search }: Pick<Editor, "line" | "search">,
  { columns, paint }: ScreenLook,
  most: number,
  prompt: string,
): Readonly<{ rows: readonly string[]; cursor: Readonly<{ row: number; column: number }> }> {
  const { rows, cursor } = laidOut(line, columns, textWidth(prompt));
  const first = Math.min(Math.max(0, cursor.row - most + 1), Math.max(0, rows.length - most));
  const shown = rows.slice(first, first + most);
  return {
    rows: shown.map((row, i) => (first + i === 0 ? paint(search === null ? "accent" : "dim", prompt) : "  ") + row),
    cursor: { row: cursor.row - first, column: cursor.column },
  };
}

function laidOut(
  { text, at }: Line,
  columns: number,
  indent: number,
): Readonly<{ rows: string[]; cursor: { row: number; column: number } }> {
  const rows = [""];
  let used = indent;
  let cursor = { row: 0, column: used };
  for (const { segment, index } of characters.segment(text)) {
    if (index === at) cursor = { row: rows.length - 1, column: used };
    if (segment === "\n") {
      rows.push("");
      used = 2;
      continue;
    }
    const shown = segment === "\t" ? "  " : visible(segment);
    const wide = textWidth(shown);
    if (used + wide >= columns) {
      rows.push("");
      used = 2;
      if (index === at) cursor = { row: rows.length - 1, column: used };
    }
    rows[rows.length - 1] += shown;
    used += wide;
  }
  if (at >= text.length) cursor = { row: rows.length - 1, column: Math.min(used, columns - 1) };
  return { rows, cursor };
}

/** S-5 which keys answer is never what is left out. S-5 what would change is shown whole, a page at a time: what it newly permits first, then its difference. */
function panelRows(panel: Panel, now: number, look: ScreenLook, most: number): Paged {
  const { asked, focus, writing, armedAt, granting = null, from = 0 } = panel;
  const { agent, item, edit } = asked;
  const { paint, columns } = look;
  const title = [
    paint(
      "warn",
      shorten(
        `── ${agent} asks${item.subject == null ? "" : `, serving ${item.subject}`} · ${item.approval} ${"─".repeat(columns)}`,
        columns - 1,
      ),
    ),
    shorten(`   ${item.tool}(${item.summary})`, columns - 1),
  ];
  const voted = quorumText(item.quorum);
  const asks = [...item.asks.map(({ question }) => question), ...(voted === null ? [] : [voted])].map((text) =>
    shorten(`   ${text}`, columns - 1),
  );
  const all = granting !== null ? wrapped(granting.says, columns, (row) => paint("warn", row)) : edit === null ? [] : editRows(edit, look);
  const keyed = (left: number): readonly string[] =>
    keyRows(
      writing !== null
        ? "Enter sends it · Esc goes back"
        : focus !== "panel"
          ? "Tab answers it"
          : now < armedAt
            ? "a moment: what is typed now is no answer"
            : keysOf(panel, left),
      columns - 1,
    ).map((row) => paint("dim", row));
  // as many as any page needs: a page does not grow over what is read next when its keys are others
  const keys = Math.max(...[all.length, 0].map((left) => keyRows(keysOf(panel, left), columns - 1).length));
  const spare = most - title.length - asks.length - keys;
  const isTight = all.length > 0 && spare < Math.min(all.length, LEAST_PAGE); // then what would change comes before the title
  const room = Math.max(isTight ? most - keys : spare, all.length > 0 ? 1 : 0);
  const page = all.slice(from, from + room);
  const next = from + page.length >= all.length ? null : from + page.length;
  const foot = keyed(all.length - from - page.length);
  const rows = isTight ? [...page, ...foot] : [...title, ...page, ...asks, ...foot];
  return { rows: rows.slice(-Math.max(most, 1)), next: granting === null && most > keys ? next : (panel.next ?? 0) };
}
type Paged = Readonly<{ rows: readonly string[]; next: number | null }>;
const LEAST_PAGE = 3;

function keysOf(panel: Panel, left: number): string {
  const { asks } = panel.asked.item;
  if (panel.granting != null) return "y grants that · Esc goes back";
  if (panel.asked.edit === null && !isRead(panel)) return "its change is not shown here: ? shows all, then /approve ID · n no · Esc later";
  if (!isRead(panel) && left > 0) return `Space shows ${countNoun(left, "more row")} · y counts after the last · n no · ? why · Esc later`;
  const again = panel.asked.edit !== null && (panel.from ?? 0) > 0 ? "Space reads it again · " : "";
  return `y once · e edit · ${grantKey(asks)}n no · ? why · ${again}Esc later`;
}

function wrapped(text: string, columns: number, toned: (row: string) => string): readonly string[] {
  return foldText(text, columns - 4).map((row) => toned(`   ${row}`));
}

/** In as many rows as it takes. */
function keyRows(keys: string, columns: number): readonly string[] {
  const rows: string[] = [];
  for (const part of keys.split(" · ")) {
    const last = rows.at(-1);
    if (last !== undefined && textWidth(last) + 3 + textWidth(part) <= columns) rows[rows.length - 1] = `${last} · ${part}`;
    else rows.push(shorten(`   ${part}`, columns));
  }
  return rows;
}

/** S-4 how far an answer would reach stands beside its key; where one of those that ask lets nothing be remembered there is no such key. */
function grantKey(asks: Panel["asked"]["item"]["asks"]): string {
  const widths = [...new Set(asks.map(({ grant }) => grant))];
  return widths.some((one) => one === null) ? "" : `g grant (${widths.join(", ")}) · `;
}

/** Every row of it: nothing is cut, long lines are folded. */
function editRows(edit: NonNullable<Panel["asked"]["edit"]>, { paint, columns }: ScreenLook): readonly string[] {
  const newly = edit.newly.flatMap((line) =>
    wrapped(line, columns, (row) => paint(line.startsWith("newly permits") ? "warn" : "dim", row)),
  );
  const changed = edit.lines.flatMap((line) => {
    if (line === null) return [paint("dim", "   ⋮")];
    const [mark, tone] = DIFF[line.kind];
    return wrapped(`${mark} ${line.text}`, columns, (row) => paint(tone, row));
  });
  const rest = edit.whole ? [] : wrapped("… the difference is longer than this: ? shows all of it", columns, (row) => paint("warn", row));
  return [...newly, ...wrapped(`${edit.path}  +${edit.added} −${edit.removed}`, columns, (row) => paint("dim", row)), ...changed, ...rest];
}
const DIFF = { added: ["+", "good"], removed: ["-", "bad"], same: [" ", "dim"] } as const;

const completionRows = (completion: Completion | null, { paint, columns }: ScreenLook): readonly string[] =>
  completion === null
    ? []
    : completion.offers.map(({ word, about }, i) => {
        const text = shorten(
          `  ${i === completion.chosen ? "▸" : " "} ${visible(word)}${about === "" ? "" : `  ${visible(about)}`}`,
          columns - 1,
        );
        return paint(i === completion.chosen ? "accent" : "dim", text);
      });
const hintRows = (hint: string, { paint, columns }: ScreenLook): readonly string[] =>
  hint === "" ? [] : [paint("dim", shorten(`  ${hint}`, columns - 1))];

export function footerRow(footer: Footer, { paint, columns }: ScreenLook): string {
  const { where, state, addressee, model, contextTokens, contextLimit, micros, waiting, halts, isRunning, phase } = footer;
  if (state === "starting") return paint("dim", "  starting");
  const parts = [
    `${where}${state === "connected" ? "" : ` (${state})`}`,
    addressee === null ? "nobody addressed: @agent or /agent use" : `@${addressee}`,
    ...(model === "" ? [] : [model]),
    ...(contextTokens === 0
      ? []
      : [`context ${formatThousands(contextTokens)}${contextLimit === null ? "" : ` of ${formatThousands(contextLimit)}`}`]),
    ...(micros === null || micros === 0 ? [] : [formatMoney(micros)]),
    ...(isRunning ? ["Esc cancels"] : []),
  ];
  const waits = waiting === 0 ? "" : `${countNoun(waiting, "approval")} ${waiting === 1 ? "waits" : "wait"} · `;
  const now = phase === null ? "" : `${phase} · `;
  const halted = halts.includes("all")
    ? "all work is halted · "
    : halts.length === 0
      ? ""
      : `halted: ${halts.map((one) => one.replace(":", " ")).join(", ")} · `;
  const room = columns - 3;
  const kept = shorten(visible(halted), Math.min(room, MOST_HALTED));
  const first = shorten(waits, room - textWidth(kept));
  const second = shorten(now, room - textWidth(kept) - textWidth(first));
  const rest = shorten(parts.join(" · "), room - textWidth(kept) - textWidth(first) - textWidth(second));
  return `  ${paint("bad", kept)}${paint("warn", first)}${paint(phase === null ? "dim" : PHASES[phase], second)}${paint("dim", rest)}`;
}
/** Most columns for halts in the footer, so that the rest has room. */
const MOST_HALTED = 40;
const PHASES: Readonly<Record<NonNullable<Footer["phase"]>, Tone>> = {
  thinks: "accent",
  answers: "strong",
  acts: "good",
  "waits for you": "warn",
};
export const formatThousands = (n: number): string => (n < 1_000 ? String(n) : `${(n / 1_000).toFixed(n < 10_000 ? 1 : 0)}k`);
