import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Records, SealPorts } from "@orgate/core/journal";
import { verify } from "@orgate/core/proof";
import { type MemoryDisk, memoryDisk, openMemory } from "@orgate/core/testing";
import {
  FaultError,
  type Intent,
  type IntentBody,
  intentId,
  KEYS,
  keyId,
  type Millis,
  millis,
  sessionId,
  writerId,
} from "@orgate/core/vocab";
import { afterEach, beforeEach, expect, test } from "vitest";
import { checkSignature, ed25519, nameKey, newSalt, sha256 } from "../node/crypto.ts";
import {
  createPerson,
  openKeyring,
  openPerson,
  openProjectKeys,
  orgateHome,
  type Person,
  type ProjectKeys,
  signIntent,
  withFreshKeys,
} from "./keyring.ts";

const checks = { checkSignature, nameKey };
const W1 = writerId("w1");
const W2 = writerId("w2");
let home: string;
let dir: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "orgate-keys-"));
  dir = join(home, "project", ".orgate", "keys");
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const open = (): ProjectKeys => openProjectKeys(dir, ed25519);
let time = 1_000;
const now = (): Millis => {
  time += 1;
  return millis(time);
};

/** One process: the writer's key sealing a journal in memory, and the keyring on it. */
function processOn(disk: MemoryDisk, writer = W1, keys = open()) {
  const key = keys.writer(writer);
  const ports: SealPorts = { writer, key: key.id, hash: sha256, sign: key.sign, salt: newSalt };
  const store = openMemory(disk, ports);
  return { ...store, keys, keyring: openKeyring({ journal: store.journal, keys, checks, now }) };
}
const isGood = (records: Records, root: string): boolean =>
  verify({ records, root, ports: { ...checks, hash: sha256 }, head: null, progress: () => {}, torn: null }).firstBad === null;
const kindsOf = (records: Records): string[] => [...records.entries(KEYS)].map((e) => e.kind);

/** A fault's message, or the returned value when there was none. */
function faultOf(act: () => unknown): string {
  try {
    return `no fault: ${String(act())}`;
  } catch (error) {
    if (error instanceof FaultError && error.fault.kind === "key-bad") return `${error.fault.detail} | ${error.fault.hint}`;
    throw error;
  }
}
const rejection = async (act: Promise<unknown>): Promise<string> =>
  act.then(
    () => "no fault",
    (error: unknown) =>
      faultOf(() => {
        throw error;
      }),
  );

test("J-17 a project's keys are made once, readable by their owner alone, and found again", () => {
  const first = open();
  const again = open();
  expect(again.root().id).toBe(first.root().id);
  expect(again.writer(W1).id).toBe(first.writer(W1).id);
  expect(again.writer(W2).id).not.toBe(first.writer(W1).id);
  expect(Buffer.from(again.blobKey).equals(Buffer.from(first.blobKey))).toBe(true);
  expect(first.blobKey).toHaveLength(32);
  expect(readdirSync(dir).sort()).toEqual(["blobs.key", "root.key", "writer-w1.key", "writer-w2.key"]); // no drafts left
  for (const name of readdirSync(dir)) expect(statSync(join(dir, name)).mode & 0o777).toBe(0o600);
  expect(statSync(dir).mode & 0o777).toBe(0o700);
});

test("J-17 a key that others may open is refused, with what to do", () => {
  const path = join(open().dir, "root.key");
  for (const mode of [0o644, 0o640, 0o604, 0o660]) {
    chmodSync(path, mode);
    expect(faultOf(open)).toBe(
      `others may open it (mode ${mode.toString(8)}) | \`chmod 600 ${path}\`, and replace the key if somebody may have read it`,
    );
  }
  chmodSync(path, 0o400);
  expect(open().root().id).toMatch(/^k_/);
  chmodSync(join(dir, "blobs.key"), 0o644);
  expect(faultOf(open)).toMatch("others may open it");
});

test("J-17 a key file that is damaged, or none, is refused and left as it is", () => {
  open();
  for (const name of ["root.key", "blobs.key"]) {
    const path = join(dir, name);
    const good = readFileSync(path, "utf8");
    for (const bad of ["", "nonsense", good.slice(0, -8)]) {
      writeFileSync(path, bad, { mode: 0o600 });
      expect(faultOf(open)).toMatch(/it is not a (private Ed25519 key in PEM|key for blobs)/);
      expect(readFileSync(path, "utf8")).toBe(bad);
    }
    rmSync(path);
    mkdirSync(path);
    expect(faultOf(open)).toMatch("it is not a file");
    rmSync(path, { recursive: true });
    writeFileSync(path, good, { mode: 0o600 });
  }
  expect(faultOf(() => open().writer(writerId("../root")))).toMatch("this cannot name a writer");
});

test("J-17 a key cannot be made where there is no place for it", () => {
  mkdirSync(join(home, "project"));
  writeFileSync(join(home, "project", ".orgate"), "a file");
  expect(faultOf(open)).toMatch("ENOTDIR");
});

test("J-17 a key that somebody else made first counts, and is not written over", () => {
  const keys = open();
  const theirs = ed25519.create();
  let raced = false;
  // the other process is as fast as can be: it writes between our look and our write
  const racing = {
    ...ed25519,
    create() {
      if (!raced) writeFileSync(join(dir, "writer-w1.key"), theirs.text, { mode: 0o600 });
      raced = true;
      return ed25519.create();
    },
  };
  expect(openProjectKeys(dir, racing).writer(W1).id).toBe(theirs.key.id);
  expect(keys.writer(W1).id).toBe(theirs.key.id);
});

test("J-15 a writer is enrolled once, whatever number of processes try at the same time, and the journal verifies", async () => {
  const disk = memoryDisk();
  const keys = open();
  const writers = [1, 2, 3, 4].map((n) => processOn(disk, writerId(`w${n}`)));
  await Promise.all(writers.map((p) => p.keyring.enrol()));
  await Promise.all(writers.map((p) => p.keyring.enrol()));
  const records = writers[0]?.records as Records;
  expect(kindsOf(records)).toEqual(Array.from({ length: 5 }, () => "key.certified"));
  const ring = await (writers[0] as (typeof writers)[0]).keyring.refresh();
  expect(ring.roots).toEqual([keys.root().id]);
  expect(ring.bad).toEqual([]);
  expect(isGood(records, keys.root().publicKey)).toBe(true);
});

test("J-15 a journal with another root key is not appended to", async () => {
  const disk = memoryDisk();
  await processOn(disk).keyring.enrol();
  rmSync(dir, { recursive: true });
  expect(await rejection(processOn(disk, W2).keyring.enrol())).toMatch("it is not the root key of this journal");
});

test("J-15 the root key is rotated: both sign, the file follows, old certificates and either root still verify", async () => {
  const disk = memoryDisk();
  const p = processOn(disk);
  await p.keyring.enrol();
  const before = p.keys.root();
  const { from, to } = await p.keyring.rotateRoot();
  expect([from, to]).toEqual([before.id, open().root().id]);
  expect(to).not.toBe(from);
  expect(existsSync(join(dir, "root.next.key"))).toBe(false);
  await processOn(disk, W2).keyring.enrol(); // certified by the new one
  expect(p.keyring.ring().roots).toEqual([from, to]);
  expect(isGood(p.records, before.publicKey)).toBe(true);
  expect(isGood(p.records, open().root().publicKey)).toBe(true);
});

test("J-17 a rotation cut short is finished, or done over, never lost", async () => {
  const disk = memoryDisk();
  const p = processOn(disk);
  await p.keyring.enrol();
  // killed before the entry: the successor waits, the old key still counts
  const successor = p.keys.successor("root");
  await processOn(disk, W2).keyring.enrol();
  expect(open().root().id).not.toBe(successor.id);

  // killed after the entry and before the file was put in place
  const stuck: ProjectKeys = {
    ...p.keys,
    adopt: () => {
      throw new Error("killed");
    },
  };
  const half = openKeyring({ journal: p.journal, keys: stuck, checks, now });
  await expect(half.rotateRoot()).rejects.toThrow("killed");
  expect(open().root().id).not.toBe(successor.id);
  const third = processOn(disk, writerId("w3"));
  await third.keyring.enrol();
  expect(open().root().id).toBe(successor.id);
  expect(third.keyring.ring().bad).toEqual([]);
  expect(isGood(p.records, successor.publicKey)).toBe(true);
});

test("J-15 two processes that rotate at the same time leave one successor", async () => {
  const disk = memoryDisk();
  const a = processOn(disk, W1);
  const b = processOn(disk, W2);
  await Promise.all([a.keyring.enrol(), b.keyring.enrol()]);
  const done = await Promise.allSettled([a.keyring.rotateRoot(), b.keyring.rotateRoot()]);
  expect(done.some((d) => d.status === "fulfilled")).toBe(true);
  const ring = await a.keyring.refresh();
  expect(ring.bad).toEqual([]);
  expect(ring.roots.at(-1)).toBe(open().root().id);
});

test("J-15 a writer's key is replaced: its next process seals with the new one, and the chain verifies", async () => {
  const disk = memoryDisk();
  const p = processOn(disk);
  await p.keyring.enrol();
  const { from, to } = await p.keyring.rotateWriter();
  await p.journal.close();
  const next = processOn(disk);
  expect(next.keys.writer(W1).id).toBe(to);
  await next.keyring.enrol(); // nothing to do
  await next.keyring.certifyPerson("ana", createPerson(home, "ana", ed25519).key.publicKey);
  expect([...next.records.seals(W1)].map((c) => c.key)).toEqual([from, from, to]);
  expect(isGood(next.records, next.keys.root().publicKey)).toBe(true);
});

test("J-17 a person's key lies in the person's own place, is made once, and has a safe name", () => {
  const ana = createPerson(home, "ana", ed25519);
  expect(openPerson(home, "ana", ed25519).key.id).toBe(ana.key.id);
  expect(statSync(join(home, "keys", "ana.key")).mode & 0o777).toBe(0o600);
  expect(faultOf(() => createPerson(home, "ana", ed25519))).toBe("there is a key already | use it, or move it away to make another");
  expect(faultOf(() => openPerson(home, "bob", ed25519))).toBe("there is no such key | `orgate keys create bob` makes one");
  for (const name of ["", "..", "../ana", "Ana", "a/b", "a\u0000", "con.key", "-rf"])
    expect(faultOf(() => createPerson(home, name, ed25519))).toMatch("this cannot name a person");
  expect(orgateHome({ ORGATE_HOME: "/x" })).toBe("/x");
  expect(orgateHome({})).toMatch(/\.orgate$/);
});

const cancel: IntentBody = { kind: "cancel", reason: "enough" };
const wish = (person: Person): Intent =>
  signIntent(person, { id: intentId("i_1"), session: sessionId("s_12345678"), at: millis(7), wish: cancel });

test("J-16 a certified person's signed intent is genuine; withdrawn, it is not", async () => {
  const p = processOn(memoryDisk());
  await p.keyring.enrol();
  const ana = createPerson(home, "ana", ed25519);
  expect(p.keyring.authenticate(wish(ana))).toEqual({ kind: "refused", reason: `key \`${ana.key.id}\` is not certified in this project` });
  const id = await p.keyring.certifyPerson("ana", ana.key.publicKey);
  await p.keyring.certifyPerson("ana", ana.key.publicKey); // twice is once
  expect(kindsOf(p.records)).toHaveLength(3);
  expect(p.keyring.authenticate(wish(ana))).toEqual({ kind: "genuine" });
  expect(p.keyring.authenticate({ ...wish(ana), by: { kind: "user", id: "bob" } }).kind).toBe("refused");
  expect(await rejection(p.keyring.certifyPerson("bob", ana.key.publicKey))).toMatch("it belongs to `ana`");

  await p.keyring.withdraw(id, { kind: "user", id: "ana" }, "lost");
  await p.keyring.withdraw(id, { kind: "user", id: "ana" }, "lost");
  expect(kindsOf(p.records).filter((k) => k === "key.withdrawn")).toHaveLength(1);
  expect(p.keyring.authenticate(wish(ana))).toEqual({ kind: "refused", reason: `key \`${id}\` was withdrawn` });
  expect(await rejection(p.keyring.certifyPerson("ana", ana.key.publicKey))).toBe("it was withdrawn | make a new key");
  expect(await rejection(p.keyring.withdraw(p.keys.root().id, { kind: "user", id: "ana" }, ""))).toMatch("a root key is not withdrawn");
  expect(await rejection(p.keyring.withdraw(keyId("k_0"), { kind: "user", id: "ana" }, ""))).toMatch("it is not certified in this project");
  expect(isGood(p.records, p.keys.root().publicKey)).toBe(true);
});

test("J-16 a person certified by another process is known by the time the wish is read", async () => {
  const disk = memoryDisk();
  const holder = processOn(disk, W1);
  const cli = processOn(disk, W2);
  await holder.keyring.enrol();
  await cli.keyring.enrol();
  const ana = createPerson(home, "ana", ed25519);
  await cli.keyring.certifyPerson("ana", ana.key.publicKey);
  await cli.inbox.put(wish(ana));
  expect(holder.keyring.authenticate(wish(ana)).kind).toBe("refused");
  const [pending] = await withFreshKeys(holder.inbox, holder.keyring).pending(sessionId("s_12345678"));
  expect(pending === undefined ? null : holder.keyring.authenticate(pending.intent)).toEqual({ kind: "genuine" });
});

test("J-15 keys that are looked for several times at once are known once", async () => {
  const disk = memoryDisk();
  const one = processOn(disk);
  await one.keyring.enrol();
  const two = processOn(disk, W2);
  await Promise.all([two.keyring.refresh(), two.keyring.refresh(), two.keyring.refresh()]);
  expect(two.keyring.ring().bad).toEqual([]);
  await one.keyring.certifyPerson("ana", createPerson(home, "ana", ed25519).key.publicKey);
  await Promise.all([two.keyring.refresh(), two.keyring.refresh()]);
  expect(two.keyring.ring()).toMatchObject({ bad: [], through: one.keyring.ring().through });
});

test("J-16 what the runtime signs as its writer is genuine to every process, and only as it was signed", async () => {
  const disk = memoryDisk();
  const [one, two] = [processOn(disk, W1), processOn(disk, W2)];
  await one.keyring.enrol();
  await two.keyring.enrol();
  const { by: _by, key: _key, signature: _signature, ...open } = wish(createPerson(home, "ana", ed25519));
  const intent = one.keyring.signAsWriter(open);
  expect(intent.by).toEqual({ kind: "system", id: W1 });
  expect(two.keyring.authenticate(intent)).toEqual({ kind: "genuine" });
  expect(two.keyring.authenticate({ ...intent, by: { kind: "system", id: W2 } }).kind).toBe("refused");
  expect(two.keyring.authenticate({ ...intent, key: null, signature: null })).toEqual({ kind: "refused", reason: "it is not signed" });
});
