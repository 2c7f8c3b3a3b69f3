/**
 * Files that a caller hands over, or names, made into parts of a message. Bytes become text here; what they may be is `core`'s to say (M-21).
 *
 * M-21 a file that is named by its path has the media type that its bytes say; one whose name says otherwise is refused, and what is neither an image,
 *     a PDF nor UTF-8 text is refused with what is accepted.
 */

import { basename, extname } from "node:path";
import {
  type Attachment,
  checkAttachments,
  FaultError,
  type HistoryMessage,
  isBase64,
  isFault,
  MAX_FILE_BYTES,
  MAX_FILES,
  mediaKind,
  sniffMediaType,
} from "@orgate/core";
import { errorMessage } from "@orgate/core/vocab";
import { readBytes } from "./text-file.ts";

/** As a caller writes it. Bytes of `text/…` are UTF-8. */
export type FileInput = Readonly<{ mediaType: string; name?: string | null }> &
  Readonly<{ bytes: Uint8Array } | { base64: string } | { text: string }>;

/** An earlier message, with files as a caller has them. */
export type HistoryInput =
  | Exclude<HistoryMessage, { role: "user" }>
  | Readonly<{ role: "user"; text: string; files?: readonly FileInput[] }>;

export function toAttachments(files: readonly FileInput[]): readonly Attachment[] {
  if (!Array.isArray(files) || files.length > MAX_FILES) return checkAttachments(files);
  return checkAttachments(files.map(asText));
}

/** Who checks a history names the message that is wrong: so do we. */
export function toHistory(history: readonly HistoryInput[]): readonly HistoryMessage[] {
  if (!Array.isArray(history)) throw new FaultError({ kind: "history-invalid", index: 0, detail: "it is no list" });
  return history.map((said, index) => {
    try {
      return toSaid(said);
    } catch (error) {
      if (!isFault(error, "file-refused")) throw error;
      throw new FaultError({ kind: "history-invalid", index, detail: error.message }, error);
    }
  });
}

function toSaid(said: HistoryInput): HistoryMessage {
  if (said?.role !== "user") return said;
  const { files, ...rest } = said;
  return files === undefined ? rest : { ...rest, files: toAttachments(files) };
}

/** Bytes as the text they are kept as. */
function asText(file: FileInput): unknown {
  if (typeof file !== "object" || file === null) return file;
  const { mediaType, name = null } = file;
  const bytes = bytesOf(file, name);
  if (bytes === null) return file;
  if (typeof mediaType !== "string" || mediaKind(mediaType) !== "text") return { mediaType, name, base64: encoded(bytes) };
  const text = decoded(bytes);
  if (text === null) throw refused(name, `it is said to be ${mediaType}, and is not UTF-8`);
  return { mediaType, name, text };
}

/** Null for a text, and for what is neither. */
function bytesOf(file: FileInput, name: string | null): Uint8Array | null {
  const bytes: unknown = "bytes" in file ? file.bytes : null;
  const base64: unknown = "base64" in file ? file.base64 : null;
  if (bytes instanceof Uint8Array) {
    if (bytes.length > MAX_FILE_BYTES) throw refused(name, `it has ${bytes.length} bytes, and ${MAX_FILE_BYTES} are the most`);
    return bytes;
  }
  return typeof base64 === "string" && mediaKind(file.mediaType) === "text" && isBase64(base64) ? Buffer.from(base64, "base64") : null;
}

const encoded = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");

function decoded(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

const NAMED: Readonly<Record<string, string>> = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
  ".pdf": "application/pdf",
};
const TEXTS: Readonly<Record<string, string>> = {
  ".csv": "text/csv",
  ".htm": "text/html",
  ".html": "text/html",
  ".md": "text/markdown",
  ".xml": "text/xml",
};

/** A file of this machine. */
export function fileAt(path: string): Attachment {
  const name = basename(path);
  let bytes: Uint8Array;
  try {
    bytes = readBytes(path, MAX_FILE_BYTES);
  } catch (error) {
    throw refused(name, errorMessage(error), error);
  }
  const end = extname(path).toLowerCase();
  const found = sniffMediaType(encoded(bytes.subarray(0, 18)));
  const mediaType = NAMED[end] ?? found ?? TEXTS[end] ?? "text/plain";
  if (mediaKind(mediaType) === "text" && (bytes.includes(0) || decoded(bytes) === null))
    throw refused(name, "it is no image, no PDF, and not UTF-8 text");
  const [file] = toAttachments([{ mediaType, name, bytes }]);
  if (file === undefined) throw new Error("one file is one file");
  return file;
}

const refused = (name: string | null, detail: string, cause?: unknown): FaultError =>
  new FaultError({ kind: "file-refused", name, detail }, cause);
