/**
 * The text files of one folder of a project, for tools that a project defines itself: a name from a model leads to a file below that folder or
 * to nothing.
 *
 * T-14 `..`, absolute paths and links that lead out of the folder are refused, and so are `.env*`, `.orgate` and every protected path. The
 *      refusal stands in the tool's schema, so a call that cannot succeed is never put to a person.
 */

import { type ProjectFiles, projectFiles } from "../files/project-files.ts";
import { pathGuard } from "../guard/path-guard.ts";
import { NEVER_READ } from "../guard/protected-paths.ts";
import { aList, assertArguments, objectWith, text } from "../node/argument-checks.ts";

export type FolderFilesOptions = Readonly<{
  /** The project's folder. */
  root: string;
  /** The folder below it that the files lie in, such as `notes`. */
  folder: string;
  /** Protected in addition to the usual paths: a journal kept elsewhere, agents under another name. */
  also?: readonly string[];
}>;

export type FolderFiles = Readonly<{
  /** Whether a name leads to a path in the folder that may be read. For a schema: `z.string().refine(notes.mayRead, notes.rule)`. */
  mayRead(name: string): boolean;
  mayWrite(name: string): boolean;
  /** The message for a refused name. */
  rule: string;
  /** The path from the project's folder that a name leads to, such as `notes/today`: the id of the resource that policies decide on. */
  path(name: string): string;
  read(name: string): string;
  /** Replaces what the file holds, or creates it with the folders above it. */
  write(name: string, content: string): void;
  append(name: string, content: string): void;
}>;

const MAX_BYTES = 8 * 1_048_576;

export function folderFiles(options: FolderFilesOptions): FolderFiles {
  const hint = 'such as { root: ".", folder: "notes" }';
  assertArguments("folderFiles", { options: objectWith({ root: text(hint), folder: text(hint) }, hint) }, options);
  const { root, folder, also = [] } = options;
  assertArguments("folderFiles", { also: aList(hint) }, also);
  const files = projectFiles({ root, reading: pathGuard({ root, also, places: NEVER_READ }), writing: pathGuard({ root, also }) });

  const find = (name: string, to: "read" | "write"): string | null => findIn(files, folder, name, to);
  function must(name: string, to: "read" | "write"): string {
    const found = find(name, to);
    if (found === null) throw new Error(`\`${name.slice(0, 200)}\` ${rule}`);
    return found;
  }
  const rule = `must be a file in \`${folder}\` that may be used by tools`;
  const change = (name: string, after: (before: string) => string): void =>
    files.replace(must(name, "write"), MAX_BYTES, (before) => Buffer.from(after(Buffer.from(before ?? []).toString("utf8"))));

  return {
    mayRead: (name) => find(name, "read") !== null,
    mayWrite: (name) => find(name, "write") !== null,
    rule,
    path: (name) => find(name, "read") ?? find(name, "write") ?? `${folder}/${name}`,
    read(name) {
      const { bytes, size } = files.read(must(name, "read"), MAX_BYTES);
      if (size > bytes.length) throw new Error(`\`${name}\` has ${size} bytes: at most ${MAX_BYTES} are read`);
      return Buffer.from(bytes).toString("utf8");
    },
    write: (name, content) => change(name, () => content),
    append: (name, content) => change(name, (before) => before + content),
  };
}

/** Null for a name that leads out of the folder, to a protected path, or to what the system refuses to look at. */
function findIn(files: ProjectFiles, folder: string, name: string, to: "read" | "write"): string | null {
  try {
    const [base, at] = [files.locate(folder, to), files.locate(`${folder}/${name}`, to)];
    return base.kind === "at" && at.kind === "at" && at.path.startsWith(`${base.path}/`) ? at.path : null;
  } catch {
    return null; // a name too long, a link exchanged meanwhile
  }
}
