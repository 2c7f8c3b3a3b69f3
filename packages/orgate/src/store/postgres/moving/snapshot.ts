/**
 * Copies a journal from PostgreSQL into a SQLite file, as of one moment: `verify`, `export` and every other program that reads the file work on it, and
 * `orgate migrate` goes back with it. Counters are not copied: they are counted again from the entries when somebody keeps them.
 */
import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { countKeys, restartCounts } from "../../sqlite/proof/count-proof.ts";
import { databasePaths, openDatabase } from "../../sqlite/schema.ts";
import { asUnreadable } from "../faults.ts";
import type { Link, RunStatement } from "../link.ts";
import { fromStoredText } from "../text.ts";

type Row = Readonly<Record<string, SQLInputValue | boolean>>;
export type CopiedTable = Readonly<{
  name: string;
  /** Pages are read in this order. */
  key: readonly string[];
  columns: readonly string[];
  /** Columns of texts that people and models write (`text.ts`). */
  texts: readonly string[];
}>;

const table = (name: string, key: string, columns: string, texts = ""): CopiedTable => ({
  name,
  ...{ key: words(key), columns: words(columns), texts: words(texts) },
});
const words = (text: string): readonly string[] => text.split(" ").filter((word) => word !== "");

export const COPIED: readonly CopiedTable[] = [
  table("streams", "no", "no stream seq hash at epoch"),
  table("appends", "id", "id count stream first writer seal hash mac body"),
  table("seals", "writer number", "writer number at previous key recovered wrote seen hash signature"),
  table("writers", "writer", "writer incarnation unsealed"),
  table("sessions", "session", "session state agent opened_at summary"),
  table("session_counts", "agent state", "agent state sessions questions unknowns"),
  table("questions", "arrival", "arrival session approval question mac"),
  table("unknowns", "session call", "session call tool resource_type resource_id digest cause at", "tool resource_type resource_id"),
  table("dead_letters", "arrival", "arrival session call letter"),
  table("externals", "external", "external session", "external"),
  table("revoked", "grant_id", "grant_id"),
  table("known_values", "name value", "name value folded stream at place", "name value folded"),
  table("inbox", "arrival", "arrival id session intent arrived_at"),
  table("halts", "scope", "scope", "scope"),
  table("blobs", "address", "address refs text", "text"),
];

const PAGE = 500;

/** Makes `journal.db` in a folder that has none. `key`: the project's blob key. */
export async function copyToFile(link: Link, directory: string, key: string | Uint8Array): Promise<void> {
  const db = openDatabase(databasePaths(directory), { create: true, synchronous: "off", maxPages: null });
  try {
    await copyTables(link, db);
    restartCounts(db, countKeys(key));
  } finally {
    db.close();
  }
}

/** Into tables that are empty. */
export async function copyTables(link: Link, db: DatabaseSync): Promise<void> {
  try {
    await link.transact("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", async (run) => {
      for (const one of COPIED) await copyTable(run, link.schema, one, db);
    });
  } catch (error) {
    throw asUnreadable(error, link.place);
  }
  db.exec("INSERT INTO places SELECT stream, first, id FROM appends; UPDATE indexed SET id = coalesce((SELECT max(id) FROM appends), 0)");
}

async function copyTable(run: RunStatement, schema: string, { name, key, columns, texts }: CopiedTable, db: DatabaseSync): Promise<void> {
  const taken = name === "inbox" ? ["taken"] : []; // there it is the intent that is gone
  const sealed = name === "seals" ? ["counts"] : [];
  const names = [...columns, ...taken, ...sealed];
  const put = db.prepare(`INSERT INTO ${name} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`);
  const order = key.join(", ");
  let last: Row | undefined;
  for (;;) {
    const after = last === undefined ? "" : `WHERE (${order}) > (${key.map((_, i) => `$${i + 2}`).join(", ")})`;
    const sql = `SELECT coalesce(json_agg(t), '[]') AS rows FROM (SELECT * FROM "${schema}".${name} ${after} ORDER BY ${order} LIMIT $1) AS t`;
    const [{ rows } = { rows: [] }] = await run<{ rows: readonly Row[] }>(sql, [
      PAGE,
      ...(last === undefined ? [] : key.map((k) => last?.[k])),
    ]);
    db.exec("BEGIN");
    for (const row of rows)
      put.run(
        ...columns.map((c) => toCell(row[c], texts.includes(c))),
        ...taken.map(() => (row.intent === null ? 1 : 0)),
        ...sealed.map(() => ""),
      );
    db.exec("COMMIT");
    last = rows.at(-1);
    if (rows.length < PAGE) return;
  }
}

const toCell = (value: Row[string] | undefined, isText: boolean): SQLInputValue =>
  typeof value === "boolean" ? Number(value) : isText && typeof value === "string" ? fromStoredText(value) : (value ?? null);
