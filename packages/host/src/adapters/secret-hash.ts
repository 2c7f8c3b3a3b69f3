/**
 * Secrets that stand for people: 256 random bits, shown once, of which a memory-hard hash is kept.
 *
 * W102 of a secret only a memory-hard hash with a salt of its own is kept, and compared in constant time; a kept text of any other form fits nothing.
 */
import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";

/** 32 MiB per try. A higher one may come: what is kept says its own. */
const LOG_COST = 15;
const LEAST_LOG_COST = 15;
const MOST_LOG_COST = 20;
const R = 8;
const BYTES = 32;
const KEPT = /^scrypt\$(\d{2})\$8\$1\$([\w-]{22})\$([\w-]{43})$/;

/** 43 characters of base64url. */
export const newSecret = (): string => randomBytes(BYTES).toString("base64url");
export const newName = (): string => randomBytes(8).toString("hex");

export async function hashSecret(secret: string): Promise<string> {
  const salt = randomBytes(16);
  const hash = await derive(secret, salt, LOG_COST);
  return `scrypt$${LOG_COST}$${R}$1$${salt.toString("base64url")}$${hash.toString("base64url")}`;
}

export async function fitsSecret(secret: string, kept: string): Promise<boolean> {
  const [, log, salt, hash] = KEPT.exec(kept) ?? [];
  const cost = Number(log);
  if (salt === undefined || hash === undefined || cost < LEAST_LOG_COST || cost > MOST_LOG_COST) return false;
  const wanted = Buffer.from(hash, "base64url");
  const found = await derive(secret, Buffer.from(salt, "base64url"), cost);
  return wanted.length === found.length && timingSafeEqual(wanted, found);
}

/** Fits nothing, and takes as long to find out: for a name that nobody has. */
export const NOBODYS = `scrypt$${LOG_COST}$${R}$1$${"A".repeat(22)}$${"A".repeat(43)}`;

const derive = (secret: string, salt: Buffer, log: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const cost = 2 ** log;
    const options = { N: cost, r: R, p: 1, maxmem: 128 * R * cost + 16 * 1024 * 1024 };
    scrypt(secret, salt, BYTES, options, (error, key) => (error === null ? resolve(key) : reject(error)));
  });
