/**
 * Accepted catalogues, as files beside the journal: `mcp/SERVER-DIGEST.json`. The journal's `trust` stream says which of them counts;
 * its digest covers everything in the file: a changed file does not count.
 */
import { chmodSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Digest, type Hash, readJson, toCanonicalJson } from "@orgate/core";
import * as z from "zod";
import { readTextFile } from "../files/text-file.ts";
import { type Catalogue, catalogueDigest, type OfferedTool } from "./catalogue.ts";

const MAX_BYTES = 64 * 1024 * 1024;
/** The subject of trust in a catalogue. */
export const toolsSubject = (server: string): string => `mcp-tools:${server}`;

const object = z.record(z.string(), z.json());
const offered: z.ZodType<OfferedTool> = z.strictObject({
  name: z.string(),
  description: z.string(),
  inputSchema: object,
  outputSchema: object.nullable(),
  hints: object,
});
const file = z.strictObject({ server: z.string(), tools: z.array(offered) });

const folderIn = (directory: string): string => join(directory, "mcp");
const fileOf = (server: string, digest: Digest): string => `${server}-${digest.slice(0, 32)}.json`;

/** Null: there is no file of this digest, or it is not what it was. */
export function readPinned(directory: string, server: string, digest: Digest, hash: Hash): Catalogue | null {
  try {
    const json = readJson(readTextFile(join(folderIn(directory), fileOf(server, digest)), MAX_BYTES));
    const read = file.safeParse(json.kind === "not-json" ? null : json.value);
    return read.success && read.data.server === server && catalogueDigest(read.data, hash) === digest ? read.data : null;
  } catch {
    return null;
  }
}

/** There whole, or not at all; before the journal says that it counts. */
export function writePinned(directory: string, catalogue: Catalogue, hash: Hash): Digest {
  const digest = catalogueDigest(catalogue, hash);
  const folder = folderIn(directory);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, fileOf(catalogue.server, digest));
  const fresh = `${path}.new`;
  writeFileSync(fresh, `${toCanonicalJson({ server: catalogue.server, tools: catalogue.tools })}\n`, { flush: true });
  chmodSync(fresh, 0o600);
  renameSync(fresh, path);
  return digest;
}

/** Those that count no more. */
export function dropOthers(directory: string, server: string, keep: Digest): void {
  for (const name of readdirSync(folderIn(directory)))
    if (name.startsWith(`${server}-`) && /^-[0-9a-f]{32}\.json$/.test(name.slice(server.length)) && name !== fileOf(server, keep))
      rmSync(join(folderIn(directory), name), { force: true });
}
