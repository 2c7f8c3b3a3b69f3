/**
 * Y-10: conditions made at random, read once by a few lines that say what they mean and once by the real gate. Three kinds of rule turn an argument that is missing into the stricter
 * answer, each in its own way.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { deciderOf } from "./fixtures/symbi-stand.ts";

type Call = Readonly<{ euros: number; account: string; note?: string; tags?: string[] }>;
/** `unknown` is what an argument that is not there makes of a comparison. */
type Meant = Readonly<{ text: string; holds: (call: Call, unknown: boolean) => boolean }>;

const atom = (text: string, holds: (call: Call) => boolean | undefined): Meant => ({
  text,
  holds: (call, unknown) => holds(call) ?? unknown,
});
const known = <T>(value: T | undefined, holds: (value: T) => boolean): boolean | undefined =>
  value === undefined ? undefined : holds(value);
const ATOMS: readonly Meant[] = [
  atom("args.euros < 5", ({ euros }) => euros < 5),
  atom("5 <= args.euros", ({ euros }) => 5 <= euros),
  atom("args.euros + 2 * 3 - 1 == 10", ({ euros }) => euros === 5),
  atom("-args.euros > -6", ({ euros }) => euros < 6),
  atom('args.account != "a"', ({ account }) => account !== "a"),
  atom('args.account in ["a", "c"]', ({ account }) => ["a", "c"].includes(account)),
  atom('args.account.starts_with("a")', ({ account }) => account.startsWith("a")),
  atom('args.note == "x"', ({ note }) => known(note, (n) => n === "x")),
  atom('args.note != "x"', ({ note }) => known(note, (n) => n !== "x")),
  atom('(args.note == "x") == (args.euros < 5)', ({ note, euros }) => known(note, (n) => (n === "x") === euros < 5)),
  atom('args.note.like("x*")', ({ note }) => known(note, (n) => n.startsWith("x"))),
  atom("has(args.note)", ({ note }) => note !== undefined),
  atom('args.tags.contains("x")', ({ tags }) => known(tags, (all) => all.includes("x"))),
  atom("args.tags.is_empty()", ({ tags }) => known(tags, (all) => all.length === 0)),
  atom('(if args.euros < 5 { args.account } else { "b" }) == "a"', ({ euros, account }) => (euros < 5 ? account : "b") === "a"),
];

const not = (sign: string, of: Meant): Meant => ({ text: `${sign}(${of.text})`, holds: (call, unknown) => !of.holds(call, !unknown) });
const group = (of: Meant): Meant => ({ ...of, text: `(${of.text})` });
const both = (a: Meant, b: Meant): Meant => ({
  text: `(${a.text}) && (${b.text})`,
  holds: (call, unknown) => a.holds(call, unknown) && b.holds(call, unknown),
});
const either = (a: Meant, b: Meant): Meant => ({
  text: `(${a.text}) || (${b.text})`,
  holds: (call, unknown) => a.holds(call, unknown) || b.holds(call, unknown),
});
/** The condition is one comparison: where it is unknown, so is everything that follows from it. */
const choice = (ask: (typeof ASKED)[number], then: Meant, otherwise: Meant): Meant => ({
  text: `if ${ask.text} { ${then.text} } else { ${otherwise.text} }`,
  holds: (call, unknown) => {
    const answer = ask.holds(call);
    return answer === undefined ? unknown : (answer ? then : otherwise).holds(call, unknown);
  },
});
const ASKED = [
  { text: "args.euros < 5", holds: ({ euros }: Call): boolean | undefined => euros < 5 },
  { text: 'args.note == "x"', holds: ({ note }: Call) => known(note, (n) => n === "x") },
  { text: '!(args.note == "x")', holds: ({ note }: Call) => known(note, (n) => n !== "x") },
] as const;

const { meant } = fc.letrec<{ meant: Meant }>((tie) => {
  const e = tie("meant");
  return {
    meant: fc.oneof(
      { maxDepth: 4, depthSize: "medium", withCrossShrink: true },
      fc.constantFrom(...ATOMS),
      fc.tuple(fc.constantFrom("!", "not "), e).map(([sign, of]) => not(sign, of)),
      e.map(group),
      fc.tuple(e, e).map(([a, b]) => both(a, b)),
      fc.tuple(e, e).map(([a, b]) => either(a, b)),
      fc.tuple(fc.constantFrom(...ASKED), e, e).map(([ask, a, b]) => choice(ask, a, b)),
    ),
  };
});

const CALLS: readonly Call[] = [1, 5, 6].flatMap((euros) =>
  ["a", "b"].flatMap((account) =>
    [{}, { note: "x" }, { note: "y", tags: [] }, { tags: ["x"] }].map((more): Call => ({ euros, account, ...more })),
  ),
);
const decidedBy = (rules: string): readonly string[] => {
  const decide = deciderOf(`agent worker { capabilities = [pay] policy p { ${rules} } with instructions = "x" { } }`);
  return CALLS.map((args) => decide({ action: "tool:pay", args }).kind);
};

test.each(["allow: pay if false", "allow: pay deny: spend if false", "allow: tools require: true"])(
  "G-6 a rule that can never have an effect is refused where it stands: %s",
  (rules) => expect(() => decidedBy(rules)).toThrow(/agents\/worker.symbi.*no request that there can be makes it true/),
);

test("Y-10 a condition of any shape is decided as it reads, in every kind of rule, by the real gate", () => {
  fc.assert(
    fc.property(meant, ({ text, holds }) => {
      const strict = CALLS.map((call) => holds(call, false));
      const loose = CALLS.map((call) => holds(call, true));
      const as = (said: readonly boolean[], yes: string, no: string) => said.map((one) => (one ? yes : no));
      expect(decidedBy(`allow: pay if ${text}`)).toEqual(as(strict, "allow", "deny"));
      expect(decidedBy(`allow: pay deny: spend if ${text}`)).toEqual(as(loose, "deny", "allow"));
      expect(decidedBy(`allow: tools require: ${text}`)).toEqual(as(strict, "allow", "deny"));
      expect(decidedBy(`allow: pay require: approval(pay) if ${text}`)).toEqual(
        CALLS.map((_, i) => (strict[i] === true ? "ask" : loose[i] === true ? "deny" : "allow")),
      );
      expect(decidedBy(`allow: pay require: args.account == "a" if ${text}`)).toEqual(
        CALLS.map(({ account }, i) => (loose[i] === true && account !== "a" ? "deny" : "allow")),
      );
    }),
    { numRuns: 15 },
  );
});
