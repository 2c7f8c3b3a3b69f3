/** What nobody can go below: SQLite itself with the same bytes. And how many bytes that is. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

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

/** Rows and characters of the journal's own two tables, all columns. Seals come by the clock, so they are counted apart. */
export type Stored = Readonly<{ entries: number; appends: number; bytes: number; seals: number; sealBytes: number }>;

export function countStored(directory: string): Stored {
  const db = new DatabaseSync(join(directory, "journal.db"), { readOnly: true });
  const count = (sql: string): number => Number(db.prepare(`SELECT ${sql}`).get()?.n);
  const bytesIn = (table: string): number => {
    const columns = db.prepare("SELECT name FROM pragma_table_info(?)").all(table);
    return count(`coalesce(sum(${columns.map(({ name }) => `length(${name})`).join(" + ")}), 0) AS n FROM ${table}`);
  };
  try {
    return {
      entries: count("coalesce(sum(count), 0) AS n FROM appends"),
      appends: count("count(*) AS n FROM appends"),
      bytes: bytesIn("appends"),
      seals: count("count(*) AS n FROM seals"),
      sealBytes: bytesIn("seals"),
    };
  } finally {
    db.close();
  }
}
