/**
 * The numbers that a text names: digits with separators, with a currency's sign or ISO code beside them, and English number words. Exact; what can be read in
 * two ways, and what is scaled, parted or measured by a neighbour that is not known, names no number at all. A number that is missed costs a question; one
 * that was never said would be a lie.
 */

import type { ExactNumber } from "./amounts.ts";
import { type Digits, type TextPiece, toPieces } from "./number-pieces.ts";
import { isAlmostNumber, readNumberWords } from "./number-words.ts";
import { parseDecimal } from "./numbers.ts";

/** As the same number is always written, whatever its text. */
export const numberKey = ({ negative, digits, places }: ExactNumber): string => `${negative ? "-" : ""}${digits}e${-places}`;

/** Of a text as it was written: what becomes a digit only when it is made plain (`10²`) is none. */
export function findNumbers(text: string): ReadonlySet<string> {
  const lower = text.toLowerCase();
  const found = new Set<string>();
  if (TURNED.test(lower) || IN_SCALE.test(lower)) return found;
  const reading: Reading = {
    isRightToLeft: RIGHT_TO_LEFT.test(lower),
    hasThousandths: THOUSANDTHS.test(lower.normalize("NFKD").replace(/\p{M}/gu, "")),
  };
  const chains = toChains(toPieces(lower), reading);
  dropDoubtful(chains);
  for (const { value, isOdd } of chains) {
    const exact = value === null || isOdd ? null : parseDecimal(value);
    if (exact !== null) found.add(numberKey(exact));
  }
  return found;
}

/** Shown in another order than it was written. */
const TURNED = /[\u202d\u202e]/;
const RIGHT_TO_LEFT = /[\u0590-\u08ff\u202a\u202b\u2066-\u2068\ufb1d-\ufdff\ufe70-\ufefc]/;
/** A heading that scales every number below it: `in thousands`, `€k`, `$ '000`. */
const IN_SCALE =
  /\bin\s+(?:\S{1,4}\s+)?(?:hundreds|thousands|millions|billions|tsd|mio|mrd|mn|k|cents|percent)\b|\p{Sc}(?:k|m|mn|bn|b|000s?)(?![\p{L}\p{N}])|(?<!\p{N})['’]000s?(?!\p{N})/u;
/** Of these currencies a main unit has a thousand parts, so that `1,200` may be one and a fifth. */
const THOUSANDTHS = /d[iye]na?[ao]r|\bri[jy]?[ao]{1,2}(?:l|is\b)|\b(?:bhd|iqd|jod|kwd|lyd|omr|tnd)(?!\p{L})/u;
type Reading = Readonly<{ isRightToLeft: boolean; hasThousandths: boolean }>;

// ── chains: pieces that may be one number together ──

type Link = "none" | "line" | "comma" | "bracket" | "and" | "or" | "dash";
/** `isOdd`: it is another number than it seems. `scale`: the largest and the last in it, as powers of ten. */
type Chain = Readonly<{
  link: Link;
  value: string | null;
  hasNumber: boolean;
  most: number;
  last: number;
  first: TextPiece;
  end: TextPiece;
}> & {
  isOdd: boolean;
};

type Pieces = readonly [TextPiece, ...TextPiece[]];
const isAny = (pieces: readonly TextPiece[]): pieces is Pieces => pieces.length > 0;

function toChains(pieces: readonly TextPiece[], reading: Reading): readonly Chain[] {
  const chains: Chain[] = [];
  let open: TextPiece[] = [];
  let link: Link = "none";
  let isOdd = false;
  const close = (at: number): void => {
    const around: Around = [pieces[at - open.length - 1], pieces[at], pieces[at + 1]] as const;
    if (isAny(open)) {
      const chain = toChain(open, { link, isOdd: isOdd || isPartOfWord(open, around), reading, after: pieces[at] });
      chains.push(isNegative(open, around) ? { ...chain, value: null } : chain);
    }
    [open, link, isOdd] = [[], "none", false];
  };
  for (const [at, piece] of pieces.entries()) {
    const [before, after] = [pieces[at - 1], pieces[at + 1]];
    if (open.length > 0 && (isJoined(open, piece) || isJointInside(open, piece, after))) {
      open.push(piece);
      continue;
    }
    const wasOpen = open.length > 0;
    if (wasOpen && (piece.kind === "operator" || isScaledBeyond(piece, after)) && piece.parting !== "end") isOdd = true;
    close(at);
    if (!isStart(piece, after)) continue;
    open = [piece];
    link = linkOf(piece, before, wasOpen || isMember(pieces[at - 2]));
    isOdd = (before?.kind === "operator" && before.text !== "=" && piece.parting !== "end") || isPartOf(piece, before);
  }
  close(pieces.length);
  return chains;
}

const isMember = (piece: TextPiece | undefined): boolean =>
  piece !== undefined && ["digits", "word", "scale", "unit", "odd", "unread"].includes(piece.kind);
const isNear = ({ parting }: TextPiece): boolean => parting === "blank" || parting === "gap";
const isNumber = ({ kind }: TextPiece): boolean => kind === "digits" || kind === "word" || kind === "scale";
const isKnownOdd = (piece: TextPiece): boolean => piece.kind === "odd" && piece.isKnown;

const isStart = (piece: TextPiece, after: TextPiece | undefined): boolean =>
  piece.kind === "article"
    ? after !== undefined && isNear(after) && (after.kind === "scale" || isKnownOdd(after))
    : isMember(piece) && (piece.kind !== "odd" || piece.isKnown);

function isJoined(open: readonly TextPiece[], piece: TextPiece): boolean {
  const last = open.at(-1);
  if (last !== undefined && piece.kind === "article") return last.kind === "odd" && isNear(piece);
  if (last === undefined || !isMember(piece)) return false;
  if (piece.kind === "odd" && !piece.isKnown && !isNumber(last)) return false;
  if (isNear(piece)) return true;
  if (piece.parting === "line")
    return piece.kind === "scale" || isKnownOdd(piece) || (piece.kind === "word" && last.kind !== "digits" && isNumber(last));
  return piece.parting === "bracket" && (piece.kind === "scale" || piece.kind === "odd");
}

/** `one hundred and twenty`. */
const isJointInside = (open: readonly TextPiece[], piece: TextPiece, after: TextPiece | undefined): boolean =>
  piece.kind === "and" &&
  open.at(-1)?.kind === "scale" &&
  after?.kind === "word" &&
  [piece, after].every((one) => isNear(one) || one.parting === "line");

/** `80 per cent`, `80 US cents`, `80 de mii`. */
const isScaledBeyond = (piece: TextPiece, after: TextPiece | undefined): boolean =>
  isNear(piece) && after !== undefined && isNear(after) && (after.kind === "scale" || isKnownOdd(after));

/** `a quarter of a million`. */
const isPartOf = (piece: TextPiece, before: TextPiece | undefined): boolean =>
  piece.kind === "article" && before?.text === "of" && isNear(piece);

type Around = readonly [before: TextPiece | undefined, after: TextPiece | undefined, next: TextPiece | undefined];
/** `(80)`, `($80.00)`, `(XYZ 80)`: in accounts, less than nothing. */
function isNegative(open: readonly TextPiece[], [before, after]: Around): boolean {
  const [first, end] = [open[0], open.at(-1)];
  const isSign = (piece: TextPiece | undefined, at: TextPiece | undefined): boolean =>
    piece !== undefined && at !== undefined && isNear(at) && piece.text.length <= 4;
  const opens = first?.opens === true || (before?.opens === true && isSign(before, first));
  const closes = end?.closes === true || (after?.closes === true && isSign(after, after));
  return opens && closes && open.some(({ kind }) => kind === "digits");
}

/** `one hundred twentyfive`, `one hundred and twentyfive`. */
function isPartOfWord(open: readonly TextPiece[], [before, after, next]: Around): boolean {
  const isPart = (piece: TextPiece | undefined, at: TextPiece | undefined): boolean =>
    piece !== undefined && at !== undefined && at.parting !== "end" && isAlmostNumber(piece.text);
  return (
    open.some(({ kind }) => kind === "word") &&
    (isPart(before, open[0]) || isPart(after, after) || (after?.kind === "and" && isPart(next, next)))
  );
}

function linkOf(piece: TextPiece, before: TextPiece | undefined, hasChain: boolean): Link {
  if (before === undefined || !hasChain || piece.parting === "end") return "none";
  if (before.kind === "dash") return before.parting === "line" || before.parting === "end" ? "none" : "dash";
  if (before.kind === "and" || before.kind === "or") return before.parting === "end" ? "none" : before.kind;
  if (piece.parting === "line" || piece.parting === "comma" || piece.parting === "bracket")
    return isMember(before) ? piece.parting : "none";
  return "none";
}

// ── one chain ──

type Setting = Readonly<{ link: Link; isOdd: boolean; reading: Reading; after: TextPiece | undefined }>;

function toChain(pieces: Pieces, { link, isOdd, reading, after }: Setting): Chain {
  const scales = pieces.map((piece) => (piece.kind === "scale" ? piece.power : 0));
  const inner = pieces.filter(({ kind }) => kind !== "unit");
  return {
    link,
    value: !isTogether(pieces) ? null : readChain(inner, pieces.length > inner.length, reading, after),
    hasNumber: inner.some((piece) => isNumber(piece) || piece.kind === "unread"),
    most: Math.max(...scales),
    last: scales.findLast((power) => power > 0) ?? 0,
    first: pieces[0],
    end: pieces.at(-1) ?? pieces[0],
    isOdd: isOdd || pieces.some((piece) => piece.kind === "odd" || (piece.kind === "unread" && piece.isPart)),
  };
}

/** A unit between two numbers parts them: `5 euros 50`. */
function isTogether(pieces: readonly TextPiece[]): boolean {
  const numbers = pieces.flatMap(({ kind }, at) => (kind === "unit" ? [] : [at]));
  return numbers.length > 0 && (numbers.at(-1) ?? 0) - (numbers[0] ?? 0) === numbers.length - 1;
}

function readChain(pieces: readonly TextPiece[], hasUnit: boolean, reading: Reading, after: TextPiece | undefined): string | null {
  const last = pieces.at(-1);
  const digits = pieces.filter((piece) => piece.kind === "digits");
  if (digits.length === 0) {
    const words = pieces.map(({ text }) => text);
    if (!pieces.every(isCounting) || (words.length === 1 && words[0] === "one" && !hasUnit && !isCounted(after))) return null;
    return readNumberWords(words);
  }
  const scale = last?.kind === "scale" ? last : null;
  if (digits.length + (scale === null ? 0 : 1) !== pieces.length || scale?.reads === "none" || (scale?.reads === "money" && !hasUnit))
    return null;
  if (!hasUnit && digits.length === 1 && digits.some(isDay)) return null;
  const number = readDigits(digits, reading);
  return number === null || scale === null ? number : `${number}e${scale.power}`;
}
const isCounting = (piece: TextPiece): boolean =>
  piece.kind === "word" || (piece.kind === "scale" && piece.reads === "all") || piece.kind === "and" || piece.kind === "article";

/** `one` alone mostly stands for a thing: `this one`. Only before these it counts. */
const isCounted = (after: TextPiece | undefined): boolean =>
  after !== undefined &&
  isNear(after) &&
  /^(?:adult|article|bag|bed|bottle|box|car|child|copy|day|guest|item|month|night|page|person|piece|place|room|seat|table|ticket|time|traveller|unit|voucher|week|year)$/.test(
    after.text,
  );

/** `17.4.` */
const isDay = ({ written, ends }: TextPiece & Digits): boolean => ends && /^(?:[12]?\d|0\d|3[01])\.(?:0?\d|1[0-2])$/.test(written);

/** Several are groups with a blank between: `1 200 000,50`. */
function readDigits(all: readonly (TextPiece & Digits)[], reading: Reading): string | null {
  const [first, ...more] = all;
  if (first === undefined) return null;
  const sign = first.negative ? "-" : "";
  if (more.length === 0) {
    const number = readWritten(first.written.replace(/[’ʼ]/g, "'"), reading);
    return number === null ? null : sign + number;
  }
  const isGrouped =
    /^[1-9]\d{0,2}$/.test(first.written) &&
    !first.hasAfter &&
    more.every(({ written, parting, hasBefore, hasAfter }, at) => {
      const isLast = at === more.length - 1;
      return parting === "blank" && !hasBefore && (isLast || !hasAfter) && (isLast ? /^\d{3}(?:[.,]\d{1,2})?$/ : /^\d{3}$/).test(written);
    });
  return isGrouped && !reading.isRightToLeft ? sign + all.map(({ written }) => written.replace(",", ".")).join("") : null;
}

/** `1,200.50`, `1'200.50`, `1.200,50` and `12,50` have one reading each; `1,200` is grouped as in English. `1.200` and `1,2` have two, and `007` is no number. */
function readWritten(text: string, { isRightToLeft, hasThousandths }: Reading): string | null {
  if (/^[1-9]\d{0,2}\.\d{3}$/.test(text) || (hasThousandths && /^\d{1,3},\d{3}$/.test(text))) return null;
  if (/^(?:0|[1-9]\d*)(?:\.\d+)?$/.test(text)) return text;
  if (/^[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?$/.test(text)) return text.replaceAll(",", "");
  if (/^[1-9]\d{0,2}(?:'\d{3})+(?:[.,]\d+)?$/.test(text)) return isRightToLeft ? null : text.replaceAll("'", "").replace(",", ".");
  if (/^[1-9]\d{0,2}(?:\.\d{3})+,\d+$/.test(text)) return text.replaceAll(".", "").replace(",", ".");
  if (/^[1-9]\d{0,2}(?:\.\d{3}){2,}$/.test(text)) return text.replaceAll(".", "");
  return /^(?:0|[1-9]\d*),\d{2}$/.test(text) ? text.replace(",", ".") : null;
}

// ── what follows says more of what stands before ──

/** `80 or 90 thousand`, `five million, two hundred thousand`, `3 euros and 50 cents`, `80 - 90`: from the last on, because one says it of all before. */
function dropDoubtful(chains: readonly Chain[]): void {
  for (const [at, chain] of [...chains.entries()].reverse()) {
    const before = chains[at - 1];
    if (before === undefined || chain.link === "none") continue;
    if (chain.link === "dash" || (chain.link === "line" && isCutGroup(before.end, chain.first)) || isContinued(before, chain))
      [before.isOdd, chain.isOdd] = [true, true];
    const isScaled = chain.last > before.most && chain.value !== before.value;
    if (chain.link !== "line" && (isScaled || (chain.isOdd && saysMore(chain)))) before.isOdd = true;
  }
}
const saysMore = ({ link, hasNumber }: Chain): boolean => hasNumber || link === "and" || link === "bracket";
const isCutGroup = (before: TextPiece, after: TextPiece): boolean =>
  before.kind === "digits" && after.kind === "digits" && /^\d{1,3}$/.test(before.written) && /^\d{3}/.test(after.written);
const isContinued = (before: Chain, { link, value }: Chain): boolean =>
  (link === "comma" || link === "and") && before.last > 0 && before.end.kind === "scale" && Number(value ?? 0) < 10 ** before.last;
