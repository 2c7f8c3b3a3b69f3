import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { arbitraries } from "../../testing/arbitraries.ts";
import { digest } from "../ids.ts";
import { copyFrozen, digestJson, freezeOwn, type Hash, isFrozenCopy, toCanonicalJson, toCanonicalJsonWithout } from "./canonical.ts";

const float = (bits: string): number => new DataView(Uint8Array.from(Buffer.from(bits, "hex")).buffer).getFloat64(0);

test("J-10 numbers are written as RFC 8785, appendix B, writes them", () => {
  const vectors: readonly (readonly [string, string])[] = [
    ["0000000000000000", "0"],
    ["8000000000000000", "0"],
    ["0000000000000001", "5e-324"],
    ["8000000000000001", "-5e-324"],
    ["7fefffffffffffff", "1.7976931348623157e+308"],
    ["ffefffffffffffff", "-1.7976931348623157e+308"],
    ["4340000000000000", "9007199254740992"],
    ["c340000000000000", "-9007199254740992"],
    ["4430000000000000", "295147905179352830000"],
    ["44b52d02c7e14af5", "9.999999999999997e+22"],
    ["44b52d02c7e14af6", "1e+23"],
    ["44b52d02c7e14af7", "1.0000000000000001e+23"],
    ["444b1ae4d6e2ef4e", "999999999999999700000"],
    ["444b1ae4d6e2ef4f", "999999999999999900000"],
    ["444b1ae4d6e2ef50", "1e+21"],
    ["3eb0c6f7a0b5ed8c", "9.999999999999997e-7"],
    ["3eb0c6f7a0b5ed8d", "0.000001"],
    ["41b3de4355555553", "333333333.3333332"],
    ["41b3de4355555554", "333333333.33333325"],
    ["41b3de4355555555", "333333333.3333333"],
    ["41b3de4355555556", "333333333.3333334"],
    ["41b3de4355555557", "333333333.33333343"],
    ["becbf647612f3696", "-0.0000033333333333333333"],
    ["43143ff3c1cb0959", "1424953923781206.2"],
  ];
  for (const [bits, text] of vectors) expect(toCanonicalJson(float(bits)), bits).toBe(text);
});

test("J-10 keys are sorted by UTF-16 code units, as in RFC 8785, 3.2.3", () => {
  const given = {
    "\u20ac": "Euro Sign",
    "\r": "Carriage Return",
    "\ufb33": "Hebrew Letter Dalet With Dagesh",
    "1": "One",
    "\ud83d\ude00": "Emoji: Grinning Face",
    "\u0080": "Control",
    "\u00f6": "Latin Small Letter O With Diaeresis",
  };
  const order = [
    "Carriage Return",
    "One",
    "Control",
    "Latin Small Letter O With Diaeresis",
    "Euro Sign",
    "Emoji: Grinning Face",
    "Hebrew Letter Dalet With Dagesh",
  ];
  expect(Object.values(JSON.parse(toCanonicalJson(given)) as object).sort((a, b) => order.indexOf(a) - order.indexOf(b))).toEqual(order);
  expect([...toCanonicalJson(given).matchAll(/:"([^"]+)"/g)].map((m) => m[1])).toEqual(order);
});

test("J-10 the example of RFC 8785, 3.2.2, comes out as it stands there", () => {
  const given = {
    numbers: [Number("333333333.33333329"), 1e30, 4.5, 2e-3, 1e-27],
    string: "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"/",
    literals: [null, true, false],
  };
  expect(toCanonicalJson(given)).toBe(
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
  );
});

test("J-10 control characters are escaped shortest, and nothing else is", () => {
  expect(toCanonicalJson("\b\t\n\f\r\u0000\u001f\u007f\u2028/<é")).toBe('"\\b\\t\\n\\f\\r\\u0000\\u001f\u007f\u2028/<é"');
});

test("J-10 lone surrogates are made well-formed first, in keys as well; two keys that would become one are refused", () => {
  expect(toCanonicalJson("a\ud800b\udc00")).toBe('"a\ufffdb\ufffd"');
  expect(toCanonicalJson("\ud83d\ude00")).toBe('"\ud83d\ude00"');
  expect(toCanonicalJson({ "\ud800": 1, a: 2 })).toBe('{"a":2,"\ufffd":1}');
  expect(() => toCanonicalJson({ "\ud800": 1, "\udc00": 2 })).toThrow("two keys");
  expect(() => toCanonicalJson({ "\ud800": 1, "\ufffd": 2 })).toThrow("two keys");
});

test("J-10 what JSON cannot hold is refused, never dropped", () => {
  const odd: readonly unknown[] = [
    undefined,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    1n,
    Symbol("s"),
    () => 1,
    new Date(0),
    new Map(),
    /x/,
    new (class {})(),
  ];
  for (const value of odd) {
    expect(() => toCanonicalJson(value)).toThrow(TypeError);
    expect(() => toCanonicalJson({ a: [value] })).toThrow(TypeError);
  }
  expect(() => toCanonicalJson(new Array(2))).toThrow(TypeError); // holes
});

test("J-10 one text per value: it reads back to the same text, whatever order the keys came in", () =>
  fc.assert(
    fc.property(arbitraries(fc).json, (value) => {
      let text: string;
      try {
        text = toCanonicalJson(value);
      } catch (error) {
        expect(String(error)).toMatch("two keys");
        return;
      }
      expect(text.isWellFormed()).toBe(true);
      expect(toCanonicalJson(JSON.parse(text))).toBe(text);
      expect(toCanonicalJson(turned(JSON.parse(text)))).toBe(text);
    }),
  ));

/** The same value with all keys in the opposite order. */
function turned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(turned);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([k, v]) => [k, turned(v)]),
  );
}

test("J-10 a frozen copy is what the canonical text reads back to, and refuses what canonical refuses", () =>
  fc.assert(
    fc.property(fc.oneof(arbitraries(fc).json, fc.anything()), (value) => {
      let text: string;
      try {
        text = toCanonicalJson(value);
      } catch {
        expect(() => copyFrozen(value)).toThrow(TypeError);
        return;
      }
      // not toStrictEqual: a key named `constructor` misleads it about types
      expect(isDeepStrictEqual(copyFrozen(value), JSON.parse(text))).toBe(true);
      expect(toCanonicalJson(copyFrozen(value))).toBe(text);
    }),
  ));

test("J-10 a frozen copy is nobody else's, and frozen all the way down", () => {
  const inner = { list: [1, { deep: true }] };
  const copy = copyFrozen({ inner, minus: -0 });
  inner.list.push(2);
  expect(copy).toEqual({ inner: { list: [1, { deep: true }] }, minus: 0 });
  expect(
    Object.isFrozen(copy) && Object.isFrozen(copy.inner) && Object.isFrozen(copy.inner.list) && Object.isFrozen(copy.inner.list[1]),
  ).toBe(true);
  expect(() => {
    (copy.inner.list as unknown[]).push(3);
  }).toThrow(TypeError);
});

test("J-10 what is a frozen copy already is not copied again; what is only frozen is", () => {
  const copy = copyFrozen({ b: [1], a: "x" });
  expect(copyFrozen(copy)).toBe(copy);
  expect(copyFrozen({ copy }).copy).toBe(copy);
  let asked = 0;
  const sly = Object.freeze({
    get a() {
      asked += 1;
      return asked;
    },
  });
  const held = copyFrozen(sly);
  expect([held.a, held.a, toCanonicalJson(held)]).toEqual([1, 1, '{"a":1}']);
  const numbered = copyFrozen({ 10: 1, 9: 2 }); // no object can keep these in canonical order
  expect(toCanonicalJson({ numbered })).toBe('{"numbered":{"10":1,"9":2}}');
});

test("J-10 the text of an object without a field is that of the others, also of a frozen copy", () =>
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: "grapheme" }), arbitraries(fc).json), arbitraries(fc).json, (others, value) => {
      const { kind: _, ...rest } = { ...others };
      let text: string;
      try {
        text = toCanonicalJson(rest);
        toCanonicalJson(value);
      } catch (error) {
        expect(String(error)).toMatch("two keys");
        return;
      }
      expect(toCanonicalJsonWithout({ ...rest, kind: value }, "kind")).toBe(text);
      expect(toCanonicalJsonWithout(copyFrozen({ ...rest, kind: value }), "kind")).toBe(text);
    }),
  ));

test("J-10 a key named __proto__ is a key like any other", () => {
  const value = JSON.parse('{"__proto__":{"a":1},"b":2}') as object;
  expect(toCanonicalJson(value)).toBe('{"__proto__":{"a":1},"b":2}');
  const copy = copyFrozen(value);
  expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
  expect(Object.hasOwn(copy, "__proto__")).toBe(true);
});

test("J-10 a digest is the hash of the canonical text", () => {
  const hash: Hash = (text) => digest(`<${text}>`);
  expect(digestJson({ b: 1, a: [] }, hash)).toBe('<{"a":[],"b":1}>');
});

const isFrozenAllTheWay = (value: unknown): boolean =>
  typeof value !== "object" || value === null || (Object.isFrozen(value) && Object.values(value).every(isFrozenAllTheWay));

test("J-10 what was put together on the spot is frozen all the way down, has the text it had, and is frozen in place if it was in order", () =>
  fc.assert(
    fc.property(arbitraries(fc).json, fc.boolean(), (inner, inOrder) => {
      const given = inOrder ? { a: inner, b: [inner, { c: inner }] } : { b: [inner, { c: inner }], a: inner };
      const text = toCanonicalJson(given);
      const own = freezeOwn(given);
      expect(isFrozenAllTheWay(own)).toBe(true);
      expect(toCanonicalJson(own)).toBe(text);
      expect(toCanonicalJson(copyFrozen(own))).toBe(text);
      if (!inOrder) expect(own).not.toBe(given);
      if (own === given) expect(isFrozenCopy(own)).toBe(true);
    }),
  ));

test("J-10 what JSON cannot hold is refused instead of frozen", () => {
  for (const wrong of [{ a: undefined }, { a: [Number.NaN] }, { a: () => 0 }, { a: new Date(0) }])
    expect(() => freezeOwn(wrong)).toThrow(TypeError);
  const own = freezeOwn({ a: [1], b: { c: 2 } });
  expect(() => Object.assign(own.b, { c: 3 })).toThrow(TypeError);
  expect(freezeOwn({ a: 1 })).toSatisfy(isFrozenCopy);
});
