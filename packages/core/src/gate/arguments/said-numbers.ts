/**
 * The numbers that a text names: digits with separators, with a currency's sign or ISO code beside them, and English number words. Exact; nothing else is
 * interpreted: `5k`, `12:30`, `2026-11-18` and `v1.2` name no number, and what can be read in two ways is read in one or in none.
 */

import type { ExactNumber } from "./amounts.ts";
import { parseDecimal } from "./numbers.ts";

/** As the same number is always written, whatever its text. */
export const numberKey = ({ negative, digits, places }: ExactNumber): string => `${negative ? "-" : ""}${digits}e${-places}`;

/** Of a text in plain form, in lower case. */
export function findNumbers(text: string): ReadonlySet<string> {
  const found = new Set<string>();
  const add = (written: string): void => {
    const exact = parseDecimal(written);
    if (exact !== null) found.add(numberKey(exact));
  };
  for (const [token, at] of digitTokens(text)) {
    const number = readDigits(token);
    if (number === null) continue;
    const scale = /^\s*-?\s*(hundred|thousand|million|billion)\b/.exec(text.slice(at + token.length, at + token.length + 20))?.[1];
    add(scale === undefined ? number : `${number}e${SCALES[scale] ?? 0}`);
  }
  for (const number of wordNumbers(text.replace(ONE_SCALE, "one"))) add(number);
  return found;
}

// ── digits ──

const SIGNS = "$€£¥₹₩₽₺₴₪₫฿¢";
const DIGITS = new RegExp(`[-+]?[${SIGNS}]?[-+]?\\d[\\d.,'’]*`, "gu");
const CODES =
  "aed|aud|brl|cad|chf|clp|cny|cop|czk|dkk|egp|eur|gbp|hkd|huf|idr|ils|inr|jpy|kes|krw|mxn|myr|ngn|nok|nzd|php|pkr|pln|ron|rub|sar|sek|sgd|thb|try|twd|uah|usd|vnd|zar";
const CODE_BEFORE = new RegExp(`(?:^|[^\\p{L}\\p{N}_])(?:${CODES})$`, "u");
const CODE_AFTER = new RegExp(`^(?:${CODES}|%|[${SIGNS}])(?![\\p{L}\\p{N}_])`, "u");
/** Before or after a number these make something else of it: a date, a time, an address, a version, an id. */
const GLUED_BEFORE = /[\p{L}\p{N}\p{M}_\-./\\:@#=&~*^|+]$/u;
const GLUED_AFTER = /^(?:[\p{L}\p{N}\p{M}_/\\@#=&~*^|+]|[-:.](?=[\p{L}\p{N}]))/u;

/** Each with its place; what ends a sentence is not part of it. */
function* digitTokens(text: string): Iterable<readonly [string, number]> {
  for (const match of text.matchAll(DIGITS)) {
    const token = match[0].replace(/[.,'’]+$/, "");
    const [before, after] = [
      text.slice(Math.max(0, match.index - 4), match.index),
      text.slice(match.index + token.length, match.index + token.length + 5),
    ];
    if (GLUED_BEFORE.test(before) && !CODE_BEFORE.test(before)) continue;
    if (GLUED_AFTER.test(after) && !CODE_AFTER.test(after)) continue;
    yield [token, match.index];
  }
}

/** `1,200.50`, `1'200.50`, `1.200,50` and `12,50` have one reading each. `1.200` is a decimal, `1,200` is grouped, `1,2` is two numbers and so none. */
function readDigits(token: string): string | null {
  const negative = token.includes("-") ? "-" : "";
  const bare = token.replace(/^[^\d]+/u, "").replaceAll("’", "'");
  if (/^\d+(?:\.\d+)?$/.test(bare)) return negative + bare;
  if (/^\d{1,3}(?:,\d{3})+(?:\.\d+)?$/.test(bare)) return negative + bare.replaceAll(",", "");
  if (/^\d{1,3}(?:'\d{3})+(?:[.,]\d+)?$/.test(bare)) return negative + bare.replaceAll("'", "").replace(",", ".");
  if (/^\d{1,3}(?:\.\d{3})+,\d+$/.test(bare)) return negative + bare.replaceAll(".", "").replace(",", ".");
  if (/^\d{1,3}(?:\.\d{3}){2,}$/.test(bare)) return negative + bare.replaceAll(".", "");
  return /^\d+,\d{2}$/.test(bare) ? negative + bare.replace(",", ".") : null;
}

// ── words ──

const ONES =
  "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split(
    " ",
  );
const TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split(" ");
const SCALES: Readonly<Record<string, number>> = { hundred: 2, thousand: 3, million: 6, billion: 9 };

/** `a million`; of `half a million` and `a quarter of a million`, nothing: a part of a number is not read. */
const ONE_SCALE = /(?<!\b(?:half|quarters?\s+of|thirds?\s+of|fraction\s+of)\s+)\ba(?=\s+(?:hundred|thousand|million|billion)\b)/g;

/** Runs of number words, each read as one number; a run that is no number names none. */
function* wordNumbers(text: string): Iterable<string> {
  let run: string[] = [];
  let end = -1;
  for (const match of text.matchAll(/[\p{L}\p{N}\p{M}_']+/gu)) {
    const [word] = match;
    const joined = end === -1 || /^(?:\s+|\s*-\s*)$/.test(text.slice(end, match.index));
    if (!joined || !isNumberWord(word, run)) {
      yield* readRun(run);
      run = [];
    }
    if (isNumberWord(word, run)) run.push(word);
    end = run.length === 0 ? -1 : match.index + word.length;
  }
  yield* readRun(run);
}

const isNumberWord = (word: string, run: readonly string[]): boolean =>
  ONES.includes(word) ||
  TENS.includes(word) ||
  (Object.hasOwn(SCALES, word) && run.length > 0) ||
  (word === "and" && run.at(-1) === "hundred");

/** `two thousand five hundred and twelve`: scales fall, and each part below a scale is a number below a thousand. */
function* readRun(given: readonly string[]): Iterable<string> {
  const run = given.at(-1) === "and" ? given.slice(0, -1) : given;
  if (run.length === 0) return;
  let [sum, part, last] = [0, 0, Number.POSITIVE_INFINITY];
  let open: "any" | "ones" | "none" = "any"; // what may still come in this part
  for (const word of run) {
    const [ten, one, scale] = [TENS.indexOf(word), ONES.indexOf(word), SCALES[word]];
    if (word === "and") continue;
    if (ten >= 0 && open === "any") [part, open] = [part + (ten + 2) * 10, "ones"];
    else if (one >= 0 && (open === "any" || (open === "ones" && one > 0 && one < 10))) [part, open] = [part + one, "none"];
    else if (scale === 2 && part > 0 && part < 100) [part, open] = [part * 100, "any"];
    else if (scale !== undefined && scale > 2 && scale < last && part > 0)
      [sum, part, last, open] = [sum + part * 10 ** scale, 0, scale, "any"];
    else return;
  }
  yield String(sum + part);
}
