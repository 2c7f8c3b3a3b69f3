/**
 * Names that no program sees, wherever they lie below what it is granted: files of variables (`.env`, `.env.local`), and the records of another
 * project (`.orgate`).
 *
 * T-27 They are looked for each time; a folder that has not changed since is not read again, so that what it costs is one look at each folder.
 *      There are bounds, and beyond them a grant is refused.
 */
import { type BigIntStats, lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";

type Seen = Readonly<{ stamp: string; folders: readonly string[]; hidden: readonly string[] }>;

const VARIABLES = /^\.env(?:\..*)?$/i;
const RECORDS = /^\.orgate$/i;
export const isNeverShown = (name: string): boolean => VARIABLES.test(name) || RECORDS.test(name);

export const MAX_FOLDERS = 50_000;
const MAX_HIDDEN = 1_000;
/** A folder that changed so lately may change again without its time telling. */
const UNSETTLED_MS = 100n;

const seen = new Map<string, Seen>();

/** A string says why it is unknown. */
export function hiddenBelow(folder: string, maxFolders = MAX_FOLDERS): readonly string[] | string {
  const found: string[] = [];
  const todo = [folder];
  for (let looked = 0; ; looked += 1) {
    const at = todo.pop();
    if (at === undefined) return found;
    if (looked === maxFolders) return `it holds more than ${maxFolders} folders`;
    const { folders, hidden } = lookInto(at);
    found.push(...hidden);
    if (found.length > MAX_HIDDEN) return `it holds more than ${MAX_HIDDEN} files that are never shown`;
    for (const inner of folders) todo.push(inner);
  }
}

const NOTHING: Seen = { stamp: "", folders: [], hidden: [] };

function lookInto(folder: string): Seen {
  const stat = lstatSync(folder, { bigint: true, throwIfNoEntry: false });
  if (stat === undefined || !stat.isDirectory()) return NOTHING;
  const known = seen.get(folder);
  const stamp = stampOf(stat);
  if (known?.stamp === stamp) return known;
  const made = { stamp, ...read(folder) };
  if (seen.size >= MAX_FOLDERS * 2) seen.clear();
  if (BigInt(Date.now()) - stat.mtimeMs > UNSETTLED_MS) seen.set(folder, made);
  else seen.delete(folder);
  return made;
}

const stampOf = ({ dev, ino, mtimeNs, ctimeNs }: BigIntStats): string => `${dev}:${ino}:${mtimeNs}:${ctimeNs}`;

function read(folder: string): Omit<Seen, "stamp"> {
  const [folders, hidden]: [string[], string[]] = [[], []];
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (isNeverShown(entry.name))
      hidden.push(path); // a link too: what it leads to is what it stands for
    else if (entry.isDirectory()) folders.push(path);
  }
  return { folders, hidden };
}
