/** CodeMirror in a shadow root: its styles are adopted sheets there, which the content policy allows. */
import { HighlightStyle, StreamLanguage, type StreamParser, syntaxHighlighting } from "@codemirror/language";
import { EditorState, type Extension, type Range, StateField, type Text } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, lineNumbers, WidgetType } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { escapeHidden } from "@orgate/core/vocab";
import { useEffect, useRef } from "react";
import css from "./CodeView.module.css";
import type { CodeMark, CodeProps } from "./CodeView.tsx";
import { editorKeys } from "./editor-keys.ts";

const WORDS = /^(?:permit|forbid|when|unless|principal|action|resource|context|in|is|has|like|if|then|else|true|false)\b/;

/** Cedar, far enough for colours. */
const cedar: StreamParser<null> = {
  startState: () => null,
  token(stream) {
    if (stream.eatSpace()) return null;
    if (stream.match("//")) {
      stream.skipToEnd();
      return "comment";
    }
    if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return "string";
    if (stream.match(/^@\w+/)) return "meta";
    if (stream.match(WORDS)) return "keyword";
    if (stream.match(/^-?\d+/)) return "number";
    if (stream.match(/^[A-Z]\w*(?=::)/)) return "typeName";
    if (stream.match(/^\w+/)) return "variableName";
    stream.next();
    return null;
  },
};
const json: StreamParser<null> = {
  startState: () => null,
  token(stream) {
    if (stream.eatSpace()) return null;
    if (stream.match(/^"(?:[^"\\]|\\.)*"(?=\s*:)/)) return "propertyName";
    if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return "string";
    if (stream.match(/^-?\d[\d.eE+-]*/)) return "number";
    if (stream.match(/^(?:true|false|null)\b/)) return "keyword";
    stream.next();
    return null;
  },
};

const LANGUAGES: Readonly<Record<CodeProps["language"], Extension>> = {
  cedar: StreamLanguage.define(cedar),
  json: StreamLanguage.define(json),
  plain: [],
};
const COLOURS = syntaxHighlighting(
  HighlightStyle.define([
    { tag: tags.keyword, color: "var(--reason)", fontWeight: "600" },
    { tag: tags.string, color: "var(--observe)" },
    { tag: tags.number, color: "var(--act)" },
    { tag: tags.comment, color: "var(--ink-3)" },
    { tag: tags.meta, color: "var(--gate)" },
    { tag: [tags.typeName, tags.propertyName], color: "var(--act)" },
  ]),
);
const LOOK = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "transparent", maxHeight: "70vh" },
  "&.cm-focused": { outline: "2px solid var(--focus)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5", overflow: "auto" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-gutters": { color: "var(--ink-3)", backgroundColor: "var(--sunken)", borderRight: "1px solid var(--line)" },
  ".cm-here": { backgroundColor: "color-mix(in srgb, var(--gate) 16%, transparent)" },
  ".cm-wrong": { textDecoration: "underline wavy var(--bad)", textUnderlineOffset: "3px" },
  mark: { color: "var(--surface)", backgroundColor: "var(--bad)", borderRadius: "2px", padding: "0 0.15em" },
  ".cm-told": { color: "var(--bad)", fontFamily: "var(--sans)", paddingLeft: "1rem" },
});

/** An element in or beside the text that is not part of it. */
class Shown extends WidgetType {
  readonly tag: "mark" | "div";
  readonly text: string;
  readonly attributes: Readonly<Record<string, string>>;
  constructor(tag: "mark" | "div", text: string, attributes: Readonly<Record<string, string>>) {
    super();
    this.tag = tag;
    this.text = text;
    this.attributes = attributes;
  }
  override eq(other: Shown): boolean {
    return other.tag === this.tag && other.text === this.text;
  }
  toDOM(): HTMLElement {
    const element = document.createElement(this.tag);
    element.textContent = this.text;
    for (const [name, value] of Object.entries(this.attributes)) element.setAttribute(name, value);
    return element;
  }
}

const HIDES = /(?!\t)[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
const hiddenMark = (char: string): Shown => new Shown("mark", escapeHidden(char), { title: "A hidden character" });
function hiddenIn(doc: Text): DecorationSet {
  const found: Range<Decoration>[] = [];
  for (let n = 1; n <= doc.lines; n += 1) {
    const { from, text } = doc.line(n);
    for (const { 0: char, index } of text.matchAll(HIDES))
      found.push(Decoration.replace({ widget: hiddenMark(char) }).range(from + index, from + index + char.length));
  }
  return Decoration.set(found);
}

/** Shows each hidden character as its escape; it stays one character. Covers lines just outside the screen too, since they are drawn as well. */
const HIDDEN = StateField.define({
  create: ({ doc }) => hiddenIn(doc),
  update: (value, { docChanged, newDoc }) => (docChanged ? hiddenIn(newDoc) : value),
  provide: (field) => EditorView.decorations.from(field),
});

/** Errors at their positions, and the highlighted line. */
const marked = (marks: readonly CodeMark[], line: number | null): Extension =>
  StateField.define({
    create: ({ doc }) => {
      const lineAt = (n: number) => doc.line(Math.min(Math.max(1, n), doc.lines));
      const here = line === null ? [] : [Decoration.line({ class: "cm-here" }).range(lineAt(line).from)];
      const wrong = marks.flatMap((mark) => {
        const { from, to } = lineAt(mark.line);
        const start = Math.min(from + Math.max(0, mark.column - 1), to);
        const told = Decoration.widget({ widget: new Shown("div", mark.message, { class: "cm-told" }), block: true, side: 1 }).range(to);
        return start < to ? [Decoration.mark({ class: "cm-wrong" }).range(start, to), told] : [told];
      });
      return Decoration.set([...here, ...wrong], true);
    },
    update: (value, { changes }) => value.map(changes),
    provide: (field) => EditorView.decorations.from(field),
  });

const NO_MARKS: readonly CodeMark[] = [];

export default function CodeMirror({ text, language, label, marks = NO_MARKS, line = null, onChange = null }: CodeProps) {
  const host = useRef<HTMLElement>(null);
  const changed = useRef(onChange);
  changed.current = onChange;
  const written = useRef(text);
  const view = useRef<EditorView | null>(null);
  const isOpen = onChange !== null;

  useEffect(() => {
    const element = host.current;
    if (element === null) return;
    const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
    const made = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: written.current,
        extensions: [
          lineNumbers(),
          HIDDEN,
          LANGUAGES[language],
          COLOURS,
          LOOK,
          marked(marks, line),
          editorKeys,
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
          EditorState.readOnly.of(!isOpen),
          EditorView.editable.of(isOpen),
          EditorView.updateListener.of((update) => {
            if (!update.docChanged) return;
            written.current = update.state.doc.toString();
            changed.current?.(written.current);
          }),
        ],
      }),
    });
    if (line !== null) {
      const at = made.state.doc.line(Math.min(Math.max(1, line), made.state.doc.lines));
      made.dispatch({ effects: EditorView.scrollIntoView(at.from, { y: "center" }) });
    }
    view.current = made;
    return () => {
      view.current = null;
      made.destroy();
    };
  }, [language, label, marks, line, isOpen]);

  // The editor's own text is not set again: the cursor of the person typing would be lost.
  useEffect(() => {
    if (text === written.current) return;
    written.current = text;
    const now = view.current;
    now?.dispatch({ changes: { from: 0, to: now.state.doc.length, insert: text } });
  }, [text]);

  return <section ref={host} className={css.host} aria-label={label} />;
}
