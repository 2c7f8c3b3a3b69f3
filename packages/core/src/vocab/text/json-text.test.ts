import fc from "fast-check";
import { expect, test } from "vitest";
import { arbitraries } from "../../testing/arbitraries.ts";
import { toCanonicalJson } from "./canonical.ts";
import { readJson } from "./json-text.ts";

const fault = (text: string): string => {
  const read = readJson(text);
  return read.kind === "json" ? "json" : `${read.line}:${read.column} ${read.detail}`;
};

test("M-5 JSON text is read as it stands", () => {
  expect(readJson(' {"a": [1, -0.5e2, "\\u00e9", null, true], "b": {}} \n')).toEqual({
    kind: "json",
    value: { a: [1, -50, "é", null, true], b: {} },
  });
  for (const text of ["1", '"x"', "null", "[]", "true"]) expect(readJson(text).kind).toBe("json");
});

test("M-5 whatever canonical writes is read back as it was", () =>
  fc.assert(
    fc.property(arbitraries(fc).json, (value) => {
      let text: string;
      try {
        text = toCanonicalJson(value);
      } catch {
        return; // two keys that are one: not JSON of ours
      }
      const read = readJson(text);
      expect(read.kind === "json" ? toCanonicalJson(read.value) : read).toBe(text);
    }),
  ));

test("M-5 a key that stands twice in one object is refused, however it is spelled", () => {
  expect(fault('{"a":1,"a":2}')).toBe("1:8 key `a` stands twice in one object");
  expect(fault('{"a":1,"\\u0061":2}')).toBe("1:8 key `a` stands twice in one object");
  expect(fault('{"x":[{"\\u005f_proto__":1,\n "__proto__":2}]}')).toBe("2:2 key `__proto__` stands twice in one object");
  expect(fault('{"\\/":1,"/":2}')).toMatch("key `/` stands twice");
  expect(fault('{"é":1,"\\u00e9":2}')).toMatch("key `é` stands twice");
  expect(fault('{"":1,"":2}')).toMatch("key `` stands twice");
  expect(fault('{"a":{"a":{"a":1}},"b":["a","a",{"a":1},{"a":2}]}')).toBe("json");
  expect(fault('{"a":"a","b":"a"}')).toBe("json");
  expect(fault('{"é":1,"e\\u0301":2}')).toBe("json"); // equal to the eye, not the same text
});

test("M-5 keys that differ only in what is ill-formed are one key, as they would be once written", () => {
  expect(fault('{"\\ud800":1,"\\udc00":2}')).toMatch("stands twice");
  expect(fault('{"\\ud800":1,"\\ufffd":2}')).toMatch("stands twice");
  expect(fault('{"\\ud83d\\ude00":1,"\\ud83d":2}')).toBe("json");
});

test("M-5 a nesting too deep is refused before it can do harm", () => {
  const nested = (n: number) => "[".repeat(n) + "]".repeat(n);
  expect(fault(nested(128))).toBe("json");
  expect(fault(nested(129))).toBe("1:129 nested deeper than 128");
  expect(fault('{"a":'.repeat(200_000))).toMatch("nested deeper than 128");
  expect(fault("[".repeat(1_000_000))).toMatch("nested deeper than 128");
  expect(fault(`["${"[".repeat(1_000)}"]`)).toBe("json");
});

test("M-5 a number that is none of ours is refused", () => {
  expect(fault("1e400")).toBe("1:1 number `1e400` is out of range");
  expect(fault('{"n": -1e999}')).toBe("1:7 number `-1e999` is out of range");
  expect(fault(`[${"9".repeat(400)}]`)).toMatch("is out of range");
  expect(fault("1e-400")).toBe("json");
  expect(fault('"1e400"')).toBe("json");
});

test("M-5 what is not JSON is told with its place", () => {
  const bad: readonly string[] = [
    "",
    "{",
    "nonsense",
    "{'a':1}",
    "[1,]",
    '{"a":1,}',
    "NaN",
    "01",
    "1.",
    '"\n"',
    '"\\x"',
    '"open',
    "{}{}",
    "[1 2]",
    "\ufeff{}",
    "undefined",
    '{"a"}',
    "//x\n1",
  ];
  for (const text of bad) {
    const read = readJson(text);
    expect(read.kind, text).toBe("not-json");
    if (read.kind === "not-json") {
      expect(read.detail, text).not.toMatch(/\n/);
      expect(read.detail.length, text).toBeGreaterThan(0);
      expect(read.line).toBeGreaterThan(0);
      expect(read.column).toBeGreaterThan(0);
    }
  }
  expect(fault('{\n  "a": 1,\n  "b": x\n}')).toBe("3:8 unexpected `x`");
  expect(fault('{\n  "a": 1')).toBe("2:9 unexpected end");
  expect(fault("[1,]")).toBe("1:4 unexpected `]`");
  expect(fault('{"a" 1}')).toBe("1:6 no `:` after key `a`");
  expect(fault('["a\n"]')).toBe("1:4 a control character in a string");
  expect(fault('["a\\x"]')).toBe("1:4 a bad escape in a string");
  expect(fault('["open')).toBe("1:2 a string without its end");
  expect(fault("[tru]")).toBe("1:2 unexpected `t`");
  expect(fault("{}😀")).toBe("1:3 unexpected `😀`");
});

test("M-5 readJson takes what JSON.parse takes, and nothing more", () =>
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json(), fc.stringMatching(/^[{}[\]:,"\\a1e. -]{0,12}$/)), (text) => {
      let parsed = true;
      try {
        JSON.parse(text);
      } catch {
        parsed = false;
      }
      const read = readJson(text);
      if (!parsed) expect(read.kind).toBe("not-json");
      else if (read.kind === "not-json") expect(read.detail).toMatch(/stands twice|nested deeper|out of range/);
    }),
  ));

test("keys and values of a long text can be bounded; the error is short and has its place", () => {
  expect(readJson('{"a":[1,2]}', 5)).toEqual({ kind: "json", value: { a: [1, 2] } });
  expect(readJson('{"a":\n [1,2]}', 4)).toEqual({ kind: "not-json", detail: "more than 4 keys and values", line: 2, column: 5 });
  const key = "k".repeat(1_000);
  for (const text of [`{"${key}":1,"${key}":2}`, `{"${key}" 1}`]) {
    const read = readJson(text);
    expect(read.kind === "not-json" && read.detail.length).toBeLessThan(200);
  }
});
