/**
 * Characters that a person would not see in a text are removed before a model sees it: characters without a shape, and markup that hides what it holds.
 * The list is closed and stands here; what is left out is left out on purpose (attributes of tags, text in the colour of an unnamed background).
 * G-35 what is closed is gone whole. What is not closed hides all behind it in a page, as it does in a browser; in prose, which no browser
 *      reads, it is a word about markup: the tag is taken, of a comment its line, and the words behind it stay.
 * G-35 joiners of scripts and emoji that need them survive, one at a time. G-35 what was taken out leaves a word in its place. G-35 twice is as once.
 */
import type { Json, JsonObject, Outcome, Tool } from "../vocab/index.ts";

export type Markup = Tool["markup"];
export type Cleaned = Readonly<{ text: string; invisible: number; hidden: number }>;

export const REMOVED = "[hidden text removed]";

/** Until nothing is left to take out: each round takes something, and the second is rare. */
export function cleanText(text: string, markup: Markup): Cleaned {
  const first = withoutInvisible(text);
  if (markup === "keep") return { ...first, hidden: 0 };
  let [at, invisible, hidden] = [first.text, first.invisible, 0];
  for (;;) {
    const shown = withoutHidden(at);
    const seen = withoutInvisible(shown.text); // a mark may have been of use beside what is gone now
    [at, invisible, hidden] = [seen.text, invisible + seen.invisible, hidden + shown.hidden];
    if (seen.invisible === 0) return { text: at, invisible, hidden };
  }
}

/** Text by text, so that one cannot swallow the next. */
export function cleanJson(value: Json, markup: Markup): Readonly<{ value: Json; invisible: number; hidden: number }> {
  const taken = { invisible: 0, hidden: 0 };
  const text = (given: string): string => {
    const cleaned = cleanText(given, markup);
    taken.invisible += cleaned.invisible;
    taken.hidden += cleaned.hidden;
    return cleaned.text;
  };
  const walk = (at: Json): Json => {
    if (typeof at === "string") return text(at);
    if (typeof at !== "object" || at === null) return at;
    if (Array.isArray(at)) return at.map((one) => walk(one as Json));
    return Object.fromEntries(Object.entries(at as JsonObject).map(([key, one]) => [text(key), walk(one)]));
  };
  const cleaned = walk(value);
  return { value: taken.invisible + taken.hidden === 0 ? value : cleaned, ...taken };
}

export function cleanOutcome(outcome: Outcome, markup: Markup): Readonly<{ outcome: Outcome; invisible: number; hidden: number }> {
  switch (outcome.kind) {
    case "done": {
      const { value: output, ...taken } = cleanJson(outcome.output, markup);
      return { outcome: { ...outcome, output }, ...taken };
    }
    case "failed": {
      const { text: error, ...taken } = cleanText(outcome.error, markup);
      return { outcome: { ...outcome, error }, ...taken };
    }
    case "unknown": {
      const { text: detail, ...taken } = cleanText(outcome.detail, markup);
      return { outcome: { ...outcome, detail }, ...taken };
    }
  }
}

// ── characters ──

/** Nothing of the sort in it: most texts. */
const PLAIN = /^[\t\n\r -~]*$/;
const SUSPECT = /[^\t\n\r\P{Cc}]|\p{Default_Ignorable_Code_Point}|[\ufff9-\ufffb]/u;
const EACH_SUSPECT = new RegExp(SUSPECT, "gu");
const UNSEEN = /[\p{Cc}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]/u;
/** Sequences that a terminal obeys instead of showing. */
const TERMINAL = /\u001b\[[0-?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)/g;

const JOINED =
  /[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Nko}\p{Script=Mandaic}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Tibetan}\p{Script=Myanmar}\p{Script=Khmer}]/u;
const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;
const PICTURE = /\p{Extended_Pictographic}/u;
const PART_OF_PICTURE = /\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f/u;
const VARIED = /[\p{Script=Han}\p{Script=Myanmar}\u2200-\u22ff\u2a00-\u2aff]/u;
/** England, Scotland and Wales: a black flag, letters nobody sees, an end. */
const FLAGS: readonly string[] = ["gbeng", "gbsct", "gbwls"].map((name) => tagged(name));

function tagged(name: string): string {
  return `${[...name].map((c) => String.fromCodePoint(0xe0000 + (c.codePointAt(0) ?? 0))).join("")}\u{e007f}`;
}

/** Of these some have a use, beside the right neighbours. */
const isConditional = (c: string): boolean => /[\u200c-\u200f\u061c]|\p{Variation_Selector}/u.test(c);

function withoutInvisible(given: string): Readonly<{ text: string; invisible: number }> {
  if (PLAIN.test(given) || !SUSPECT.test(given)) return { text: given, invisible: 0 };
  const text = given.replace(TERMINAL, "");
  const isRightToLeft = RIGHT_TO_LEFT.test(text);
  const after = seenFrom(text);
  const out: string[] = [];
  let [from, invisible, before] = [0, given.length - text.length, ""];
  const keep = (part: string): void => {
    if (part === "") return;
    out.push(part);
    before = lastOf(part);
  };
  for (const { 0: c, index } of text.matchAll(EACH_SUSPECT)) {
    if (index < from) continue; // of a flag that was kept
    keep(text.slice(from, index));
    from = index + c.length;
    const flag = before === "\u{1f3f4}" ? FLAGS.find((f) => text.startsWith(f, index)) : undefined;
    if (flag !== undefined) {
      keep(flag);
      from = index + flag.length;
    } else if (isConditional(c) && isOfUse(c, before, () => after(from), isRightToLeft)) keep(c);
    else invisible += 1;
  }
  keep(text.slice(from));
  return { text: out.join(""), invisible };
}

const lastOf = (text: string): string => {
  const low = text.charCodeAt(text.length - 1);
  return low >= 0xdc00 && low <= 0xdfff ? text.slice(-2) : text.slice(-1);
};

/** The next match from a position on. Called with rising positions, so that no stretch is searched twice. */
function seenFrom(text: string): (at: number) => string {
  let [found, character] = [-1, ""];
  return (at) => {
    if (found >= at) return character;
    for (found = at; found < text.length; found += character.length) {
      character = String.fromCodePoint(text.codePointAt(found) ?? 0);
      if (!UNSEEN.test(character)) return character;
    }
    character = "";
    return character;
  };
}

function isOfUse(c: string, before: string, after: () => string, isRightToLeft: boolean): boolean {
  if (before === "" || isConditional(before) !== (before === "\ufe0f" && c === "\u200d")) return false; // never two in a row, but in a picture
  switch (c) {
    case "\u200c":
      return JOINED.test(before);
    case "\u200d":
      return JOINED.test(before) || (PART_OF_PICTURE.test(before) && PICTURE.test(after()));
    case "\u200e":
    case "\u200f":
    case "\u061c":
      return isRightToLeft;
    case "\ufe0e":
    case "\ufe0f":
      return PICTURE.test(before) || (/[0-9#*]/.test(before) && after() === "\u20e3");
    default:
      return /\p{Script=Mongolian}/u.test(before) || VARIED.test(before);
  }
}

// ── markup ──

const NAMES = new Set(
  "a abbr address article aside audio b bdi bdo blockquote body br button canvas caption center cite code col colgroup data dd del details dfn dialog div dl dt em embed fieldset figcaption figure font footer form frame h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe img input ins kbd label legend li link main map mark marquee menu meta meter nav noembed noframes noscript object ol optgroup option output p picture pre progress q s samp script section select slot small source span strike strong style sub summary sup svg table tbody td template text textarea tfoot th thead time title tr tt u ul var video wbr".split(
    " ",
  ),
);
const EMPTY = new Set("area base br col embed hr img input link meta source track wbr".split(" "));
/** Their text is for the browser. */
const NEVER_SHOWN = new Set(["script", "style", "template", "noembed", "noframes"]);
const HIDING = [
  /(?:^|;)display:none/,
  /(?:^|;)visibility:(?:hidden|collapse)/,
  /(?:^|;)opacity:0?(?:\.0+)?(?:;|%|!|$)/,
  /(?:^|;)font-size:(?:0|0?\.\d+|1)(?:px|pt|em|rem|%)?(?:;|!|$)/,
  /(?:^|;)(?:left|right|top|bottom|text-indent|margin-left|margin-top):-\d{3,}/,
  /(?:^|;)clip(?:-path)?:(?:rect\(0|inset\((?:50|100)%)/,
  /(?:^|;)transform:scale(?:x|y)?\(0\)/,
  /(?:^|;)mso-hide:all/,
  /(?:^|;)(?:max-)?(?:width|height):0(?:px|em|%)?(?:;|!|$)/,
];
/** On no background of its own, white is taken to stand on white. */
const WHITE = /(?:^|;)color:(?:white|#fff(?:fff)?|rgb\(255,255,255\)|rgba\(\d+,\d+,\d+,0\)|transparent)(?:;|!|$)/;

type Tag = Readonly<{ name: string; closes: boolean; end: number; attributes: string }>;

/** As a browser reads it, in one go: what stands in a tag is part of that tag. */
function withoutHidden(text: string): Readonly<{ text: string; hidden: number }> {
  if (!text.includes("<") && !text.includes("]:")) return { text, hidden: 0 };
  const out: string[] = [];
  let hidden = 0;
  let from = 0;
  const take = (at: number, end: number): void => {
    out.push(text.slice(from, at), REMOVED);
    hidden += 1;
    from = end;
  };
  const open: Open = { isPage: isPage(text), without: new Set() };
  for (let at = text.indexOf("<"); at !== -1; at = text.indexOf("<", at)) {
    const comment = commentEnd(text, at, open);
    if (comment !== null) {
      take(at, comment);
      at = comment;
      continue;
    }
    const tag = tagAt(text, at);
    if (tag === "unended") break;
    if (tag === null) at += 1;
    else if (isHiding(tag)) {
      const end = EMPTY.has(tag.name) ? tag.end : hiddenEnd(text, tag, open);
      take(at, end);
      at = end;
    } else at = tag.end;
  }
  const rest = out.join("") + text.slice(from);
  const lines = rest.replace(MARKDOWN, () => {
    hidden += 1;
    return REMOVED;
  });
  return { text: lines, hidden };
}

/** A link that is defined and leads nowhere: its title is a comment. */
const MARKDOWN = /^ {0,3}\[[^\]\n]*\]:[ \t]*(?:#|<#?>)[ \t]*(?:\([^\n]*\)|"[^\n]*"|'[^\n]*')[ \t]*$/gm;

/** Elements that are not closed; `without`: of these no end follows, which is looked for once. */
type Open = Readonly<{ isPage: boolean; without: Set<string> }>;

/** Something else of it is markup. */
function isPage(text: string): boolean {
  const first = /^\s*<([a-z][a-z0-9-]*)/i.exec(text)?.[1]?.toLowerCase();
  if (first !== undefined && NAMES.has(first) && !NEVER_SHOWN.has(first)) return true;
  if (/<(?:!doctype\s+html|html|head|body)[\s/>]/i.test(text)) return true;
  for (const [, name = ""] of text.matchAll(/<\/([a-z][a-z0-9]*)\s*>/gi)) if (NAMES.has(name.toLowerCase())) return true;
  return false;
}

/** Of a thing that only prose speaks of: the tag. One that says itself that it hides (an attribute) is no slip. */
function hiddenEnd(text: string, tag: Tag, { isPage: page, without }: Open): number {
  const inProse = !page && NEVER_SHOWN.has(tag.name);
  if (inProse && without.has(tag.name)) return tag.end;
  const end = elementEnd(text, tag);
  if (!inProse || end.closed) return end.at;
  without.add(tag.name);
  return tag.end;
}

/** Where a comment ends that begins here; null where none does. One without an end goes to the end, in prose to that of its line. */
function commentEnd(text: string, at: number, { isPage: page, without }: Open): number | null {
  if (text.startsWith("<!-->", at)) return at + 5;
  if (text.startsWith("<!--->", at)) return at + 6;
  if (text.startsWith("<!--", at)) {
    const ends = ["-->", "--!>"].flatMap((mark) => {
      const end = without.has(mark) ? -1 : text.indexOf(mark, at + 4);
      if (end === -1) without.add(mark);
      return end === -1 ? [] : [end + mark.length];
    });
    if (ends.length > 0) return Math.min(...ends);
    const line = page ? -1 : text.indexOf("\n", at);
    return line === -1 ? text.length : line;
  }
  if (!/^<(?:!(?!doctype|\[cdata\[|element|attlist|entity|notation)[a-z]|\/[^a-z>])/i.test(text.slice(at, at + 12))) return null;
  const end = text.indexOf(">", at);
  return end === -1 ? null : end + 1;
}

/** Null: no tag begins here. `unended`: it has no end, and neither has any after it that this one would not swallow. */
function tagAt(text: string, at: number): Tag | "unended" | null {
  const closes = text[at + 1] === "/";
  const start = at + (closes ? 2 : 1);
  const first = text.charCodeAt(start) | 32;
  if (!(first >= 97 && first <= 122)) return null;
  let nameEnd = start;
  while (nameEnd < text.length && !/[\s/>]/.test(text.charAt(nameEnd))) nameEnd += 1;
  for (let i = nameEnd; i < text.length; i += 1) {
    const c = text[i];
    if (c === ">") return { name: text.slice(start, nameEnd).toLowerCase(), closes, end: i + 1, attributes: text.slice(nameEnd, i) };
    if ((c === '"' || c === "'") && /=\s*$/.test(text.slice(Math.max(nameEnd, i - 20), i))) {
      const close = text.indexOf(c, i + 1);
      if (close === -1) return "unended";
      i = close;
    }
  }
  return "unended";
}

function isHiding({ name, closes, attributes }: Tag): boolean {
  if (closes || !(NAMES.has(name) || name.includes("-"))) return false;
  if (NEVER_SHOWN.has(name)) return true;
  for (const [, attribute = "", value = ""] of attributes.matchAll(/([^\s"'>/=]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+))?/g)) {
    const key = attribute.toLowerCase();
    const plain = value.replace(/^["']|["']$/g, "");
    if (key === "hidden" && plain.toLowerCase() !== "until-found") return true;
    if (key === "type" && name === "input" && plain.toLowerCase() === "hidden") return true;
    if (key === "style" && hides(plain)) return true;
  }
  return false;
}

function hides(style: string): boolean {
  const plain = style
    .toLowerCase()
    .replace(/\/\*.*?\*\//gs, "")
    .replace(/\s+/g, "");
  return HIDING.some((rule) => rule.test(plain)) || (WHITE.test(plain) && !plain.includes("background"));
}

/** After its own end; after the end of the text where it has none. */
function elementEnd(text: string, tag: Tag): Readonly<{ at: number; closed: boolean }> {
  const unclosed = { at: text.length, closed: false };
  let depth = 1;
  for (let at = text.indexOf("<", tag.end); at !== -1; at = text.indexOf("<", at)) {
    const comment = NEVER_SHOWN.has(tag.name) ? null : commentEnd(text, at, { isPage: true, without: new Set() });
    if (comment !== null) {
      at = comment;
      continue;
    }
    const inner = tagAt(text, at);
    if (inner === "unended") return unclosed;
    if (inner === null) {
      at += 1;
      continue;
    }
    if (inner.name === tag.name && (inner.closes || !NEVER_SHOWN.has(tag.name)))
      depth += inner.closes ? -1 : inner.attributes.endsWith("/") ? 0 : 1;
    if (depth === 0) return { at: inner.end, closed: true };
    at = NEVER_SHOWN.has(tag.name) ? at + 1 : inner.end;
  }
  return unclosed;
}
