import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Hold } from "@orgate/core/journal";
import { type SessionId, type StreamId, seq, sessionId, streamId } from "@orgate/core/vocab";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { noteOf, openTestStore, stamped } from "../fixtures/store.ts";
import { editDatabase } from "../fixtures/tamper.ts";
import type { Store } from "../journal.ts";
import { findWrongPlaces, rebuildPlaces } from "./places.ts";
import { JournalRows } from "./rows.ts";
import { databasePaths } from "./schema.ts";

const SESSIONS = [sessionId("s_places00001"), sessionId("s_places00002"), sessionId("s_places00003")] as const;
const SHARED = streamId("shared");
const STREAMS: readonly StreamId[] = [...SESSIONS, SHARED];

/** An append of one or two entries to a session, of the first two by one process and of the third by another; one to a stream of all; a seal. */
type Step = Readonly<{ kind: "append"; session: number; entries: number } | { kind: "share" | "seal"; by: number }>;
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ kind: fc.constant("append" as const), session: fc.nat(2), entries: fc.integer({ min: 1, max: 2 }) }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("share" as const, "seal" as const), by: fc.nat(1) }) },
  ),
  { minLength: 1, maxLength: 14 },
);

type World = Readonly<{ stores: readonly [Store, Store]; holds: ReadonlyMap<SessionId, Hold>; ends: Map<StreamId, number> }>;

async function perform({ stores, holds, ends }: World, step: Step): Promise<void> {
  const append = async (store: Store, stream: StreamId, hold: Hold | null, entries: number): Promise<void> => {
    const events = stamped(...Array.from({ length: entries }, (_, i) => noteOf(i)));
    await store.journal.append({ stream, after: seq(ends.get(stream) ?? 0), hold, events, consumes: [], unlessHalted: [] });
    ends.set(stream, (ends.get(stream) ?? 0) + entries);
  };
  if (step.kind === "append") {
    const session = SESSIONS[step.session] ?? SESSIONS[0];
    await append(stores[step.session === 2 ? 1 : 0], session, holds.get(session) ?? null, step.entries);
  } else if (step.kind === "share") await append(stores[step.by === 0 ? 0 : 1], SHARED, null, 1);
  else await stores[step.by === 0 ? 0 : 1].seal();
}

/** By a scan of all rows: what no index is needed for. */
const scanned = (directory: string, stream: StreamId): readonly number[] =>
  editDatabase(directory, (db) =>
    db
      .prepare("SELECT a.id FROM appends AS a JOIN streams AS s ON s.no = a.stream WHERE s.stream = ? ORDER BY a.id")
      .all(stream)
      .map(({ id }) => Number(id)),
  );

function expectWhole(directory: string, rows: JournalRows, ends: ReadonlyMap<StreamId, number>): void {
  for (const stream of STREAMS) {
    const all = scanned(directory, stream);
    expect(rows.appendsFrom(stream, seq(1), 1_000).map(({ id }) => id)).toEqual(all);
    expect(rows.appendsBefore(stream, Number.MAX_SAFE_INTEGER, 1_000).map(({ id }) => id)).toEqual(all.toReversed());
    for (let at = 1; at <= (ends.get(stream) ?? 0); at += 1) {
      const [found] = rows.appendsFrom(stream, seq(at), 1);
      expect(found !== undefined && found.first <= at && at < found.first + found.count).toBe(true);
    }
  }
}

async function inStores(work: (directory: string, world: World) => Promise<void>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "orgate-places-"));
  const stores = [
    openTestStore(directory, { powerCut: "lose-last-moments" }),
    openTestStore(directory, { powerCut: "lose-last-moments" }),
  ] as const;
  const holds = new Map<SessionId, Hold>();
  for (const [i, session] of SESSIONS.entries()) holds.set(session, await stores[i === 2 ? 1 : 0].journal.take(session));
  try {
    await work(directory, { stores, holds, ends: new Map() });
  } finally {
    for (const store of stores) await store.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

test("J-32 the index and the rows after it are the whole stream after every append and every seal of two processes, and so is an index that is rebuilt", () =>
  fc.assert(
    fc.asyncProperty(steps, (plan) =>
      inStores(async (directory, world) => {
        const db = new DatabaseSync(databasePaths(directory).database);
        const lasting = new JournalRows(db, databasePaths(directory)); // what it remembers between two looks must stay true
        for (const step of plan) {
          await perform(world, step);
          expectWhole(directory, lasting, world.ends);
          expectWhole(directory, new JournalRows(db, databasePaths(directory)), world.ends);
          expect(findWrongPlaces(db)).toEqual([]);
        }
        db.exec("DROP TABLE places; DROP TABLE indexed");
        rebuildPlaces(db);
        expect(findWrongPlaces(db)).toEqual([]);
        expectWhole(directory, new JournalRows(db, databasePaths(directory)), world.ends);
        db.close();
      }),
    ),
    { numRuns: 12 },
  ));

test("J-32 a row of the index that is gone, is another's or is nobody's is named", () =>
  inStores(async (directory, world) => {
    for (let i = 0; i < 3; i += 1) await perform(world, { kind: "append", session: 0, entries: 1 });
    await perform(world, { kind: "seal", by: 0 });
    const wrongAfter = (sql: string): readonly string[] =>
      editDatabase(directory, (db) => {
        db.exec(`BEGIN; ${sql}`);
        const wrong = findWrongPlaces(db);
        db.exec("ROLLBACK");
        return wrong;
      });
    const named = [`row ${SESSIONS[0]} of table places`];
    expect(wrongAfter("")).toEqual([]);
    expect(wrongAfter("DELETE FROM places WHERE first = 3")).toEqual(named);
    expect(wrongAfter("UPDATE places SET id = 1 WHERE first = 3")).toEqual(named);
    expect(wrongAfter("INSERT INTO places SELECT stream, 4, 99 FROM places WHERE first = 3")).toEqual(named);
  }));
