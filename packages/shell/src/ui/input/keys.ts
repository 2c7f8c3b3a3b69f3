/**
 * Reads a terminal's bytes as keys. Only sequences that terminals agree on are read; unknown ones are swallowed whole: half an
 * escape sequence must never end up in the text.
 *
 * A paste between its marks is one text, however it comes in pieces; nothing in it is a key, so no line break in it sends anything.
 */
export type Name =
  | "enter"
  | "newline" // alt-enter, shift-enter where a terminal tells it apart, ctrl-j
  | "tab"
  | "back-tab"
  | "escape"
  | "backspace"
  | "delete"
  | "up"
  | "down"
  | "left"
  | "right"
  | "home"
  | "end"
  | "page-up"
  | "page-down"
  | "word-left"
  | "word-right"
  | "delete-word";

export type Key =
  | Readonly<{ kind: "text"; text: string }>
  | Readonly<{ kind: "paste"; text: string }>
  | Readonly<{ kind: "named"; name: Name }>
  /** A letter, in lower case. */
  | Readonly<{ kind: "ctrl"; letter: string }>
  | Readonly<{ kind: "alt"; letter: string }>;

export type KeyReader = Readonly<{
  /** Text as it was read; what may go on in the next piece is kept. */
  read(piece: string): readonly Key[];
  /** Nothing more came for a moment: an escape that stands alone is the key. */
  settle(): readonly Key[];
  isPending(): boolean;
}>;

const PASTE_BEGIN = "\u001b[200~";
const PASTE_END = "\u001b[201~";

export function keyReader(): KeyReader {
  let kept = "";
  let pasted: string | null = null;

  const read = (piece: string): readonly Key[] => {
    const keys: Key[] = [];
    let text = kept + piece;
    kept = "";
    while (text !== "") {
      if (pasted !== null) {
        const end = text.indexOf(PASTE_END);
        if (end < 0) {
          // the end mark may come in two pieces
          const half = overlap(text, PASTE_END);
          pasted += text.slice(0, text.length - half);
          kept = text.slice(text.length - half);
          return keys;
        }
        keys.push({ kind: "paste", text: pastedText(pasted + text.slice(0, end)) });
        pasted = null;
        text = text.slice(end + PASTE_END.length);
        continue;
      }
      const found = first(text);
      if (found === null) {
        kept = text;
        return keys;
      }
      if (found.length === PASTE_BEGIN.length && text.startsWith(PASTE_BEGIN)) pasted = "";
      else if (found.key !== null) push(keys, found.key);
      text = text.slice(found.length);
    }
    return keys;
  };
  return {
    read,
    settle() {
      if (pasted !== null || kept === "") return [];
      const [left] = [kept];
      kept = "";
      if (left === "\u001b") return [{ kind: "named", name: "escape" }];
      return left.startsWith("\u001b") ? [] : [{ kind: "text", text: left }];
    },
    isPending: () => pasted === null && kept !== "",
  };
}

/** Letters that came together are one text: a burst is drawn once. */
function push(keys: Key[], key: Key): void {
  const last = keys.at(-1);
  if (key.kind === "text" && last?.kind === "text") keys[keys.length - 1] = { kind: "text", text: last.text + key.text };
  else keys.push(key);
}

/** Line ends become ours; what a terminal would obey is left out, tabs stay. */
const pastedText = (text: string): string => text.replace(/\r\n?/g, "\n").replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "");

/** How much of the end of `text` is a beginning of `mark`. */
function overlap(text: string, mark: string): number {
  for (let n = Math.min(text.length, mark.length - 1); n > 0; n -= 1) if (mark.startsWith(text.slice(-n))) return n;
  return 0;
}

type Found = Readonly<{ key: Key | null; length: number }>;
const named = (name: Name): Key => ({ kind: "named", name });

/** Null: it may go on. */
function first(text: string): Found | null {
  const c = text.charCodeAt(0);
  if (c === 0x1b) return escaped(text);
  if (c === 0x0d) return { key: named("enter"), length: 1 };
  if (c === 0x0a) return { key: named("newline"), length: 1 };
  if (c === 0x09) return { key: named("tab"), length: 1 };
  if (c === 0x7f || c === 0x08) return { key: named("backspace"), length: 1 };
  if (c < 0x20) return { key: c === 0 ? null : { kind: "ctrl", letter: String.fromCharCode(c + 0x60) }, length: 1 };
  if (c >= 0x80 && c < 0xa0) return { key: null, length: 1 };
  if (c >= 0xd800 && c <= 0xdbff) return text.length < 2 ? null : { key: { kind: "text", text: text.slice(0, 2) }, length: 2 };
  return { key: { kind: "text", text: text.slice(0, 1) }, length: 1 };
}

function escaped(text: string): Found | null {
  const second = text[1];
  if (second === undefined) return null;
  if (second === "[") return control(text);
  if (second === "O") {
    const third = text[2];
    return third === undefined ? null : { key: FINALS[third] === undefined ? null : named(FINALS[third]), length: 3 };
  }
  if (second === "\r" || second === "\n") return { key: named("newline"), length: 2 };
  if (second === "\u007f" || second === "\u0008") return { key: named("delete-word"), length: 2 };
  if (second === "\u001b") return { key: named("escape"), length: 1 };
  if (second === "b") return { key: named("word-left"), length: 2 };
  if (second === "f") return { key: named("word-right"), length: 2 };
  return { key: /[a-z.]/i.test(second) ? { kind: "alt", letter: second.toLowerCase() } : null, length: 2 };
}

/** Parameters, intermediates, one final byte; longer than this is noise, not a key. */
const MOST_CONTROL = 32;

function control(text: string): Found | null {
  const match = /^\u001b\[([0-?]*)([ -/]*)([@-~])/.exec(text);
  if (match === null) {
    const sofar = /^\u001b\[[0-?]*[ -/]*/.exec(text)?.[0].length ?? 2;
    if (sofar === text.length && sofar < MOST_CONTROL) return null;
    return { key: null, length: sofar };
  }
  const [whole, parameters = "", , final = ""] = match;
  return { key: controlKey(parameters.split(";"), final), length: whole.length };
}

const FINALS: Readonly<Record<string, Name>> = { A: "up", B: "down", C: "right", D: "left", H: "home", F: "end" };
const NUMBERED: Readonly<Record<string, Name>> = {
  "1": "home",
  "7": "home",
  "4": "end",
  "8": "end",
  "3": "delete",
  "5": "page-up",
  "6": "page-down",
};

function controlKey([first = "", modifier = "1", third = ""]: readonly string[], final: string): Key | null {
  const isJump = modifier !== "1" && modifier !== "2"; // with ctrl or alt
  if (final === "Z") return named("back-tab");
  if (final === "C" && isJump) return named("word-right");
  if (final === "D" && isJump) return named("word-left");
  const moved = FINALS[final];
  if (moved !== undefined) return named(moved);
  if (final === "~" && first === "27" && third === "13") return named("newline");
  if (final === "u" && first === "13") return named(modifier === "1" ? "enter" : "newline");
  if (final === "~" && first === "3" && isJump) return named("delete-word");
  const numbered = final === "~" ? NUMBERED[first] : undefined;
  return numbered === undefined ? null : named(numbered);
}
