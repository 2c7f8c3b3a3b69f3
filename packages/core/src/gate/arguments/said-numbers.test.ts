import * as fc from "fast-check";
import { expect, test } from "vitest";
import { addedBy, MOST_AMOUNT, printAmount, toAmount, toExactNumber } from "./amounts.ts";
import { isNumberInRequest, toMatchRequest } from "./match.ts";

const names = (text: string, value: number | string): boolean => {
  const number = toExactNumber(value);
  return number !== null && isNumberInRequest(toMatchRequest([text]), number);
};

test.each([
  ["pay 1200 today", 1200],
  ["pay $1,200.50.", 1200.5],
  ["pay 1.200,50 €", 1200.5],
  ["pay 1'200.50 CHF", "1200.50"],
  ["pay EUR 40", 40],
  ["pay eur40 or 50usd", 40],
  ["pay eur40 or 50usd", 50],
  ["12,50", 12.5],
  ["1,234,567", 1_234_567],
  ["1.234.567", 1_234_567],
  ["give them 20%", 20],
  ["a table for twenty-five (25)", 25],
  ["one hundred and twenty-five dollars", 125],
  ["Two Thousand Five Hundred", 2500],
  ["twelve hundred", 1200],
  ["a hundred", 100],
  ["$2.5 million", 2_500_000],
  ["-5 degrees", -5],
  ["pay ５０ euros", 50], // full width
  ["1.200", 1.2],
])("G-27 %j names the number %j", (text, value) => expect(names(text, value)).toBe(true));

test.each([
  ["pay 1200", 120],
  ["pay 1200", 12_000],
  ["pay 5k", 5],
  ["pay 5 million", 5],
  ["on 2026-11-18", 18],
  ["on 18/11", 11],
  ["at 12:30", 12],
  ["version v1.2 or 1.2.3", 1.2],
  ["item #7", 7],
  ["room 7a", 7],
  ["evt12", 12],
  ["ann7@example.org", 7],
  ["1,2", 2],
  ["1.200", 1200],
  ["two five", 2],
  ["twenty eleven", 20],
  ["hundred", 100],
  ["one hundred", 1],
  ["someone", 1],
  ["half a million", 1_000_000],
  ["three quarters of a million", 1_000_000],
  ["5", -5],
  ["10.0.0.1", 10],
])("G-27 %j does not name the number %j", (text, value) => expect(names(text, value)).toBe(false));

test("G-27 whatever number is written out, plainly or grouped, is named, and its neighbours are not", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 10 ** 9 }), fc.integer({ min: 0, max: 99 }), (whole, cents) => {
      const fraction = String(cents).padStart(2, "0");
      const value = Number(`${whole}.${fraction}`);
      for (const text of [`${whole}.${fraction}`, `${whole.toLocaleString("en-US")}.${fraction}`, `$${whole}.${fraction}`]) {
        expect(names(`pay ${text} now`, value)).toBe(true);
        expect(names(`pay ${text} now`, value + 1)).toBe(false);
        expect(names(`pay x${text} now`, value)).toBe(false);
      }
    }),
  );
});

test("G-24 amounts are added as whole ten-thousandths: nothing is rounded, and what cannot be held counts as more", () => {
  const added = (...values: (number | string)[]) => addedBy(values.map(toExactNumber));
  expect([added(0.1, 0.2), added("12.50"), added(-5), added(5, -5), added()]).toEqual([3_000, 125_000, 0, 50_000, 0]);
  expect([added(0.00001), added(1.23456)]).toEqual([1, 12_346]);
  expect([added("abc"), added(1e30), added(2 ** 50)]).toEqual([MOST_AMOUNT, MOST_AMOUNT, MOST_AMOUNT]);
  const exact = (value: number | string) => {
    const number = toExactNumber(value);
    return number === null ? null : toAmount(number);
  };
  expect([exact(0.1), exact("-3"), exact(1.23456), exact(1e30), exact("12e")]).toEqual([1_000, -30_000, null, null, null]);
  expect([printAmount(3_000), printAmount(-1), printAmount(0), printAmount(2 ** 60)]).toEqual(["0.3000", "-0.0001", "0.0000", null]);
});
