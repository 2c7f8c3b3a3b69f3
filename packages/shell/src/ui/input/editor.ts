/**
 * The line that a person writes: a state, a key, the next state. Draws nothing and reads nothing.
 *
 * Typed text is never lost by moving through the history, by a search, or by a completion that is given up.
 * Enter sends, the other line breaks do not; a paste is put in as it is.
 */
import type { Key, Name } from "./keys.ts";

export type Search = Readonly<{ query: string; found: number | null; before: Line }>;
export type Line = Readonly<{
  text: string;
  /** In UTF-16 units, always at a boundary of what people take for one character. */
  at: number;
}>;
export type Editor = Readonly<{
  line: Line;
  /** Oldest first. */
  history: readonly string[];
  /** Where in the history; null at what is being written. */
  place: number | null;
  /** The text before the history was browsed. */
  draft: Line;
  killed: string;
  search: Search | null;
}>;
export type EditResult =
  | Readonly<{ kind: "on"; editor: Editor }>
  | Readonly<{ kind: "sent"; editor: Editor; text: string }>
  /** Keys the editor leaves to the screen: completion, cancelling, leaving, scrolling. */
  | Readonly<{ kind: "passed"; editor: Editor; key: Key }>;

const EMPTY: Line = { text: "", at: 0 };
const MOST_HISTORY = 1_000;
export const newEditor = (history: readonly string[] = []): Editor => ({
  line: EMPTY,
  history: history.slice(-MOST_HISTORY),
  place: null,
  draft: EMPTY,
  killed: "",
  search: null,
});

export function edit(editor: Editor, key: Key): EditResult {
  if (editor.search !== null) return searching(editor, editor.search, key);
  switch (key.kind) {
    case "text":
    case "paste":
      return on(inserted(editor, key.text));
    case "named":
      return byName(editor, key.name, key);
    case "ctrl":
      return byCtrl(editor, key.letter, key);
    case "alt":
      return key.letter === "d" ? on(killedTo(editor, wordAfter(editor.line))) : { kind: "passed", editor, key };
  }
}

const on = (editor: Editor): EditResult => ({ kind: "on", editor });
export const withLine = (editor: Editor, line: Line): Editor => ({ ...editor, line, place: null });
const moved = (editor: Editor, at: number): EditResult => on({ ...editor, line: { text: editor.line.text, at } });

function inserted(editor: Editor, more: string): Editor {
  const { text, at } = editor.line;
  return withLine(editor, { text: text.slice(0, at) + more + text.slice(at), at: at + more.length });
}

function byName(editor: Editor, name: Name, key: Key): EditResult {
  const { line } = editor;
  switch (name) {
    case "enter":
      return sent(editor);
    case "newline":
      return on(inserted(editor, "\n"));
    case "backspace":
      return on(removed(editor, before(line), line.at));
    case "delete":
      return on(removed(editor, line.at, after(line)));
    case "delete-word":
      return on(killedTo(editor, wordBefore(line)));
    case "left":
      return moved(editor, before(line));
    case "right":
      return moved(editor, after(line));
    case "word-left":
      return moved(editor, wordBefore(line));
    case "word-right":
      return moved(editor, wordAfter(line));
    case "home":
      return moved(editor, lineStart(line));
    case "end":
      return moved(editor, lineEnd(line));
    case "up":
      return lineStart(line) === 0 ? on(older(editor)) : moved(editor, above(line));
    case "down":
      return lineEnd(line) === line.text.length ? on(newer(editor)) : moved(editor, below(line));
    case "tab":
    case "back-tab":
    case "escape":
    case "page-up":
    case "page-down":
      return { kind: "passed", editor, key };
  }
}

function byCtrl(editor: Editor, letter: string, key: Key): EditResult {
  const { line } = editor;
  switch (letter) {
    case "a":
      return moved(editor, lineStart(line));
    case "e":
      return moved(editor, lineEnd(line));
    case "b":
      return moved(editor, before(line));
    case "f":
      return moved(editor, after(line));
    case "k":
      return on(killedTo(editor, lineEnd(line) === line.at ? after(line) : lineEnd(line)));
    case "u":
      return on(killedTo(editor, lineStart(line)));
    case "w":
      return on(killedTo(editor, wordBefore(line)));
    case "y":
      return on(inserted(editor, editor.killed));
    case "p":
      return on(older(editor));
    case "n":
      return on(newer(editor));
    case "r":
      return on({ ...editor, search: { query: "", found: null, before: line } });
    case "d":
      return line.text === "" ? { kind: "passed", editor, key } : on(removed(editor, line.at, after(line)));
    default:
      return { kind: "passed", editor, key };
  }
}

function sent(editor: Editor): EditResult {
  const { text } = editor.line;
  if (text.trim() === "") return on(withLine(editor, EMPTY));
  const history = editor.history.at(-1) === text ? editor.history : [...editor.history, text].slice(-MOST_HISTORY);
  return { kind: "sent", text, editor: { ...editor, line: EMPTY, draft: EMPTY, place: null, history } };
}

function removed(editor: Editor, from: number, to: number): Editor {
  const { text } = editor.line;
  return withLine(editor, { text: text.slice(0, from) + text.slice(to), at: from });
}

function killedTo(editor: Editor, to: number): Editor {
  const [from, end] = [Math.min(editor.line.at, to), Math.max(editor.line.at, to)];
  if (from === end) return editor;
  return { ...removed(editor, from, end), killed: editor.line.text.slice(from, end) };
}

// the history

const atPlace = (editor: Editor, place: number): Editor => {
  const text = editor.history[place] ?? "";
  return { ...editor, place, draft: editor.place === null ? editor.line : editor.draft, line: { text, at: text.length } };
};
function older(editor: Editor): Editor {
  const place = (editor.place ?? editor.history.length) - 1;
  return place < 0 ? editor : atPlace(editor, place);
}
function newer(editor: Editor): Editor {
  if (editor.place === null) return editor;
  const place = editor.place + 1;
  return place >= editor.history.length ? { ...editor, place: null, line: editor.draft } : atPlace(editor, place);
}

// the search backward

function searching(editor: Editor, search: Search, key: Key): EditResult {
  const back = (): EditResult => on({ ...editor, search: null, line: search.before });
  if (key.kind === "text" || key.kind === "paste") return on(looked(editor, search, search.query + key.text, editor.history.length));
  if (key.kind === "ctrl" && key.letter === "r") return on(looked(editor, search, search.query, search.found ?? editor.history.length));
  if (key.kind === "ctrl" && (key.letter === "g" || key.letter === "c")) return back();
  if (key.kind !== "named") return edit({ ...editor, search: null }, key);
  if (key.name === "escape") return back();
  if (key.name === "backspace")
    return on(
      looked(editor, search, search.query.slice(0, before({ text: search.query, at: search.query.length })), editor.history.length),
    );
  return edit({ ...editor, search: null }, key);
}

function looked(editor: Editor, search: Search, query: string, below: number): Editor {
  const wanted = query.toLowerCase();
  let found: number | null = null;
  for (let i = below - 1; i >= 0 && found === null && query !== ""; i -= 1)
    if (editor.history[i]?.toLowerCase().includes(wanted)) found = i;
  const place = found ?? (query === search.query ? search.found : null); // nothing older: what was found stays
  const text = place === null ? search.before.text : (editor.history[place] ?? "");
  return { ...editor, search: { ...search, query, found: place }, line: { text, at: text.length } };
}

// places in a text

const characters = new Intl.Segmenter(undefined, { granularity: "grapheme" });
const words = new Intl.Segmenter(undefined, { granularity: "word" });

function before({ text, at }: Line): number {
  if (at === 0) return 0;
  if (text[at - 1] === "\n") return at - 1;
  const from = text.lastIndexOf("\n", at - 1) + 1; // a character does not reach over a line
  let last = from;
  for (const { index } of characters.segment(text.slice(from, at))) last = from + index;
  return last;
}
function after({ text, at }: Line): number {
  const [first] = characters.segment(text.slice(at, at + 64));
  return first === undefined ? at : at + first.segment.length;
}
function wordBefore({ text, at }: Line): number {
  let place = 0;
  for (const { index, isWordLike } of words.segment(text.slice(0, at))) if (isWordLike) place = index;
  return place;
}
function wordAfter({ text, at }: Line): number {
  for (const { index, segment, isWordLike } of words.segment(text.slice(at))) if (isWordLike) return at + index + segment.length;
  return text.length;
}
const lineStart = ({ text, at }: Line): number => (at === 0 ? 0 : text.lastIndexOf("\n", at - 1) + 1);
function lineEnd({ text, at }: Line): number {
  const end = text.indexOf("\n", at);
  return end < 0 ? text.length : end;
}
/** As far into the line that begins at `start` as `line` is into its own, and no further than its end. */
function beside({ text }: Line, start: number, column: number): number {
  const end = lineEnd({ text, at: start });
  let at = start;
  for (const { segment } of characters.segment(text.slice(start, end))) {
    if (at + segment.length - start > column) break;
    at += segment.length;
  }
  return at;
}
function above(line: Line): number {
  const start = lineStart(line);
  return beside(line, lineStart({ text: line.text, at: start - 1 }), line.at - start);
}
const below = (line: Line): number => beside(line, lineEnd(line) + 1, line.at - lineStart(line));
