/**
 * A project's manifests: `tools/*.clad.toml`, the custom types of `toolclad.toml`, the scope of `scope/scope.toml`.
 *
 * T47 whatever is wrong is told with file, line and column; several things at once.
 */
import { existsSync, realpathSync } from "node:fs";
import { join, relative } from "node:path";
import {
  type Contract,
  type CustomTypes,
  contractOf,
  decodeCustomTypes,
  decodeManifest,
  decodeScope,
  type Issue,
  NO_SCOPE,
  type Scope,
} from "@orgate/core/contracts";
import { projectFiles } from "../project-modules.ts";
import { readTextFile } from "../text-file.ts";
import { placeOf, readToml } from "../toml-text.ts";

export type FileProblem = Readonly<{ file: string; line: number; column: number; detail: string; hint: string }>;
/** `shown` is its path below the project's folder. */
export type ManifestFile = Readonly<{ file: string; shown: string; text: string; contract: Contract }>;
export type ReadManifests = Readonly<{
  manifests: readonly ManifestFile[];
  types: CustomTypes;
  scope: Scope;
  problems: readonly FileProblem[];
}>;

const MAX_BYTES = 256 * 1024;
const MAX_PROBLEMS = 20;
export const isManifest = (path: string): boolean => path.endsWith(".clad.toml");

/** `patterns` are paths and globs below `root`; those of other files are passed over. */
export function readManifests(root: string, patterns: readonly string[]): ReadManifests {
  const folder = realpathSync(root);
  const problems: FileProblem[] = [];
  const types = readOne(join(folder, "toolclad.toml"), decodeCustomTypes, problems);
  const scope = readOne(join(folder, "scope", "scope.toml"), decodeScope, problems);
  const custom = types?.kind === "types" ? types.types : {};
  const manifests = projectFiles(folder, patterns.filter(isManifest), "tools").flatMap((file): readonly ManifestFile[] => {
    const read = readManifest(file, custom);
    problems.push(...read.problems);
    return read.contract === null ? [] : [{ file, shown: relative(folder, file), text: read.text, contract: read.contract }];
  });
  return { manifests, types: custom, scope: scope?.kind === "scope" ? scope.scope : NO_SCOPE, problems };
}

type OneManifest = Readonly<{ contract: Contract | null; text: string; problems: readonly FileProblem[] }>;

/** One file, wherever it lies. */
export function readManifest(file: string, types: CustomTypes): OneManifest {
  const problems: FileProblem[] = [];
  let text = "";
  const keep = (whole: string): void => {
    text = whole;
  };
  const read = readOne(file, (value) => decodeManifest(value, types), problems, keep);
  return { contract: read?.kind === "manifest" ? contractOf(read.manifest) : null, text, problems };
}

type Decoded = Readonly<{ kind: string }> | Readonly<{ kind: "refused"; issues: readonly Issue[] }>;

/** Null where there is no such file, or it cannot be read. */
function readOne<T extends Decoded>(
  file: string,
  decode: (value: unknown) => T,
  problems: FileProblem[],
  onText: (text: string) => void = () => {},
): T | null {
  if (!existsSync(file)) return null;
  let text: string;
  try {
    text = readTextFile(file, MAX_BYTES);
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    problems.push({ file, line: 1, column: 1, detail, hint: "it must be a readable text file" });
    return null;
  }
  onText(text);
  const toml = readToml(text);
  if (toml.kind === "not-toml") {
    problems.push({ file, line: toml.line, column: toml.column, detail: `not TOML: ${toml.detail}`, hint: "see docs/guide/manifests.md" });
    return null;
  }
  const read = decode(toml.value);
  if ("issues" in read) {
    const placed = read.issues.slice(0, MAX_PROBLEMS).map(({ path, detail, hint }) => ({ file, ...placeOf(text, path), detail, hint }));
    problems.push(...placed.sort((a, b) => a.line - b.line || a.column - b.column));
  }
  return read;
}
