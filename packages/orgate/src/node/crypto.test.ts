import { createHash, createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { checkSignature, ed25519, hmacSha256, isPublicKey, nameKey, newSalt, sha256 } from "./crypto.ts";

const fromHex = (hex: string) => Buffer.from(hex, "hex");

test("J-10 sha256 is that of the text's UTF-8 bytes, in lower-case hexadecimal", () => {
  expect(sha256("")).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  expect(sha256("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  expect(sha256("ä🧨\n")).toBe(createHash("sha256").update("ä🧨\n", "utf8").digest("hex"));
});

test("J-5 blob addresses are an HMAC under the project's key", () => {
  // RFC 4231, test case 2
  expect(hmacSha256(Buffer.from("Jefe"), "what do ya want for nothing?")).toBe(
    "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
  );
  expect(hmacSha256(Buffer.from("a"), "x")).not.toBe(hmacSha256(Buffer.from("b"), "x"));
  expect(hmacSha256(Buffer.from("a"), "x")).toBe(createHmac("sha256", "a").update("x").digest("hex"));
});

test("J-15 signatures are those of RFC 8032, and a key's text is its 32 bytes", () => {
  // RFC 8032, 7.1, tests 1 and 2
  const one = ed25519.fromSeed(fromHex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"));
  expect(one.publicKey).toBe(`ed25519:${fromHex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a").toString("base64")}`);
  expect(one.sign("")).toBe(
    fromHex(
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ).toString("base64"),
  );
  const two = ed25519.fromSeed(fromHex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"));
  expect(checkSignature(two.publicKey, "r", two.sign("r"))).toBe(true);
  expect(two.sign("r")).toBe(
    fromHex(
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ).toString("base64"),
  );
});

test("J-15 a signature is good for its text and its key alone, in exactly one spelling", () => {
  const { key } = ed25519.create();
  const other = ed25519.create().key;
  const signature = key.sign("text");
  expect(checkSignature(key.publicKey, "text", signature)).toBe(true);
  expect(checkSignature(key.publicKey, "text ", signature)).toBe(false);
  expect(checkSignature(other.publicKey, "text", signature)).toBe(false);
  for (let i = 0; i < signature.length; i += 1) {
    const c = signature[i] === "A" ? "B" : "A";
    expect(checkSignature(key.publicKey, "text", signature.slice(0, i) + c + signature.slice(i + 1)), `character ${i}`).toBe(false);
  }
  // the bits of the last character that base64 throws away: other readers take them for the same bytes
  const last = signature.charCodeAt(85);
  for (const near of [last - 1, last + 1])
    expect(checkSignature(key.publicKey, "text", `${signature.slice(0, 85)}${String.fromCharCode(near)}==`)).toBe(false);
  for (const odd of [
    "",
    "x",
    `${signature} `,
    ` ${signature}`,
    signature.replace(/=+$/, ""),
    signature.replaceAll("+", "-"),
    `${signature}\n`,
  ])
    if (odd !== signature) expect(checkSignature(key.publicKey, "text", odd)).toBe(false);
});

test("J-15 a public key has one spelling too; what is none never checks anything", () => {
  const { key } = ed25519.create();
  expect(isPublicKey(key.publicKey)).toBe(true);
  const bare = key.publicKey.slice("ed25519:".length);
  const near = `ed25519:${bare.slice(0, 42)}${String.fromCharCode(bare.charCodeAt(42) + 1)}=`;
  for (const odd of ["", bare, near, `ED25519:${bare}`, `${key.publicKey}\n`, "ed25519:", `ed25519:${"A".repeat(43)}`]) {
    expect(isPublicKey(odd)).toBe(false);
    expect(checkSignature(odd, "text", key.sign("text"))).toBe(false);
  }
  expect(checkSignature(`ed25519:${Buffer.alloc(32, 255).toString("base64")}`, "text", key.sign("text"))).toBe(false);
});

test("J-15 a key's name is short and its own", () => {
  const { key } = ed25519.create();
  expect(key.id).toBe(nameKey(key.publicKey));
  expect(key.id).toMatch(/^k_[0-9a-f]{24}$/);
  expect(key.id.slice(2)).toBe(sha256(key.publicKey).slice(0, 24));
  expect(ed25519.create().key.id).not.toBe(key.id);
});

test("J-17 a private key's text reads back to the same key; anything else is refused", () => {
  const { key, text } = ed25519.create();
  const back = ed25519.read(text);
  expect(back?.id).toBe(key.id);
  expect(back?.sign("x")).toBe(key.sign("x"));
  const [begin, end] = ["BEGIN", "END"].map((word) => `-----${word} PRIVATE KEY-----\n`);
  expect(text.startsWith(begin ?? "?")).toBe(true);
  const x25519 = `${begin}MC4CAQAwBQYDK2VuBCIEIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n${end}`; // all zeros, and of another curve
  for (const odd of ["", "nonsense", text.slice(0, 60), text.replace(/[A-Za-z]{10}/, ""), x25519, key.publicKey])
    expect(ed25519.read(odd)).toBeNull();
});

test("J-10 salts are 128 random bits each, none twice", () => {
  const salts = Array.from({ length: 2_000 }, newSalt);
  expect(new Set(salts).size).toBe(2_000);
  expect(salts.every((s) => /^[0-9a-f]{32}$/.test(s))).toBe(true);
});
