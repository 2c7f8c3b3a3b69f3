/**
 * Private keys as files, and the `keys` stream they answer for. A project's lie in `.orgate/keys/` (root, one per writer, the key of blob
 * addresses), a person's in `$ORGATE_HOME/keys/` or `~/.orgate/keys/`, so that one person signs in many projects.
 * Rule: J-17.
 */
import { randomBytes } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import {
  certify,
  checkIntentSigner,
  entryPages,
  foldKeys,
  isPersonName,
  isWriterName,
  type Journal,
  type KeyChecks,
  type Keyring,
  NO_KEYS,
  rotate,
  type SigningKey,
} from "@orgate/core/journal";
import type { Ports } from "@orgate/core/loop";
import {
  FaultError,
  type Intent,
  intentText,
  KEYS,
  type KeyHolder,
  type KeyId,
  type Millis,
  type Principal,
  type SystemEvent,
  type WriterId,
} from "@orgate/core/vocab";
import { assertArguments, need, PERSON, text } from "../node/argument-checks.ts";
import { appendPlanned } from "./stream-end.ts";

/** Makes and reads private keys; `ed25519` of `crypto.ts` is one. */
export type KeyMaker = Readonly<{ create(): { readonly key: SigningKey; readonly text: string }; read(text: string): SigningKey | null }>;

export type ProjectKeys = Readonly<{
  dir: string;
  /** The root key as it is on disk now. */
  root(): SigningKey;
  /** The writer's key, made when there is none. */
  writer(writer: WriterId): SigningKey;
  blobKey: Uint8Array;
  /** A successor beside the key it will replace, made when there is none; the same one again until `adopt` puts it in place. */
  successor(name: KeyName): SigningKey;
  /** The successor that a rotation left behind, if any. */
  waiting(name: KeyName): SigningKey | null;
  adopt(name: KeyName): void;
}>;
type KeyName = "root" | `writer-${string}`;

/**
 * The keys of a project, made when there are none. `dir` is `<project>/.orgate/keys`.
 * J-17 keys of a journal that is there already are not made again: what they were is in its entries, and others would prove nothing.
 */
export function openProjectKeys(dir: string, maker: KeyMaker): ProjectKeys {
  const file = (name: string) => join(dir, `${name}.key`);
  const lost = ["root", "blobs"].map(file).find((path) => !existsSync(path));
  const journal = join(dirname(dir), "journal.db");
  if (lost !== undefined && existsSync(journal))
    throw keyBad(
      lost,
      "it is gone, and the journal was made with it",
      `restore \`keys/\` from a copy; or begin a new journal, which knows nothing of the old one: \`mv ${dirname(dir)} ${dirname(dir)}.lost\``,
    );
  const open = (path: string) => openKey(path, maker) ?? createKey(path, maker);
  open(file("root"));
  return {
    dir,
    root: () => mustOpenKey(file("root"), maker, "restore it from a copy: nothing else can certify keys in this project"),
    writer: (writer) => open(file(writerFile(writer))),
    blobKey: openBlobKey(file("blobs")),
    successor: (name) => open(file(`${name}.next`)),
    waiting: (name) => openKey(file(`${name}.next`), maker),
    adopt(name) {
      try {
        renameSync(file(`${name}.next`), file(name));
      } catch (error) {
        if (codeOf(error) !== "ENOENT")
          throw keyBad(file(name), `it cannot be replaced (${codeOf(error)})`, "check the directory's mode", error);
        return; // another process that finished the same rotation was first
      }
      syncDirectory(dir);
    },
  };
}

/**
 * Keys of a process that takes a writer's name for as long as it lives, on whichever machine: the name's key is made for that life, in memory, because a writer
 * never returns to an earlier key. The project's root key, which lies on that machine, certifies it.
 */
export function processKeys(keys: ProjectKeys, maker: KeyMaker): ProjectKeys {
  const made = maker.create().key;
  return { ...keys, writer: () => made };
}

/** Writers get new keys: those on disk are older than the ones that processes on a database had in memory, and a writer never returns to an earlier key. */
export function dropWriterKeys(dir: string): void {
  for (const file of readdirSync(dir)) if (/^writer-.*\.key$/.test(file)) rmSync(join(dir, file));
}

/** The root key of a project, without making one; null when there is none. */
export const readRootKey = (dir: string, maker: KeyMaker): SigningKey | null => openKey(join(dir, "root.key"), maker);

/** The key that rows beside the entries are hashed with, without making one; null when there is none. */
export const readBlobKey = (dir: string): Uint8Array | null =>
  existsSync(join(dir, "blobs.key")) ? openBlobKey(join(dir, "blobs.key")) : null;

function writerFile(writer: WriterId): `writer-${string}` {
  if (!isWriterName(writer)) throw keyBad(writer, "this cannot name a writer", "use letters, digits, `.`, `_` and `-`");
  return `writer-${writer}`;
}

/** `$ORGATE_HOME`, or `.orgate` in the home directory. */
export const orgateHome = (env: Readonly<Record<string, string | undefined>>): string => env.ORGATE_HOME || join(homedir(), ".orgate");

export type Person = Readonly<{ name: string; key: SigningKey }>;

export function createPerson(home: string, name: string, maker: KeyMaker): Person {
  const path = personFile(home, name);
  if (openKey(path, maker) !== null) throw keyBad(path, "there is a key already", "use it, or move it away to make another");
  return { name, key: createKey(path, maker) };
}

export function openPerson(home: string, name: string, maker: KeyMaker): Person {
  return { name, key: mustOpenKey(personFile(home, name), maker, `\`orgate keys create ${name}\` makes one`) };
}

/** Names of those whose keys lie in this home. */
export function listPersons(home: string): readonly string[] {
  const files = existsSync(join(home, "keys")) ? readdirSync(join(home, "keys")) : [];
  return files.flatMap((file) => (file.endsWith(".key") && isPersonName(file.slice(0, -4)) ? [file.slice(0, -4)] : [])).sort();
}

function personFile(home: string, name: string): string {
  const hint = 'the folder of people\'s keys, then a name: (home, "ada", ed25519)';
  assertArguments("a person's key", { home: text(hint), name: need("a text", hint, (value) => typeof value === "string") }, home, name);
  if (!isPersonName(name)) throw keyBad(name, "this cannot name a person", "use at most 32 of a-z, 0-9, `_` and `-`, a letter first");
  return join(home, "keys", `${name}.key`);
}

/** As the CLI sends it: bound to id, session, time and wish. */
export function signIntent(person: Person, intent: Omit<Intent, "by" | "key" | "signature">): Intent {
  assertArguments("signIntent", { person: PERSON }, person);
  const by: Principal = { kind: "user", id: person.name };
  const open = { ...intent, by, key: person.key.id };
  return { ...open, signature: person.key.sign(intentText(open)) };
}

export type KeyringPorts = Readonly<{ journal: Journal; keys: ProjectKeys; checks: KeyChecks; now: () => Millis }>;

/** The `keys` stream of an open journal: read, folded, and appended to. */
export type OpenKeyring = Readonly<{
  /** As of the last refresh. */
  ring(): Keyring;
  refresh(): Promise<Keyring>;
  /** Certifies the root key and this journal's writer, where that is still to be done. Before anything else is appended. */
  enrol(): Promise<void>;
  certifyPerson(name: string, publicKey: string): Promise<KeyId>;
  withdraw(key: KeyId, by: Principal, reason: string): Promise<void>;
  rotateRoot(): Promise<Readonly<{ from: KeyId; to: KeyId }>>;
  /** Of this journal's own writer; its next opening seals with the new key. */
  rotateWriter(): Promise<Readonly<{ from: KeyId; to: KeyId }>>;
  authenticate(intent: Intent): ReturnType<typeof checkIntentSigner>;
  /** As the runtime itself sends it. */
  signAsWriter: Ports["signAsWriter"];
}>;

export function openKeyring({ journal, keys, checks, now }: KeyringPorts): OpenKeyring {
  let ring: Keyring = NO_KEYS;
  const { writer } = journal;

  async function refresh(): Promise<Keyring> {
    for await (const entries of entryPages(journal, KEYS, ring.through)) {
      const fresh = entries.filter(({ seq }) => seq > ring.through); // another refresh may have been first
      if (fresh.length > 0) ring = foldKeys(ring, fresh, checks);
    }
    return ring;
  }

  /** Appends the events that `plan` wants of the present ring. */
  async function change(plan: (ring: Keyring) => readonly SystemEvent[]): Promise<void> {
    const read = async () => {
      const { through } = await refresh();
      return { after: through, events: plan(ring) };
    };
    if ((await appendPlanned({ journal, stream: KEYS, now, plan: read })) !== null) await refresh();
  }

  const ownKey = (): SigningKey => keys.writer(writer);
  return {
    ring: () => ring,
    refresh,
    enrol: () => change((at) => missingCertificates(keys, at, { kind: "writer", writer }, ownKey())),
    async certifyPerson(name, publicKey) {
      if (!isPersonName(name)) throw keyBad(name, "this cannot name a person", "use at most 32 of a-z, 0-9, `_` and `-`, a letter first");
      const id = checks.nameKey(publicKey);
      await change((at) => missingCertificates(keys, at, { kind: "person", name }, { id, publicKey }));
      return id;
    },
    async withdraw(key, by, reason) {
      await change((at) => {
        const known = at.keys.get(key);
        if (known === undefined) throw keyBad(key, "it is not certified in this project", "`orgate keys list` shows those that are");
        if (known.of.kind === "root") throw keyBad(key, "a root key is not withdrawn", "`orgate journal rotate-key` replaces it");
        return known.withdrawn === null ? [{ kind: "key.withdrawn", key, by, reason }] : [];
      });
    },
    async rotateRoot() {
      const from = presentRoot(keys, await refresh());
      const to = keys.successor("root");
      await change((at) => {
        if (at.roots.at(-1) === to.id) return [];
        if (at.roots.length > 0 && at.roots.at(-1) !== from.id) throw keyBad(from.id, "another process rotated it", "try again");
        const first = at.roots.length === 0 ? [certify({ kind: "root" }, from, from)] : [];
        return [...first, rotate(from, to)];
      });
      keys.adopt("root");
      return { from: from.id, to: to.id };
    },
    async rotateWriter() {
      const name = writerFile(writer);
      const from = ownKey();
      const to = keys.successor(name);
      await change((at) => missingCertificates(keys, at, { kind: "writer", writer }, to));
      keys.adopt(name);
      return { from: from.id, to: to.id };
    },
    authenticate: (intent) => checkIntentSigner(ring, intent, checks.checkSignature),
    signAsWriter(intent) {
      const key = ownKey();
      const open = { ...intent, by: { kind: "system", id: writer }, key: key.id } as const;
      return { ...open, signature: key.sign(intentText(open)) };
    },
  };
}

/** The root key on disk, if it is the one of the journal. A rotation that was cut short after its entry is finished here. */
function presentRoot(keys: ProjectKeys, at: Keyring): SigningKey {
  const wanted = at.roots.at(-1);
  const root = keys.root();
  if (wanted === undefined || wanted === root.id) return root;
  if (keys.waiting("root")?.id === wanted) {
    keys.adopt("root");
    return keys.root();
  }
  throw keyBad(
    join(keys.dir, "root.key"),
    `it is not the root key of this journal, which is \`${wanted}\``,
    "restore the file that belongs to this journal",
  );
}

/** Events that are still missing before `subject` counts as the key of `of`. */
function missingCertificates(
  keys: ProjectKeys,
  at: Keyring,
  of: KeyHolder,
  subject: Pick<SigningKey, "id" | "publicKey">,
): readonly SystemEvent[] {
  const known = at.keys.get(subject.id);
  if (known !== undefined) {
    if (known.withdrawn !== null) throw keyBad(subject.id, "it was withdrawn", "make a new key");
    if (holderName(known.of) !== holderName(of)) throw keyBad(subject.id, `it belongs to ${holderName(known.of)}`, "make a key of its own");
    return [];
  }
  const root = presentRoot(keys, at);
  const first = at.roots.length === 0 ? [certify({ kind: "root" }, root, root)] : [];
  return [...first, certify(of, subject, root)];
}

/** An inbox whose wishes are judged by the keys of now: a person certified a moment ago, by any process, is known. */
export function withFreshKeys(inbox: Ports["inbox"], keyring: Pick<OpenKeyring, "refresh">): Ports["inbox"] {
  return {
    ...inbox,
    async pending(session) {
      const pending = await inbox.pending(session);
      if (pending.length > 0) await keyring.refresh();
      return pending;
    },
  };
}

const holderName = (of: KeyHolder): string =>
  of.kind === "root" ? "the root" : of.kind === "writer" ? `writer \`${of.writer}\`` : `\`${of.name}\``;

// files

/** Null when there is no such file. */
function openKey(path: string, maker: KeyMaker): SigningKey | null {
  const text = readSecret(path);
  if (text === null) return null;
  const key = maker.read(text);
  if (key === null) throw keyBad(path, "it is not a private Ed25519 key in PEM", "restore the file from a copy, or move it away");
  return key;
}

function mustOpenKey(path: string, maker: KeyMaker, hint: string): SigningKey {
  const key = openKey(path, maker);
  if (key === null) throw keyBad(path, "there is no such key", hint);
  return key;
}

function createKey(path: string, maker: KeyMaker): SigningKey {
  const { key, text } = maker.create();
  if (writeSecret(path, text)) return key;
  return mustOpenKey(path, maker, "try again"); // another process was first: theirs counts
}

const BLOB_KEY = /^orgate-blob-key-1:([A-Za-z0-9+/]{43}=)\n$/;

function openBlobKey(path: string): Uint8Array {
  for (;;) {
    const text = readSecret(path);
    if (text === null) {
      writeSecret(path, `orgate-blob-key-1:${randomBytes(32).toString("base64")}\n`);
      continue;
    }
    const base64 = BLOB_KEY.exec(text)?.[1];
    if (base64 === undefined)
      throw keyBad(path, "it is not a key for blobs", "restore the file from a copy: without it, stored blobs are not found");
    return Buffer.from(base64, "base64");
  }
}

function readSecret(path: string): string | null {
  try {
    const stat = statSync(path);
    if (!stat.isFile()) throw keyBad(path, "it is not a file", "move it away");
    if (process.platform !== "win32" && (stat.mode & 0o077) !== 0)
      throw keyBad(
        path,
        `others may open it (mode ${(stat.mode & 0o777).toString(8)})`,
        `\`chmod 600 ${path}\`, and replace the key if somebody may have read it`,
      );
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof FaultError) throw error;
    if (codeOf(error) === "ENOENT") return null;
    throw keyBad(path, `it cannot be read (${codeOf(error)})`, "check the file's owner and mode", error);
  }
}

/** Whole or not at all, and never over another: a hard link appears under its name at once, and fails where something stands. */
function writeSecret(path: string, text: string): boolean {
  const draft = `${path}.${process.pid}-${randomBytes(6).toString("hex")}`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const fd = openSync(draft, "wx", 0o600);
    try {
      writeSync(fd, text);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    linkSync(draft, path);
    syncDirectory(dirname(path));
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw keyBad(path, `it cannot be written (${codeOf(error)})`, "check the directory's owner and mode, and the space on the disk", error);
  } finally {
    rmSync(draft, { force: true });
  }
}

function syncDirectory(dir: string): void {
  if (process.platform === "win32") return; // directories cannot be opened there
  const fd = openSync(dir, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

const codeOf = (error: unknown): string => (error instanceof Error && "code" in error ? String(error.code) : String(error));

const keyBad = (key: string, detail: string, hint: string, cause?: unknown): FaultError =>
  new FaultError({ kind: "key-bad", key, detail, hint }, cause);
