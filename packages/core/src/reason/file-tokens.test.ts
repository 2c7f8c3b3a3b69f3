import { expect, test } from "vitest";
import type { Attachment } from "../vocab/index.ts";
import { fileTokens, IMAGE_TOKENS, imageSize, PAGE_TOKENS } from "./file-tokens.ts";
import { estimateTokens } from "./tokens.ts";

const b64 = (...pieces: readonly (string | Uint8Array)[]): string =>
  Buffer.concat(pieces.map((p) => (typeof p === "string" ? Buffer.from(p, "latin1") : p))).toString("base64");
const u16 = (n: number) => Uint8Array.of(n >> 8, n & 255);
const l16 = (n: number) => Uint8Array.of(n & 255, n >> 8);
const l24 = (n: number) => Uint8Array.of(n & 255, (n >> 8) & 255, n >> 16);

const png = (w: number, h: number) => b64("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0", u16(w), "\0\0", u16(h), "\x08\x06\0\0\0");
const gif = (w: number, h: number) => b64("GIF89a", l16(w), l16(h), "\0\0\0");
const jpeg = (w: number, h: number, profile = 100) =>
  b64(
    Uint8Array.of(0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 2),
    Uint8Array.of(0xff, 0xe1),
    u16(profile),
    "x".repeat(profile - 2), // a thumbnail inside has a size of its own: passed over
    Uint8Array.of(0xff, 0xc4, 0, 4, 1, 2),
    Uint8Array.of(0xff, 0xc2, 0, 17, 8),
    u16(h),
    u16(w),
    "\x03rest",
  );
const vp8 = (w: number, h: number) => b64("RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a", l16(w), l16(h | 0x4000), "rest");
const vp8x = (w: number, h: number) => b64("RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0", l24(w - 1), l24(h - 1), "rest");
function vp8l(w: number, h: number): string {
  const bits = w - 1 + (h - 1) * 0x4000;
  return b64("RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f", l16(bits & 0xffff), l16(Math.floor(bits / 0x10000)), "rest-of-the-file");
}

test.each([
  ["png", png(1024, 768)],
  ["gif", gif(1024, 768)],
  ["jpeg", jpeg(1024, 768)],
  ["jpeg behind a profile", jpeg(1024, 768, 60_000)],
  ["webp", vp8(1024, 768)],
  ["webp, extended", vp8x(1024, 768)],
  ["webp, lossless", vp8l(1024, 768)],
])("M-22 the size of an image is read from its header: %s", (_, base64) => {
  expect(imageSize(base64)).toEqual({ width: 1024, height: 768 });
});

test.each([
  ["cut off", png(10, 10).slice(0, 20)],
  ["without pixels", png(0, 10)],
  ["a jpeg without a frame", b64(Uint8Array.of(0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 2, 0xff, 0xd9))],
  [
    "a jpeg that goes nowhere",
    b64(
      Uint8Array.of(0xff, 0xd8),
      Uint8Array.from({ length: 400 }, (_, i) => (i % 4 === 0 ? 0xff : 0)),
    ),
  ],
  ["an unknown webp", b64("RIFF\0\0\0\0WEBPVP9 ", "x".repeat(20))],
])("M-22 a size that cannot be read is none, and costs the most: %s", (_, base64) => {
  expect(imageSize(base64)).toBeNull();
  expect(fileTokens({ kind: "image", mediaType: "image/png", name: null, base64 }, estimateTokens)).toBe(IMAGE_TOKENS.most);
});

const image = (base64: string): Attachment => ({ kind: "image", mediaType: "image/png", name: "x.png", base64 });
test.each([
  [1, 1, 1120],
  [672, 704, 1155],
  [1000, 1000, 2560],
  [1920, 1080, 4784],
  [4000, 3000, 4784],
])("M-22 an image of %i × %i costs %i tokens", (w, h, tokens) => {
  expect(fileTokens(image(png(w, h)), estimateTokens)).toBe(tokens);
});

/** As the makers' own pages on vision count them. */
const BILLED: readonly (readonly [string, (w: number, h: number) => number])[] = [
  ["Claude before 4.7", (w, h) => patches(w, h, 28, 1_568)],
  ["Claude from 4.7 on", (w, h) => patches(w, h, 28, 4_784)],
  ["the smallest of OpenAI's", (w, h) => Math.ceil(patches(w, h, 32, 1_536) * 2.46)],
  ["GPT-4o", (w, h) => 85 + 170 * tiles(w, h)],
  ["Gemini 3", () => 1_120],
];
const patches = (w: number, h: number, side: number, most: number): number => Math.min(most, Math.ceil(w / side) * Math.ceil(h / side));
function tiles(w: number, h: number): number {
  const fit = Math.min(1, 2048 / Math.max(w, h));
  const short = Math.min(1, 768 / Math.min(w * fit, h * fit));
  return Math.ceil(Math.round(w * fit * short) / 512) * Math.ceil(Math.round(h * fit * short) / 512);
}
test.each(BILLED)("M-22 what is set aside for an image, with its margin, is no less than %s bills", (_, billed) => {
  for (const w of [1, 32, 100, 333, 512, 640, 1000, 1280, 1568, 1920, 2576, 4000, 8000])
    for (const h of [1, 50, 256, 512, 768, 1024, 1080, 1568, 2160, 3000, 8000])
      expect(Math.ceil(1.05 * fileTokens(image(png(w, h)), estimateTokens)), `${w} × ${h}`).toBeGreaterThanOrEqual(billed(w, h));
});

const pdf = (body: string): Attachment => ({
  kind: "document",
  mediaType: "application/pdf",
  name: null,
  base64: b64(`%PDF-1.4\n${body}`),
});
test("M-22 a document costs its pages, where they can be counted; a text what it says", () => {
  const pages = "<< /Type /Pages /Kids [] >>\n<</Type/Page /Parent 1 0 R>>\n<< /Type /Page>>\n";
  expect(fileTokens(pdf(pages), estimateTokens)).toBe(2 * PAGE_TOKENS);
  for (let at = 96 * 1024 - 50; at < 96 * 1024; at += 1) {
    const padded = `${" ".repeat(at)}<</Type /Pages>><</Type /Page>>`; // wherever a chunk ends
    expect(fileTokens(pdf(padded), estimateTokens), String(at)).toBe(PAGE_TOKENS);
  }
  expect(fileTokens(pdf("packed"), estimateTokens)).toBe(PAGE_TOKENS);
  expect(fileTokens(pdf("x".repeat(200_000)), estimateTokens)).toBe(4 * PAGE_TOKENS);
  expect(fileTokens(pdf("x".repeat(4_000_000)), estimateTokens)).toBe(20 * PAGE_TOKENS);
  const text: Attachment = { kind: "text", mediaType: "text/plain", name: "a.txt", text: "some words ".repeat(100) };
  expect(fileTokens(text, estimateTokens)).toBeGreaterThanOrEqual(estimateTokens("some words ".repeat(100)));
});
