/** Text files of a project: regular files, UTF-8, of a bounded size, or refused with what is wrong. */

import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, realpathSync, type Stats, statSync } from "node:fs";
import { resolve, sep } from "node:path";
import { errorMessage } from "@orgate/core/vocab";

/** Throws a plain `Error` whose message is one phrase about the file: callers know its place and what to do. */
export function readTextFile(file: string, maxBytes: number): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(readRegular(file, maxBytes));
  } catch (error) {
    throw new Error(troubleOf(error), { cause: error });
  }
}

/** The same for any regular file. */
export function readBytes(file: string, maxBytes: number): Uint8Array {
  try {
    return readRegular(file, maxBytes);
  } catch (error) {
    throw new Error(troubleOf(error), { cause: error });
  }
}

class Unfit extends Error {}

/** A pipe has no end until somebody writes to it, and opening a device may have effects: the kind is checked first, and again once it is open. */
function readRegular(file: string, maxBytes: number): Uint8Array {
  mustFit(statSync(file), maxBytes);
  const fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK); // exchanged for a pipe meanwhile, it must not hang here
  try {
    mustFit(fstatSync(fd), maxBytes);
    const bytes = readFileSync(fd);
    if (bytes.length > maxBytes) throw tooLarge(maxBytes); // it grew
    return bytes;
  } finally {
    closeSync(fd);
  }
}

function mustFit(found: Stats, maxBytes: number): void {
  if (found.isDirectory()) throw new Unfit("is a folder");
  if (!found.isFile()) throw new Unfit("is not a regular file");
  if (found.size > maxBytes) throw tooLarge(maxBytes);
}
const tooLarge = (maxBytes: number): Error => new Unfit(`is larger than ${maxBytes} bytes`);

function troubleOf(error: unknown): string {
  if (error instanceof Unfit) return error.message;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  switch (code) {
    case "ENOENT":
      return "there is no such file";
    case "EACCES":
    case "EPERM":
      return "cannot be read: no permission";
    case "ELOOP":
      return "cannot be read: its links lead in a circle";
    case "ERR_ENCODING_INVALID_ENCODED_DATA":
      return "is not UTF-8";
    default:
      return `cannot be read: ${errorMessage(error)}`;
  }
}

/** Both with their links resolved. */
export const isBelow = (file: string, root: string): boolean => file.startsWith(root.endsWith(sep) ? root : root + sep);

/** Null where nothing is there, or its links lead nowhere. */
export function realPath(path: string): string | null {
  try {
    const plain = resolve(path); // `x/../a` is `a`, whether `x` is there or not
    if (lstatSync(plain, { throwIfNoEntry: false }) === undefined) return null; // much cheaper than an error
    return realpathSync.native(plain);
  } catch {
    return null;
  }
}
