import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type HistoryMessage, isFault, MAX_FILE_BYTES } from "@orgate/core";
import { afterAll, describe, expect, test } from "vitest";
import { type FileInput, fileAt, type HistoryInput, toAttachments, toHistory } from "./file-input.ts";

const folder = mkdtempSync(join(tmpdir(), "orgate-files-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const PNG = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
const JPEG = Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 16]);
const file = (name: string, bytes: string | Uint8Array): string => {
  writeFileSync(join(folder, name), bytes);
  return join(folder, name);
};
const faultOf = (work: () => unknown): unknown => {
  try {
    work();
    return null;
  } catch (error) {
    if (isFault(error)) return error.fault;
    throw error;
  }
};

describe("a file of this machine", () => {
  test.each([
    ["photo.png", PNG, "image", "image/png"],
    ["photo.JPG", JPEG, "image", "image/jpeg"],
    ["without-an-end", PNG, "image", "image/png"],
    ["bill.pdf", Buffer.from("%PDF-1.7\n"), "document", "application/pdf"],
    ["table.csv", "a,b\n", "text", "text/csv"],
    ["notes.md", "# hello", "text", "text/markdown"],
    ["data.json", '{"ä":1}', "text", "text/plain"],
    ["Makefile", "all:\n", "text", "text/plain"],
  ])("M-21 %s is what its bytes say", (name, bytes, kind, mediaType) => {
    const read = fileAt(file(name, bytes));
    expect(read).toMatchObject({ kind, mediaType, name });
    expect(read.kind === "text" ? read.text : Buffer.from(read.base64, "base64")).toEqual(bytes);
  });

  test.each<[string, string | Uint8Array, string]>([
    ["photo.jpeg", PNG, "it is said to be image/jpeg, and its first bytes are those of image/png"],
    ["words.png", "hello", "it is said to be image/png, and its first bytes are not"],
    ["program", Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 0]), "it is no image, no PDF, and not UTF-8 text"],
    ["latin.txt", Buffer.from([0xe4, 0xf6]), "it is no image, no PDF, and not UTF-8 text"],
    ["zero.txt", "a\0b", "it is no image, no PDF, and not UTF-8 text"],
    ["nothing.txt", "", "it is empty"],
    ["huge.png", Buffer.alloc(MAX_FILE_BYTES + 1), `is larger than ${MAX_FILE_BYTES} bytes`],
  ])("M-21 %s is refused, with what is wrong", (name, bytes, detail) => {
    expect(faultOf(() => fileAt(file(name, bytes)))).toMatchObject({ kind: "file-refused", name, detail });
  });

  test("M-21 one that is not there, and a folder, are refused", () => {
    expect(faultOf(() => fileAt(join(folder, "absent.png")))).toMatchObject({ name: "absent.png", detail: "there is no such file" });
    mkdirSync(join(folder, "sub"));
    expect(faultOf(() => fileAt(join(folder, "sub")))).toMatchObject({ name: "sub", detail: "is a folder" });
  });
});

describe("what a caller hands over", () => {
  test("M-21 bytes, base64 and text become the same file, whichever it was", () => {
    const base64 = PNG.toString("base64");
    const inside = new Uint8Array([0, ...PNG, 0]).subarray(1, PNG.length + 1); // a view of other bytes
    const image = { kind: "image", mediaType: "image/png", name: null, base64 };
    for (const given of [{ bytes: PNG }, { bytes: inside }, { base64 }])
      expect(toAttachments([{ mediaType: "image/png", ...given }])).toEqual([image]);
    const text = { kind: "text", mediaType: "text/plain", name: "ä.txt", text: "ä" };
    for (const given of [{ bytes: Buffer.from("ä") }, { base64: "w6Q=" }, { text: "ä" }])
      expect(toAttachments([{ mediaType: "text/plain", name: "ä.txt", ...given }])).toEqual([text]);
  });

  test.each<[string, unknown, string]>([
    ["no list", "x", "the files are no list"],
    ["nothing", [null], "it is no file"],
    ["an image as text", [{ mediaType: "image/png", text: "x" }], "its bytes are not base64"],
    [
      "a text that is not UTF-8",
      [{ mediaType: "text/plain", bytes: Uint8Array.of(0xff) }],
      "it is said to be text/plain, and is not UTF-8",
    ],
    [
      "too much",
      [{ mediaType: "image/png", bytes: new Uint8Array(MAX_FILE_BYTES + 1) }],
      "it has 20971521 bytes, and 20971520 are the most",
    ],
    ["another type", [{ mediaType: "video/mp4", bytes: PNG }], "its media type is `video/mp4`"],
    ["no type", [{ bytes: PNG }], "it has no media type"],
  ])("M-21 %s is refused", (_, given, detail) => {
    expect(faultOf(() => toAttachments(given as readonly FileInput[]))).toMatchObject({ kind: "file-refused", detail });
  });

  test("M-21 a history with files is told by its message where one is wrong", () => {
    const said = (mediaType: string): readonly HistoryInput[] => [
      { role: "user", text: "hi" },
      { role: "assistant", text: "ho" },
      { role: "user", text: "look", files: [{ mediaType, bytes: PNG }] },
    ];
    const read: readonly HistoryMessage[] = toHistory(said("image/png"));
    expect(read[2]).toMatchObject({ files: [{ kind: "image", name: null }] });
    expect(faultOf(() => toHistory(said("image/gif")))).toMatchObject({ kind: "history-invalid", index: 2 });
    expect(faultOf(() => toHistory(7 as never))).toMatchObject({ kind: "history-invalid", index: 0 });
  });
});
