// R-3 SPEC.md has at most 400 rules, in order and without gaps; each is cited by a test name, and a test name cites only rules that SPEC.md defines.
// R-7 the pages everybody reads first stay short, and README tells the two commands.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Token, tokensOf } from "./scan.ts";
import { type Finding, filesOf, isSource, isTest, lineAt, readText } from "./tree.ts";

const MAXIMUM_LINES: Readonly<Record<string, number>> = { "README.md": 150, "ARCHITECTURE.md": 200, "AGENTS.md": 120 };
/** A page with more rules than this is not read from beginning to end. */
const MAXIMUM_RULES = 400;
const README_COMMANDS: readonly string[] = ["npm ci && npm start", "npm ci && npm test"];

export function checkPageLengths(root: string): readonly Finding[] {
  return Object.entries(MAXIMUM_LINES).flatMap(([file, maximum]) => {
    if (!existsSync(join(root, file))) return [{ file, line: 1, message: "is missing" }];
    const lines = readText(root, file).replace(/\n$/, "").split("\n").length;
    return lines <= maximum ? [] : [{ file, line: maximum + 1, message: `has ${lines} lines, at most ${maximum} are read` }];
  });
}

export function checkReadme(root: string): readonly Finding[] {
  const file = "README.md";
  const text = existsSync(join(root, file)) ? readText(root, file) : "";
  const missing = README_COMMANDS.filter((command) => !text.split("\n").some((line) => line.trim() === command));
  return missing.map((command) => ({ file, line: 1, message: `has no line that says \`${command}\`` }));
}

type Rule = Readonly<{ id: string; place: string; line: number }>;
type Cited = Readonly<{ id: string; file: string; line: number }>;

export function checkSpec(root: string): readonly Finding[] {
  const file = "SPEC.md";
  if (!existsSync(join(root, file))) return [{ file, line: 1, message: "is missing" }];
  const text = readText(root, file);
  const rules = rulesOf(text);
  const defined = new Set(rules.map((rule) => rule.id));
  const cited = citations(root);
  const tested = new Set(cited.map(({ id }) => id));
  return [
    ...rules
      .filter(({ id, place }) => id !== place)
      .map(({ id, place, line }) => ({ file, line, message: `${id} stands where ${place} belongs` })),
    ...rules
      .slice(MAXIMUM_RULES, MAXIMUM_RULES + 1)
      .map(({ line }) => ({ file, line, message: `there are ${rules.length} rules, at most ${MAXIMUM_RULES} are read` })),
    ...rules
      .filter((rule, i) => rules.findIndex(({ id }) => id === rule.id) !== i)
      .map(({ id, line }) => ({ file, line, message: `${id} is defined twice` })),
    ...rules.filter(({ id }) => !tested.has(id)).map(({ id, line }) => ({ file, line, message: `${id} is cited by no test name` })),
    ...cited
      .filter(({ id }) => !defined.has(id))
      .map(({ id, ...place }) => ({ ...place, message: `${id} is cited and SPEC.md does not define it` })),
  ];
}

/** `place` is the id that a rule has where it stands: the letter of its section (`## J · The journal`) and its number there, from 1 up. */
function rulesOf(text: string): readonly Rule[] {
  const rules: Rule[] = [];
  let letter = "?";
  let number = 0;
  for (const [i, line] of text.split("\n").entries()) {
    const section = /^## (\S) /.exec(line)?.[1];
    const id = /^- \*\*([^*]+)\*\* /.exec(line)?.[1];
    if (section !== undefined) [letter, number] = [section, 0];
    else if (id !== undefined) {
      number += 1;
      rules.push({ id, place: `${letter}-${number}`, line: i + 1 });
    }
  }
  return rules;
}

/** Test names are the literals that begin with rule ids, in tests, in the contract suites of `testing`, and in e2e. */
function citations(root: string): readonly Cited[] {
  const holdsTests = (file: string) => isTest(file) || file.startsWith("packages/core/src/testing/") || file.startsWith("e2e/");
  return filesOf(root)
    .filter((file) => isSource(file) && holdsTests(file))
    .flatMap((file) => {
      const text = readText(root, file);
      const tokens = tokensOf(text);
      return tokens.flatMap((token, i) =>
        isSkipped(tokens, i) ? [] : idsOf(token).map((id) => ({ id, file, line: lineAt(text, token.start) })),
      );
    });
}

/** `J-3 a sentence`, or several ids before it: `J-3 J-4 a sentence`. */
function idsOf(token: Token): readonly string[] {
  if (token.kind !== "text") return [];
  const ids = /^((?:[A-Z]-\d+[,:]? )+)\S/.exec(token.value)?.[1];
  return ids === undefined
    ? []
    : ids
        .trim()
        .split(/[,:]? /)
        .map((id) => id.replace(/[,:]$/, ""));
}

/** A test that does not run proves nothing. */
function isSkipped(tokens: readonly Token[], i: number): boolean {
  return tokens[i - 1]?.value === "(" && ["skip", "todo"].includes(tokens[i - 2]?.value ?? "") && tokens[i - 3]?.value === ".";
}
