import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, expect, test } from "vitest";
import { makeWalRoom } from "./wal-room.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function openFile(): Readonly<{ file: string; open(): DatabaseSync }> {
  const folder = mkdtempSync(join(tmpdir(), "orgate-wal-"));
  folders.push(folder);
  const file = join(folder, "a.db");
  return {
    file,
    open() {
      const db = new DatabaseSync(file, { timeout: 5_000 });
      db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE IF NOT EXISTS t (n INTEGER PRIMARY KEY, x TEXT)");
      return db;
    },
  };
}
const walSize = (file: string): number => statSync(`${file}-wal`).size;
const numbers = (db: DatabaseSync): unknown[] =>
  db
    .prepare("SELECT n FROM t ORDER BY n")
    .all()
    .map((row) => row.n);

function fill(db: DatabaseSync, file: string): void {
  db.exec("BEGIN IMMEDIATE");
  makeWalRoom(file);
  db.exec("COMMIT");
}

test("room in the WAL is made once, and everybody reads and writes on as before, whoever opened it when", () => {
  const { file, open } = openFile();
  const [a, b] = [open(), open()];
  a.exec("INSERT INTO t VALUES (1, 'before')");
  fill(a, file);
  const size = walSize(file);
  expect(size).toBeGreaterThan(4_000_000);
  b.exec("INSERT INTO t VALUES (2, 'by another, after it')");
  const c = open(); // one that has to find the end of the WAL itself
  expect(numbers(c)).toEqual([1, 2]);
  fill(b, file);
  expect(walSize(file)).toBe(size);
  for (let n = 3; n <= 40; n += 1) (n % 2 === 0 ? a : c).prepare("INSERT INTO t VALUES (?, ?)").run(n, "x".repeat(3_000));
  expect(numbers(b)).toEqual(Array.from({ length: 40 }, (_, i) => i + 1));
  for (const db of [a, b, c]) db.close();
  const again = open();
  expect(numbers(again)).toHaveLength(40);
  expect(again.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
  again.close();
});

test("room is kept over a checkpoint, an emptied WAL is left alone", () => {
  const { file, open } = openFile();
  const db = open();
  db.exec("INSERT INTO t VALUES (1, 'x')");
  fill(db, file);
  db.exec("PRAGMA wal_checkpoint(RESTART)");
  db.exec("INSERT INTO t VALUES (2, 'over the old frames')");
  const other = open();
  expect(numbers(other)).toEqual([1, 2]);
  other.close();
  db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  fill(db, file);
  expect(walSize(file)).toBe(0);
  db.exec("INSERT INTO t VALUES (3, 'x')");
  expect(numbers(db)).toEqual([1, 2, 3]);
  db.close();
});
