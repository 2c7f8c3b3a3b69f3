// @module-tag postgres
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { callDecided, lost, opened, started } from "@orgate/core/testing";
import { millis, seq, sessionId, streamId, TRUSTED_VALUES } from "@orgate/core/vocab";
import { afterEach, expect, test } from "vitest";
import { noteOf, openTestStore, stamped } from "../../fixtures/store.ts";
import { databasePaths, openDatabase } from "../../sqlite/schema.ts";
import { createSchema } from "../fixtures/schemas.ts";
import { migrate } from "../schema/migrations.ts";
import { compareWithFile, copyFromFile } from "./from-file.ts";
import { copyToFile } from "./snapshot.ts";

const S = sessionId("s_migrate0001");
const NOTES = streamId("notes");
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});
function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "orgate-migrate-"));
  ends.push(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

test("J-37 a journal moves from a file to PostgreSQL and back, every hash compared, and goes on where it was", async () => {
  const [directory, place] = [folder(), await createSchema()];
  ends.push(place.drop);
  const file = openTestStore(directory);
  const hold = await file.journal.take(S);
  const base = { stream: S, hold, consumes: [], unlessHalted: [] };
  const events = [opened("echo"), callDecided("1.0"), started("1.0"), lost("1.0")].map((event) => ({ at: millis(1), event }));
  await file.journal.append({ ...base, after: seq(0), events });
  await file.journal.append({ ...base, after: seq(4), events: stamped(noteOf("x".repeat(400_000)), noteOf("\0")) });
  const by = { kind: "user", id: "ann" } as const;
  const known = { kind: "known.added", set: "paths", value: "a/b", by, why: "" } as const;
  await file.journal.append({ ...base, stream: TRUSTED_VALUES, hold: null, after: seq(0), events: [{ at: millis(1), event: known }] });
  await file.journal.release(hold);
  await file.close();

  await migrate(place.link);
  const places = databasePaths(directory);
  const db = openDatabase(places, { create: false, synchronous: "full", maxPages: null });
  const compare = () => compareWithFile(place.link, { db, places }, () => {});
  await expect(compare()).rejects.toThrow("rows of table streams are not the same");
  await copyFromFile(place.link, { db, places }, () => {});
  await compare();
  for (const spoil of [
    "DELETE FROM @.appends WHERE id > 2",
    "UPDATE @.seals SET signature = 'x'",
    "UPDATE @.blobs SET text = text || ' '",
  ]) {
    await place.link.query(spoil.replace("@", `"${place.schema}"`));
    await expect(compare(), spoil).rejects.toThrow("are not the same");
    await copyFromFile(place.link, { db, places }, () => {}); // interrupted, and begun again
    await compare();
  }
  db.close();
  const store = await place.open();
  expect((await store.journal.read(S, seq(0), 10)).length).toBe(6);
  expect(store.journal.isKnown("paths", ["a/b"], true)).toBe(true);
  expect((await store.unknowns({ after: null, most: 9 })).map((u) => u.call)).toEqual(["1.0"]);
  const again = await store.journal.take(S);
  expect(again.epoch).toBe(2);
  await store.journal.append({ ...base, hold: again, after: seq(6), events: stamped(noteOf("goes on")) });
  await store.close();

  const back = folder();
  await copyToFile(place.link, back, "blob key of the test project");
  const returned = openTestStore(back);
  ends.push(returned.close);
  expect((await returned.journal.read(S, seq(0), 10)).length).toBe(7);
  expect(returned.wrongRows(2)).toEqual([]);
  await returned.journal.append({ ...base, stream: NOTES, hold: null, after: seq(0), events: stamped(noteOf("at home")) });
});
