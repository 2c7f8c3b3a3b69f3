/**
 * Secrets of a project, in one encrypted file. The key is made from a passphrase by scrypt (128 MiB, so that guessing is expensive) and never stored;
 * names and values are sealed together, so the file tells neither.
 *
 * T-22 a store opens with its own passphrase only; what was changed in it, or made weaker, does not open; it is replaced whole, by rename. Two who
 *     change it at once take turns: the lock is SQLite's on a file of its own, so a killed process frees it.
 */

import { createCipheriv, createDecipheriv, randomBytes, scrypt } from "node:crypto";
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, statSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { FaultError } from "@orgate/core";
import { errorMessage, lazily } from "@orgate/core/vocab";
import * as z from "zod";
import { readTextFile } from "../files/text-file.ts";

const COST = 2 ** 17;
export const LEAST_COST = 2 ** 15;
const MOST_COST = 2 ** 20;
const MAX_BYTES = 4 * 1024 * 1024;
export const SECRET_NAME = /^[A-Za-z0-9_.-]{1,64}$/;
export const SECRETS_FILE = "secrets.json";

const base64 = lazily(() => z.string().regex(/^[A-Za-z0-9+/]*={0,2}$/));
const kdfSchema = lazily(() =>
  z.strictObject({
    name: z.literal("scrypt"),
    n: z.int().min(LEAST_COST).max(MOST_COST),
    r: z.literal(8),
    p: z.literal(1),
    salt: base64().length(44),
  }),
);
const fileSchema = lazily(() =>
  z.strictObject({
    v: z.literal(1),
    kdf: kdfSchema(),
    cipher: z.literal("aes-256-gcm"),
    nonce: base64().length(16),
    tag: base64().length(24),
    box: base64(),
  }),
);
type Sealed = z.infer<ReturnType<typeof fileSchema>>;
const contentSchema = lazily(() => z.record(z.string().regex(SECRET_NAME), z.string().min(1)));

export type Secrets = ReadonlyMap<string, string>;

export type SecretStore = Readonly<{
  file: string;
  isThere(): boolean;
  /** Another once the file is another: it is replaced whole. */
  stamp(): string;
  /** Throws `file-bad` when the passphrase is not the one, or the file is not what was written. */
  open(passphrase: string): Promise<Secrets>;
  /** Read, changed and written with nobody in between; what `change` throws leaves all as it was. */
  change(passphrase: string, change: (secrets: Secrets) => Secrets): Promise<void>;
}>;

/** Scrypt takes a moment, and several may be in line. */
const TURN_MS = 30_000;

/** `cost`: what guessing costs from the next change on; a file of less than the least is not opened. */
export function secretStore(directory: string, cost: number = COST): SecretStore {
  const file = join(directory, SECRETS_FILE);
  const isThere = (): boolean => existsSync(file);
  const open = async (passphrase: string): Promise<Secrets> => (isThere() ? opened(file, passphrase) : new Map());
  return {
    file,
    isThere,
    stamp() {
      const found = statSync(file, { throwIfNoEntry: false, bigint: true });
      return found === undefined ? "" : `${found.ino} ${found.mtimeNs} ${found.size}`;
    },
    open,
    async change(passphrase, change) {
      const lock = takeTurn(directory);
      try {
        replace(file, await sealed(change(await open(passphrase)), passphrase, cost));
      } finally {
        lock.close();
      }
    },
  };
}

function takeTurn(directory: string): DatabaseSync {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const path = join(directory, "secrets.lock");
  const lock = new DatabaseSync(path, { timeout: TURN_MS });
  try {
    lock.exec("BEGIN EXCLUSIVE");
    return lock;
  } catch (error) {
    lock.close();
    throw bad(path, `cannot be locked: ${errorMessage(error)}`, "somebody else changes secrets: try again");
  }
}

async function sealed(secrets: Secrets, passphrase: string, cost: number): Promise<string> {
  const salt = randomBytes(32);
  const nonce = randomBytes(12);
  const kdf = { name: "scrypt", n: cost, r: 8, p: 1, salt: salt.toString("base64") } as const;
  const sealer = createCipheriv("aes-256-gcm", await keyOf(passphrase, salt, cost), nonce);
  sealer.setAAD(Buffer.from(headerOf(kdf)));
  const sorted = Object.fromEntries([...secrets].sort(([a], [b]) => (a < b ? -1 : 1)));
  const box = Buffer.concat([sealer.update(JSON.stringify(sorted), "utf8"), sealer.final()]);
  const text = (bytes: Buffer): string => bytes.toString("base64");
  const whole: Sealed = { v: 1, kdf, cipher: "aes-256-gcm", nonce: text(nonce), tag: text(sealer.getAuthTag()), box: text(box) };
  return `${JSON.stringify(whole, null, 2)}\n`;
}

async function opened(file: string, passphrase: string): Promise<Secrets> {
  const { kdf, nonce, tag, box } = sealedIn(file);
  const key = await keyOf(passphrase, Buffer.from(kdf.salt, "base64"), kdf.n);
  try {
    const opener = createDecipheriv("aes-256-gcm", key, Buffer.from(nonce, "base64"));
    opener.setAAD(Buffer.from(headerOf(kdf)));
    opener.setAuthTag(Buffer.from(tag, "base64"));
    const plain = Buffer.concat([opener.update(Buffer.from(box, "base64")), opener.final()]);
    return new Map(Object.entries(contentSchema().parse(JSON.parse(plain.toString("utf8")))));
  } catch {
    throw bad(file, "it does not open: another passphrase, or another file", "give the passphrase that it was made with");
  }
}

const headerOf = ({ n, salt }: Pick<Sealed["kdf"], "n" | "salt">): string => `orgate-secrets-1\nscrypt\n${n}\n8\n1\n${salt}\naes-256-gcm`;

function sealedIn(file: string): Sealed {
  let value: unknown;
  try {
    value = JSON.parse(readTextFile(file, MAX_BYTES));
  } catch (error) {
    throw bad(file, error instanceof SyntaxError ? STRANGE : errorMessage(error), HINT);
  }
  const read = fileSchema().safeParse(value);
  if (!read.success) throw bad(file, STRANGE, HINT);
  return read.data;
}
const STRANGE = "is not what `orgate secrets set` writes";
const HINT = "restore it from a copy, or remove it and set the secrets again";

const keyOf = (passphrase: string, salt: Buffer, n: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const options = { N: n, r: 8, p: 1, maxmem: 128 * 8 * n + 64 * 1024 * 1024 };
    scrypt(passphrase.normalize("NFKC"), salt, 32, options, (error, key) => (error === null ? resolve(key) : reject(error)));
  });

function replace(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.draft`; // written by whoever's turn it is alone: one that is there was left by a kill
  try {
    rmSync(draft, { force: true });
    const fd = openSync(draft, "wx", 0o600);
    try {
      writeSync(fd, text);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw bad(file, `cannot be written: ${errorMessage(error)}`, "look at its folder's permissions");
  }
}

const bad = (file: string, detail: string, hint: string): FaultError =>
  new FaultError({ kind: "file-bad", file, line: null, column: null, detail, hint });
