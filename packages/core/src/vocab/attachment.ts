/**
 * A file that is part of what a person says. Untrusted until it was read here: its type is one of those that are known, and its first bytes are what
 * its type says. Bytes are text (base64), so that the journal keeps them like any long text: in a blob, once, however often it is referred to.
 *
 * M-21 what is accepted, and how much of it.
 */

import { type Fault, FaultError } from "./fault.ts";
import { countBase64Bytes, decodeBase64, isBase64 } from "./text/base64.ts";

export type Attachment =
  | Readonly<{ kind: "image"; mediaType: ImageType; name: string | null; base64: string }>
  | Readonly<{ kind: "document"; mediaType: "application/pdf"; name: string | null; base64: string }>
  /** `text/…`: what it says, as text. */
  | Readonly<{ kind: "text"; mediaType: string; name: string | null; text: string }>;

export type ImageType = "image/png" | "image/jpeg" | "image/gif" | "image/webp";
export type MediaKind = Attachment["kind"];

export const MAX_FILES = 20;
/** Of one message, all its files together. Base64 of it is below what any of the providers takes in one request. */
export const MAX_FILE_BYTES = 20 * 1024 * 1024;
/** A text is counted, cut and shown like words: not longer than any other message may be. */
export const MAX_FILE_CHARS = 1_000_000;

const TEXT_TYPE = /^text\/[a-z0-9][a-z0-9.+-]{0,60}$/;
const NAME = /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}/\\]{1,255}$/u;
export const ACCEPTED = "image/png, image/jpeg, image/gif, image/webp, application/pdf, text/…";

type Fields = Readonly<Record<string, unknown>>;
type Read = Readonly<
  { kind: "files"; files: readonly Attachment[] } | { kind: "refused"; fault: Extract<Fault, { kind: "file-refused" }> }
>;

/** From anybody's word to files, or why not. What is no field of a file is dropped. */
export function readAttachments(given: unknown): Read {
  const no = (name: string | null, detail: string): Read => ({ kind: "refused", fault: { kind: "file-refused", name, detail } });
  if (!Array.isArray(given)) return no(null, "the files are no list");
  if (given.length > MAX_FILES) return no(null, `there are ${given.length} files, and a message may have ${MAX_FILES}`);
  const files: Attachment[] = [];
  let bytes = 0;
  for (const one of given) {
    const read = readOne(one);
    if (typeof read === "string") return no(nameIn(one), read);
    bytes += fileBytes(read);
    if (bytes > MAX_FILE_BYTES) return no(read.name, `the files of a message have ${MAX_FILE_BYTES} bytes at the most, all together`);
    files.push(read);
  }
  return { kind: "files", files };
}

/** The same for attachments that a caller of the library passes. */
export function checkAttachments(given: unknown): readonly Attachment[] {
  const read = readAttachments(given);
  if (read.kind === "refused") throw new FaultError(read.fault);
  return read.files;
}

function readOne(given: unknown): Attachment | string {
  if (typeof given !== "object" || given === null) return "it is no file";
  const { mediaType, name = null, base64, text } = given as Fields;
  if (name !== null && (typeof name !== "string" || !NAME.test(name)))
    return "its name is not 1 to 255 characters that can be seen, without a slash";
  if (typeof mediaType !== "string") return "it has no media type";
  const kind = mediaKind(mediaType);
  if (kind === null) return `its media type is \`${mediaType.slice(0, 80)}\``;
  if (kind === "text") {
    if (typeof text !== "string") return "it is a text, and has none";
    if (text === "") return "it is empty";
    if (text.length > MAX_FILE_CHARS) return `it is longer than ${MAX_FILE_CHARS} characters`;
    return { kind, mediaType, name, text: text.toWellFormed() };
  }
  if (typeof base64 !== "string" || !isBase64(base64)) return "its bytes are not base64";
  if (base64 === "") return "it is empty";
  const found = sniffMediaType(base64);
  if (found !== mediaType) return `it is said to be ${mediaType}, and its first bytes are ${found === null ? "not" : `those of ${found}`}`;
  return found === "application/pdf"
    ? { kind: "document", mediaType: found, name, base64 }
    : { kind: "image", mediaType: found, name, base64 };
}

const nameIn = (given: unknown): string | null => {
  const name: unknown = (given as Fields | null | undefined)?.["name"];
  return typeof name === "string" && NAME.test(name) ? name : null;
};

/** Handling of a media type; null if it is not accepted. */
export function mediaKind(mediaType: string): MediaKind | null {
  switch (mediaType) {
    case "image/png":
    case "image/jpeg":
    case "image/gif":
    case "image/webp":
      return "image";
    case "application/pdf":
      return "document";
    default:
      return TEXT_TYPE.test(mediaType) ? "text" : null;
  }
}

/** Media type by the first bytes; null if they match no known type. */
export function sniffMediaType(base64: string): ImageType | "application/pdf" | null {
  const head = String.fromCharCode(...decodeBase64(base64, 0, 16));
  if (head.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (head.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (head.startsWith("GIF87a") || head.startsWith("GIF89a")) return "image/gif";
  if (head.startsWith("RIFF") && head.slice(8, 12) === "WEBP") return "image/webp";
  return head.startsWith("%PDF-") ? "application/pdf" : null;
}

export const fileBytes = (file: Attachment): number => (file.kind === "text" ? utf8Bytes(file.text) : countBase64Bytes(file.base64));

function utf8Bytes(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i += 1) {
    const c = text.charCodeAt(i);
    if (c >= 0x80) bytes += c < 0x800 ? 1 : c >= 0xd800 && c < 0xe000 ? 1 : 2; // each half of a pair is two of its four bytes
  }
  return bytes;
}

/** One line for people, and for a model that is not shown the bytes. */
export const fileLine = (file: Attachment): string => `${file.name ?? "a file"} (${file.mediaType}, ${fileBytes(file)} bytes)`;
