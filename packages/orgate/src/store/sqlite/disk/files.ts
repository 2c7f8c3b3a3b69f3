/**
 * Whether the files that a connection writes to are still the ones at their place. SQLite goes on writing to a file that was removed or replaced under
 * it, and nobody will ever read what it writes there.
 *
 * J-3 at every commit, before it is reported: when a file of the journal is gone or was replaced, the commit counts as failed, and nothing more runs.
 *
 * Files are checked by name only. POSIX drops a process's locks on a file as soon as any descriptor of it is closed, and SQLite holds such locks on
 * `journal.db` and `journal.db-shm`. Nothing is ever locked on the WAL: that one is opened.
 */
import { closeSync, existsSync, openSync, readSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { FaultError } from "@orgate/core/vocab";

export type FileGuard = Readonly<{
  /** Throws `journal-replaced`, naming the file. */
  check(): void;
  /** True when the WAL is gone, nothing stands in its place, and the other files are as they were. */
  isWalGone(): boolean;
  close(): void;
}>;

const CLOCK_STEP_MS = 100;

/** Of a connection that is open: its WAL is there by then. */
export function guardDatabase(database: string): FileGuard {
  const wal = `${database}-wal`;
  const others = guardFiles([database, `${database}-shm`]);
  const own = guardFiles([wal]);
  const folder = dirname(database);
  let settled = -1; // when the folder last changed, as of the last look at each file
  let open: number | null = existsSync(wal) ? openSync(wal, "r") : null;
  const header = new Uint8Array(4);
  return {
    check() {
      // nothing in a folder is removed, added or renamed without its time changing: one look instead of three
      const changed = statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0;
      if (changed !== settled || open === null) {
        others.check();
        own.check();
        settled = Date.now() - changed > CLOCK_STEP_MS ? changed : -1; // two changes within one step of the file system's clock look like one
      }
      open ??= openSync(wal, "r"); // a connection that has only read may have none yet
      // Empty, right after a checkpoint that truncates, or with its own first bytes: a WAL that was emptied in place has zeros there.
      if (open !== null && readSync(open, header, 0, 4, 0) > 0 && (header[0] !== 0x37 || header[1] !== 0x7f))
        throw replaced(wal, "emptied");
    },
    isWalGone: () => identityOf(wal) === null && others.isIntact(),
    close() {
      if (open !== null) closeSync(open);
      open = null;
    },
  };
}

/** Files that are there now. */
export function guardFiles(files: readonly string[]): Readonly<{ check(): void; isIntact(): boolean }> {
  const known = new Map<string, string>();
  /** A file that does not exist yet is known from when it does. */
  function isAsKnown(file: string): boolean {
    const now = identityOf(file);
    if (now !== null && !known.has(file)) known.set(file, now);
    return now !== null && known.get(file) === now;
  }
  for (const file of files) isAsKnown(file);
  const wrong = (): string | undefined => files.find((file) => !isAsKnown(file));
  return {
    check() {
      const file = wrong();
      if (file !== undefined) throw replaced(file, identityOf(file) === null ? "removed" : "replaced");
    },
    isIntact: () => wrong() === undefined,
  };
}

function identityOf(file: string): string | null {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? null : `${found.dev}:${found.ino}`;
}

const replaced = (file: string, how: "removed" | "replaced" | "emptied"): FaultError =>
  new FaultError({ kind: "journal-replaced", file, how });
