/** A text as pieces in which numbers are found: what has no blank in it, without the punctuation around it, and how it is parted from what stands before. */
import { CODES, classifyWord, type WordKind } from "./number-words.ts";

/** From the weakest on: `blank` is one blank, `gap` several. */
export type Parting = "blank" | "gap" | "line" | "bracket" | "comma" | "end";
export type Digits = Readonly<{ kind: "digits"; negative: boolean; written: string; hasBefore: boolean; hasAfter: boolean }>;
type Kind =
  | WordKind
  | Digits
  /** Digits that are no number: a date, a time, a version. `isPart`: a fraction. */
  | Readonly<{ kind: "unread"; isPart: boolean }>
  | Readonly<{ kind: "dash" | "operator" }>;
export type TextPiece = Kind & Readonly<{ text: string; parting: Parting; opens: boolean; closes: boolean; ends: boolean }>;

const SIGN = "(?:us|au|ca|nz|hk|r)\\$|(?!¢)\\p{Sc}";
const CURRENCY = `${SIGN}|(?:${CODES})`;
const DIGITS = new RegExp(`^([-−+]?)(${CURRENCY})?([-−+]?)(\\d(?:[\\d.,'’ʼ]*\\d)?)(k)?(${CURRENCY}|kr)?$`, "u");
/** A sign whose number stands further off: `-Rs 80`. */
const SIGNED_CURRENCY = /^[-−+][\p{L}\p{M}\p{Sc}.]+$/u;
const CURRENCY_ONLY = new RegExp(`^(?:${SIGN})$`, "u");

const UNSEEN = "\\p{Cf}\\p{Default_Ignorable_Code_Point}";
const OPENING = new RegExp(`^[${UNSEEN}([{"'“‘«‹„‚¿¡\`]+`, "u");
const CLOSING = new RegExp(`^[${UNSEEN})\\]}"'”’»›\`,;:!?.…]$`, "u");
const ONE_BLANK = /^[ \u00a0\u2000-\u200a\u202f\u205f]$/;

/** Of a text in lower case. */
export function toPieces(text: string): readonly TextPiece[] {
  const pieces: TextPiece[] = [];
  let from = 0; // where the piece before ends, its punctuation left out
  let wasOdd = false;
  for (const match of text.matchAll(/\S+/gu)) {
    const raw = match[0].replace(/[\uff10-\uff19￥￡￦￠]/g, (wide) => wide.normalize("NFKC"));
    const opening = OPENING.exec(raw)?.[0] ?? "";
    const core = withoutClosing(raw.slice(opening.length));
    if (core === "") continue;
    const between = text.slice(from, match.index + opening.length);
    const closing = raw.slice(opening.length + core.length);
    const parting = pieces.length === 0 ? "end" : partingOf(between, wasOdd);
    const own = { parting, opens: opening.includes("("), closes: closing.includes(")"), ends: closing.startsWith(".") };
    const kinds = classify(core);
    for (const [i, [written, kind]] of kinds.entries())
      pieces.push({
        ...kind,
        text: written,
        parting: i === 0 ? parting : "blank",
        opens: i === 0 && own.opens,
        closes: own.closes && i === kinds.length - 1,
        ends: own.ends && i === kinds.length - 1,
      });
    wasOdd = pieces.at(-1)?.kind === "odd";
    from = match.index + opening.length + core.length;
  }
  return pieces;
}

/** From the end on: a search for what leads there would begin again at each sign, and take a minute for a word of 100,000. */
function withoutClosing(raw: string): string {
  let end = raw.length;
  while (end > 0) {
    const size = (raw.codePointAt(end - 2) ?? 0) > 0xffff ? 2 : 1;
    if (!CLOSING.test(raw.slice(end - size, end))) break;
    end -= size;
  }
  return raw.slice(0, end);
}

/** The stop of an abbreviation ends nothing. */
function partingOf(between: string, isAbbreviation: boolean): Parting {
  if (/\n\s*\n|[;:!?…|]/.test(between) || (!isAbbreviation && between.includes("."))) return "end";
  if (between.includes(",")) return "comma";
  if (/[^\s.\p{Cf}\p{Default_Ignorable_Code_Point}]/u.test(between)) return "bracket";
  if (/[\n\r\t\v\f\u2028\u2029]/.test(between)) return "line";
  return ONE_BLANK.test(between) ? "blank" : "gap";
}

type Classified = readonly (readonly [text: string, kind: Kind])[];

function classify(core: string): Classified {
  const digits = DIGITS.exec(core);
  if (digits !== null) return fromDigits(core, digits);
  const letters = /^[\p{L}\p{M}]+/u.exec(core)?.[0];
  if (letters === core) return [[core, classifyWord(core)]];
  if (CURRENCY_ONLY.test(core)) return [[core, { kind: "unit" }]];
  if (SIGNED_CURRENCY.test(core)) return [[core, ODD]];
  if (letters === undefined) return [[core, fromSymbols(core)]];
  const parts = core.split("-").map((part) => [part, /^[\p{L}\p{M}]+$/u.test(part) ? classifyWord(part) : OTHER] as const);
  if (parts.every(([, { kind }]) => kind === "word" || kind === "scale" || kind === "and")) return parts;
  return [[core, fromLetters(core, letters)]];
}

const OTHER: Kind = { kind: "other" };
const ODD: Kind = { kind: "odd", isKnown: true };

function fromDigits(core: string, [, sign = "", before, inner = "", written = "", k, after]: RegExpExecArray): Classified {
  if (`${sign}${inner}`.length > 1 || `${sign}${inner}` === "+") return [[core, { kind: "unread", isPart: false }]];
  const number: Kind = {
    kind: "digits",
    negative: sign + inner !== "",
    written,
    hasBefore: before !== undefined || sign !== "",
    hasAfter: k !== undefined || after !== undefined,
  };
  const unit: Classified = [[before ?? after ?? "", { kind: "unit" }]];
  return [
    ...(before === undefined ? [] : unit),
    [core, number],
    ...(k === undefined ? [] : ([["k", classifyWord("k")]] as const)),
    ...(after === undefined ? [] : unit),
  ];
}

function fromSymbols(core: string): Kind {
  if (/^\d+[/⁄]\d+$|^\p{No}$/u.test(core)) return { kind: "unread", isPart: true };
  if (/\p{N}/u.test(core)) return { kind: "unread", isPart: false };
  if (/[%‰‱％٪\p{Sc}]/u.test(core)) return ODD;
  if (core === "&") return { kind: "and" };
  if (/^[-‐‑‒–—―~～]+$/.test(core)) return { kind: "dash" };
  return /^[+−×✕*·•∙÷/⁄^=]+$/.test(core) ? { kind: "operator" } : OTHER;
}

/** `m²`, `p.m`, `k€`, `euro's`; `e3` and `x10` go on what stands before, `tp561` does not. */
function fromLetters(core: string, letters: string): Kind {
  if (/[%\p{Sc}]/u.test(core)) return ODD;
  const kind = classifyWord(letters);
  if (/\d/.test(core) && letters.length > 1 && !(kind.kind === "odd" && kind.isKnown)) return OTHER;
  if (kind.kind === "unit" || kind.kind === "odd") return kind;
  return kind.kind === "scale" ? ODD : OTHER;
}
