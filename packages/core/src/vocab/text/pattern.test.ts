import fc from "fast-check";
import { expect, test } from "vitest";
import { fromJsonSchema } from "../../agents/schemas/json-schema.ts";
import { MAX_STEPS, readPattern } from "./pattern.ts";

const look = (pattern: string, text: string): string => {
  const read = readPattern(pattern);
  return read.kind === "pattern" ? read.pattern.look(text) : `refused: ${read.why}`;
};

/** Small alphabets, so that patterns and texts meet. */
const letter = fc.constantFrom("a", "b", "A", "-", "1", "\n", " ", "é", "😀");
const atom = fc.oneof(
  letter.map((c) => (c === "-" ? "\\-" : c)),
  fc.constantFrom(".", "\\d", "\\W", "\\s", "[ab]", "[^a\\d]", "[a-c-]", "\\p{L}", "\\u{61}", "\\x41", "\\b", "\\B", "^", "$", "(?:)"),
);
const expression = fc.letrec<{ node: string }>((tie) => ({
  node: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    atom,
    fc.tuple(tie("node"), tie("node")).map(([a, b]) => a + b),
    fc.tuple(tie("node"), tie("node")).map(([a, b]) => `(${a}|${b})`),
    fc.tuple(tie("node"), fc.constantFrom("*", "+", "?", "*?", "{2}", "{0,2}", "{1,}")).map(([a, how]) => `(?:${a})${how}`),
  ),
})).node;

test("T-40 a pattern fits what the language's own engine says it fits", () => {
  const flags = fc.constantFrom("", "i", "m", "s", "ims");
  fc.assert(
    fc.property(expression, flags, fc.array(letter, { maxLength: 8 }), (source, on, letters) => {
      const text = (source.includes("\\B") ? letters.filter((c) => c !== "😀") : letters).join(""); // V8 finds a place inside of that one
      const native = new RegExp(source.replaceAll("\\-", "-"), `${on}u`).test(text);
      expect(look(on === "" ? source : `(?${on})${source}`, text)).toBe(native ? "fits" : "does-not");
    }),
    { numRuns: 2_000 },
  );
});

test("T-40 no pattern and no value takes longer than so many steps, however the pattern is made", () => {
  const long = "a".repeat(32_000);
  for (const pattern of ["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "(a*)*b", "^(([a-z])+.)+[A-Z]([a-z])+$", "a*a*a*a*a*a*a*a*b"]) {
    expect(look(pattern, `${long}!`)).toBe("does-not");
    expect(look(pattern.replace(/\$$/, ""), long.slice(0, 100))).toMatch(/fits|does-not/);
  }
  expect(look("(?:a?){3000}b", long)).toBe("too-long");
  expect(MAX_STEPS).toBeLessThanOrEqual(10_000_000);
});

test("T-40 what cannot be matched so, or is read in two ways, is refused with what it is", () => {
  for (const [pattern, why] of [
    ["(a)\\1", "refers back"],
    ["(?<x>a)\\k<x>", "refers back"],
    ["(?=a)", "looks around"],
    ["(?<!a)b", "looks around"],
    ["((a{1000}){1000}){1000}", "counts multiply"],
    ["a{20000}", "counts beyond"],
    ["[[:alpha:]]", "two ways"],
    ["[a-z&&b]", "two ways"],
    ["(a", "does not close"],
    ["a)", "not opened"],
    ["*a", "nothing to repeat"],
    ["a{2", "counts nothing"],
    ["\\q", "not understood"],
    ["\\p{Nobody}", "nobody knows"],
    ["[z-a]", "nothing sensible"],
    ["a".repeat(5_000), "longer than"],
    ["(".repeat(200) + ")".repeat(200), "too deeply"],
  ] as const)
    expect(look(pattern, "a")).toContain(why);
});

test("T-40 what the format's own engine has is there: flags for a part, names with P, the ends of a text", () => {
  expect(["\\Aab\\z", "(?P<n>a)b", "(?i:A)b", "(?i)A(?-i)b", "a\\_?b", "\\x{61}b"].map((p) => look(p, "ab"))).toEqual(
    Array(6).fill("fits"),
  );
  expect(look("\\Aab\\z", "xab")).toBe("does-not");
  expect(look("(?i:A)B", "ab")).toBe("does-not");
});

test("T-40 patterns in JSON schemas, such as an MCP server's, are matched the same way, wherever they stand", () => {
  const evil = { type: "string", pattern: "^(a+)+$" } as const;
  const whole = {
    type: "object",
    $defs: { word: evil },
    properties: {
      plain: evil,
      list: { type: "array", items: evil },
      either: { anyOf: [evil, { type: "null" }] },
      named: { $ref: "#/$defs/word" },
      names: { type: "object", propertyNames: { pattern: evil.pattern } },
      keys: { type: "object", patternProperties: { [evil.pattern]: true }, additionalProperties: false },
      has: { type: "array", contains: evil },
    },
  };
  const made = fromJsonSchema(whole);
  if (made.kind === "refused") throw new Error(made.detail);
  const bad = `${"a".repeat(5_000)}!`; // by the engine's own way each of these would take longer than there has been time
  const good = "a".repeat(5_000);
  const values = (text: string) => [
    ...[{ plain: text }, { list: [text] }, { either: text }, { named: text }],
    ...[{ names: { [text]: 1 } }, { keys: { [text]: 1 } }, { has: [text] }],
  ];
  const issues = (text: string) => values(text).map((value) => "issues" in made.schema["~standard"].validate(value));
  expect(new Set(issues(good))).toEqual(new Set([false]));
  expect(new Set(issues(bad))).toEqual(new Set([true]));
  expect(fromJsonSchema({ type: "string", pattern: "^(?!x)a+$" }).kind).toBe("schema");
  for (const schema of [
    { type: "string", pattern: "^(?=(a+)+$)" },
    { type: "object", patternProperties: { "(?=(a+)+$)": true } },
  ])
    expect(fromJsonSchema(schema)).toMatchObject({ kind: "refused", detail: expect.stringContaining("in proportion") });
});
