import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { writerId } from "@orgate/core/vocab";
import { expect, test } from "vitest";
import { databasePaths, openDatabase } from "./schema.ts";
import { openWriter } from "./writer.ts";

const flushes = (db: DatabaseSync): unknown => db.prepare("PRAGMA synchronous").get()?.synchronous;

test("J-33 a transaction that may wait does not wait for the disk, and the next that may not flushes it", () => {
  const directory = mkdtempSync(join(tmpdir(), "orgate-power-"));
  const places = databasePaths(directory);
  const db = openDatabase(places, { create: true, synchronous: "full", maxPages: null });
  const start = { writer: writerId("w1"), number: 0, hash: "0".repeat(64), sum: 0n };
  const writer = openWriter(db, places, { key: "key of the test", start });
  const batch = { appends: [], number: 1, seal: null, lists: [], owner: { writer: writerId("w1"), incarnation: 1, pid: 1 } };
  const [normal, full] = [1, 2];
  expect(flushes(db)).toBe(full);
  writer.commit({ ...batch, flush: false, known: [] });
  expect(flushes(db)).toBe(normal);
  writer.commit({ ...batch, flush: true, known: [] });
  expect(flushes(db)).toBe(full);
  writer.close();
  rmSync(directory, { recursive: true, force: true });
});
