/**
 * A project's protected paths: files that decide, that Orgate loads, that are run, and that say where those lie. Tools do not write there
 * (`guard/path-guard.ts`), and Orgate loads code of the project from nowhere else (`modules.ts`): both ask here.
 *
 * T-11 what is imported is protected, followed as Node resolves it, with the places that Node would prefer.
 */
import { globSync, lstatSync, readdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, matchesGlob, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { readJson } from "@orgate/core/vocab";
import { toConfig } from "../config/config.ts";
import { isBelow, realPath } from "../files/text-file.ts";
import { readToml } from "../files/toml-text.ts";
import { findImports, isCode, listImportedFiles } from "./imported-files.ts";

/** Below a project's folder. `.policies.*` is where `orgate policy apply` puts things while it replaces `policies/`. */
export const PROTECTED: readonly string[] = [
  "policies",
  "agents",
  "tools",
  "orgate.toml",
  "toolclad.toml",
  "scope",
  ".mcp.json",
  ".orgate",
  "AGENTS.md",
  "skills",
  ".agents/skills",
  ".policies.next",
  ".policies.before",
  ".env",
  // what is installed, and what says what is installed
  "node_modules",
  "package.json",
  "package-lock.json",
  "npm-shrinkwrap.json",
  ".npmrc",
  "yarn.lock",
  ".yarnrc",
  ".yarnrc.yml",
  ".yarn",
  ".pnp.cjs",
  ".pnp.loader.mjs",
  "pnpm-lock.yaml",
  "pnpm-workspace.yaml",
  ".pnpmfile.cjs",
  "bun.lock",
  "bun.lockb",
  "bunfig.toml",
  // hooks, aliases and monitors are programs
  ".git",
  ".husky",
];

/** Tools that read the files of a project do not read these either: they decide, they are run, or they hold keys. */
export const NEVER_READ: readonly string[] = [
  ".orgate",
  ".env",
  "policies",
  ".policies.next",
  ".policies.before",
  "agents",
  "tools",
  "orgate.toml",
];

/** Wherever they lie: a person who works in a folder that holds one runs what it says. */
export const PROTECTED_NAMES: ReadonlySet<string> = new Set([".git", "node_modules"]);

/** A glob by the folder that it looks into. One that looks into every folder names the project's own; one for names in that folder none. */
export const resolvePlaces = (patterns: readonly string[]): readonly string[] =>
  patterns.flatMap((pattern) => {
    const steps = pattern.split("/").filter((step) => step !== "" && step !== ".");
    const glob = steps.findIndex((step) => /[*?[{!]/.test(step));
    if (glob === 0) return steps.length === 1 && steps[0] !== "**" ? [] : ["."];
    return [(glob === -1 ? steps : steps.slice(0, glob)).join("/")];
  });

/** Patterns for names in the project's own folder: a file that one fits is loaded the next time. */
export const namePatterns = (root: string): readonly string[] =>
  patternsOf(root).filter((pattern) => /[*?[{!]/.test(pattern) && resolvePlaces([pattern]).length === 0);

/** Files that were loaded by name rather than by `orgate.toml`, by project. */
const loadedFiles = new Map<string, Set<string>>();
export function protectLoadedFile(root: string, file: string): void {
  const files = loadedFiles.get(root) ?? new Set();
  loadedFiles.set(root, files.add(file));
}

/** Files and folders, absolute, there or not; what lies below one is protected with it. `root`: its links resolved. */
export function findProtectedPlaces(root: string): readonly string[] {
  const named = [
    ...PROTECTED.map((name) => join(root, name)),
    ...resolvePlaces(patternsOf(root)).map((place) => resolve(root, place)),
    ...namePatterns(root).flatMap((pattern) => globSync(pattern, { cwd: root }).map((name) => join(root, name))),
    ...(loadedFiles.get(root) ?? []),
    ...gitPrograms(root),
    ...ownPackages().filter((folder) => isBelow(folder, root)),
  ];
  const files = named.filter(isWalked).flatMap((place) => listFilesUnder(place));
  const programs = [join(root, ".mcp.json"), ...files.filter((file) => file.endsWith(".clad.toml"))].flatMap((file) =>
    programsNamedIn(file, root),
  );
  return [...new Set([...named, ...programs, ...listImportedFiles([...files, ...programs].filter(isCode), root)])];
}

/** Whether a path is, or lies below, one of these. */
export const isProtectedBy = (places: readonly string[], path: string): boolean =>
  places.some((place) => path === place || isBelow(path, place));

const UNWALKED = new Set([".orgate", "node_modules", ".git", ".yarn"]);
/** Whether the files in a place are listed one by one: other places are too large, and are protected as a whole. */
export const isWalked = (place: string): boolean =>
  !UNWALKED.has(place.slice(place.lastIndexOf(sep) + 1)) && !ownPackages().includes(place);

/** Without what lies in folders that are not walked. */
export function listFilesUnder(place: string): readonly string[] {
  const stat = lstatSync(place, { throwIfNoEntry: false });
  if (stat === undefined) return [];
  if (!stat.isDirectory()) return [place];
  return readdirSync(place)
    .map((name) => join(place, name))
    .filter(isWalked)
    .flatMap(listFilesUnder);
}

const patternsIn = findImports((text): readonly string[] => {
  const toml = readToml(text);
  const read = toml.kind === "toml" ? toConfig(toml.value, "/", "orgate.toml") : null;
  return read?.kind === "config"
    ? [...read.config.agents, ...read.config.tools, ...(read.config.ports === null ? [] : [read.config.ports])]
    : []; // of a bad one nothing is loaded
});
const patternsOf = (root: string): readonly string[] => patternsIn(join(root, "orgate.toml")) ?? [];

/** Where git finds programs, when that is not in `.git` itself. */
function gitPrograms(root: string): readonly string[] {
  const git = join(root, ".git");
  const leads = /^gitdir:\s*(.+)$/m.exec(textOf(git))?.[1]?.trim();
  const folder = leads === undefined ? git : resolve(root, leads);
  const said = [...textOf(join(folder, "config")).matchAll(/^\s*(?:hookspath|fsmonitor)\s*=\s*"?([^"\n]+?)"?\s*$/gim)];
  const paths = said.flatMap(([, path = ""]) => (path.includes(sep) || path.startsWith(".") ? [resolve(root, path)] : []));
  return [...(leads === undefined ? [] : [folder]), ...paths];
}

const textIn = findImports((text) => text);
const textOf = (file: string): string => textIn(file) ?? "";

const SCRIPT = /\.(?:py|rb|sh|bash|pl|php|lua|ps1)$/;

/**
 * Programs of the project that a file names: those of `.mcp.json` and of manifests. A script of another language is protected with its
 * folder, which is where it looks for its own modules first.
 */
function programsNamedIn(file: string, root: string): readonly string[] {
  return (wordsOf(file) ?? []).flatMap(({ word, key }) => {
    const path = resolve(root, word);
    if (!isBelow(path, root)) return [];
    const real = realPath(path);
    if (real === null) return key !== "args" && word.includes("/") && !word.includes("{") ? [path] : [];
    const stat = statSync(real);
    const isScript = SCRIPT.test(real) || (stat.mode & 0o111) !== 0;
    if (!stat.isFile() || !(isScript || isCode(real))) return []; // data
    return [path, real].flatMap((one) => (isCode(real) || dirname(one) === root ? [one] : [one, dirname(one)]));
  });
}

/** Settings that say what is run, in `.mcp.json` and in manifests. */
const RUN = new Set(["command", "args", "exec", "executor", "template", "startup_command"]);
type Word = Readonly<{ word: string; key: string }>;
function wordsIn(value: unknown, key: string): readonly Word[] {
  if (typeof value === "string")
    return !RUN.has(key)
      ? []
      : value.split(/[\s=]+/).flatMap((part) => {
          const word = part.replace(/^["']|["']$/g, "");
          return word === "" || word.includes("\0") ? [] : [{ word, key }];
        });
  if (Array.isArray(value)) return value.flatMap((one) => wordsIn(one, key));
  return typeof value === "object" && value !== null ? Object.entries(value).flatMap(([name, one]) => wordsIn(one, name)) : [];
}

/** `.mcp.json`, or a manifest. */
const wordsOf = findImports((text): readonly Word[] => {
  const json = readJson(text);
  if (json.kind === "json") return wordsIn(json.value, "");
  const toml = readToml(text);
  return toml.kind === "toml" ? wordsIn(toml.value, "") : [];
});

let own: readonly string[] | null = null;
/** Orgate itself, where it is linked into a project: in `node_modules` it is protected with the rest. */
function ownPackages(): readonly string[] {
  own ??= [import.meta.url, ...["@orgate/core", "@orgate/symbi", "@orgate/console/package.json"].flatMap(whereIs)]
    .map((at) => packageFolder(at.startsWith("file:") ? fileURLToPath(at) : at))
    .filter((folder) => folder !== null)
    .filter((folder) => !folder.split(sep).includes("node_modules"));
  return own;
}

function whereIs(name: string): readonly string[] {
  try {
    return [createRequire(import.meta.url).resolve(name)];
  } catch {
    return [];
  }
}

function packageFolder(path: string): string | null {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    if (statSync(join(folder, "package.json"), { throwIfNoEntry: false }) !== undefined) return realPath(folder);
    if (dirname(folder) === folder) return null;
  }
}

/** Whether a file of this name, right in the project's folder, would be loaded. */
export const matchesName = (patterns: readonly string[], name: string): boolean =>
  patterns.some((pattern) => matchesGlob(name, pattern.replace(/^(?:\.?\/)+/, "").toLowerCase()));
