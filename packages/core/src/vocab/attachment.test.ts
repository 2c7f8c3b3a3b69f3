import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkAttachments, fileBytes, fileLine, MAX_FILE_BYTES, MAX_FILES, readAttachments, sniffMediaType } from "./attachment.ts";
import { countBase64Bytes, decodeBase64, isBase64 } from "./text/base64.ts";

const b64 = (bytes: Uint8Array | string): string => Buffer.from(bytes).toString("base64");
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const STARTS = {
  "image/png": PNG,
  "image/jpeg": b64(Uint8Array.of(0xff, 0xd8, 0xff, 0xe0, 0, 16, 0x4a)),
  "image/gif": b64("GIF89a\x01\x00\x01\x00"),
  "image/webp": b64("RIFF\x10\x00\x00\x00WEBPVP8 "),
  "application/pdf": b64("%PDF-1.7\n"),
} as const;
const refusal = (...given: readonly unknown[]) => {
  const read = readAttachments(given);
  return read.kind === "refused" ? read.fault : null;
};

describe("base64", () => {
  test("M-21 bytes are read from base64 as they are, wherever one begins", () =>
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.nat(60), fc.nat(60), (bytes, a, b) => {
        const text = b64(bytes);
        const [from, to] = [Math.min(a, b), Math.max(a, b)];
        expect(isBase64(text)).toBe(true);
        expect(countBase64Bytes(text)).toBe(bytes.length);
        expect([...decodeBase64(text, from, to)]).toEqual([...bytes.slice(from, to)]);
      }),
    ));

  test.each(["abc", "ab=c", "a===", "====", "ab c", "abc\n", "YQ", "YR==", "YWJ=", "ab-_", "é==="])("M-21 `%s` is not base64", (text) => {
    expect(isBase64(text)).toBe(false);
  });
});

describe("files", () => {
  test.each(Object.entries(STARTS))("M-21 %s is known by its first bytes, and only by these", (mediaType, base64) => {
    expect(sniffMediaType(base64)).toBe(mediaType);
    expect(refusal({ mediaType, name: "x", base64 })).toBeNull();
    for (const [other, bytes] of Object.entries(STARTS))
      if (other !== mediaType)
        expect(refusal({ mediaType, name: "x", base64: bytes })?.detail).toBe(
          `it is said to be ${mediaType}, and its first bytes are those of ${other}`,
        );
    expect(refusal({ mediaType, base64: b64("hello, there") })?.detail).toContain("and its first bytes are not");
  });

  test("M-21 a file is one of three kinds, and has nothing but what it needs", () => {
    expect(
      checkAttachments([
        { mediaType: "image/png", name: "a.png", base64: PNG, kind: "text", more: 1 },
        { mediaType: "application/pdf", base64: STARTS["application/pdf"] },
        { mediaType: "text/csv", name: null, text: "a,\ud800" },
      ]),
    ).toEqual([
      { kind: "image", mediaType: "image/png", name: "a.png", base64: PNG },
      { kind: "document", mediaType: "application/pdf", name: null, base64: STARTS["application/pdf"] },
      { kind: "text", mediaType: "text/csv", name: null, text: "a,\ufffd" },
    ]);
  });

  test.each([
    ["no list", null, "no list"],
    ["no file", [7], "it is no file"],
    ["no media type", [{ base64: PNG }], "it has no media type"],
    ["another media type", [{ mediaType: "image/svg+xml", base64: PNG }], "its media type is `image/svg+xml`"],
    ["one in capitals", [{ mediaType: "IMAGE/PNG", base64: PNG }], "its media type is"],
    ["no bytes", [{ mediaType: "image/png" }], "its bytes are not base64"],
    ["an empty image", [{ mediaType: "image/png", base64: "" }], "it is empty"],
    ["an empty text", [{ mediaType: "text/plain", text: "" }], "it is empty"],
    ["a text in base64", [{ mediaType: "text/plain", base64: "YWJj" }], "it is a text, and has none"],
    ["a long text", [{ mediaType: "text/plain", text: "a".repeat(1_000_001) }], "it is longer than 1000000 characters"],
    ["a name with a slash", [{ mediaType: "image/png", name: "../x", base64: PNG }], "its name is not"],
    ["a name that turns the line around", [{ mediaType: "image/png", name: "x\u202egnp", base64: PNG }], "its name is not"],
    ["too many", Array(MAX_FILES + 1).fill({ mediaType: "image/png", base64: PNG }), `a message may have ${MAX_FILES}`],
  ])("M-21 %s: refused with what is wrong", (_, given, detail) => {
    const read = readAttachments(given);
    expect(read).toMatchObject({ kind: "refused", fault: { kind: "file-refused", detail: expect.stringContaining(detail) } });
    expect(() => checkAttachments(given)).toThrow(detail);
  });

  test("M-21 all files of a message together have a size, and the one that is too much is named", () => {
    const half = { mediaType: "image/png", name: "half.png", base64: PNG.slice(0, 92) + "AAAA".repeat(MAX_FILE_BYTES / 6) };
    expect(
      refusal({ ...half, base64: half.base64.slice(0, -400) }, { ...half, name: "b.png", base64: half.base64.slice(0, -400) }),
    ).toBeNull();
    expect(refusal(half, { ...half, name: "b.png" })).toMatchObject({
      name: "b.png",
      detail: expect.stringContaining(String(MAX_FILE_BYTES)),
    });
  });

  test("M-21 a file is told in one line, with the size that it has on disk", () => {
    const [text, image] = checkAttachments([
      { mediaType: "text/plain", name: "ä.txt", text: "ä€🪙a" },
      { mediaType: "image/png", base64: PNG },
    ]);
    if (text === undefined || image === undefined) throw new Error("two files");
    expect(fileBytes(text)).toBe(Buffer.byteLength("ä€🪙a"));
    expect(fileLine(text)).toBe("ä.txt (text/plain, 10 bytes)");
    expect(fileLine(image)).toBe("a file (image/png, 70 bytes)");
  });
});
