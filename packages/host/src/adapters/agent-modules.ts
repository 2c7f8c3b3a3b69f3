/**
 * Agents as TypeScript modules of the project.
 *
 * A5 Only files that lie below the project's folder are loaded, links resolved.
 * A6 All agents or none: a module that throws, holds no agent, or brings a name that is taken, is named with its place, and nothing is loaded.
 */
import { existsSync, globSync, realpathSync, statSync } from "node:fs";
import { basename, resolve, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type Agent, describe, FaultError, isAgent } from "@orgate/core";

export type LoadedAgent = Readonly<{ agent: Agent; file: string }>;

/** `patterns` are paths and globs below `root`; the result is in the order of names. */
export async function loadAgents(root: string, patterns: readonly string[]): Promise<readonly LoadedAgent[]> {
  const loaded = new Map<string, LoadedAgent>();
  const folder = realpathSync(root);
  for (const file of filesOf(folder, patterns)) {
    for (const agent of agentsIn(await imported(file, folder), file)) {
      const other = loaded.get(agent.name);
      if (other?.agent === agent) continue; // the same one, exported again
      if (other !== undefined) throw bad(file, null, `agent \`${agent.name}\` is already defined in ${other.file}`, "rename one of them");
      loaded.set(agent.name, { agent, file });
    }
  }
  return [...loaded.values()].sort((a, b) => (a.agent.name < b.agent.name ? -1 : 1));
}

/** Sorted, each once. A glob passes over tests and declarations; a path that is spelled out must be there. */
function filesOf(root: string, patterns: readonly string[]): readonly string[] {
  const files = new Set<string>();
  for (const pattern of patterns) {
    const isGlob = /[*?[\]{}!]/.test(pattern) && !existsSync(resolve(root, pattern));
    const found = isGlob ? globbed(root, pattern) : [pattern];
    for (const path of found) {
      const file = resolve(root, path);
      if (!existsSync(file)) throw bad(file, null, "there is no such file", "mend `agents` in orgate.toml");
      const real = realpathSync(file);
      if (!isBelow(real, root))
        throw bad(file, null, `lies outside the project, at ${real}`, "agents are loaded from the project's own folder only");
      if (!statSync(real).isFile()) {
        if (isGlob) continue;
        throw bad(file, null, "is not a file", "name a module, or a glob such as `agents/*.ts`");
      }
      files.add(real);
    }
  }
  return [...files].sort();
}

const globbed = (root: string, pattern: string): readonly string[] =>
  globSync(pattern, { cwd: root, exclude: (path) => basename(path) === "node_modules" }).filter(
    (path) => !/\.(test|d)\.[cm]?ts$/.test(path),
  );

function agentsIn(module: object, file: string): readonly Agent[] {
  const agents = [...new Set(Object.values(module).filter(isAgent))];
  if (agents.length === 0) throw bad(file, null, "exports no agent", "export what `defineAgent` returns, by name or as the default");
  return agents;
}

async function imported(file: string, root: string): Promise<object> {
  try {
    return await import(pathToFileURL(file).href);
  } catch (error) {
    const place = placeOf(error, root);
    const said =
      error instanceof FaultError ? describe(error.fault) : { message: `cannot be loaded: ${oneLine(error)}`, hint: "mend the module" };
    throw bad(place?.file ?? file, place, said.message, said.hint, error);
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

const isBelow = (file: string, root: string): boolean => file.startsWith(root.endsWith(sep) ? root : root + sep);

function oneLine(error: unknown): string {
  const text = error instanceof Error ? error.message : `threw ${typeof error === "string" ? error : JSON.stringify(error)}`;
  const [first = ""] = text
    .trim()
    .split("\n")
    .filter((line) => line.trim() !== "");
  return first === "" ? "failed without a message" : first.slice(0, 500);
}

function bad(file: string, place: Place | null, detail: string, hint: string, cause?: unknown): FaultError {
  return new FaultError({ kind: "file-bad", file, line: place?.line ?? null, column: place?.column ?? null, detail, hint }, cause);
}
