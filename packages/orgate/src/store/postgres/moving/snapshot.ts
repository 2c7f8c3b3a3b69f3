/**
 * Copies a journal from PostgreSQL into a SQLite file, as of one moment: `verify`, `export` and every other program that reads the file work on it, and
 * `orgate migrate` goes back with it. Counters are not copied: they are counted again from the entries when somebody keeps them.
 */
import type { DatabaseSync } from "node:sqlite";
import { countKeys, restartCounts } from "../../sqlite/proof/count-proof.ts";
import { databasePaths, openDatabase } from "../../sqlite/schema.ts";
import { asUnreadable } from "../faults.ts";
import type { Link } from "../link.ts";
import { type CopiedTable, copiedTable, copyRowsToFile } from "./rows.ts";

/** Of the journal. */
export const COPIED: readonly CopiedTable[] = [
  copiedTable(["streams", "no", "no stream seq hash at epoch"]),
  copiedTable(["appends", "id", "id count stream first writer seal hash mac body"]),
  copiedTable(["seals", "writer number", "writer number at previous key recovered wrote seen hash signature"], {
    toFile: (row) => ({ ...row, counts: "" }),
  }),
  copiedTable(["writers", "writer", "writer incarnation unsealed"]),
  copiedTable(["sessions", "session", "session state agent opened_at summary"]),
  copiedTable(["session_counts", "agent state", "agent state sessions questions unknowns"]),
  copiedTable(["questions", "arrival", "arrival session approval question mac"]),
  copiedTable([
    ...(["unknowns", "session call", "session call tool resource_type resource_id digest cause at"] as const),
    "tool resource_type resource_id",
  ]),
  copiedTable(["dead_letters", "arrival", "arrival session call letter"]),
  copiedTable(["externals", "external", "external session", "external"]),
  copiedTable(["revoked", "grant_id", "grant_id"]),
  copiedTable(["known_values", "name value", "name value folded stream at place", "name value folded"]),
  copiedTable(["inbox", "arrival", "arrival id session intent arrived_at"], {
    toFile: (row) => ({ ...row, taken: row.intent === null }), // there it is the intent that is gone
  }),
  copiedTable(["halts", "scope", "scope", "scope"]),
  copiedTable(["blobs", "address", "address refs text", "text"]),
];

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
      for (const one of COPIED) await copyRowsToFile(run, link.schema, one, db);
    });
  } catch (error) {
    throw asUnreadable(error, link.place);
  }
  db.exec("INSERT INTO places SELECT stream, first, id FROM appends; UPDATE indexed SET id = coalesce((SELECT max(id) FROM appends), 0)");
}
