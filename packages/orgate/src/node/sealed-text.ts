/** Texts that a client carries and cannot read or make: sealed with a key of the project, so that every server of the project opens them. */
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";

export type SealedTexts = Readonly<{
  seal(text: string): string;
  /** Null for what was not sealed with this key, for this purpose. */
  open(sealed: string): string | null;
}>;

const [IV, TAG] = [12, 16];

export function sealedTexts(key: string | Uint8Array, purpose: string): SealedTexts {
  const derived = createHmac("sha256", key).update(`orgate-sealed-1\n${purpose}`).digest();
  return {
    seal(text) {
      const iv = randomBytes(IV);
      const cipher = createCipheriv("aes-256-gcm", derived, iv);
      return Buffer.concat([iv, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]).toString("base64url");
    },
    open(sealed) {
      const bytes = Buffer.from(sealed, "base64url");
      try {
        const cipher = createDecipheriv("aes-256-gcm", derived, bytes.subarray(0, IV)).setAuthTag(bytes.subarray(-TAG));
        return Buffer.concat([cipher.update(bytes.subarray(IV, -TAG)), cipher.final()]).toString();
      } catch {
        return null;
      }
    },
  };
}
