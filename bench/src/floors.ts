/** What nobody can go below: SQLite itself with the same bytes, and Ed25519 itself. */
import { generateKeyPairSync, sign } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Records } from "@orgate/core/journal";

export type BareTable = Readonly<{
  /** One transaction, one row. */
  insert(text: string): void;
  close(): void;
}>;

export function bareTable(folder: string, synchronous: "full" | "off"): BareTable {
  const db = new DatabaseSync(join(folder, `bare-${synchronous}.db`));
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}; CREATE TABLE bare (id INTEGER PRIMARY KEY, text TEXT NOT NULL)`);
  const insert = db.prepare("INSERT INTO bare (text) VALUES (?)");
  return { insert: (text) => void insert.run(text), close: () => db.close() };
}

/** Signs 64 bytes, as a commit does. */
export function bareSigner(): () => void {
  const { privateKey } = generateKeyPairSync("ed25519");
  const text = Buffer.from("orgate-seal-1\n".padEnd(78, "0"));
  return () => void sign(null, text, privateKey);
}

/** Characters stored for entries and commits, all columns. */
export function storedBytes(records: Records): { readonly entries: number; readonly commits: number; readonly bytes: number } {
  let [entries, commits, bytes] = [0, 0, 0];
  for (const stream of records.streams())
    for (const e of records.entries(stream)) {
      entries += 1;
      bytes += textLength(Object.values(e));
    }
  for (const writer of records.writers())
    for (const c of records.commits(writer)) {
      commits += 1;
      bytes += textLength(Object.values(c));
    }
  return { entries, commits, bytes };
}

const textLength = (values: readonly unknown[]): number => values.reduce<number>((n, v) => n + (v === null ? 0 : String(v).length), 0);
