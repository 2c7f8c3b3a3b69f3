/**
 * Files attached to a message. The server decides which are allowed (M-21), with the same reader as here, so a refusal shows at once.
 *
 * A file's type comes from its bytes, whatever its name; a file that would be refused is not sent, and the reason is shown.
 */
import {
  type Attachment,
  describeFault,
  fileBytes,
  MAX_FILE_BYTES,
  MAX_FILES,
  mediaKind,
  readAttachments,
  sniffMediaType,
} from "@orgate/core/vocab";

export type AttachResult = Readonly<{ kind: "files"; files: readonly Attachment[] } | { kind: "wrong"; why: string }>;

const TEXTS: Readonly<Record<string, string>> = {
  csv: "text/csv",
  htm: "text/html",
  html: "text/html",
  md: "text/markdown",
  xml: "text/xml",
};

/** Adds files to those already attached. */
export async function attach(before: readonly Attachment[], added: readonly File[]): Promise<AttachResult> {
  const size = before.reduce((sum, file) => sum + fileBytes(file), 0) + added.reduce((sum, file) => sum + file.size, 0);
  if (before.length + added.length > MAX_FILES) return wrong(`a message may have at most ${MAX_FILES} files`);
  if (size > MAX_FILE_BYTES)
    return wrong(`the files of a message may have at most ${sizeText(MAX_FILE_BYTES)} together; these have ${sizeText(size)}`);
  const given: unknown[] = [];
  for (const file of added) {
    const read = await readFile(file);
    if (read === null) return wrong(`${nameOf(file)} is not an image (PNG, JPEG, GIF, WebP), a PDF or a text`);
    given.push(read);
  }
  const read = readAttachments([...before, ...given]);
  return read.kind === "files" ? read : wrong(describeFault(read.fault).message);
}
const wrong = (why: string): AttachResult => ({ kind: "wrong", why });

async function readFile(file: File): Promise<unknown> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const name = nameOf(file);
  const found = sniffMediaType(encoded(bytes.subarray(0, 18)));
  if (found !== null) return { mediaType: found, name, base64: encoded(bytes) };
  const text = decoded(bytes);
  if (text === null || text.includes("\0")) return null;
  const end = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
  return { mediaType: TEXTS[end] ?? "text/plain", name, text };
}

/** A name without hidden characters or slashes. */
const nameOf = ({ name }: File): string => name.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}/\\]/gu, "_").slice(0, 255) || "a file";

function decoded(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

const PIECE = 0x6000; // a multiple of three bytes: encoded pieces can be joined
function encoded(bytes: Uint8Array): string {
  const pieces: string[] = [];
  for (let i = 0; i < bytes.length; i += PIECE) pieces.push(btoa(String.fromCharCode(...bytes.subarray(i, i + PIECE))));
  return pieces.join("");
}

/** A file as a blob for download. It is never run or rendered as a page. */
export function toBlob(file: Attachment, mediaType = "application/octet-stream"): Blob {
  if (file.kind === "text") return new Blob([file.text], { type: mediaType });
  return new Blob([Uint8Array.from(atob(file.base64), (letter) => letter.charCodeAt(0))], { type: mediaType });
}

export const sizeText = (bytes: number): string =>
  bytes < 1_000 ? `${bytes} bytes` : bytes < 1_000_000 ? `${Math.round(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
export const isImage = (file: Attachment): boolean => mediaKind(file.mediaType) === "image";
