import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { Hold } from "@orgate/core/journal";
import { opened } from "@orgate/core/testing";
import { type SessionId, seq, sessionId, streamId } from "@orgate/core/vocab";
import fc from "fast-check";
import { afterEach, expect, test } from "vitest";
import { noteOf, openTestStore, stamped } from "./fixtures/store.ts";
import { editDatabase } from "./fixtures/tamper.ts";
import { openReadStore, type SqliteReadStore, type SqliteStore } from "./journal.ts";

const folders: string[] = [];
const stores: (SqliteStore | SqliteReadStore)[] = [];
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
  for (const made of folders.splice(0)) rmSync(made, { recursive: true, force: true });
});
function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "orgate-index-"));
  folders.push(made);
  return made;
}
function kept<S extends SqliteStore | SqliteReadStore>(store: S): S {
  stores.push(store);
  return store;
}

/** Every stream as the rows of `appends` have it, without any index: the lines of their bodies. */
function scanAll(db: DatabaseSync): Map<string, string[]> {
  const all = new Map<string, string[]>();
  const rows = db.prepare("SELECT s.stream, a.body FROM appends AS a JOIN streams AS s ON s.no = a.stream ORDER BY a.id").all();
  for (const { stream, body } of rows)
    all.set(String(stream), [...(all.get(String(stream)) ?? []), ...String(body).split("\n").slice(0, -1)]);
  return all;
}
function readAll({ records }: SqliteReadStore | SqliteStore): Map<string, string[]> {
  const lines = [...records.streams()].map((stream): [string, string[]] => [
    stream,
    [...records.entries(stream)].map((e) => `${e.kind} ${e.at} ${e.payloadHash} ${e.salt} ${e.payload}`),
  ]);
  return new Map(lines);
}
const byName = (all: Map<string, string[]>): [string, string[]][] => [...all].sort(([a], [b]) => (a < b ? -1 : 1));

const SHARED = streamId("shared");
const NAMES = ["s_places0001", "s_places0002"].map(sessionId);

type Step = Readonly<
  | { kind: "append"; by: 0 | 1; entries: number; wait: boolean }
  | { kind: "share"; by: 0 | 1; wait: boolean }
  | { kind: "seal"; by: 0 | 1; wait: boolean }
  | { kind: "swap" }
>;
const wait = fc.boolean();
const by = fc.constantFrom<0 | 1>(0, 1);
const STEPS: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant("append"), by, entries: fc.integer({ min: 1, max: 4 }), wait } as const) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("share"), by, wait } as const) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("seal"), by, wait } as const) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("swap") } as const) },
  ),
  { minLength: 10, maxLength: 40 },
);

/** Two stores on one file, each with a session, and what they are asked to do next. */
async function openPair(directory: string) {
  const pair = [
    kept(openTestStore(directory, { powerCut: "lose-last-moments" })),
    kept(openTestStore(directory, { powerCut: "lose-last-moments" })),
  ] as const;
  const ends = new Map<SessionId, number>();
  const append = (by: 0 | 1, hold: Hold, ...events: Parameters<typeof stamped>): Promise<unknown> => {
    const after = ends.get(hold.session) ?? 0;
    ends.set(hold.session, after + events.length);
    return pair[by].journal.append({
      stream: hold.session,
      after: seq(after),
      hold,
      events: stamped(...events),
      consumes: [],
      unlessHalted: [],
    });
  };
  const holds: Hold[] = [];
  for (const [i, name] of NAMES.entries()) holds.push(await pair[i as 0 | 1].journal.take(name));
  for (const i of [0, 1] as const) await append(i, holds[i] as Hold, opened("echo"));
  let shared = 0;
  const running: Promise<unknown>[] = [];
  const settle = async (): Promise<void> => void (await Promise.all(running.splice(0)));
  async function take(step: Step): Promise<void> {
    if (step.kind === "swap") {
      await settle();
      for (const i of [0, 1] as const) await pair[i].journal.release(holds[i] as Hold);
      const [one, two] = [holds[1] as Hold, holds[0] as Hold];
      for (const [i, { session }] of [one, two].entries()) holds[i] = await pair[i as 0 | 1].journal.take(session);
      return;
    }
    if (step.kind === "share") {
      await settle(); // two that share a stream would only be told of a conflict
      const to = { stream: SHARED, after: seq(shared), hold: null, consumes: [], unlessHalted: [] };
      running.push(pair[step.by].journal.append({ ...to, events: stamped(noteOf(shared)) }));
      shared += 1;
    } else if (step.kind === "seal") running.push(pair[step.by].seal());
    else running.push(append(step.by, holds[step.by] as Hold, ...Array.from({ length: step.entries }, (_, i) => noteOf(i))));
    if (step.wait) await settle();
  }
  return { pair, take, settle };
}

test("J-32 the index and the rows after it are the whole journal, at every moment and for every reader, whoever writes and whenever it is sealed", async () => {
  let [looks, unindexed] = [0, 0];
  await fc.assert(
    fc.asyncProperty(STEPS, async (steps) => {
      const directory = folder();
      const { pair, take, settle } = await openPair(directory);
      const reader = kept(openReadStore({ directory }));
      // Everything here runs in one thread: between two turns of the event loop nothing is written.
      const look = (): void => {
        const [scan, behind] = editDatabase(directory, (db) => [
          byName(scanAll(db)),
          Number(db.prepare("SELECT count(*) AS n FROM appends WHERE id > (SELECT id FROM indexed)").get()?.n),
        ]);
        for (const one of [...pair, reader]) expect(byName(readAll(one))).toEqual(scan);
        looks += 1;
        if (behind > 0) unindexed += 1;
      };
      for (const step of steps) {
        await take(step);
        look();
        await new Promise((turn) => setImmediate(turn));
        look();
      }
      await settle();
      look();
      for (const store of stores.splice(0).reverse()) await store.close();
      const last = kept(openReadStore({ directory }));
      editDatabase(directory, (db) => expect(byName(readAll(last))).toEqual(byName(scanAll(db))));
      expect(last.wrongRows(Date.now())).toEqual([]);
    }),
    { numRuns: 25 },
  );
  expect(unindexed).toBeGreaterThan(looks / 10); // the tail was there to be read
}, 120_000);

/** A session of a few appends, all sealed, and one entry of a stream that all share. */
async function filled(directory: string): Promise<SessionId> {
  const { take, settle, pair } = await openPair(directory);
  for (let i = 0; i < 5; i += 1) {
    await take({ kind: "append", by: 0, entries: 2, wait: true });
    await take({ kind: "append", by: 1, entries: 1, wait: true });
    await take({ kind: "seal", by: 0, wait: true });
  }
  await take({ kind: "share", by: 1, wait: true });
  await settle();
  for (const store of pair) await store.close();
  stores.splice(0);
  return NAMES[0] as SessionId;
}
const OWN = "stream = (SELECT no FROM streams WHERE stream = 's_places0001')";
const CHANGES: Readonly<Record<string, string>> = {
  "one place removed": `DELETE FROM places WHERE ${OWN} AND first = 4`,
  "the last place removed": `DELETE FROM places WHERE ${OWN} AND first = (SELECT max(first) FROM places WHERE ${OWN})`,
  "all its places removed": `DELETE FROM places WHERE ${OWN}`,
  "a place that leads to another append of the stream": `UPDATE places SET id = (SELECT min(id) FROM places WHERE ${OWN}) WHERE ${OWN} AND first = 4`,
  "a place that leads to another stream's append": `UPDATE places SET id = (SELECT max(id) FROM places WHERE NOT ${OWN}) WHERE ${OWN} AND first = 4`,
  "a place that leads nowhere": `UPDATE places SET id = 99999 WHERE ${OWN} AND first = 4`,
  "a place of another entry": `UPDATE places SET first = 3 WHERE ${OWN} AND first = 4`,
  "a place added": `INSERT INTO places SELECT stream, 3, id FROM places WHERE ${OWN} AND first = 4`,
  "all places swapped": "DELETE FROM places; INSERT INTO places SELECT stream, first, (SELECT max(id) FROM appends) - id + 1 FROM appends",
  "said to be indexed further": "UPDATE indexed SET id = 99999",
  "said to be indexed less": "UPDATE indexed SET id = 3",
  "said not to be indexed": "UPDATE indexed SET id = 0",
  "an append moved to another stream": `UPDATE appends SET stream = (SELECT no FROM streams WHERE stream = 'shared') WHERE ${OWN} AND first = 4`,
};

test.each(Object.keys(CHANGES))(
  "J-23 J-32 an index that was changed shows nobody another journal: what was written is read, or an alarm is raised; and verify names it: %s",
  async (how) => {
    const directory = folder();
    const session = await filled(directory);
    const before = editDatabase(directory, (db) => {
      const lines = scanAll(db).get(session);
      db.exec(CHANGES[how] ?? "");
      return lines;
    });
    const look = kept(openReadStore({ directory }));
    if (how !== "said to be indexed further") expect(look.wrongRows(Date.now())).not.toEqual([]);
    const outcome = await Promise.resolve()
      .then(() => {
        const store = kept(openTestStore(directory));
        return store.journal.read(session, seq(0), 1_000).then((entries) => ({ entries, store }));
      })
      .catch((error: unknown) => String(error));
    if (typeof outcome === "string") {
      expect(outcome).toMatch(/is bad|read-only/);
      expect((await look.alarms.standing()).length).toBeGreaterThan(0);
      return;
    }
    expect(outcome.entries.map(({ seq: at }) => at)).toEqual(before?.map((_, i) => i + 1));
    expect(readAll(outcome.store).get(session)).toEqual(before);
  },
);

test.each(["places", "indexed"])("J-32 a dropped table `%s` is made again from the rows, and is an alarm", async (table) => {
  const directory = folder();
  const session = await filled(directory);
  const before = editDatabase(directory, (db) => {
    db.exec(`DROP TABLE ${table}`);
    return scanAll(db).get(session);
  });
  const store = kept(openTestStore(directory));
  expect(readAll(store).get(session)).toEqual(before);
  expect((await store.journal.read(session, seq(0), 1_000)).length).toBe(before?.length);
  expect(await store.alarms.standing()).toMatchObject([{ what: `table \`${table}\``, detail: "it is gone: somebody dropped it" }]);
  expect((await store.snapshot()).wrongRows(Date.now())).toEqual([]);
});
