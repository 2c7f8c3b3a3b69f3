import { MAX_FILE_BYTES } from "@orgate/core/vocab";
import { expect, test } from "vitest";
import { attach, toBlob } from "./attachments.ts";

const PNG = Uint8Array.from(atob("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="), (c) =>
  c.charCodeAt(0),
);
const added = async (...files: readonly File[]) => {
  const came = await attach([], files);
  return came.kind === "wrong" ? came.why : came.files.map(({ kind, mediaType, name }) => [kind, mediaType, name]);
};

test("a file's type comes from its bytes, whatever its name, and its name has no hidden characters", async () => {
  expect(await added(new File([PNG], "evil.html", { type: "text/html" }))).toEqual([["image", "image/png", "evil.html"]]);
  expect(await added(new File(["a,b\n1,2"], "t.csv"))).toEqual([["text", "text/csv", "t.csv"]]);
  expect(await added(new File(["<svg onload=alert(1)>"], "x.svg", { type: "image/svg+xml" }))).toEqual([["text", "text/plain", "x.svg"]]);
  expect(await added(new File(["{}"], "a\u202e/b\\c.json", { type: "application/json" }))).toEqual([["text", "text/plain", "a__b_c.json"]]);
});

test("a file that would be refused is not sent, and says why", async () => {
  expect(await added(new File([new Uint8Array([0x4d, 0x5a, 0x90, 0, 3])], "x.exe"))).toMatch(/x\.exe is not an image/);
  expect(await added(new File([], "none.txt"))).toMatch(/empty/);
  expect(await added(...Array.from({ length: 21 }, (_, i) => new File(["x"], `${i}.txt`)))).toMatch(/20 files/);
  expect(await added(new File([new Uint8Array(MAX_FILE_BYTES + 1)], "big.bin"))).toMatch(/21\.0 MB together/);
});

test("a long file comes back as it was", async () => {
  const bytes = Uint8Array.from([...PNG, ...Array.from({ length: 100_000 }, (_, i) => i % 251)]);
  const came = await attach([], [new File([bytes], "long.png")]);
  if (came.kind === "wrong" || came.files[0] === undefined) throw new Error("refused");
  expect(new Uint8Array(await toBlob(came.files[0]).arrayBuffer())).toEqual(bytes);
});
