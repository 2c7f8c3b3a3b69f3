/**
 * Where this project's server runs: `orgate up` writes it beside the journal, and commands that print an address read it.
 *
 * W-34 a file that a dead process left behind counts for nothing; nor does one that another user owns or could have written.
 */
import { rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readJson } from "@orgate/core/vocab";
import * as z from "zod";
import { readTextFile } from "./text-file.ts";

const FILE = "server.json";
const schema = z.object({ url: z.url(), pid: z.int().min(1) });

/** Answers with what removes it again, unless another server has taken its place. */
export function writeServerAddress(directory: string, url: string): () => void {
  const file = join(directory, FILE);
  writeFileSync(file, `${JSON.stringify({ url, pid: process.pid })}\n`, { mode: 0o600 });
  return () => {
    if (written(file)?.pid === process.pid) rmSync(file, { force: true });
  };
}

/** Null where none runs, as far as can be known here. */
export function readServerAddress(directory: string): string | null {
  const file = join(directory, FILE);
  const found = isOwn(file) ? written(file) : null;
  return found !== null && isAlive(found.pid) ? found.url : null;
}

/** Nobody but this user could have written it. Windows has no such modes; there the folder's own access decides. */
function isOwn(file: string): boolean {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) return false;
  const user = process.getuid?.();
  return user === undefined || (found.uid === user && (found.mode & 0o022) === 0);
}

function written(file: string): z.infer<typeof schema> | null {
  try {
    const json = readJson(readTextFile(file, 4_096));
    const read = json.kind === "json" ? schema.safeParse(json.value) : null;
    return read?.success === true ? read.data : null;
  } catch {
    return null; // none there, or none to read: nothing is known
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM"; // somebody else's
  }
}
