/**
 * The folder of policies as it lies on disk: `policies/*.cedar` for everybody, `policies/<surface>/` for the sessions of a surface,
 * `policies/shadow/` to be recorded and never enforced, and beside each `x.cedar` its decision table `x.cases.json`.
 *
 * G-9 a file without a policy is refused: one that was emptied by mistake would take its forbids with it, silently.
 * G-9 all files or none: one that cannot be read, is no text, is a folder, or leads out of the project fails the whole set, with its place.
 */

import { type Dirent, lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { lowerFirst, readJson, SURFACES, type Surface, toPosition } from "@orgate/core";
import { type Case, casesSchema, type PolicyFile, type PolicyProblem } from "@orgate/core/gate";
import { errorMessage } from "@orgate/core/vocab";
import type * as z from "zod";
import type { Draft } from "../files/file-overlay.ts";
import { findJsonPosition } from "../files/json-position.ts";
import { isBelow, readTextFile, realPath } from "../files/text-file.ts";

type Found = Readonly<{
  /** For people: with the name of its folder. */
  path: string;
  /** Below the folder, with forward slashes. */
  below: string;
  text: string;
  /** Null: for the sessions of every surface. */
  surface: Surface | null;
  shadow: boolean;
}>;
/** `name` is `below` without its ending. */
export type FoundPolicy = Found & Readonly<{ name: string; idle?: NonNullable<PolicyFile["idle"]> }>;
export type LocatedCase = Readonly<{ case: Case; line: number; column: number /** It names a surface itself. */; named: boolean }>;
export type FoundTable = Found & Readonly<{ cases: readonly LocatedCase[] }>;

export type PolicyFolder = Readonly<{
  policies: readonly FoundPolicy[];
  tables: readonly FoundTable[];
  /** Files that look as if they were meant to be policies, and are not read (G-18). */
  warnings: readonly PolicyProblem[];
}>;
export type ReadFolder = Readonly<
  | { kind: "folder"; folder: PolicyFolder }
  | { kind: "refused"; problems: readonly [PolicyProblem, ...PolicyProblem[]]; warnings: readonly PolicyProblem[] }
>;

const MAX_BYTES = 1024 * 1024;
const POLICY = ".cedar";
const TABLE = ".cases.json";

export type PolicyFolderPath = Readonly<{
  folder: string;
  /** Its name in messages and in the journal: `policies`. */
  label: string;
  /** Links that lead out of here are refused. */
  within: string;
  /** By their path below the folder: as they would be. */
  drafts?: readonly Draft[];
}>;

/** A missing folder counts as empty. */
export const readPolicyFolder = (place: PolicyFolderPath): ReadFolder => new PolicyFolderReader(place).read();

type Listed = Readonly<{ name: string; isFolder: boolean }>;

class PolicyFolderReader {
  readonly #folder: string;
  readonly #label: string;
  readonly #root: string;
  readonly #drafts: readonly Draft[];
  readonly #problems: PolicyProblem[] = [];
  readonly #warnings: PolicyProblem[] = [];
  readonly #policies: FoundPolicy[] = [];
  readonly #tables: FoundTable[] = [];

  constructor({ folder, label, within, drafts = [] }: PolicyFolderPath) {
    this.#folder = folder;
    this.#label = label;
    this.#root = realPath(within) ?? within;
    this.#drafts = drafts;
  }

  read(): ReadFolder {
    this.#visit("", null, false);
    for (const { below } of this.#tables)
      if (!this.#policies.some(({ name }) => `${name}${TABLE}` === below))
        this.#problems.push(this.#problem(below, "there is no policy file beside it", "name it as its policies are named"));
    const [first, ...rest] = this.#problems;
    if (first !== undefined) return { kind: "refused", problems: [first, ...rest], warnings: this.#warnings };
    return { kind: "folder", folder: { policies: this.#policies, tables: this.#tables, warnings: this.#warnings } };
  }

  #visit(below: string, surface: Surface | null, shadow: boolean): void {
    for (const { name, isFolder } of this.#list(below)) {
      const at = below === "" ? name : `${below}/${name}`;
      if (name.endsWith(POLICY) || name.endsWith(TABLE)) this.#readFile(at, name, surface, shadow);
      else if (isFolder) this.#enter(at, name, surface, shadow);
      else if (looksMeant(name) || (!name.startsWith(".") && !/(~|\.md|\.txt)$/.test(name)))
        this.#warnings.push(
          this.#problem(at, "is neither a policy nor a decision table, and is not read", "name it x.cedar or x.cases.json"),
        );
    }
  }

  #enter(at: string, name: string, surface: Surface | null, shadow: boolean): void {
    if (name.startsWith(".")) {
      this.#warnOfHidden(at, 1);
      return;
    }
    const found = SURFACES.find((s) => s === name);
    if (at === "shadow") this.#visit(at, null, true);
    else if (surface === null && found !== undefined) this.#visit(at, found, shadow);
    else
      this.#problems.push(
        this.#problem(at, `there is no surface \`${name}\`, so what lies in it would never be in force`, surfacesHint(surface)),
      );
  }

  /** A hidden folder is somebody else's (an editor's, git's); a policy in it is most likely a slip. Links are not followed. */
  #warnOfHidden(at: string, depth: number): void {
    if (at.endsWith("/.git") || at === ".git") return;
    for (const entry of hiddenIn(join(this.#folder, at))) {
      const below = `${at}/${entry.name}`;
      if (entry.isDirectory() && depth < HIDDEN_DEPTH) this.#warnOfHidden(below, depth + 1);
      else if (looksMeant(entry.name))
        this.#warnings.push(
          this.#problem(below, "lies in a hidden folder, and is not read", "move it out, or to where it is no part of the policies"),
        );
    }
  }

  #readFile(at: string, name: string, surface: Surface | null, shadow: boolean): void {
    const file = join(this.#folder, at);
    const draft = this.#drafts.find(({ path }) => path === at)?.text ?? null;
    const real = draft === null ? realPath(file) : null;
    if (real !== null && !isBelow(real, this.#root)) {
      this.#problems.push(this.#problem(at, "leads out of the project", "a policy lies in the project's own folder"));
      return;
    }
    let text: string;
    try {
      text = draft ?? readTextFile(file, MAX_BYTES);
    } catch (error) {
      this.#problems.push(this.#problem(at, errorMessage(error), "it must be a readable text file"));
      return;
    }
    const found: Found = { path: `${this.#label}/${at}`, below: at, text, surface, shadow };
    if (name.endsWith(POLICY) && isEmpty(text))
      this.#problems.push(
        this.#problem(at, "it has no policy: what it once forbade would be allowed", "write a policy into it, or remove the file"),
      );
    else if (name.endsWith(POLICY)) this.#policies.push({ ...found, name: at.slice(0, -POLICY.length) });
    else this.#tables.push({ ...found, cases: casesIn(found, this.#problems) });
  }

  #list(below: string): readonly Listed[] {
    const there = this.#listOnDisk(below);
    const more = draftsIn(below, this.#drafts).filter(({ name }) => !there.some((one) => one.name === name));
    return [...there, ...more].sort((a, b) => (a.name < b.name ? -1 : 1));
  }
  #listOnDisk(below: string): readonly Listed[] {
    const at = join(this.#folder, below);
    if (realPath(at) === null && draftsIn(below, this.#drafts).length > 0) return [];
    try {
      const real = realPath(at);
      if (real !== null && !isBelow(`${real}/`, this.#root)) throw new Error("leads out of the project");
      const entries = readdirSync(at, { withFileTypes: true });
      // a link is what it leads to: read as a policy by its name, walked into otherwise
      return entries
        .map((e) => ({ name: e.name, isFolder: e.isDirectory() || e.isSymbolicLink() }))
        .sort((a, b) => (a.name < b.name ? -1 : 1));
    } catch (error) {
      const code = error instanceof Error && "code" in error ? error.code : "";
      if (code === "ENOENT" && below === "" && realPath(at) === null) return [];
      const detail = code === "ENOTDIR" ? "is not a folder" : errorMessage(error);
      this.#problems.push(this.#problem(below, detail, "it must be a readable folder of the project"));
      return [];
    }
  }

  #problem(at: string, detail: string, hint: string): PolicyProblem {
    return { file: at === "" ? this.#label : `${this.#label}/${at}`, line: 1, column: 1, detail, hint };
  }
}

/** Nothing but blanks and comments. */
const isEmpty = (text: string): boolean => text.replaceAll(/\/\/.*/g, "").trim() === "";

/** As deep as a policy may lie: `shadow/cli/`. */
const HIDDEN_DEPTH = 3;

/** `x.cedar~`, `x.cases.json.bak`, `X.CEDAR`; what an editor keeps while a file is open (`.x.cedar.swp`) is nobody's slip. */
const looksMeant = (name: string): boolean => /\.(cedar|cases\.json)(?![a-z0-9])/i.test(name) && !/^\..*\.sw[a-z]$/.test(name);

function hiddenIn(folder: string): readonly Dirent[] {
  try {
    if (!lstatSync(folder).isDirectory()) return [];
    return readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    return []; // what lies there is not read anyway
  }
}

/** Drafts that lie directly in a folder, and the subfolders that hold the others. */
function draftsIn(below: string, drafts: readonly Draft[]): readonly Readonly<{ name: string; isFolder: boolean }>[] {
  const prefix = below === "" ? "" : `${below}/`;
  const steps = drafts.flatMap(({ path }) => (path.startsWith(prefix) ? [path.slice(prefix.length).split("/")] : []));
  return [...new Map(steps.map(([name = "", ...deeper]) => [name, { name, isFolder: deeper.length > 0 }])).values()];
}

const surfacesHint = (surface: Surface | null): string =>
  surface === null ? `a folder is named after a surface (${SURFACES.join(", ")}) or \`shadow\`` : "a surface's folder holds files only";

function casesIn({ path, text, surface }: Found, problems: PolicyProblem[]): readonly LocatedCase[] {
  const json = readJson(text);
  const hint = "docs/guide/policies.md tells what a case may say";
  if (json.kind === "not-json") {
    problems.push({ file: path, line: json.line, column: json.column, detail: `not JSON: ${json.detail}`, hint });
    return [];
  }
  const read = casesSchema.safeParse(json.value);
  if (!read.success) {
    for (const issue of read.error.issues)
      problems.push({ file: path, ...toPosition(text, findJsonPosition(text, issue.path)), detail: issueText(issue), hint });
    return [];
  }
  if (read.data.length === 0) {
    const detail = "it has no case: an empty table proves nothing";
    problems.push({ file: path, line: 1, column: 1, detail, hint: `write a case (${hint}), or remove the file` });
  }
  return read.data.map((given, i) => {
    const raw: unknown = Array.isArray(json.value) ? json.value[i] : null;
    const named = typeof raw === "object" && raw !== null && Object.hasOwn(raw, "surface");
    const c = named || surface === null ? given : { ...given, surface };
    return { case: c, ...toPosition(text, findJsonPosition(text, [i])), named };
  });
}

function issueText(issue: z.core.$ZodIssue): string {
  const [row, ...field] = issue.path;
  const where = typeof row === "number" ? `case ${row + 1}: ` : "";
  if (issue.code === "unrecognized_keys") return `${where}there is no field \`${issue.keys[0] ?? ""}\``;
  const message = lowerFirst(issue.message);
  const missing = issue.code === "invalid_type" && message.endsWith("received undefined");
  return missing
    ? `${where}\`${field.join(".")}\` is missing`
    : `${where}${field.length === 0 ? "" : `\`${field.join(".")}\`: `}${message}`;
}
