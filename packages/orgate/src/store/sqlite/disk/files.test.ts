/** The journal's files removed, replaced or emptied under a live process, on a real disk. */
import { copyFileSync, mkdtempSync, renameSync, rmSync, truncateSync, unlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { opened } from "@orgate/core/testing";
import { type Fault, isFault, type SessionId, seq, sessionId } from "@orgate/core/vocab";
import { afterEach, describe, expect, test } from "vitest";
import { noteOf, openTestStore, stamped } from "../../fixtures/store.ts";
import { openReadStore, type SqliteStore } from "../../journal.ts";

const folders: string[] = [];
const stores: SqliteStore[] = [];
function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "orgate-files-"));
  folders.push(made);
  return made;
}
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close().catch(() => {}); // its files are gone: that is what is tested
  for (const made of folders.splice(0)) rmSync(made, { recursive: true, force: true });
});

const S1: SessionId = sessionId("s_replaced0001");
const OTHER: SessionId = sessionId("s_replaced0002");
const faultOf = async (work: Promise<unknown>): Promise<Fault | null> =>
  work.then(
    () => null,
    (error: unknown) => (isFault(error) ? error.fault : Promise.reject(error)),
  );

/** With what must still be there: a copy of a journal has the same entries. */
const DEEDS: Readonly<Record<string, readonly [what: string, how: string, done: (db: string) => void]>> = {
  "its WAL is unlinked": ["journal.db-wal", "removed", (db) => unlinkSync(`${db}-wal`)],
  "its database is unlinked": ["journal.db", "removed", (db) => unlinkSync(db)],
  "its index is unlinked": ["journal.db-shm", "removed", (db) => unlinkSync(`${db}-shm`)],
  "its database is replaced by a copy": [
    "journal.db",
    "replaced",
    (db) => {
      copyFileSync(db, `${db}.copy`);
      renameSync(`${db}.copy`, db);
    },
  ],
  "its WAL is replaced by a copy": [
    "journal.db-wal",
    "replaced",
    (db) => {
      copyFileSync(`${db}-wal`, `${db}-wal.copy`);
      renameSync(`${db}-wal.copy`, `${db}-wal`);
    },
  ],
  "its database is renamed": ["journal.db", "removed", (db) => renameSync(db, `${db}.away`)],
  "its WAL is emptied in place": ["journal.db-wal", "emptied", (db) => truncateSync(`${db}-wal`, 0)],
  "its own lock is unlinked": ["w1.lock", "removed", (db) => unlinkSync(join(db, "..", "writers", "w1.lock"))],
};

describe.each(["main", "worker"] as const)("a store that writes in its %s thread", (thread) => {
  async function begun() {
    const directory = folder();
    const store = openTestStore(directory, { thread });
    stores.push(store);
    const { journal } = store;
    const hold = await journal.take(S1);
    const append = (after: number, ...values: readonly number[]) =>
      journal.append({
        stream: S1,
        after: seq(after),
        hold,
        events: after === 0 ? stamped(opened("echo")) : stamped(...values.map(noteOf)),
        consumes: [],
        unlessHalted: [],
      });
    await append(0);
    return { directory, database: join(directory, "journal.db"), store, journal, hold, append };
  }

  for (const [name, [what, how, done]] of Object.entries(DEEDS))
    test(`J-3 when ${name} the next commit fails everybody who waits and all that come later, and the holds end`, async () => {
      const { database, journal, hold, append, store } = await begun();
      done(database);
      const system = { stream: "notes" as never, after: seq(0), hold: null, events: stamped(noteOf(1)), consumes: [], unlessHalted: [] };
      const both = await Promise.all([faultOf(append(1, 1)), faultOf(journal.append(system))]); // one commit
      for (const fault of both)
        if (how === "emptied" && fault?.kind === "journal-unreadable")
          expect(thread).toBe("worker"); // who reads on another connection finds nothing to read, before anything is written
        else expect(fault).toMatchObject({ kind: "journal-replaced", how, file: expect.stringContaining(what) as string });
      expect(journal.holds(hold)).toBe(false);
      const kind = both[0]?.kind ?? null;
      expect((await faultOf(append(2, 2)))?.kind).toBe(kind);
      expect((await faultOf(journal.take(OTHER)))?.kind).toBe(kind);
      expect((await faultOf(store.checkWritable()))?.kind).toBe(kind);
    });

  test("J-3 a file that was renamed and is back before the next commit is the same file, and nothing stops", async () => {
    const { database, append, journal, hold } = await begun();
    for (const file of [database, `${database}-wal`]) {
      renameSync(file, `${file}.away`);
      renameSync(`${file}.away`, file);
    }
    expect(await append(1, 1)).toBe(2);
    expect(journal.holds(hold)).toBe(true);
  });

  test("J-3 checkpoints, vacuuming and other processes that come and go are no replacement", async () => {
    const { directory, append, store } = await begun();
    await append(1, 1, 2, 3);
    const other = openTestStore(directory);
    await other.journal.keepCounts(["calls:look"], Date.now() as never);
    await other.close();
    await store.erase(S1, seq(2), seq(2)); // rewrites the file and empties the WAL
    expect(await append(4, 4)).toBe(5);
    await openReadStore({ directory }).close();
    expect(await append(5, 5)).toBe(6);
  });
});

test("J-3 what was in a WAL that was unlinked is brought into the database before the store stops", async () => {
  const directory = folder();
  const store = openTestStore(directory);
  stores.push(store);
  const hold = await store.journal.take(S1);
  const append = (after: number, events: Parameters<typeof stamped>) =>
    store.journal.append({ stream: S1, after: seq(after), hold, events: stamped(...events), consumes: [], unlessHalted: [] });
  await append(0, [opened("echo"), noteOf("done before")]);
  unlinkSync(join(directory, "journal.db-wal"));
  expect((await faultOf(append(2, [noteOf("announced, never begun")])))?.kind).toBe("journal-replaced");
  await store.close().catch(() => {});
  const found = openReadStore({ directory });
  expect((await found.journal.read(S1, seq(0), 10)).map(({ event }) => (event.kind === "note" ? event.value : event.kind))).toEqual([
    "session.opened",
    "done before",
    "announced, never begun",
  ]);
  await found.close();
});
