import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { opened } from "@orgate/core/testing";
import { seq, sessionId } from "@orgate/core/vocab";
import { afterEach, expect, test } from "vitest";
import { noteOf, openTestStore, stamped } from "../fixtures/store.ts";
import { editDatabase } from "../fixtures/tamper.ts";
import { UNPROVED } from "./proof/seals.ts";
import { openReader } from "./reader.ts";
import { JournalRows } from "./rows.ts";
import { databasePaths } from "./schema.ts";

const SESSION = sessionId("s_longappends");
let directory = "";
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** A session of so many appends, each of so many entries; returns the name of who wrote it. */
async function fill(appends: number, entries: number): Promise<string> {
  directory = mkdtempSync(join(tmpdir(), "orgate-rows-"));
  const store = openTestStore(directory);
  const hold = await store.journal.take(SESSION);
  const to = { stream: SESSION, hold, consumes: [], unlessHalted: [] };
  for (let i = 0; i < appends; i += 1) {
    const events = Array.from({ length: entries }, (_, n) => (i + n === 0 ? opened("agent") : noteOf(n)));
    await store.journal.append({ ...to, after: seq(i * entries), events: stamped(...events) });
  }
  await store.journal.release(hold);
  await store.close();
  return store.slot.writer;
}

test("a page of a journal of long appends reads the appends that it needs, and no others", async () => {
  await fill(30, 100);
  const found = editDatabase(directory, (db) => {
    const rows = new JournalRows(db, databasePaths(directory));
    return {
      written: rows.written(1, 50).map(({ append }) => append.first),
      across: rows.written(150, 60).map(({ append }) => append.first),
      from: rows.appendsFrom(SESSION, seq(150), 60).map(({ first }) => first),
      one: rows.appendsFrom(SESSION, seq(100), 1).map(({ first }) => first),
      all: [...rows.records.entries(SESSION)].length,
    };
  });
  expect(found).toEqual({ written: [1], across: [101, 201], from: [101, 201], one: [1], all: 3_000 });
});

test("J-31 the unsealed appends of a process that died are found once each, however many they are", async () => {
  const writer = await fill(1_010, 2);
  const firsts = editDatabase(directory, (db) => {
    db.exec("UPDATE writers SET unsealed = 0");
    const reader = openReader(db, databasePaths(directory), { seals: () => UNPROVED, key: null });
    return reader.unsealedBy(writer as Parameters<typeof reader.unsealedBy>[0]).map(({ first }) => first);
  });
  expect(firsts).toEqual(Array.from({ length: 1_010 }, (_, i) => 1 + i * 2));
});
