/**
 * Results made from a project's files, in `$ORGATE_HOME/cache`: one file per project, one line per result, under the digest of everything it was made from.
 * They are used without a further check, so they lie where compiled code does (decision 0049): in a person's own folder, and only where nobody else may write.
 *
 * R-9 a cache and never the truth: a file that is damaged, of other code or of another project, or lies where others may write, is not used, and is made again.
 */
import { lstatSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Hash } from "@orgate/core";
import { lazily } from "@orgate/core/vocab";
import * as z from "zod";
import { type DigestCache, digestCache, emptyCache, replaceCacheFile } from "./digest-cache.ts";

/** JSON, one line each. */
export type FileCache = DigestCache<string>;

export const NO_FILE_CACHE: FileCache = emptyCache();

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
const headSchema = lazily(() => z.strictObject({ stamp: z.string(), sum: z.string() }));

export function openFileCache({ home, root, stamp, hash }: FileCacheOptions): FileCache {
  if (!isOwn(home, statSync)) return NO_FILE_CACHE;
  const folder = join(home, "cache");
  const file = join(folder, `project-${hash(root).slice(0, 32)}`);
  const write = (kept: ReadonlyMap<string, string>): void => {
    if (!hasOwnFolder(folder)) return;
    const lines = [...kept].map(([digest, json]) => `${digest} ${json}\n`).join("");
    replaceCacheFile(file, `${JSON.stringify({ stamp: hash(stamp), sum: hash(lines) })}\n${lines}`);
  };
  return digestCache({ known: readLines({ folder, file, stamp: hash(stamp), hash }), most: MOST, write });
}

function hasOwnFolder(folder: string): boolean {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return isOwn(folder);
  } catch {
    return false; // something else lies there
  }
}

/** Only this person, or root, can have written it. `look`: a link may lie with others. */
function isOwn(path: string, look = lstatSync): boolean {
  try {
    const { uid, mode } = look(path);
    return process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0);
  } catch {
    return false;
  }
}

type CacheFile = Readonly<{ folder: string; file: string; stamp: string; hash: Hash }>;

function readLines({ folder, file, stamp, hash }: CacheFile): Map<string, string> {
  const known = new Map<string, string>();
  try {
    if (!isOwn(folder) || !isOwn(file) || statSync(file).size > MAX_BYTES) return known;
    const text = readFileSync(file, "utf8");
    const end = text.indexOf("\n") + 1;
    const head = headSchema().parse(JSON.parse(text.slice(0, end)));
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
