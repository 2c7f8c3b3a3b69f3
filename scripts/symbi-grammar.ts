// `node scripts/symbi-grammar.ts`: makes the parser of `.symbi` files from its grammar. Y-1: what is committed is what the grammar makes.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import peggy from "peggy";

const folder = join(import.meta.dirname, "../packages/symbi/src");
export const GENERATED = join(folder, "grammar.ts");

/** Not checked as TypeScript: `parse.ts`, which alone imports it, says what comes out of it. */
export function generated(): string {
  const source = peggy.generate(readFileSync(join(folder, "grammar.peggy"), "utf8"), {
    output: "source",
    format: "es",
    grammarSource: "grammar.peggy",
    allowedStartRules: ["File"],
  });
  const head =
    "// @ts-nocheck made from grammar.peggy by scripts/symbi-grammar.ts: do not edit\n// biome-ignore-all lint: generated\n// biome-ignore-all format: generated\n// biome-ignore-all assist: generated\n";
  return `${head}${source.replace(/^\/\/ @generated.*\n\/\/\n\/\/.*\n/, "").replaceAll(/[ \t]+$/gm, "")}`;
}

if (import.meta.main) writeFileSync(GENERATED, generated());
