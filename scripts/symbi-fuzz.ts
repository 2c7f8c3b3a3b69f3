// `node scripts/symbi-fuzz.ts [COUNT] [SEED]`: files made by the grammar, and a great many wrong ones made of them. The result goes to docs/symbi-fuzz.md.
//
// For each: reading ends with a tree or with problems that have a place in the file, and nothing throws (Y3); what can be read is formatted to the same tree and the same comments,
// and formatting it again changes nothing (Y7, Y8).
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { readSymbi } from "../packages/core/src/agents/symbi/declare.ts";
import { brokenText, symbiText } from "../packages/core/src/agents/symbi/fixtures/arbitrary.ts";
import { formatSymbi } from "../packages/core/src/agents/symbi/format.ts";
import { parseSymbi } from "../packages/core/src/agents/symbi/parse.ts";
import { tokensOf } from "../packages/core/src/agents/symbi/tokens.ts";

const count = Number(process.argv[2] ?? 1_000_000);
const seed = Number(process.argv[3] ?? 20_261_115);
const PLACES = new Set(["at", "open", "opAt", "stepAt"]);
const meant = (tree: unknown): string => JSON.stringify(tree, (key, one: unknown) => (PLACES.has(key) ? undefined : one));
const comments = (text: string): string =>
  tokensOf(text)
    .flatMap((t) => (t.kind === "comment" ? [t.text] : []))
    .join("\n");

/** What a small generator makes of a good file: cheap, so that a million are tried. */
const PUT = [
  "",
  "{",
  "}",
  "(",
  ")",
  "[",
  '"',
  '"""',
  "#",
  "//",
  "\n",
  " if ",
  "=>",
  "\u0430",
  "\u202e",
  "é",
  "\\",
  "<",
  ">",
  ";",
  ":",
  "vault://",
  "1.5h",
  "-",
  "!",
  "policy",
  "allow:",
  "agent x {",
];
let state = seed >>> 0;
const random = (below: number): number => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
};
function mutated(text: string): string {
  let now = text;
  for (let i = random(4) + 1; i > 0; i -= 1) {
    const at = random(now.length + 1);
    const from = random(now.length + 1);
    const put = random(3) === 0 ? now.slice(from, from + random(40)) : (PUT[random(PUT.length)] ?? "");
    now = now.slice(0, at) + put + now.slice(at + random(8));
  }
  return now;
}

const told = { files: 0, read: 0, refused: 0, problems: 0, longest: 0, slowest: 0 };
function look(text: string): void {
  told.files += 1;
  told.longest = Math.max(told.longest, text.length);
  const began = performance.now();
  const parsed = parseSymbi(text, "x.symbi");
  const read = parsed.kind === "problems" ? parsed : readSymbi(text, "x.symbi");
  told.slowest = Math.max(told.slowest, performance.now() - began);
  if (read.kind === "problems") {
    told.refused += 1;
    told.problems += read.problems.length;
    const lines = text.split("\n");
    for (const { line, column } of read.problems)
      if (line > lines.length || column > (lines[line - 1]?.length ?? 0) + 2) throw new Error(`no such place: ${line}:${column}`);
  }
  if (parsed.kind === "problems") return;
  told.read += 1;
  const once = formatSymbi(text, "x.symbi");
  if (once.kind !== "text") throw new Error("not formatted");
  const again = parseSymbi(once.text, "x.symbi");
  if (again.kind !== "tree" || meant(again.tree) !== meant(parsed.tree)) throw new Error("formatting changed the tree");
  if (comments(once.text) !== comments(parsed.text)) throw new Error("formatting changed the comments");
  const twice = formatSymbi(once.text, "x.symbi");
  if (twice.kind !== "text" || twice.text !== once.text) throw new Error("formatting again changed something");
}

const began = Date.now();
const each = 200;
for (const [i, good] of fc.sample(fc.oneof(symbiText, brokenText), { numRuns: Math.ceil(count / (each + 1)), seed }).entries()) {
  for (let n = 0; n <= each && told.files < count; n += 1) {
    const text = n === 0 ? good : mutated(good);
    try {
      look(text);
    } catch (error) {
      console.error(`file ${i}, change ${n}: ${error instanceof Error ? error.message : String(error)}\n---\n${text}\n---`);
      process.exit(1);
    }
  }
}
const seconds = Math.round((Date.now() - began) / 1000);
const page = `# Fuzzing the .symbi language

\`node scripts/symbi-fuzz.ts ${count} ${seed}\` makes files by the grammar, and wrong ones of them, and looks at each: reading ends with a tree or with problems that
have a place in the file, nothing throws; what can be read is formatted to the same tree with the same comments, and formatting it again changes nothing. Hundreds are tried in CI
(\`packages/core/src/agents/symbi/parse.test.ts\`).

| | |
|---|---|
| files | ${told.files.toLocaleString("en")} |
| could be read, were formatted | ${told.read.toLocaleString("en")} |
| refused as they stand, with problems | ${told.refused.toLocaleString("en")}, ${told.problems.toLocaleString("en")} problems |
| longest file | ${told.longest.toLocaleString("en")} characters |
| slowest to read | ${told.slowest.toFixed(0)} ms |
| failures | 0 |
| time | ${seconds} s on one of two shared cores |
`;
writeFileSync(join(import.meta.dirname, "../docs/symbi-fuzz.md"), page);
console.log(page);
