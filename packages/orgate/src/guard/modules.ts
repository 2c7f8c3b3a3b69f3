/**
 * Modules and files of a project.
 * Rule: A-2.
 */

import { existsSync, globSync, realpathSync, statSync } from "node:fs";
import { type ResolveHookSync, registerHooks } from "node:module";
import { basename, relative, resolve, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describeFault, FaultError } from "@orgate/core";
import { fileFault } from "../files/file-fault.ts";
import { isBelow } from "../files/text-file.ts";
import { findProtectedPlaces, isProtectedBy, protectLoadedFile } from "./protected-paths.ts";

/** Sorted, each once. A glob passes over tests and declarations; a path that is spelled out must be there. */
export function matchProjectFiles(root: string, patterns: readonly string[], setting: string): readonly string[] {
  const files = new Set<string>();
  for (const pattern of patterns) {
    const isGlob = /[*?[\]{}!]/.test(pattern) && !existsSync(resolve(root, pattern));
    const found = isGlob ? globbed(root, pattern) : [pattern];
    for (const path of found) {
      const file = resolve(root, path);
      if (!existsSync(file)) throw fileFault({ file, detail: "there is no such file", hint: `mend \`${setting}\` in orgate.toml` });
      const real = realpathSync(file);
      if (!isBelow(real, root))
        throw fileFault({
          file,
          detail: `lies outside the project, at ${real}`,
          hint: `${setting} are loaded from the project's own folder only`,
        });
      if (!statSync(real).isFile()) {
        if (isGlob && !NAMED_LIKE.test(file)) continue;
        throw fileFault({
          file,
          detail: "is not a file",
          hint: isGlob ? "move it away" : `name a file, or a glob such as \`${setting}/*.ts\``,
        });
      }
      files.add(real);
    }
  }
  return [...files].sort();
}

/** `agents/**` passes over folders; a folder named like an agent's file would be missed. */
const NAMED_LIKE = /\.(?:symbi|dsl|toml|[cm]?[jt]s)$/;

/** Takes each thing that is wrong; the first is thrown unless somebody wants them all. */
export type OnLoadFault = (fault: FaultError) => void;
export const THROW_FAULT: OnLoadFault = (fault) => {
  throw fault;
};

/** Null where a fault stopped it, which was reported. */
export async function reportFault<T>(work: () => Promise<T>, trouble: OnLoadFault): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof FaultError)) throw error;
    trouble(error);
    return null;
  }
}

/** A fault as a problem with its place; `orgate.toml` where it names none. */
export function faultToProblem({ fault }: FaultError, root: string): Problem {
  const { message, hint } = describeFault(fault);
  if (fault.kind !== "file-bad") return { file: "orgate.toml", line: 1, column: 1, detail: message, hint };
  return { file: toProjectPath(root, fault.file), line: fault.line ?? 1, column: fault.column ?? 1, detail: fault.detail, hint };
}
type Problem = Readonly<{ file: string; line: number; column: number; detail: string; hint: string }>;

/** For people, policies and journals: below the project, with forward slashes. */
export const toProjectPath = (root: string, path: string): string => relative(realpathSync(root), path).split(sep).join("/");

const globbed = (root: string, pattern: string): readonly string[] =>
  globSync(pattern, { cwd: root, exclude: (path) => basename(path) === "node_modules" }).filter(
    (path) => !/\.(test|d)\.[cm]?ts$/.test(path),
  );

/** Packages that a project's modules may import without installing them: this one, and the schema library of its documentation. */
const OWN = new Set(["orgate", "orgate/server", "@orgate/core", "@orgate/symbi", "zod"]);

/** A-2 a project's own copy comes first; without one, the copy that runs is used. */
const withOwnPackages: ResolveHookSync = (specifier, context, next) => {
  try {
    return next(specifier, context);
  } catch (error) {
    if (!OWN.has(specifier) || !(error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND")) throw error;
    return next(specifier, { ...context, parentURL: import.meta.url });
  }
};

const guardedRoots = new Map<string, readonly string[]>();

/**
 * T-11 a file of the project is loaded only from a protected place, whichever module imports it and whenever: a file that tools can write is never run in
 * this process. Imports that are followed are protected; this refuses the others.
 */
const fromProtectedPlaces: ResolveHookSync = (specifier, context, next) => {
  const found = next(specifier, context);
  if (!found.url.startsWith("file:")) return found;
  const path = fileURLToPath(found.url);
  for (const [root, known] of guardedRoots) {
    if (!isBelow(path, root) || isProtectedBy(known, path)) continue;
    const places = findProtectedPlaces(root);
    guardedRoots.set(root, places);
    if (!isProtectedBy(places, path))
      throw fileFault({
        file: path,
        detail: "is not loaded: tools may write there, and the import that leads to it is not one that can be followed",
        hint: "import it by its path as plain text, or move it to tools/ or agents/",
      });
  }
  return found;
};

const LOAD_MS = 30_000;
export async function importModule(file: string, root: string, withinMs = LOAD_MS): Promise<object> {
  if (guardedRoots.size === 0) registerHooks({ resolve: fromProtectedPlaces });
  protectLoadedFile(root, file);
  if (!guardedRoots.has(root)) guardedRoots.set(root, findProtectedPlaces(root));
  const hooks = registerHooks({ resolve: withOwnPackages });
  try {
    return await loadedInTime(import(pathToFileURL(file).href), withinMs);
  } catch (error) {
    const place = placeOf(error, root);
    const said =
      error instanceof FaultError
        ? describeFault(error.fault)
        : { message: `cannot be loaded: ${oneLine(error)}`, hint: "mend the module" };
    throw fileFault({ file: place?.file ?? file, at: place, detail: said.message, hint: said.hint }, error);
  } finally {
    hooks.deregister();
  }
}

/** A-2 a module that awaits forever is named: without a timer Node would leave with a warning about somebody else's line. */
async function loadedInTime(loading: Promise<object>, withinMs: number): Promise<object> {
  const late = Promise.withResolvers<never>();
  const slow = new Error(`it has not loaded within ${withinMs / 1000} s: an \`await\` in it does not end`);
  const timer = setTimeout(() => late.reject(slow), withinMs);
  try {
    return await Promise.race([loading, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

type Place = Readonly<{ file: string; line: number; column: number | null }>;

/** The first place of the trace that lies in the project: where its author can mend it, in the module or in one it imports. */
function placeOf(error: unknown, root: string): Place | null {
  const trace = error instanceof Error ? (error.stack ?? "").split("\n") : [];
  for (const frame of trace) {
    const [, where = "", line, column] = /(file:\/\/.+?|^(?:\/|[A-Za-z]:\\).+?):(\d+)(?::(\d+))?\)?$/.exec(frame) ?? [];
    const file = named(where).find((path) => isBelow(path, root) && !path.split(sep).includes("node_modules") && existsSync(path));
    if (line === undefined || file === undefined) continue;
    return { file, line: Number(line), column: column === undefined ? caret(trace) : Number(column) };
  }
  return null;
}

/** Traces hold addresses. Errors of syntax begin with a path, or with one that only looks like an address, its spaces as they are. */
function named(where: string): readonly string[] {
  if (!where.startsWith("file://")) return [where];
  const plain = where.slice("file://".length);
  try {
    return [fileURLToPath(where), plain];
  } catch {
    return [plain];
  }
}

/** Errors of syntax come with the line and a row of carets below it instead of a column. */
function caret(trace: readonly string[]): number | null {
  const row = trace.find((line) => /^\s*\^+\s*$/.test(line));
  return row === undefined ? null : row.indexOf("^") + 1;
}

function oneLine(error: unknown): string {
  const text = error instanceof Error ? error.message : `threw ${typeof error === "string" ? error : JSON.stringify(error)}`;
  const [first = ""] = text
    .trim()
    .split("\n")
    .filter((line) => line.trim() !== "");
  return first === "" ? "failed without a message" : first.slice(0, 500);
}
