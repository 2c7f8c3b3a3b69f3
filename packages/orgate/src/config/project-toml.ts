/**
 * `orgate.toml`: where a project is, and what it says.
 *
 * A-2 The nearest one upward is the project; `--project` names a folder and looks nowhere else.
 * Rule: A-4.
 */

import { realpathSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { errorMessage, FaultError } from "@orgate/core/vocab";
import { fileFault } from "../files/file-fault.ts";
import { isBelow, readTextFile, realPath } from "../files/text-file.ts";
import { findTomlPosition, readToml } from "../files/toml-text.ts";
import { type Config, toConfig } from "./config.ts";

const FILE = "orgate.toml";
const HINT = "see docs/guide/project.md for every setting";

/** The folder of the nearest `orgate.toml`, from `from` upward. */
export function findProject(from: string): string {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    if (isThere(join(folder, FILE))) return folder;
    if (dirname(folder) === folder) throw new FaultError({ kind: "project-missing", from: resolve(from) });
  }
}

/** `project` is what `--project` says, null when it was not given. */
export function openProject(project: string | null, from: string): Config {
  const config = projectAt(project, from);
  const real = realPath(from);
  return real !== null && isBelow(real, config.root) ? Object.freeze({ ...config, from: real }) : config;
}

function projectAt(project: string | null, from: string): Config {
  if (project === null) return readProject(findProject(from));
  const folder = resolve(from, project);
  if (!isThere(join(folder, FILE)))
    throw fileFault({
      file: join(folder, FILE),
      detail: "there is no such file",
      hint: "`orgate init` makes a project; --project names its folder",
    });
  return readProject(folder);
}

export function readProject(folder: string): Config {
  const root = realpathSync(folder); // one project, one name: the journal's lock and the agents' paths hang on it
  const file = join(root, FILE);
  const text = readText(file);
  const toml = readToml(text);
  if (toml.kind === "not-toml") throw fileFault({ file, at: toml, detail: `not TOML: ${toml.detail}`, hint: HINT });
  const read = toConfig(toml.value, root, file);
  if (read.kind === "invalid")
    throw fileFault({ file, at: findTomlPosition(text, read.issue.path), detail: read.issue.detail, hint: HINT });
  return read.config;
}

function isThere(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false }) !== undefined;
}

const MAX_BYTES = 256 * 1024;

function readText(file: string): string {
  try {
    return readTextFile(file, MAX_BYTES);
  } catch (error) {
    throw fileFault({ file, detail: errorMessage(error), hint: "it must be a readable text file" }, error);
  }
}
