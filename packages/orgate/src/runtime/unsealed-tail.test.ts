/** What was appended and not sealed yet, in real processes that are killed, and in the hands of somebody who writes the database. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isFault, type JournalEvent, type SessionId, seq, sessionId, type WriterId, writerId } from "@orgate/core";
import { entryHash, parseMarks } from "@orgate/core/journal";
import { opened } from "@orgate/core/testing";
import { afterEach, expect, test } from "vitest";
import { sha256 } from "../node/crypto.ts";
import { noteOf, stamped } from "../store/fixtures/store.ts";
import { isSlotHeld } from "../store/process-lock.ts";
import { type Verified, verifyInWorker } from "../store/threads/verify-worker.ts";
import { databaseIn, FORGED_SEALS, forge } from "./fixtures/forging.ts";
import { type OpenProjectStore, openProjectStore } from "./ports/project-store.ts";

const folders: string[] = [];
const places: OpenProjectStore[] = [];
const children: ChildProcess[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  for (const place of places.splice(0)) await place.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});
function newDirectory(): string {
  const folder = mkdtempSync(join(tmpdir(), "orgate-unsealed-"));
  folders.push(folder);
  return join(folder, ".orgate");
}
async function open(directory: string): Promise<OpenProjectStore> {
  const place = await openProjectStore({ directory, thread: "main", powerCut: "lose-last-moments" });
  places.push(place);
  return place;
}
async function close(place: OpenProjectStore): Promise<void> {
  places.splice(places.indexOf(place), 1);
  await place.close();
}
const verify = (directory: string): Promise<Verified> =>
  verifyInWorker({ snapshot: directory, keys: join(directory, "keys") }, () => {}, new AbortController().signal);

function start(fixture: string, ...args: string[]): ChildProcess & Readonly<{ said: Promise<string> }> {
  const child = spawn(process.execPath, [join(import.meta.dirname, "fixtures", fixture), ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  const said = new Promise<string>((done) => child.stdout.setEncoding("utf8").once("data", done));
  return Object.assign(child, { said });
}

const S = sessionId("s_unsealed01");
const valuesIn = async (place: OpenProjectStore, session: SessionId): Promise<unknown[]> =>
  (await place.store.journal.read(session, seq(0), 100_000)).flatMap(({ event }) => (event.kind === "note" ? [event.value] : []));
const recordsOf = async (place: OpenProjectStore) => (await place.store.snapshot()).records;
async function assertChained(place: OpenProjectStore, session: SessionId): Promise<void> {
  let previous = "0".repeat(64);
  for (const e of (await recordsOf(place)).entries(session)) {
    expect([e.previous, e.entryHash]).toEqual([previous, entryHash(e, sha256)]);
    previous = e.entryHash;
  }
}
const sealsOf = async (place: OpenProjectStore, writer: WriterId) => [...(await recordsOf(place)).seals(writer)];

test.each(["main", "worker"] as const)(
  "J-31 appends of a process that was killed before it sealed them are sealed by the next one under its name, which says so; none is lost (%s)",
  async (thread) => {
    const directory = newDirectory();
    const child = start("dying.ts", directory, S, thread);
    const { writer, written } = JSON.parse(await child.said) as { writer: WriterId; written: number };
    child.kill("SIGKILL");
    await once(child, "exit");
    const before = await verify(directory); // nobody has sealed it yet: counted, and not bad
    expect([before.ok, before.problems]).toEqual([true, []]);
    expect(before.unsealed).toBeGreaterThanOrEqual(6);

    const next = await open(directory);
    expect(next.store.slot).toMatchObject({ writer, incarnation: 2 });
    await next.store.seal();
    const expected = Array.from({ length: written - 1 }, (_, i) => i + 2);
    expect(await valuesIn(next, S)).toEqual(expected);
    await assertChained(next, S);
    const recovered = (await sealsOf(next, writer)).filter((seal) => seal.recovered);
    expect(recovered.map(({ wrote }) => parseMarks(wrote))).toEqual([
      [{ stream: S, seq: written, hash: [...(await recordsOf(next)).entries(S)].at(-1)?.entryHash }],
    ]);
    expect((await next.store.stored(S, seq(written)))?.seal).toEqual(recovered[0]);
    expect([await next.store.alarms.standing(), (await next.store.snapshot()).wrongRows(Date.now())]).toEqual([[], []]);

    const hold = await next.store.journal.take(S); // and the session goes on behind it
    const to = { stream: S, after: seq(written), hold, consumes: [], unlessHalted: [] };
    expect(await next.store.journal.append({ ...to, events: stamped(noteOf("goes on")) })).toBe(written + 1);
    await close(next);
    const after = await verify(directory);
    expect([after.ok, after.problems, after.unsealed]).toEqual([true, [], 0]);
  },
  60_000,
);

test("J-4 J-31 three processes race for one session, and one is killed while it holds it: nothing is doubled or lost, and the chain is whole", async () => {
  const directory = newDirectory();
  await close(await open(directory)); // keys are made once
  const rivals = ["a", "b", "c"].map((me) => start("rival.ts", directory, S, me, "15", me === "b" ? "8" : ""));
  await Promise.all(rivals.map((rival) => once(rival, "exit")));
  expect(rivals.map((rival) => [rival.exitCode, rival.signalCode])).toEqual([
    [0, null],
    [null, "SIGKILL"],
    [0, null],
  ]);
  const first = await open(directory);
  const others = [await open(directory), await open(directory)]; // one of the three has the name of the one that died
  for (const place of [first, ...others]) await place.store.seal();
  const values = await valuesIn(first, S);
  for (const [me, count] of [
    ["a", 15],
    ["b", 8],
    ["c", 15],
  ] as const)
    expect(values.filter((v) => String(v).startsWith(`${me}:`))).toEqual(Array.from({ length: count }, (_, i) => `${me}:${i + 1}`));
  expect(values).toHaveLength(38);
  await assertChained(first, S);
  expect([await first.store.alarms.standing(), (await first.store.snapshot()).wrongRows(Date.now())]).toEqual([[], []]);
  for (const place of [first, ...others]) await close(place);
  const verified = await verify(directory);
  expect([verified.ok, verified.problems, verified.unsealed]).toEqual([true, [], 0]);
}, 120_000);

/** A session that goes on, and its last entry. */
async function withSession(directory: string): Promise<void> {
  const place = await open(directory);
  const hold = await place.store.journal.take(S);
  const to = { stream: S, hold, consumes: [], unlessHalted: [] };
  await place.store.journal.append({ ...to, after: seq(0), events: stamped(opened("echo")) });
  await place.store.journal.append({ ...to, after: seq(1), events: stamped(noteOf("genuine")) });
  await close(place);
}
const faultOf = (work: Promise<unknown>): Promise<string | null> =>
  work.then(
    () => null,
    (error: unknown) => (isFault(error) ? error.fault.kind : String(error)),
  );
const FORGED: JournalEvent = noteOf("forged");

test.each(FORGED_SEALS.filter((how) => how !== "keyed"))(
  "J-31 an entry that may wait for its seal counts only with the project's keyed hash, and nobody signs for it: forged as %s",
  async (how) => {
    const directory = newDirectory();
    await withSession(directory);
    const alive = await open(directory);
    forge(directory, S, FORGED, how);
    expect(await faultOf(alive.store.journal.read(S, seq(0), 100))).toBe("entry-bad");
    expect(await alive.store.alarms.standing()).toMatchObject([{ what: expect.stringContaining(`of stream \`${S}\``) }]);
    await close(alive);
    rmSync(join(directory, "alarms.jsonl"));

    const next = await openProjectStore({ directory, thread: "main", powerCut: "lose-last-moments" }).catch(refusedOpening);
    if (next !== null) {
      await next.store.seal().catch(() => {});
      expect(await faultOf(next.store.journal.read(S, seq(0), 100))).toBe("entry-bad");
      await next.close();
      const db = databaseIn(directory);
      expect(db.prepare("SELECT number FROM seals WHERE recovered = 1").all()).toEqual([]);
      db.close();
    }
    expect(existsSync(join(directory, "alarms.jsonl"))).toBe(true);
    expect(isSlotHeld(join(directory, "writers"), writerId("w1"))).toBe(false); // whoever cannot seal lets go of its name all the same
    expect((await verify(directory)).ok).toBe(false);
  },
  60_000,
);
test("J-31 once a forged tail is acknowledged as it is, its writer goes on: it is signed for by nobody, and refused wherever it is read", async () => {
  const directory = newDirectory();
  await withSession(directory);
  forge(directory, S, FORGED, "recoverable");
  const place = await open(directory);
  const other = sessionId("s_unsealed02");
  expect(await faultOf(place.store.seal())).toBe("entry-bad");
  expect(await faultOf(place.store.journal.take(other))).toBe("journal-doubted");
  await place.store.alarms.acknowledge({ by: "ana", reason: "known", isVerified: false });
  const hold = await place.store.journal.take(other);
  const to = { stream: other, hold, consumes: [], unlessHalted: [] };
  await place.store.journal.append({ ...to, after: seq(0), events: stamped(opened("echo")) });
  expect(await faultOf(place.store.journal.read(S, seq(0), 100))).toBe("entry-bad");
  const signed = (await sealsOf(place, place.store.slot.writer)).flatMap(({ wrote }) => parseMarks(wrote) ?? []);
  expect(Math.max(...signed.filter((mark) => mark.stream === S).map((mark) => mark.seq))).toBe(2);
  expect(signed.some((mark) => mark.stream === other)).toBe(true);
});

function refusedOpening(error: unknown): null {
  expect(isFault(error, "seal-bad") || isFault(error, "entry-bad")).toBe(true);
  return null;
}

test("J-31 whoever has stolen the project's key for keyed hashes can add to an unsealed tail, and no authority: it is read, and counted as unsealed", async () => {
  const directory = newDirectory();
  await withSession(directory);
  const reader = await open(directory);
  forge(directory, S, FORGED, "keyed");
  expect(await valuesIn(reader, S)).toEqual(["genuine", "forged"]);
  expect((await verify(directory)).unsealed).toBe(1);
  forge(directory, S, { kind: "labels.removed", labels: [], by: { kind: "user", id: "ana" }, why: "x", intent: "i_1" as never }, "keyed");
  expect(await faultOf(reader.store.journal.read(S, seq(0), 100))).toBe("entry-bad");
  expect(readFileSync(join(directory, "alarms.jsonl"), "utf8")).toContain("such an entry is sealed as it is written");
});

const NEWEST = "(writer, number) IN (SELECT writer, max(number) FROM seals GROUP BY writer)";
const SEAL_CHANGES: Readonly<Record<string, string>> = {
  "said to be recovered": `UPDATE seals SET recovered = 1 - recovered WHERE ${NEWEST}`,
  "naming nothing": `UPDATE seals SET wrote = '' WHERE ${NEWEST}`,
  "at another time": `UPDATE seals SET at = at + 1 WHERE ${NEWEST}`,
  "having seen nothing": "UPDATE seals SET seen = '' WHERE seen <> ''",
  "of another writer": `UPDATE seals SET writer = 'w7' WHERE ${NEWEST}`,
  "with another signature": `UPDATE seals SET signature = (SELECT signature FROM seals ORDER BY number LIMIT 1) WHERE ${NEWEST}`,
  "one in between removed": "DELETE FROM seals WHERE number = 2",
};
test.each(Object.keys(SEAL_CHANGES))(
  "J-18 J-22 a seal that was changed is missed by whoever opens the journal, and by verify: %s",
  async (how) => {
    const directory = newDirectory();
    await withSession(directory);
    const db = databaseIn(directory);
    expect(Number(db.prepare(SEAL_CHANGES[how] ?? "").run().changes)).toBeGreaterThan(0);
    db.close();
    const verified = await verify(directory);
    expect([verified.ok, verified.problems.length > 0]).toEqual([false, true]);
    expect(await faultOf(open(directory))).toMatch(/^(seal-bad|entry-bad)$/);
    expect(existsSync(join(directory, "alarms.jsonl"))).toBe(true);
  },
);

test("J-31 the newest seal removed: what gives authority counts no more; what may wait for a seal is still the project's own, and verify says that its mark is gone", async () => {
  const directory = newDirectory();
  await withSession(directory);
  const db = databaseIn(directory);
  db.exec(`DELETE FROM seals WHERE ${NEWEST}`); // over the note
  const first = await verify(directory);
  expect([first.ok, first.unsealed, first.problems]).toEqual([false, 1, [expect.stringContaining("row w1 of table writers")]]);
  const reader = await open(directory);
  expect(await valuesIn(reader, S)).toEqual(["genuine"]);
  await close(reader);
  db.exec(`DELETE FROM seals WHERE ${NEWEST}`); // over the opening of the session
  db.close();
  const second = await verify(directory);
  expect([second.ok, second.problems]).toEqual([false, [expect.stringMatching(/^entry 1 of .*no seal covers it/)]]);
  const next = await open(directory);
  await next.store.seal();
  const refused = await next.store.journal.read(S, seq(0), 1).catch((error: unknown) => error);
  expect(isFault(refused, "entry-bad") && refused.message).toContain("such an entry is sealed as it is written");
});
