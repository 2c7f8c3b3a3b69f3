/**
 * What was checked before and found good, in `.orgate/checked.json`: digests, and what was remarked of each. A cache and never the truth: where it is lost,
 * damaged, or of other code, everything is checked again, and a disk that takes no file costs time alone.
 */
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CedarError } from "@orgate/core/gate";
import * as z from "zod";
import { readTextFile } from "./text-file.ts";

export type CheckedCache = Readonly<{
  /** What was remarked when this passed; null where it is not known to have. */
  find(digest: string): readonly CedarError[] | null;
  passed(digest: string, remarks: readonly CedarError[]): void;
  /** Writes what was added. */
  keep(): void;
}>;

export const NO_CHECKED_CACHE: CheckedCache = { find: () => null, passed: () => {}, keep: () => {} };

const MAX_BYTES = 8 * 1_048_576;
const MOST = 10_000;
const fileSchema = z.strictObject({
  stamp: z.string(),
  checked: z.record(
    z.string(),
    z.array(
      z.strictObject({
        message: z.string(),
        help: z.string().nullable(),
        sourceLocations: z.array(z.strictObject({ start: z.int(), end: z.int() })).exactOptional(),
      }),
    ),
  ),
});

/** `stamp`: all that decides beside what the digests are of. */
export function openCheckedCache(directory: string, stamp: string): CheckedCache {
  const file = join(directory, "checked.json");
  const before = readChecked(file, stamp);
  const used = new Map<string, readonly CedarError[]>();
  let isNew = false;
  return {
    find(digest) {
      const found = before.get(digest) ?? null;
      if (found !== null) used.set(digest, found);
      return found;
    },
    passed(digest, remarks) {
      before.set(digest, remarks);
      used.set(digest, remarks);
      isNew = true;
    },
    keep() {
      if (!isNew) return;
      isNew = false;
      const kept = before.size > MOST ? used : before; // what nobody asked for this time goes first
      const draft = `${file}.${process.pid}`;
      try {
        writeFileSync(draft, JSON.stringify({ stamp, checked: Object.fromEntries(kept) }), { mode: 0o600 });
        renameSync(draft, file); // whole or not at all: others read it at the same time
      } catch {
        rmSync(draft, { force: true }); // no folder yet, or none to write to
      }
    },
  };
}

function readChecked(file: string, stamp: string): Map<string, readonly CedarError[]> {
  try {
    const read = fileSchema.parse(JSON.parse(readTextFile(file, MAX_BYTES)));
    return new Map(read.stamp === stamp ? Object.entries(read.checked) : []);
  } catch {
    return new Map();
  }
}
