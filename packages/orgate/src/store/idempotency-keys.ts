/** Answers that were given under an idempotency key, in a file of their own beside the journal: a day old ones are forgotten. */
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { FaultError } from "@orgate/core/vocab";
import { assertNotAway, isAway } from "./sqlite/disk/moved.ts";
import type { KeptRequest, RequestKeys } from "./store.ts";

export const REQUESTS_FILE = "requests.db";
const DAY_MS = 86_400_000;
const FORGET_EVERY = 1_000;

/** Opened with the first request: most processes serve none. */
export function openRequestKeys(directory: string): RequestKeys & Readonly<{ close(): void }> {
  let opened: ReturnType<typeof openFile> | null = null;
  let isClosed = false;
  const file = (): ReturnType<typeof openFile> => {
    if (isClosed) throw new FaultError({ kind: "runtime-closed" });
    opened ??= openFile(directory);
    return opened;
  };
  return {
    find: async (id) => file().find(id),
    begin: async (id, digest, now) => file().begin(id, digest, now),
    enter: async (id, digest, now) => file().enter(id, digest, now),
    leave: async (id) => file().leave(id),
    keep: async (id, digest, answer, now) => file().keep(id, digest, answer, now),
    erase: async (session) => eraseAnswers(directory, session),
    close() {
      isClosed = true;
      opened?.close();
    },
  };
}

/** `isMoving`: also where a move has closed it (`postgres/moving`). */
export function openRequestsFile(directory: string, { isMoving = false }: Readonly<{ isMoving?: boolean }> = {}): DatabaseSync {
  mkdirSync(directory, { recursive: true });
  const file = join(directory, REQUESTS_FILE);
  const db = new DatabaseSync(file, { timeout: 10_000 });
  try {
    db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
    if (!isMoving) assertNotAway(db, file);
    else if (isAway(db)) return db;
    db.exec(
      "CREATE TABLE IF NOT EXISTS requests (id TEXT PRIMARY KEY, digest TEXT NOT NULL, status INTEGER NOT NULL, body TEXT NOT NULL, at INTEGER NOT NULL) STRICT, WITHOUT ROWID",
    );
    db.exec("CREATE INDEX IF NOT EXISTS requests_by_age ON requests (at)");
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function openFile(directory: string) {
  const db = openRequestsFile(directory);
  const find = db.prepare("SELECT digest, status, body FROM requests WHERE id = ?");
  const keep = db.prepare(
    `INSERT INTO requests VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET digest = excluded.digest, status = excluded.status, body = excluded.body, at = excluded.at WHERE status = 0`,
  );
  const enter = db.prepare(
    `INSERT INTO requests VALUES (?, ?, 0, '1', ?) ON CONFLICT (id) DO UPDATE SET body = CAST(CAST(body AS INTEGER) + 1 AS TEXT)
     WHERE status = 0 AND digest = excluded.digest`,
  );
  const leave = db.prepare("UPDATE requests SET body = CAST(max(0, CAST(body AS INTEGER) - 1) AS TEXT) WHERE id = ? AND status = 0");
  const begin = db.prepare("INSERT OR IGNORE INTO requests VALUES (?, ?, 0, '', ?)");
  const forget = db.prepare("DELETE FROM requests WHERE at < ?");
  let kept = 0;
  const found = (id: string): KeptRequest | null => {
    const row = find.get(id);
    if (row === undefined) return null;
    const status = Number(row.status);
    return { digest: String(row.digest), status: status === 0 ? null : status, body: String(row.body) };
  };
  return {
    find: found,
    begin(id: string, digest: string, now: number): string {
      begin.run(id, digest, now);
      return found(id)?.digest ?? digest;
    },
    enter(id: string, digest: string, now: number): Readonly<{ digest: string; others: boolean }> {
      enter.run(id, digest, now);
      const row = found(id);
      return { digest: row?.digest ?? digest, others: row !== null && (row.status !== null || Number(row.body) > 1) };
    },
    leave(id: string): boolean {
      leave.run(id);
      const row = found(id);
      return row !== null && (row.status !== null || Number(row.body) > 0);
    },
    keep(id: string, digest: string, { status, body }: Readonly<{ status: number; body: string }>, now: number): boolean {
      const { changes } = keep.run(id, digest, status, body, now);
      if (kept % FORGET_EVERY === 0) forget.run(now - DAY_MS);
      kept += 1;
      return Number(changes) > 0;
    },
    close: () => db.close(),
  };
}

function eraseAnswers(directory: string, session: string): boolean {
  const file = join(directory, REQUESTS_FILE);
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
