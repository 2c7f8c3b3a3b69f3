/**
 * Secrets that stand for people: 256 random bits, shown once, of which a salted hash is kept.
 *
 * W-10 of a secret only a hash with a salt of its own is kept, and compared in constant time; a kept text of any other form fits nothing.
 * W-10 the check is cheap: nobody can guess 256 random bits, however fast, and with a slow check a caller with wrong keys could use up the
 *      processor. Earlier versions kept scrypt; those hashes still count.
 */
import { createHash, randomBytes, scrypt, timingSafeEqual } from "node:crypto";

const LEAST_LOG_COST = 15;
const MOST_LOG_COST = 20;
const R = 8;
const BYTES = 32;
const FAST = /^sha256\$([\w-]{22})\$([\w-]{43})$/;
const SLOW = /^scrypt\$(\d{2})\$8\$1\$([\w-]{22})\$([\w-]{43})$/;

/** 43 characters of base64url. */
export const newSecret = (): string => randomBytes(BYTES).toString("base64url");
export const newName = (): string => randomBytes(8).toString("hex");

export async function hashSecret(secret: string): Promise<string> {
  const salt = randomBytes(16);
  return `sha256$${salt.toString("base64url")}$${digest(secret, salt).toString("base64url")}`;
}

/** At once; null where only a slow check can tell (`matchesSlowHash`). */
export function matchesSecret(secret: string, kept: string): boolean | null {
  const [, salt, hash] = FAST.exec(kept) ?? [];
  if (salt === undefined || hash === undefined) return SLOW.test(kept) ? null : false;
  return timingSafeEqual(Buffer.from(hash, "base64url"), digest(secret, Buffer.from(salt, "base64url")));
}

const digest = (secret: string, salt: Buffer): Buffer => createHash("sha256").update(salt).update(secret).digest();

/** Of a hash that an earlier version made: 32 MiB and tens of milliseconds. */
export async function matchesSlowHash(secret: string, kept: string): Promise<boolean> {
  const [, log, salt, hash] = SLOW.exec(kept) ?? [];
  const cost = Number(log);
  if (salt === undefined || hash === undefined || cost < LEAST_LOG_COST || cost > MOST_LOG_COST) return false;
  const wanted = Buffer.from(hash, "base64url");
  const found = await derive(secret, Buffer.from(salt, "base64url"), cost);
  return wanted.length === found.length && timingSafeEqual(wanted, found);
}

/** Fits nothing, and takes as long to find out: for a name that nobody has. */
export const UNMATCHABLE_HASH = `sha256$${"A".repeat(22)}$${"A".repeat(43)}`;

const derive = (secret: string, salt: Buffer, log: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const cost = 2 ** log;
    const options = { N: cost, r: R, p: 1, maxmem: 128 * R * cost + 16 * 1024 * 1024 };
    scrypt(secret, salt, BYTES, options, (error, key) => (error === null ? resolve(key) : reject(error)));
  });

/** Secrets that stand for people, and what is kept of them. */
export const secretPort = Object.freeze({
  newSecret,
  newName,
  hashSecret,
  fitsSecret: matchesSecret,
  fitsSlowly: matchesSlowHash,
  nobodys: UNMATCHABLE_HASH,
});
