/**
 * A project's manifests: `tools/*.clad.toml`, the custom types of `toolclad.toml`, the scope of `scope/scope.toml`.
 *
 * T-16 what is wrong with one takes none of the others with it; without a scope that can be read, none that reaches hosts is used.
 * Rule: T-15.
 */

import { existsSync, realpathSync } from "node:fs";
import { basename, join, relative } from "node:path";
import {
  type Contract,
  type CustomTypes,
  createContract,
  decodeCustomTypes,
  decodeManifest,
  decodeScope,
  type ManifestIssue,
  NO_SCOPE,
  type TargetScope,
} from "@orgate/core/contracts";
import { type Draft, findDraft, matchDrafts } from "../files/file-overlay.ts";
import { readTextFile } from "../files/text-file.ts";
import { findTomlPosition, readToml } from "../files/toml-text.ts";
import { matchProjectFiles } from "../guard/modules.ts";
import { errorMessage } from "../node/error-message.ts";

/** `tool`: whose manifest it is, as far as it could be read; else by the file's name. Null for what belongs to no single one. */
export type FileProblem = Readonly<{ file: string; line: number; column: number; detail: string; hint: string; tool: string | null }>;
/** `shown` is its path below the project's folder. */
export type ManifestFile = Readonly<{ file: string; shown: string; text: string; contract: Contract }>;
export type ReadManifests = Readonly<{
  manifests: readonly ManifestFile[];
  types: CustomTypes;
  scope: TargetScope;
  problems: readonly FileProblem[];
}>;

const MAX_BYTES = 256 * 1024;
const MAX_PROBLEMS = 20;
export const isManifest = (path: string): boolean => path.endsWith(".clad.toml");

/** `patterns` are paths and globs below `root`; those of other files are passed over. */
export function readManifests(root: string, patterns: readonly string[], drafts: readonly Draft[] = []): ReadManifests {
  const folder = realpathSync(root);
  const problems: FileProblem[] = [];
  const types = readOne(join(folder, "toolclad.toml"), decodeCustomTypes, problems);
  const before = problems.length;
  const scope = readOne(join(folder, "scope", "scope.toml"), decodeScope, problems);
  const [unscoped = null] = problems.slice(before);
  const custom = types?.kind === "types" ? types.types : {};
  const named = patterns.filter(isManifest);
  const files = [...new Set([...matchProjectFiles(folder, named, "tools"), ...matchDrafts(folder, named, drafts)])].sort();
  const manifests = files.flatMap((file): readonly ManifestFile[] => {
    const read = readManifest(file, custom, findDraft(file, folder, drafts));
    problems.push(...read.problems);
    const { contract, text } = read;
    if (contract === null) return [];
    if (unscoped === null || !reachesHosts(contract)) return [{ file, shown: relative(folder, file), text, contract }];
    // who may be reached is not known: not even what was left out on purpose
    const { tool } = contract.manifest;
    problems.push({
      ...unscoped,
      tool: tool.name,
      detail: `\`${tool.name}\` reaches hosts, and the scope cannot be read: ${unscoped.detail}`,
    });
    return [];
  });
  return { manifests, types: custom, scope: scope?.kind === "scope" ? scope.scope : NO_SCOPE, problems };
}

const reachesHosts = ({ manifest, effects }: Contract): boolean =>
  manifest.backend.kind === "http" || effects.includes("network") || [...manifest.args.values()].some(({ isHost }) => isHost);

type OneManifest = Readonly<{ contract: Contract | null; text: string; problems: readonly FileProblem[] }>;

/** One file, wherever it lies; `draft`: as it would be. */
export function readManifest(file: string, types: CustomTypes, draft: string | null = null): OneManifest {
  const problems: FileProblem[] = [];
  let [text, tool] = ["", basename(file).replace(/\.clad\.toml$/, "")];
  const keep = (whole: string): void => {
    text = whole;
  };
  const decode = (value: unknown) => {
    tool = nameIn(value) ?? tool;
    return decodeManifest(value, types);
  };
  const read = readOne(file, decode, problems, { onText: keep, draft });
  return {
    contract: read?.kind === "manifest" ? createContract(read.manifest) : null,
    text,
    problems: problems.map((problem) => ({ ...problem, tool })),
  };
}

function nameIn(value: unknown): string | null {
  const tool: unknown = typeof value === "object" && value !== null ? Reflect.get(value, "tool") : null;
  const name: unknown = typeof tool === "object" && tool !== null ? Reflect.get(tool, "name") : null;
  return typeof name === "string" ? name : null;
}

type Decoded = Readonly<{ kind: string }> | Readonly<{ kind: "refused"; issues: readonly ManifestIssue[] }>;

/** Null where there is no such file, or it cannot be read. */
function readOne<T extends Decoded>(
  file: string,
  decode: (value: unknown) => T,
  problems: FileProblem[],
  { onText = () => {}, draft = null }: Readonly<{ onText?: (text: string) => void; draft?: string | null }> = {},
): T | null {
  if (draft === null && !existsSync(file)) return null;
  let text: string;
  try {
    text = draft ?? readTextFile(file, MAX_BYTES);
  } catch (error) {
    const detail = errorMessage(error);
    problems.push({ file, line: 1, column: 1, detail, hint: "it must be a readable text file", tool: null });
    return null;
  }
  onText(text);
  const toml = readToml(text);
  if (toml.kind === "not-toml") {
    problems.push({
      file,
      line: toml.line,
      column: toml.column,
      detail: `not TOML: ${toml.detail}`,
      hint: "see docs/guide/manifests.md",
      tool: null,
    });
    return null;
  }
  const read = decode(toml.value);
  if ("issues" in read) {
    const placed = read.issues
      .slice(0, MAX_PROBLEMS)
      .map(({ path, detail, hint }) => ({ file, ...findTomlPosition(text, path), detail, hint, tool: null }));
    problems.push(...placed.sort((a, b) => a.line - b.line || a.column - b.column));
  }
  return read;
}
