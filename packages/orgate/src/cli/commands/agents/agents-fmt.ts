/** Y-5 Formats `.symbi` files: in place, or checks only with `--check`. A file that cannot be read is reported and not touched. */
import { chmodSync, existsSync, realpathSync, renameSync, statSync, writeFileSync } from "node:fs";
import { relative, resolve } from "node:path";
import { FaultError } from "@orgate/core";
import type { Screen } from "@orgate/shell/terminal";
import { count, EXIT, type Given, type RunCommand } from "@orgate/shell/terminal";
import { formatSymbi, type SymbiProblem } from "@orgate/symbi";
import { readTextFile } from "../../../files/text-file.ts";
import { matchProjectFiles } from "../../../guard/modules.ts";
import { isSymbi } from "../../../project/symbi/symbi-files.ts";
import { printProblem } from "../policies/policy.ts";
import { openGivenProject } from "../project/project.ts";

const MAX_BYTES = 1024 * 1024;

export const fmt: RunCommand = async (given, screen) => {
  if (given.flag("stdin")) return fromInput(screen, await screen.readInput());
  const isCheck = given.flag("check");
  const problems: SymbiProblem[] = [];
  const changed: string[] = [];
  const files = filesOf(given);
  for (const path of files) {
    const shown = relative(given.cwd, path) || path;
    const before = readTextFile(path, MAX_BYTES);
    const made = formatSymbi(before, shown);
    if (made.kind === "problems") problems.push(...made.problems);
    else if (made.text !== before) {
      changed.push(shown);
      if (!isCheck) replace(path, made.text);
    }
  }
  if (given.json) screen.line(JSON.stringify({ files: files.length, changed, problems }));
  else {
    for (const problem of problems) printProblem(screen, "bad", problem);
    for (const file of changed) screen.line(`${screen.paint(isCheck ? "warn" : "good", isCheck ? "not formatted" : "formatted")} ${file}`);
    if (changed.length + problems.length === 0) screen.line(`${screen.paint("good", "ok")} ${count(files.length, "file")}`);
  }
  return problems.length > 0 || (isCheck && changed.length > 0) ? EXIT.failure : EXIT.success;
};

function filesOf(given: Given): readonly string[] {
  if (given.args.length === 0) {
    const { root, agents } = openGivenProject(given);
    return matchProjectFiles(root, agents.filter(isSymbi), "agents");
  }
  return given.args.map((name) => {
    const path = resolve(given.cwd, name);
    if (existsSync(path) && isSymbi(path)) return realpathSync(path); // what a link leads to is replaced, and not the link
    throw new FaultError({
      kind: "usage",
      detail: `there is no .symbi file \`${name}\``,
      hint: "name one, or leave it out for all of the project's",
    });
  });
}

/** Whole, or not at all. */
function replace(path: string, text: string): void {
  const next = `${path}.${process.pid}.next`;
  const { mode } = statSync(path);
  writeFileSync(next, text, { flag: "wx" });
  chmodSync(next, mode);
  renameSync(next, path);
}

function fromInput(screen: Screen, text: string): number {
  const made = formatSymbi(text, "stdin");
  if (made.kind === "text") {
    screen.write(made.text);
    return EXIT.success;
  }
  for (const { line, column, detail, hint } of made.problems) screen.aside(`stdin:${line}:${column} ${detail} (${hint})`);
  return EXIT.failure;
}
