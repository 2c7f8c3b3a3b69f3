import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readSymbi } from "./declare.ts";
import { BLOCK_KEYS } from "./keys.ts";

const grammar = readFileSync(join(import.meta.dirname, "grammar.peggy"), "utf8");
/** The rules that each rule names: capitalised words outside of texts, classes and code. */
const named = new Map(
  [...grammar.matchAll(/^([A-Z]\w*)(?: "[^"]*")?\s*=([\s\S]*?)(?=^[A-Z_]\w*(?: "[^"]*")?\s*(?:=|\n\s*=)|^\/\/|$(?![\s\S]))/gm)].map(
    ([, name = "", text = ""]) =>
      [
        name,
        text.replace(/"(?:[^"\\]|\\.)*"|'[^']*'|\[[^\]]*\]|\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}/g, " ").match(/\b[A-Z]\w*/g) ?? [],
      ] as const,
  ),
);
/** Where a key stands before a value, however deep; what is no block's own (a block in a block, an expression) aside. */
const ENTRIES = ["Keys", "LooseKeys", "Settings", "Entry", "LooseEntry", "Setting"];
const BLOCKS = ["TopItem", "Member"].flatMap((list) => named.get(list) ?? []).filter((rule) => !rule.startsWith("Bad"));
const withKeys = [...new Set(BLOCKS.filter((rule) => named.get(rule)?.some((one) => ENTRIES.includes(one)) === true))];

/** A file with such a block that holds nothing but these keys; those of the table are found by their rule's name. */
const HELD: Readonly<Record<string, Readonly<{ keys: keyof typeof BLOCK_KEYS | null; file: (held: string) => string }>>> = {
  Metadata: { keys: "metadata", file: (held) => `metadata { ${held} }` },
  With: { keys: "with", file: (held) => `agent a { with ${held} { } }` },
  Schedule: { keys: "schedule", file: (held) => `schedule a { ${held} }` },
  Webhook: { keys: "webhook", file: (held) => `webhook a { ${held} }` },
  Memory: { keys: "memory", file: (held) => `memory a { ${held} }` },
  Channel: { keys: null, file: (held) => `channel a { ${held} }` }, // refused as a whole
};
/** Blocks that stand within others: a section of one, and the record of an approval. */
const WITHIN = { "webhook filter": (held: string) => `webhook a { filter { ${held} } }` } as const;

test("Y-3 the blocks with keys are those of the grammar, each is read by its table, and no other key is taken", () => {
  expect(withKeys.sort()).toEqual(Object.keys(HELD).sort());
  const blocks = [
    ...Object.values(HELD).flatMap(({ keys, file }) => (keys === null ? [] : [[keys, file] as const])),
    ...Object.entries(WITHIN).map(([keys, file]) => [keys as keyof typeof BLOCK_KEYS, file] as const),
  ];
  expect([...blocks.map(([keys]) => keys), "approval"].sort()).toEqual(Object.keys(BLOCK_KEYS).sort());
  const all = [...new Set(Object.values(BLOCK_KEYS).flatMap((keys) => Object.keys(keys)))];
  const others = ["x", "path2", "policy", "deliver", "executor", "search", "retention", "constructor", "__proto__", "toString", "_"];
  for (const [block, file] of blocks)
    for (const key of [...all, ...others]) {
      const read = readSymbi(file(`${key} = 1`), "x.symbi");
      const told = read.kind === "problems" ? read.problems.map(({ detail }) => detail).join("\n") : "";
      const isRefused =
        told.includes(`there is no \`${key}\` in`) || told.includes(`not supported yet: \`${key}\``) || told.startsWith("expected");
      expect([block, key, isRefused]).toEqual([block, key, !Object.hasOwn(BLOCK_KEYS[block], key)]);
    }
  for (const key of [...all, ...others]) {
    const read = readSymbi(`channel a { ${key} = 1 }`, "x.symbi");
    expect(read.kind).toBe("problems");
  }
});
