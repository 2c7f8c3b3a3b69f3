/** Which files `orgate knowledge add` reads: documents of kinds that are known, of a bounded size, without what is hidden, what was installed, and what links elsewhere. */

import { lstatSync, readdirSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { FaultError } from "@orgate/core";
import { documentKind, toProjectFolder } from "@orgate/core/knowledge";
import { errorMessage } from "@orgate/core/vocab";
import { readTextFile, realPath } from "../../../files/text-file.ts";
import type { DocumentText } from "../../../runtime/people/knowledge.ts";

const MAX_BYTES = 2 * 1024 * 1024;
const PASSED_OVER = new Set(["node_modules", "dist", "build", "target", "vendor", "__pycache__"]);

export type FoundFiles = Readonly<{
  documents: readonly DocumentText[];
  /** `named`: the caller asked for this very file. */
  skipped: readonly Readonly<{ path: string; why: string; named: boolean }>[];
  /** Folders of the project that were read whole. */
  folders: readonly string[];
}>;

export function documentsAt(paths: readonly string[], cwd: string, root: string): FoundFiles {
  const documents = new Map<string, DocumentText>();
  const skipped: { path: string; why: string; named: boolean }[] = [];
  const folders: string[] = [];
  for (const given of paths) {
    const at = realPath(resolve(cwd, given));
    if (at === null) throw new FaultError({ kind: "usage", detail: `there is no \`${given}\``, hint: "name files or a folder" });
    const isFolder = lstatSync(at).isDirectory();
    const inside = at === root || at.startsWith(`${root}${sep}`);
    const name = (file: string): string =>
      (inside ? relative(root, file) : join(basename(isFolder ? at : dirname(at)), relative(isFolder ? at : dirname(at), file)))
        .split(sep)
        .join("/");
    if (isFolder && inside) folders.push(name(at));
    for (const file of isFolder ? filesBelow(at) : [at]) {
      const path = name(file);
      if (documentKind(path) === null) {
        skipped.push({ path, why: "not a kind of document that is read", named: !isFolder });
        continue;
      }
      try {
        const text = readTextFile(file, MAX_BYTES);
        const folder = dirname(path) === "." ? "" : dirname(path);
        documents.set(path, { path, directory: inside ? toProjectFolder(folder) : null, text });
      } catch (error) {
        skipped.push({ path, why: errorMessage(error), named: !isFolder });
      }
    }
  }
  return { documents: [...documents.values()], skipped, folders };
}

function* filesBelow(folder: string): Generator<string> {
  for (const entry of readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (entry.name.startsWith(".") || PASSED_OVER.has(entry.name)) continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesBelow(path);
    else if (entry.isFile()) yield path;
  }
}
