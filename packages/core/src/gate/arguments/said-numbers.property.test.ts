/** Numbers as the languages of the world write them, by a renderer that knows nothing of ours: each is read as itself, or not at all. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { toExactNumber } from "./amounts.ts";
import { findNumbers, numberKey } from "./said-numbers.ts";

const LOCALES = (
  "af am ar ar-EG ar-MA az be bg bn bs ca cs cy da de de-AT de-CH de-LI el en en-AU en-CA en-IN en-ZA es es-AR es-CL es-CO es-MX et eu fa fi fil fr fr-BE fr-CA fr-CH fr-TN ga " +
  "gl gu he hi hr hu hy id is it it-CH ja ka kk km kn ko lo lt lv mk ml mn mr ms my nb ne nl nl-BE pa pl ps pt pt-AO pt-PT ro ru si sk sl sq sr sr-Latn sv sw ta te th tr uk ur uz vi zh zh-TW zu"
).split(" ");
const locale = fc.constantFrom(...LOCALES);
const currency = fc.constantFrom(...Intl.supportedValuesOf("currency"));
/** Whole and with cents, of every length. */
const amount = fc
  .tuple(fc.oneof(fc.integer({ min: 0, max: 1_500 }), fc.integer({ min: 0, max: 2_000_000_000 })), fc.constantFrom(0, 0, 5, 50, 99))
  .map(([whole, cents]) => (whole * 100 + cents) / 100);
/** Round ones, that short forms write exactly. */
const roundAmount = fc
  .tuple(fc.integer({ min: 1, max: 999 }), fc.integer({ min: 0, max: 9 }))
  .map(([digits, zeros]) => digits * 10 ** zeros);
const PLACES: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => `pay ${text} to anna`,
  (text) => `pay ${text}, please`,
  (text) => `Please pay ${text}.`,
  (text) => `the rent (${text}) for may`,
  (text) => `rent: ${text}\nfor anna`,
  (text) => `"${text}" for anna`,
];
const place = fc.constantFrom(...PLACES);

const keyOf = (value: number): string => {
  const exact = toExactNumber(value);
  return exact === null ? "" : numberKey(exact);
};
function expectOnly(text: string, value: number): void {
  const others = [...findNumbers(text)].filter((key) => key !== keyOf(value));
  expect(others, text).toEqual([]);
}

test("G-27 an amount in any language, currency and notation is read as this amount, or not at all", () => {
  const how = fc.record({
    currencyDisplay: fc.constantFrom("code", "symbol", "narrowSymbol", "name" as const),
    signDisplay: fc.constantFrom("auto", "always" as const),
    currencySign: fc.constantFrom("standard", "accounting" as const),
    useGrouping: fc.constantFrom("auto", "always", false as const),
    trailingZeroDisplay: fc.constantFrom("auto", "stripIfInteger" as const),
  });
  fc.assert(
    fc.property(locale, currency, amount, fc.boolean(), how, place, (where, code, value, isNegative, options, put) => {
      const format = new Intl.NumberFormat(where, { ...options, style: "currency", currency: code });
      const digits = format.resolvedOptions().maximumFractionDigits ?? 2;
      const shown = Number((isNegative ? -value : value).toFixed(digits));
      expectOnly(put(format.format(shown)), shown);
    }),
    { numRuns: 4_000 },
  );
});

test("G-27 a number in any language, in full, short, in words of scale or with a unit, is read as this number, or not at all", () => {
  const how = fc.record({
    notation: fc.constantFrom("standard", "compact", "scientific", "engineering" as const),
    compactDisplay: fc.constantFrom("short", "long" as const),
    signDisplay: fc.constantFrom("auto", "always" as const),
  });
  const style = fc.constantFrom(
    {} as const,
    { style: "currency", currency: "EUR" } as const,
    { style: "currency", currency: "USD", currencyDisplay: "name" } as const,
    { style: "currency", currency: "INR" } as const,
    { style: "unit", unit: "kilometer", unitDisplay: "long" } as const,
    { style: "unit", unit: "hour", unitDisplay: "short" } as const,
    { style: "unit", unit: "day" } as const,
  );
  fc.assert(
    fc.property(locale, roundAmount, how, style, place, (where, value, options, styled, put) => {
      const format = new Intl.NumberFormat(where, { ...options, ...styled, maximumSignificantDigits: 15 });
      expectOnly(put(format.format(value)), value);
    }),
    { numRuns: 4_000 },
  );
});

test("G-27 percentages and ranges in any language name no number of theirs but an end of the range that stands alone", () => {
  fc.assert(
    fc.property(locale, amount, amount, fc.boolean(), place, (where, one, other, isMoney, put) => {
      const percent = new Intl.NumberFormat(where, { style: "percent", maximumFractionDigits: 2 });
      const percentInWords = new Intl.NumberFormat(where, {
        style: "unit",
        unit: "percent",
        unitDisplay: "long",
        maximumFractionDigits: 2,
      });
      for (const format of [percent.format(one / 100), percentInWords.format(one)])
        expect([...findNumbers(put(format))], format).toEqual([]);
      const range = new Intl.NumberFormat(where, isMoney ? { style: "currency", currency: "EUR" } : { maximumFractionDigits: 2 });
      const [least, most] = [Math.min(one, other), Math.max(one, other) + 1];
      const text = put(range.formatRange(least, most));
      const found = [...findNumbers(text)].filter((key) => key !== keyOf(least) && key !== keyOf(most));
      expect(found, text).toEqual([]);
    }),
    { numRuns: 3_000 },
  );
});

// ── words, by a speller of our own ──

const ONES =
  "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split(
    " ",
  );
const TENS = "- - twenty thirty forty fifty sixty seventy eighty ninety".split(" ");
type Style = Readonly<{ and: string; hyphen: string; comma: string }>;
function spell(value: number, style: Style): string {
  if (value < 20) return ONES[value] ?? "";
  if (value < 100) return `${TENS[Math.floor(value / 10)]}${value % 10 === 0 ? "" : `${style.hyphen}${spell(value % 10, style)}`}`;
  const [power, name] =
    value < 1_000
      ? [100, "hundred"]
      : value < 1_000_000
        ? [1_000, "thousand"]
        : value < 1_000_000_000
          ? [1_000_000, "million"]
          : [1_000_000_000, "billion"];
  const [head, rest] = [spell(Math.floor(value / power), style), value % power];
  if (rest === 0) return `${head} ${name}`;
  return `${head} ${name}${rest < 100 ? style.and : style.comma}${spell(rest, style)}`;
}
const styles = fc.record({
  and: fc.constantFrom(" ", " and ", "\nand "),
  hyphen: fc.constantFrom("-", " ", "", " and "),
  comma: fc.constantFrom(" ", ", ", " and "),
});

test("G-27 a number in English words is read as this number, or not at all; in plain style it is read", () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.integer({ min: 2, max: 2_000 }), fc.integer({ min: 2, max: 2_000_000_000 })),
      styles,
      place,
      (value, style, put) => {
        expectOnlyWords(put(spell(value, style)), value, style);
        if (value < 1_000_000_000)
          expect([...findNumbers(put(spell(value, { and: " and ", hyphen: "-", comma: " " })))], put("")).toEqual([keyOf(value)]);
      },
    ),
    { numRuns: 3_000 },
  );
});
/** `twenty and five` are two numbers to whoever does not count as in old books. */
function expectOnlyWords(text: string, value: number, { hyphen }: Style): void {
  if (hyphen === " and ") return;
  expectOnly(text, value);
}

// ── neighbours ──

const SCALING =
  "k K m M mm MM bn Bn b t tr mn mln mio Mio. mia mrd Mrd. mld. md tsd Tsd. tds. tys. ths thou grand lakh lakhs lac crore crores cr dozen doz. gross score half halves thousandths " +
  "hundredths million-fold millions thousands hundreds billions trillion milliard Milliarden Millionen millones milhões milioni milyon miljoen miljoner miljard mil mila mille tausend tusen duizend " +
  "ezer bin percent Prozent pct % ‰ cents cent pence p ¢ c ct bps тыс. млн 万 億 천 ألف लाख xyz qq zn kk pm am o'clock th nd % x ½ ² × ^";
test("G-27 a number before a word or a sign that scales, parts or turns it is not read as what its digits say", () => {
  const gap = fc.constantFrom("", " ", "\u00a0", "\u202f", "  ", " (", "\u200b", "\u200b ");
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 999 }),
      gap,
      fc.constantFrom(...SCALING.split(" ")),
      fc.constantFrom("", "€", "EUR ", "$"),
      (value, between, scale, before) => {
        const text = `pay ${before}${value}${between}${scale} to anna`;
        expect(findNumbers(text).has(keyOf(value)), text).toBe(false);
      },
    ),
    { numRuns: 3_000 },
  );
});

test("G-27 two numbers that a sign joins without a blank name neither", () => {
  const joint = fc.string({ unit: fc.constantFrom(..."-+/:'’½²\u200b٣０%kmx€"), minLength: 1, maxLength: 3 });
  const digits = fc.integer({ min: 10, max: 99 });
  fc.assert(
    fc.property(digits, joint, digits, place, (one, between, other, put) => {
      fc.pre(!/^０+$/.test(between)); // full-width zeros make one number of both
      const found = findNumbers(put(`${one}${between}${other}`));
      expect(
        [one, other].some((value) => found.has(keyOf(value))),
        put(`${one}${between}${other}`),
      ).toBe(false);
    }),
    { numRuns: 3_000 },
  );
});
