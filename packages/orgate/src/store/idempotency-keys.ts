/** Answers that were given under an idempotency key, in a file of their own beside the journal: a day old ones are forgotten. */
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

export type RequestKeys = Readonly<{
  /** `status` is null while nothing was answered for good. */
  find(id: string): Readonly<{ digest: string; status: number | null; body: string }> | null;
  /** The request that the key belongs to, from now on or since before. */
  begin(id: string, digest: string, now: number): string;
  keep(id: string, digest: string, answer: Readonly<{ status: number; body: string }>, now: number): void;
  close(): void;
}>;

/**
 * J-8 Removes the stored answers that name a session, for good. Their keys stay, so that the same request is not done a second time. False when a reader
 * was in the way: old pages can still be found in the WAL until it is gone.
 */
export function eraseAnswers(directory: string, session: string): boolean {
  const file = join(directory, "requests.db");
  if (!existsSync(file)) return true;
  const db = new DatabaseSync(file, { timeout: 10_000 });
  try {
    db.exec("PRAGMA secure_delete = ON");
    db.prepare("UPDATE requests SET status = 0, body = '' WHERE instr(body, ?) > 0").run(session);
    return db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()?.busy === 0;
  } finally {
    db.close();
  }
}

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
  const begin = db.prepare("INSERT OR IGNORE INTO requests VALUES (?, ?, 0, '', ?)");
  const forget = db.prepare("DELETE FROM requests WHERE at < ?");
  let kept = 0;
  const found = (id: string) => {
    const row = find.get(id);
    if (row === undefined) return null;
    const status = Number(row.status);
    return { digest: String(row.digest), status: status === 0 ? null : status, body: String(row.body) };
  };
  return {
    find: found,
    begin(id, digest, now) {
      begin.run(id, digest, now);
      return found(id)?.digest ?? digest;
    },
    keep(id, digest, { status, body }, now) {
      keep.run(id, digest, status, body, now);
      if (kept % FORGET_EVERY === 0) forget.run(now - DAY_MS);
      kept += 1;
    },
    close: () => db.close(),
  };
}
