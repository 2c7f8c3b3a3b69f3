/**
 * Policies and cases that passed their checks, in `.orgate/checked.json`: digests, each with Cedar's remarks. A cache and never the truth: where it is lost,
 * damaged, or of other code, everything is checked again.
 */
import { join } from "node:path";
import type { CedarError } from "@orgate/core/gate";
import { lazily } from "@orgate/core/vocab";
import * as z from "zod";
import { type DigestCache, digestCache, emptyCache, replaceCacheFile } from "./digest-cache.ts";
import { readTextFile } from "./text-file.ts";

/** Cedar's remarks on what passed. */
export type CheckedCache = DigestCache<readonly CedarError[]>;

export const NO_CHECKED_CACHE: CheckedCache = emptyCache();

const MAX_BYTES = 8 * 1_048_576;
const MOST = 10_000;
const fileSchema = lazily(() =>
  z.strictObject({
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
  }),
);

/** `stamp`: everything that decides beside what the digests are of. */
export function openCheckedCache(directory: string, stamp: string): CheckedCache {
  const file = join(directory, "checked.json");
  const write = (kept: ReadonlyMap<string, readonly CedarError[]>): void =>
    replaceCacheFile(file, JSON.stringify({ stamp, checked: Object.fromEntries(kept) }));
  return digestCache({ known: readChecked(file, stamp), most: MOST, write });
}

function readChecked(file: string, stamp: string): Map<string, readonly CedarError[]> {
  try {
    const read = fileSchema().parse(JSON.parse(readTextFile(file, MAX_BYTES)));
    return new Map(read.stamp === stamp ? Object.entries(read.checked) : []);
  } catch {
    return new Map();
  }
}
