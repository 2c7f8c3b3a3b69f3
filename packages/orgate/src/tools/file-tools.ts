/**
 * Tools for the files of a project: read, search, write, edit. Ordinary tools: nothing of them runs without a permit.
 *
 * T-13 write and edit show before and after. T-12 what they touch is the one path that the given one leads to, `File::"src/a.ts"`: it is what
 * the policies decide on and exactly what is opened. T-13 their output is bounded; a file that is no text is named, not shown.
 */
import { isUtf8 } from "node:buffer";
import { hash } from "node:crypto";
import {
  type CheckedArgs,
  defineTool,
  type FileEdit,
  type Json,
  type JsonObject,
  type Reconciled,
  type Tool,
  type ToolContext,
  type WouldPermit,
} from "@orgate/core";
import { lazily } from "@orgate/core/vocab";
import * as z from "zod";
import { type LocatedPath, type ProjectFiles, projectFiles } from "../files/project-files.ts";
import { pathGuard } from "../guard/path-guard.ts";
import { NEVER_READ } from "../guard/protected-paths.ts";
import { assertArguments, objectWith, text } from "../node/argument-checks.ts";

export type FileToolsOptions = Readonly<{
  /** The project's folder. */
  root: string;
  /** Protected beside the usual places: a journal kept elsewhere, agents under another name. */
  also?: readonly string[];
  /** Read, and not written: where else agents and tools lie. */
  deciding?: readonly string[];
  /** The name of the search tool; default `search_files`. */
  search?: string;
}>;

const MAX_FILE = 8 * 1_048_576;
const MAX_TEXT = 131_072;
const MAX_LINES = 2_000;
const MAX_SEARCHED = 1_048_576;
const MAX_FILES = 20_000;
const MAX_MATCHES = 200;
const MAX_MATCH = 300;
const SKIPPED = new Set([".git", "node_modules"]);

export function fileTools(options: FileToolsOptions): readonly Tool[] {
  const hint = 'such as { root: "." }';
  assertArguments("fileTools", { options: objectWith({ root: text(hint) }, hint) }, options);
  const { root, also = [], deciding = [], search: name = "search_files" } = options;
  const files = projectFiles({
    root,
    reading: pathGuard({ root, also, places: NEVER_READ }),
    writing: pathGuard({ root, also: [...also, ...deciding] }),
  });
  return [readFile(files), searchFiles(files, name), writeFile(files), editFile(files)];
}

const filePath = lazily(() => z.string().min(1).max(4096).describe("From the project's folder, such as src/main.ts"));
const resource = ({ path: id }: { readonly path: string }) => ({ type: "File", id });
const FILE = { resource, resourceTypes: ["File"], targets: { path: "path" } } as const;

/** T-12 the path is made into the one it leads to before anything is decided; where it leads out, there is nothing to decide. */
function located(files: ProjectFiles, to: "read" | "write", tool: Tool): Tool {
  return Object.freeze({
    ...tool,
    check(args: Json): CheckedArgs {
      const checked = tool.check(args);
      if (checked.kind !== "valid") return checked;
      const at = locatedSafely(files, String(checked.args["path"]), to);
      return at.kind === "refused"
        ? { kind: "invalid", issues: [at.why] }
        : { kind: "valid", args: Object.freeze({ ...checked.args, path: at.path }) };
    },
  });
}

/** T-2 a path that the system refuses to look at (a name too long, a link exchanged meanwhile) is refused like any other. */
function locatedSafely(files: ProjectFiles, path: string, to: "read" | "write"): LocatedPath {
  try {
    return files.locate(path, to);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? ` (${String(error.code)})` : "";
    return { kind: "refused", why: `\`${path.slice(0, 200)}\` cannot be looked at${code}` };
  }
}

const readFile = (files: ProjectFiles): Tool =>
  located(
    files,
    "read",
    defineTool({
      name: "read_file",
      description: `Reads a text file of the project, at most ${MAX_LINES} lines at once. Lines count from 1.`,
      input: z.strictObject({
        path: filePath(),
        from: z.int().min(1).optional().describe("First line; 1 unless given"),
        lines: z.int().min(1).max(MAX_LINES).optional(),
      }),
      repeat: "read",
      effects: ["read"],
      riskTier: "low",
      markup: "keep",
      ...FILE,
      run: ({ path: at, from = 1, lines = MAX_LINES }) => {
        const { bytes, size } = files.read(at, MAX_FILE);
        if (size > bytes.length) throw new Error(`\`${at}\` has ${size} bytes, and at most ${MAX_FILE} are read`);
        const digest = sha256Bytes(bytes);
        const text = textOf(bytes);
        if (text === null) return { path: at, binary: true, bytes: size, digest };
        const all = linesOf(text);
        const shown = fitting(all.slice(from - 1, from - 1 + lines));
        return { path: at, text: shown.join("\n"), from, to: from - 1 + shown.length, of: all.length, digest };
      },
    }),
  );

const searchFiles = (files: ProjectFiles, name: string): Tool =>
  located(
    files,
    "read",
    defineTool({
      name,
      description:
        "Finds lines that hold a text, in the text files below a folder of the project. The text is taken as it is, it is no pattern.",
      input: z.strictObject({
        text: z.string().min(1).max(1000),
        path: z.string().min(1).max(4096).default(".").describe("The folder; the whole project unless given"),
        ending: z.string().max(50).optional().describe("Only files whose name ends so, such as .ts"),
        ignoreCase: z.boolean().optional(),
      }),
      repeat: "read",
      effects: ["read"],
      riskTier: "low",
      markup: "keep",
      ...FILE,
      run: ({ text, path: under, ending = "", ignoreCase = false }, { signal, wouldPermit, evidence }) =>
        search(files, { text, under, ending, ignoreCase, name }, { signal, wouldPermit, evidence }),
    }),
  );

type Search = Readonly<{ text: string; under: string; ending: string; ignoreCase: boolean /** Of the tool. */; name: string }>;

async function search(
  files: ProjectFiles,
  { text, under, ending, ignoreCase, name }: Search,
  { signal, wouldPermit, evidence }: Pick<ToolContext, "signal" | "evidence"> & Readonly<{ wouldPermit: WouldPermit }>,
): Promise<Json> {
  const plain = (line: string): string => (ignoreCase ? line.toLowerCase() : line);
  const wanted = plain(text);
  const matches: Json[] = [];
  let [looked, passed, withheld] = [0, 0, 0];
  const told = (more: boolean): Json => {
    if (withheld > 0) evidence({ withheld });
    return { matches, looked, more, ...(withheld === 0 ? {} : { withheld, why: WITHHELD }) };
  };
  for (const { path: file, read } of files.below(under, (name) => SKIPPED.has(name))) {
    if (passed === MAX_FILES || matches.length === MAX_MATCHES || withheld === MAX_WITHHELD) return told(true);
    passed += 1; // those with another ending too: to pass them by is work as well
    if (passed % 100 === 0) await new Promise((done) => setImmediate(done)); // others have work to do too
    signal.throwIfAborted();
    if (!file.endsWith(ending)) continue;
    looked += 1;
    const { bytes, size } = read(MAX_SEARCHED);
    const held = size > bytes.length ? null : textOf(bytes);
    if (held === null || !plain(held).includes(wanted)) continue;
    if (file !== under && !mayShow(file, { text, ending, ignoreCase }, name, wouldPermit)) {
      withheld += 1;
      continue;
    }
    for (const [i, line] of linesOf(held).entries())
      if (matches.length < MAX_MATCHES && plain(line).includes(wanted))
        matches.push({ path: file, line: i + 1, text: line.slice(0, MAX_MATCH).toWellFormed() });
  }
  return told(false);
}

const WITHHELD = "files that the policies do not permit by name are left out";
const MAX_WITHHELD = 2_000;

/** Asked only of files that hold the text. */
function mayShow(path: string, rest: Omit<Search, "under" | "name">, name: string, wouldPermit: WouldPermit): boolean {
  return wouldPermit(name, { ...rest, path }) === "yes" && wouldPermit("read_file", { path }) !== "no";
}

const writeFile = (files: ProjectFiles): Tool =>
  located(
    files,
    "write",
    defineTool({
      name: "write_file",
      description: "Writes a whole text file of the project: makes it, or replaces what it held. Folders above it are made.",
      input: z.strictObject({ path: filePath(), text: z.string().max(MAX_FILE) }),
      repeat: "idempotent",
      effects: ["write"],
      riskTier: "medium",
      edits: true,
      ...FILE,
      run: ({ path: at, text }, context) => {
        const after = Buffer.from(text);
        let was: Uint8Array | null = null;
        files.replace(at, MAX_FILE, (before) => {
          was = before;
          return after;
        });
        show(context, at, was, after); // once it is so
        return { path: at, made: was === null, bytes: after.length, digest: sha256Bytes(after) };
      },
    }),
  );

const editInput = lazily(() =>
  z.strictObject({
    path: filePath(),
    old_string: z.string().min(1).max(MAX_TEXT).describe("What is to be replaced, exactly as it stands in the file"),
    new_string: z.string().max(MAX_TEXT),
    all: z.boolean().optional().describe("Every place where it stands; unless given, there must be exactly one"),
    digest: z.string().length(64).optional().describe("What read_file said of the file: it is changed only if it is still that"),
  }),
);
type EditInput = z.infer<ReturnType<typeof editInput>>;

const editFile = (files: ProjectFiles): Tool =>
  located(
    files,
    "write",
    defineTool({
      name: "edit_file",
      description: "Replaces a text in a file of the project by another.",
      input: editInput(),
      repeat: "reconcile",
      effects: ["write"],
      riskTier: "medium",
      edits: true,
      ...FILE,
      run: (input, context) => {
        let change: Change | null = null;
        files.replace(input.path, MAX_FILE, (before) => {
          const { text, places } = edited(input, before);
          change = { before, after: Buffer.from(text), places };
          return change.after;
        });
        return told(context, input.path, change);
      },
      reconcile: async (input) => whatBecame(files, input),
    }),
  );

type Change = Readonly<{ before: Uint8Array | null; after: Uint8Array; places: number }>;

function told(context: ToolContext, at: string, change: Change | null): JsonObject {
  if (change === null) throw new Error("nothing was changed");
  show(context, at, change.before, change.after);
  return { path: at, replaced: change.places, digest: sha256Bytes(change.after) };
}

function edited(
  { path: at, old_string, new_string, all = false, digest }: EditInput,
  before: Uint8Array | null,
): { text: string; places: number } {
  const held = before === null ? null : textOf(before);
  if (before === null) throw new Error(`there is no file \`${at}\``);
  if (held === null) throw new Error(`\`${at}\` is no text`);
  if (digest !== undefined && sha256Bytes(before) !== digest) throw new Error(`\`${at}\` has changed since it was read`);
  const pieces = held.split(old_string);
  const places = pieces.length - 1;
  if (places === 0) throw new Error(`\`${at}\` does not hold that text`);
  if (places > 1 && !all) throw new Error(`\`${at}\` holds that text ${places} times: give more of what stands around it, or \`all\``);
  return { text: pieces.join(new_string), places };
}

/** T-13 by the file's contents now; where both would look alike, it is unknown. */
function whatBecame(files: ProjectFiles, { path: at, old_string, new_string, digest }: EditInput): Reconciled {
  const { bytes, size } = files.read(at, MAX_FILE);
  const held = size > bytes.length ? null : textOf(bytes);
  if (held === null) return { kind: "cannot-tell", detail: `\`${at}\` is no text by now` };
  if (digest !== undefined && sha256Bytes(bytes) === digest) return { kind: "did-not-happen" };
  const isNew = new_string !== "" && held.includes(new_string);
  const rest = new_string === "" ? held : held.replaceAll(new_string, "\0"); // the new text may hold the old one
  const isOld = rest.includes(old_string);
  if (isOld && !isNew) return { kind: "did-not-happen" };
  if (!isOld && (isNew || new_string === "")) return { kind: "happened", output: { path: at, digest: sha256Bytes(bytes) } };
  return { kind: "cannot-tell", detail: `\`${at}\` holds ${isOld ? "both texts" : "neither text"}` };
}

/** Room in the evidence for one text. */
const MAX_SHOWN = 20_000;

/** T-13. */
function show(context: ToolContext, at: string, before: Uint8Array | null, after: Uint8Array): void {
  const was = before === null ? null : (textOf(before) ?? `[${before.length} bytes that are no text]`);
  const is = textOf(after) ?? `[${after.length} bytes that are no text]`;
  const digests = { beforeDigest: before === null ? null : sha256Bytes(before), afterDigest: sha256Bytes(after) };
  const whole = (was?.length ?? 0) + is.length <= MAX_SHOWN * 2;
  const [from, to] = whole ? [was, is] : changedPart(was ?? "", is);
  const edit: FileEdit = { path: at, before: was === null ? null : from, after: to ?? "", whole, ...digests };
  context.evidence({ edit });
}

/** Whole lines, without those that are the same at the beginning and at the end. */
function changedPart(before: string, after: string): readonly [string, string] {
  const [a, b] = [before.split("\n"), after.split("\n")];
  let [first, last] = [0, 0];
  while (first < Math.min(a.length, b.length) && a[first] === b[first]) first += 1;
  while (last < Math.min(a.length, b.length) - first && a.at(-1 - last) === b.at(-1 - last)) last += 1;
  const part = (lines: readonly string[]): string => {
    const text = lines.slice(first, lines.length - last).join("\n");
    return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN).toWellFormed()}\n[${text.length - MAX_SHOWN} more characters]`;
  };
  return [part(a), part(b)];
}

const sha256Bytes = (bytes: Uint8Array): string => hash("sha256", bytes, "hex");

/** Null for what is no text. */
function textOf(bytes: Uint8Array): string | null {
  return isUtf8(bytes) && !bytes.includes(0) ? Buffer.from(bytes).toString("utf8") : null;
}

const linesOf = (text: string): readonly string[] => (text === "" ? [] : text.replace(/\r?\n$/, "").split(/\r?\n/));

/** As many whole lines as there is room for; of a first line that is too long, its beginning. */
function fitting(lines: readonly string[]): readonly string[] {
  let room = MAX_TEXT;
  const end = lines.findIndex((line) => {
    room -= line.length + 1;
    return room < 0;
  });
  if (end === 0) return [`${(lines[0] ?? "").slice(0, MAX_TEXT).toWellFormed()} [cut]`];
  return end === -1 ? lines : lines.slice(0, end);
}
