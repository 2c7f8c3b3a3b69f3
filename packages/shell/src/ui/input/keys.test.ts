import fc from "fast-check";
import { expect, test } from "vitest";
import { type Key, keyReader } from "./keys.ts";

const keysOf = (...pieces: readonly string[]): readonly Key[] => {
  const reader = keyReader();
  return [...pieces.flatMap((piece) => reader.read(piece)), ...reader.settle()];
};
const named = (name: string) => ({ kind: "named", name });
const text = (said: string) => ({ kind: "text", text: said });

test.each([
  ["\r", named("enter")],
  ["\n", named("newline")],
  ["\u001b\r", named("newline")],
  ["\u001b[13;2u", named("newline")],
  ["\u001b[27;2;13~", named("newline")],
  ["\t", named("tab")],
  ["\u001b[Z", named("back-tab")],
  ["\u001b", named("escape")],
  ["\u007f", named("backspace")],
  ["\u001b[3~", named("delete")],
  ["\u001b[A", named("up")],
  ["\u001bOA", named("up")],
  ["\u001b[1;5D", named("word-left")],
  ["\u001bb", named("word-left")],
  ["\u001b\u007f", named("delete-word")],
  ["\u001b[5~", named("page-up")],
  ["\u0003", { kind: "ctrl", letter: "c" }],
  ["\u0012", { kind: "ctrl", letter: "r" }],
  ["\u001bd", { kind: "alt", letter: "d" }],
  ["é", text("é")],
  ["😀", text("😀")],
])("%j is one key, in one piece or in single units", (sent, key) => {
  expect(keysOf(sent)).toEqual([key]);
  expect(keysOf(...Array.from({ length: sent.length }, (_, i) => sent[i] ?? ""))).toEqual([key]);
});

test.each(["\u001b[?1;2c", "\u001b[12;40R", "\u001b[38;5;1m", "\u001b[I", "\u0000", "\u009b", "\u001b[1;2;3;4;5x"])(
  "%j is no key, and leaves nothing behind",
  (sent) => {
    expect(keysOf(sent, "a")).toEqual([text("a")]);
  },
);

test("a paste is one text, and none of its line breaks is a key; the same in any pieces", () => {
  const pasted = "rm -rf /\r\nsecond\rthird\u001b[A\u0003 \ttab";
  const sent = `x\u001b[200~${pasted}\u001b[201~y\r`;
  const whole = keysOf(sent);
  expect(whole).toEqual([text("x"), { kind: "paste", text: "rm -rf /\nsecond\nthird[A \ttab" }, text("y"), named("enter")]);
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(sent.length)), (cuts) => {
      const at = [0, ...cuts.sort((a, b) => a - b), sent.length];
      const pieces = at.slice(1).map((end, i) => sent.slice(at[i], end));
      const joined = keysOf(...pieces);
      expect(joined.filter(({ kind }) => kind !== "text")).toEqual(whole.filter(({ kind }) => kind !== "text"));
    }),
    { numRuns: 60 },
  );
});

test("whatever is sent, no control character becomes text", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "binary" }), { maxLength: 6 }), (pieces) => {
      for (const key of keysOf(...pieces)) {
        if (key.kind === "text") expect(key.text).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
        if (key.kind === "paste") expect(key.text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
      }
    }),
    { numRuns: 200 },
  );
});
