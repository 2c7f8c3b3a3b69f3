/**
 * Tokens of a file in the context: an estimate, because every provider counts otherwise and none says so beforehand. Counted once, when its message is made.
 * Reservations of tokens and money use it, so it is that of the most expensive of the providers that say how they count:
 * Anthropic a token for each patch of 28 × 28 pixels, scaled down to 4,784 of them from Claude 4.7 on (1,568 before); OpenAI one for each of 32 × 32, times
 * 2.46 for its smallest models, up to 3,779; Gemini 3 up to 1,120 for any image. Of a page Anthropic sends the text (up to 3,000) and a picture.
 *
 * M-22 an image: 2.5 tokens for each patch of 32 × 32 pixels, at least 1,120 and at most 4,784; 4,784 where its size cannot be read. A PDF: 3,000 a page, pages as they can be
 * counted, else one for each 64 KiB, up to 20. A text: as text.
 */
import { type Attachment, countBase64Bytes, decodeBase64 } from "../vocab/index.ts";
import type { TokenCount } from "./tokens.ts";

export const IMAGE_TOKENS = Object.freeze({ least: 1_120, most: 4_784, side: 32, patch: 2.5 });
export const PAGE_TOKENS = 3_000;
const PAGE_BYTES = 64 * 1024;
const MOST_GUESSED = 20;

export function fileTokens(file: Attachment, count: TokenCount): number {
  switch (file.kind) {
    case "text":
      return count(file.text) + count(file.name ?? "") + HEADING;
    case "document":
      return PAGE_TOKENS * (pagesOf(file.base64) ?? Math.min(MOST_GUESSED, Math.ceil(countBase64Bytes(file.base64) / PAGE_BYTES)));
    case "image": {
      const size = imageSize(file.base64);
      if (size === null) return IMAGE_TOKENS.most;
      const { least, most, side, patch } = IMAGE_TOKENS;
      return Math.min(most, Math.max(least, Math.ceil(Math.ceil(size.width / side) * Math.ceil(size.height / side) * patch)));
    }
  }
}
/** The line that names it. */
const HEADING = 16;

export type Size = Readonly<{ width: number; height: number }>;

/** From the header; null where it does not say, or says nothing that could be. */
export function imageSize(base64: string): Size | null {
  const head = decodeBase64(base64, 0, 32);
  const size =
    head[0] === 0x89
      ? { width: big(head, 16, 4), height: big(head, 20, 4) }
      : head[0] === 0x47
        ? { width: little(head, 6, 2), height: little(head, 8, 2) }
        : head[0] === 0x52
          ? webpSize(head)
          : jpegSize(base64);
  return size !== null && size.width > 0 && size.height > 0 ? size : null;
}

function big(bytes: Uint8Array, at: number, length: number): number {
  let n = 0;
  for (let i = 0; i < length; i += 1) n = n * 256 + (bytes[at + i] ?? 0);
  return n;
}
function little(bytes: Uint8Array, at: number, length: number): number {
  let n = 0;
  for (let i = length - 1; i >= 0; i -= 1) n = n * 256 + (bytes[at + i] ?? 0);
  return n;
}

/** Its three forms have their size in three places. */
function webpSize(head: Uint8Array): Size | null {
  const form = String.fromCharCode(...head.subarray(12, 16));
  if (form === "VP8 ") return { width: little(head, 26, 2) & 0x3fff, height: little(head, 28, 2) & 0x3fff };
  if (form === "VP8X") return { width: little(head, 24, 3) + 1, height: little(head, 27, 3) + 1 };
  if (form !== "VP8L") return null;
  const bits = little(head, 21, 4);
  return { width: (bits & 0x3fff) + 1, height: (Math.floor(bits / 0x4000) & 0x3fff) + 1 };
}

/** Segment by segment to the one that starts the frame; thumbnails and profiles before it are passed over whole. */
function jpegSize(base64: string): Size | null {
  let at = 2;
  for (let segments = 0; segments < 256; segments += 1) {
    const head = decodeBase64(base64, at, at + 9);
    if (head.length < 9 || head[0] !== 0xff) return null;
    const marker = head[1] ?? 0;
    if (marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc)
      return { width: big(head, 7, 2), height: big(head, 5, 2) };
    at += 2 + big(head, 2, 2);
  }
  return null;
}

const CHUNK = 96 * 1024;
/** Longer than what is looked for: what begins in a chunk is whole. */
const OVERLAP = 64;

/** Page objects that stand there as they are (`/Type /Page`, not `/Pages`); null when there are none: newer files pack them. */
function pagesOf(base64: string): number | null {
  let pages = 0;
  for (let at = 0; at < countBase64Bytes(base64); at += CHUNK) {
    const bytes = decodeBase64(base64, at, at + CHUNK + OVERLAP);
    for (let i = bytes.indexOf(SLASH); i >= 0 && i < CHUNK; i = bytes.indexOf(SLASH, i + 1)) if (isPageAt(bytes, i)) pages += 1;
  }
  return pages === 0 ? null : pages;
}
const SLASH = 0x2f;

function isPageAt(bytes: Uint8Array, start: number): boolean {
  if (!hasAt(bytes, start, "/Type")) return false;
  let at = start + 5;
  while (at < start + 16 && (bytes[at] ?? 0) <= 0x20) at += 1;
  return hasAt(bytes, at, "/Page") && !/[A-Za-z]/.test(String.fromCharCode(bytes[at + 5] ?? 0));
}

function hasAt(bytes: Uint8Array, start: number, word: string): boolean {
  for (let i = 0; i < word.length; i += 1) if (bytes[start + i] !== word.charCodeAt(i)) return false;
  return true;
}
