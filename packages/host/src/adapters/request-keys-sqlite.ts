/** Answers that were given under an idempotency key, in a file of their own beside the journal: a day old ones are forgotten. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

export type RequestKeys = Readonly<{
  find(id: string): Readonly<{ digest: string; status: number; body: string }> | null;
  keep(id: string, digest: string, answer: Readonly<{ status: number; body: string }>, now: number): void;
  close(): void;
}>;

const DAY_MS = 86_400_000;
const FORGET_EVERY = 1_000;

export function openRequestKeys(directory: string): RequestKeys {
  mkdirSync(directory, { recursive: true });
  const db = new DatabaseSync(join(directory, "requests.db"), { timeout: 10_000 });
  db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
  db.exec(
    "CREATE TABLE IF NOT EXISTS requests (id TEXT PRIMARY KEY, digest TEXT NOT NULL, status INTEGER NOT NULL, body TEXT NOT NULL, at INTEGER NOT NULL) STRICT, WITHOUT ROWID",
  );
  db.exec("CREATE INDEX IF NOT EXISTS requests_by_age ON requests (at)");
  const find = db.prepare("SELECT digest, status, body FROM requests WHERE id = ?");
  const keep = db.prepare("INSERT OR REPLACE INTO requests VALUES (?, ?, ?, ?, ?)");
  const forget = db.prepare("DELETE FROM requests WHERE at < ?");
  let kept = 0;
  return {
    find(id) {
      const row = find.get(id);
      return row === undefined ? null : { digest: String(row.digest), status: Number(row.status), body: String(row.body) };
    },
    keep(id, digest, { status, body }, now) {
      keep.run(id, digest, status, body, now);
      if (kept % FORGET_EVERY === 0) forget.run(now - DAY_MS);
      kept += 1;
    },
    close: () => db.close(),
  };
}
