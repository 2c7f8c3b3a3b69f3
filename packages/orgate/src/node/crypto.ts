/**
 * The synchronous primitives of `core`, on Node's own. Public keys are `ed25519:` and the base64 of their 32 bytes, signatures the base64
 * of their 64. Base64 is read strictly: two texts never stand for one key or one signature, so a changed character is always found.
 */
import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hash,
  type KeyObject,
  randomFillSync,
  sign,
  verify,
} from "node:crypto";
import type { CheckSignature, NameKey, SigningKey } from "@orgate/core/journal";
import { type Digest, digest, type Hash, keyId } from "@orgate/core/vocab";

export const sha256: Hash = (text) => digest(hash("sha256", text, "hex"));

/** Addresses of blobs: without the project's key nobody can derive from an address what is stored under it. */
export const hmacSha256 = (key: Uint8Array, text: string): Digest => digest(createHmac("sha256", key).update(text).digest("hex"));

const PUBLIC_KEY = /^ed25519:([A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=)$/;
const SIGNATURE = /^[A-Za-z0-9+/]{85}[AQgw]==$/;
/** RFC 8410: what stands before the 32 bytes of a public key in DER. */
const SPKI = Buffer.from("302a300506032b6570032100", "hex");
/** The same before the 32 bytes of a private key. */
const PKCS8 = Buffer.from("302e020100300506032b657004220420", "hex");

export const isPublicKey = (text: string): boolean => PUBLIC_KEY.test(text);

export const nameKey: NameKey = (publicKey) => keyId(`k_${sha256(publicKey).slice(0, 24)}`);

/** Public keys met so far: a journal has few, and making a `KeyObject` costs more than one check. Bounded, because their text comes from outside. */
const met = new Map<string, KeyObject | null>();
const MOST_MET = 1_000;

function publicKeyObject(text: string): KeyObject | null {
  const known = met.get(text);
  if (known !== undefined) return known;
  if (met.size >= MOST_MET) met.clear();
  const base64 = PUBLIC_KEY.exec(text)?.[1];
  let made: KeyObject | null = null;
  if (base64 !== undefined) {
    try {
      made = createPublicKey({ key: Buffer.concat([SPKI, Buffer.from(base64, "base64")]), format: "der", type: "spki" });
    } catch {
      made = null; // 32 bytes that are no key: no signature of theirs is ever good
    }
  }
  met.set(text, made);
  return made;
}

export const checkSignature: CheckSignature = (publicKey, text, signature) => {
  if (!SIGNATURE.test(signature)) return false;
  const key = publicKeyObject(publicKey);
  return key !== null && verify(null, Buffer.from(text), key, Buffer.from(signature, "base64"));
};

function signingKey(privateKey: KeyObject): SigningKey {
  const spki = createPublicKey(privateKey).export({ format: "der", type: "spki" });
  const publicKey = `ed25519:${spki.subarray(SPKI.length).toString("base64")}`;
  return Object.freeze({
    id: nameKey(publicKey),
    publicKey,
    sign: (text: string) => sign(null, Buffer.from(text), privateKey).toString("base64"),
  });
}

/** Private keys as text are PKCS #8 in PEM, which other tools read as well. */
export const ed25519 = Object.freeze({
  create(): { readonly key: SigningKey; readonly text: string } {
    const { privateKey } = generateKeyPairSync("ed25519");
    return { key: signingKey(privateKey), text: privateKey.export({ format: "pem", type: "pkcs8" }).toString() };
  },
  /** Null when the text is not a private Ed25519 key. */
  read(text: string): SigningKey | null {
    try {
      const key = createPrivateKey(text);
      return key.asymmetricKeyType === "ed25519" ? signingKey(key) : null;
    } catch {
      return null;
    }
  },
  /** The same 32 bytes always give the same key: for fixtures and tests, never for a project. */
  fromSeed(seed: Uint8Array): SigningKey {
    return signingKey(createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: "der", type: "pkcs8" }));
  },
});

const SALT_BYTES = 16;
const pool = Buffer.alloc(SALT_BYTES * 256);
let used = pool.length;

/** 128 random bits in hexadecimal. One call to the system fills 256 of them. */
export function newSalt(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const text = pool.toString("hex", used, used + SALT_BYTES);
  pool.fill(0, used, used + SALT_BYTES); // what an erased payload was salted with is not to be found in memory
  used += SALT_BYTES;
  return text;
}
