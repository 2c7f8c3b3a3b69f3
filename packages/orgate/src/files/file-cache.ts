/**
 * What was once made of a project's files, in `$ORGATE_HOME/cache`: one file for each project, a line for each thing, under the digest of all that it was made from.
 * What lies in it is used as it stands, so it lies where compiled code does (decision 0049): in a person's own folder, and only where nobody else may write to it.
 *
 * R-9 a cache and never the truth: what is damaged, of other code or of another project, or lies where others may write, is not used, and made anew.
 */
import { lstatSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Hash } from "@orgate/core";
import * as z from "zod";

export type FileCache = Readonly<{
  /** JSON, as it was kept; null where nothing is known. */
  find(digest: string): string | null;
  /** `json`: one line. */
  keep(digest: string, json: string): void;
  /** Writes what was added. */
  save(): void;
}>;

export const NO_FILE_CACHE: FileCache = { find: () => null, keep: () => {}, save: () => {} };

export type FileCacheOptions = Readonly<{
  /** `$ORGATE_HOME`. */
  home: string;
  /** Of which project: its folder. */
  root: string;
  /** All that makes, beside what the digests are of. */
  stamp: string;
  hash: Hash;
}>;

const MAX_BYTES = 64 * 1_048_576;
const MOST = 20_000;
const headSchema = z.strictObject({ stamp: z.string(), sum: z.string() });

export function openFileCache({ home, root, stamp, hash }: FileCacheOptions): FileCache {
  if (!isOwn(home, statSync)) return NO_FILE_CACHE;
  const folder = join(home, "cache");
  const file = join(folder, `project-${hash(root).slice(0, 32)}`);
  const known = readLines(folder, file, hash(stamp), hash);
  const used = new Map<string, string>();
  let isNew = false;
  return {
    find(digest) {
      const found = known.get(digest) ?? null;
      if (found !== null) used.set(digest, found);
      return found;
    },
    keep(digest, json) {
      known.set(digest, json);
      used.set(digest, json);
      isNew = true;
    },
    save() {
      if (!isNew) return;
      isNew = false;
      const kept = known.size > MOST ? used : known; // what nobody asked for this time goes first
      const lines = [...kept].map(([digest, json]) => `${digest} ${json}\n`).join("");
      const draft = `${file}.${process.pid}`;
      try {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        if (!isOwn(folder)) return;
        writeFileSync(draft, `${JSON.stringify({ stamp: hash(stamp), sum: hash(lines) })}\n${lines}`, { mode: 0o600 });
        renameSync(draft, file); // whole or not at all: others read it at the same time
      } catch {
        drop(draft); // a disk that takes no file costs time alone
      }
    },
  };
}

function drop(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // there is not even a folder for it
  }
}

/** Nobody but the person, and whoever is everybody's master, can have put there what lies in it. `look`: a link would lie with others. */
function isOwn(path: string, look = lstatSync): boolean {
  try {
    const { uid, mode } = look(path);
    return process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0);
  } catch {
    return false;
  }
}

function readLines(folder: string, file: string, stamp: string, hash: Hash): Map<string, string> {
  const known = new Map<string, string>();
  try {
    if (!isOwn(folder) || !isOwn(file) || statSync(file).size > MAX_BYTES) return known;
    const text = readFileSync(file, "utf8");
    const end = text.indexOf("\n") + 1;
    const head = headSchema.parse(JSON.parse(text.slice(0, end)));
    const lines = text.slice(end);
    if (head.stamp !== stamp || head.sum !== hash(lines)) return known;
    for (const line of lines.split("\n")) {
      const at = line.indexOf(" ");
      if (at > 0) known.set(line.slice(0, at), line.slice(at + 1));
    }
  } catch {
    known.clear(); // not there, or not ours
  }
  return known;
}
