/** A project's files as formats read them, and problems of one file as a fault. */
import { realpathSync } from "node:fs";
import { errorMessage, FaultError } from "@orgate/core/vocab";
import type { Config } from "../../config/config.ts";
import { fileFault } from "../../files/file-fault.ts";
import { findDraft, matchDrafts } from "../../files/file-overlay.ts";
import { readTextFile } from "../../files/text-file.ts";
import { matchProjectFiles } from "../../guard/modules.ts";
import type { FormatInputs, ProjectProblem } from "./format.ts";

const MAX_BYTES = 256 * 1024;

/** `setting` of orgate.toml names the files. */
export function openInputs(
  config: Pick<Config, "root" | "drafts">,
  setting: "agents" | "tools",
  report: FormatInputs["report"],
): FormatInputs {
  const root = realpathSync(config.root);
  const { drafts = [] } = config;
  return {
    root,
    listFiles: (patterns) => [...new Set([...matchProjectFiles(root, patterns, setting), ...matchDrafts(root, patterns, drafts)])].sort(),
    readText(file, maxBytes = MAX_BYTES) {
      try {
        return findDraft(file, root, drafts) ?? readTextFile(file, maxBytes);
      } catch (error) {
        throw fileFault({ file, detail: errorMessage(error), hint: "it must be a readable text file" }, error);
      }
    },
    report,
  };
}

/** Throws instead of collecting. */
export const throwProblem: FormatInputs["report"] = (problem) => {
  throw problem instanceof FaultError ? problem : fileFault(problem);
};

/** The first problem, and how many more there are. */
export function toProblemsFault(path: string, problems: readonly [ProjectProblem, ...ProjectProblem[]], cause?: unknown): FaultError {
  const [{ line, column, detail, hint }, ...more] = problems;
  const rest = more.length === 0 ? hint : `${hint}; ${more.length} more: \`orgate agents validate\` tells them all`;
  return fileFault({ file: path, at: { line, column }, detail, hint: rest }, cause);
}
