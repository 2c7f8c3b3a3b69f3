/**
 * A project's manifests: `tools/*.clad.toml`, the custom types of `toolclad.toml`, the scope of `scope/scope.toml`.
 *
 * T-16 what is wrong with one takes none of the others with it; without a scope that can be read, none that reaches hosts is used.
 * Rule: T-15.
 */

import { basename, join, relative } from "node:path";
import { errorMessage } from "@orgate/core/vocab";
import { type Contract, createContract } from "../contract/contract.ts";
import type { ManifestIssue } from "../contract/issue.ts";
import { decodeCustomTypes, decodeManifest } from "../contract/manifest.ts";
import type { CustomTypes } from "../contract/manifest-schema.ts";
import { decodeScope, NO_SCOPE, type TargetScope } from "../contract/scope.ts";

type Position = Readonly<{ line: number; column: number }>;

/** Files and TOML, as the host reads them. */
export type ManifestSource = Readonly<{
  /** Null where there is no such file; throws an `Error` with one phrase about a file that cannot be read. */
  read(file: string, maxBytes: number): string | null;
  parseToml(text: string): Readonly<{ kind: "toml"; value: unknown } | ({ kind: "not-toml"; detail: string } & Position)>;
  findPosition(text: string, path: readonly PropertyKey[]): Position;
}>;

/** `folder` holds the project, with links resolved; `files` are manifests below it. */
export type ManifestFiles = ManifestSource & Readonly<{ folder: string; files: readonly string[] }>;

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

/** T-16 a broken manifest takes none of the others with it. */
export function readManifests(source: ManifestFiles): ReadManifests {
  const { folder, files } = source;
  const problems: FileProblem[] = [];
  const types = readOne(join(folder, "toolclad.toml"), decodeCustomTypes, problems, source);
  const before = problems.length;
  const scope = readOne(join(folder, "scope", "scope.toml"), decodeScope, problems, source);
  const [unscoped = null] = problems.slice(before);
  const custom = types?.kind === "types" ? types.types : {};
  const manifests = files.flatMap((file): readonly ManifestFile[] => {
    const { contract, text, problems: own } = readManifest(file, custom, source);
    problems.push(...own);
    if (contract === null) return [];
    if (unscoped === null || !reachesHosts(contract)) return [{ file, shown: relative(folder, file), text, contract }];
    // which hosts the scope excludes is not known either
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

/** One file, wherever it lies. */
export function readManifest(file: string, types: CustomTypes, source: ManifestSource): OneManifest {
  const problems: FileProblem[] = [];
  let [text, tool] = ["", basename(file).replace(/\.clad\.toml$/, "")];
  const decode = (value: unknown, whole: string) => {
    text = whole;
    tool = nameIn(value) ?? tool;
    return decodeManifest(value, types);
  };
  const read = readOne(file, decode, problems, source);
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
  decode: (value: unknown, text: string) => T,
  problems: FileProblem[],
  source: ManifestSource,
): T | null {
  const report = (detail: string, hint: string, at: Position = { line: 1, column: 1 }): null => {
    problems.push({ file, line: at.line, column: at.column, detail, hint, tool: null });
    return null;
  };
  let text: string | null;
  try {
    text = source.read(file, MAX_BYTES);
  } catch (error) {
    return report(errorMessage(error), "it must be a readable text file");
  }
  if (text === null) return null;
  const toml = source.parseToml(text);
  if (toml.kind === "not-toml") return report(`not TOML: ${toml.detail}`, "see docs/guide/manifests.md", toml);
  const read = decode(toml.value, text);
  if ("issues" in read) {
    const whole = text;
    const placed = read.issues
      .slice(0, MAX_PROBLEMS)
      .map(({ path, detail, hint }) => ({ file, ...source.findPosition(whole, path), detail, hint, tool: null }));
    problems.push(...placed.sort((a, b) => a.line - b.line || a.column - b.column));
  }
  return read;
}
