import { expect, test } from "vitest";
import { findInexactNumbers, parseDecimal, toDecimal } from "./numbers.ts";

const inexact = (text: string) => findInexactNumbers(text, JSON.parse(text));

test("G-12 a number whose text says more than a double holds is named by its place", () => {
  expect(inexact('{"n": 9007199254740993}')).toEqual(["/n"]);
  expect(inexact('{"n": 9007199254740992}')).toEqual([]);
  expect(inexact('{"a": {"b/c": [1, 100.00000000000000001]}}')).toEqual(["/a/b~1c/1"]);
  expect(inexact('{"n": 1e-400}')).toEqual(["/n"]);
  expect(inexact('{"n": 1e3, "m": 1E+2, "k": 12.50e-1}')).toEqual([]);
  expect(inexact('{"n": -0, "m": -0.0, "k": 0e5}')).toEqual([]);
  expect(inexact('{"n": 0.1, "m": 0.30000000000000004, "k": 123456789012345.6}')).toEqual([]);
  expect(inexact('{"n": 1.00000000000000000000}')).toEqual([]);
});

test("G-12 digits in a text are no number", () => {
  expect(inexact('{"n": "9007199254740993", "9007199254740993": true}')).toEqual([]);
  expect(inexact('{"a\\"1e5": "1e400 \\\\", "n": 9007199254740993}')).toEqual(["/n"]);
});

test("G-12 what a schema made of a number on purpose is taken as it is", () => {
  expect(findInexactNumbers('{"n": 9007199254740993}', { n: 5 })).toEqual([]);
  expect(findInexactNumbers('{"n": 9007199254740993}', { n: "9007199254740993" })).toEqual([]);
  expect(findInexactNumbers('{"n": [9007199254740993]}', {})).toEqual([]);
});

test("G-12 a decimal has at most four places and is never rounded", () => {
  expect(toDecimal(0)).toBe("0.0");
  expect(toDecimal(-0)).toBe("0.0");
  expect(toDecimal(100)).toBe("100.0");
  expect(toDecimal(-12.3456)).toBe("-12.3456");
  expect(toDecimal(1e3)).toBe("1000.0");
  expect(toDecimal(0.0001)).toBe("0.0001");
  expect(toDecimal(0.00001)).toBeNull();
  expect(toDecimal(1.00005)).toBeNull();
  expect(toDecimal(0.1 + 0.2)).toBeNull();
  expect(toDecimal(922_337_203_685_477)).toBe("922337203685477.0");
  expect(toDecimal(922_337_203_685_478)).toBeNull();
  expect(toDecimal(1e21)).toBeNull();
  expect(toDecimal(1e308)).toBeNull();
  expect(toDecimal(Number.NaN)).toBeNull();
});

test("G-12 two ways of writing a number are one number", () => {
  expect(parseDecimal("1.50")).toEqual(parseDecimal("15e-1"));
  expect(parseDecimal("1200")).toEqual(parseDecimal("1.2e3"));
  expect(parseDecimal("x")).toBeNull();
});
