/** Copies a journal from its SQLite file into PostgreSQL (`rows.ts`). Counters are counted again when somebody keeps them. */
import type { DatabaseSync } from "node:sqlite";
import type { SessionSummary } from "@orgate/core/journal";
import { FaultError } from "@orgate/core/vocab";
import { readBlobFile } from "../../sqlite/blobs.ts";
import { openPlaceIndex } from "../../sqlite/places.ts";
import type { DatabasePaths } from "../../sqlite/schema.ts";
import type { Link, RunStatement } from "../link.ts";
import { asMover } from "./closing.ts";
import {
  type CopiedTable,
  compareRows,
  copyRows,
  type Row,
  type RowSource,
  sameColumns,
  type Target,
  toStored,
  unlessUnwritable,
} from "./rows.ts";
import { COPIED } from "./snapshot.ts";

/** Of rows that no process has copied yet: every process copies everything when it starts. */
const TICK = 1;

/** The file, in a transaction that keeps all others from writing. */
export type Source = Readonly<{ db: DatabaseSync; places: DatabasePaths }>;

/** `progress` hears of each table before it is copied or compared. */
export async function copyFromFile(link: Link, source: Source, progress: (doing: string) => void): Promise<void> {
  openPlaceIndex(source.db).catchUp(0); // heads of streams are exact in PostgreSQL
  await unlessUnwritable(link, async () => {
    await asMover(link, (run) => clear(run, link.schema));
    await copyRows(link, toRows(source), progress);
    await asMover(link, (run) => settle(run, link.schema));
  });
}

/** Every row of both places, column by column. Throws where they differ. */
export const compareWithFile = (link: Link, source: Source, progress: (doing: string) => void): Promise<void> =>
  unlessUnwritable(link, () => compareRows(link, toRows(source), progress));

const toRows = ({ db, places }: Source): RowSource => ({ db, tables: COPIED, toTarget: (table) => targetOf(table, places) });

/** Rows that are added and never changed: what was copied before an interruption is not copied again. */
const LASTING = new Set(["appends", "seals", "blobs"]);

/** Of a journal that was here before, numbers may have been given to other rows since. */
async function clear(run: RunStatement, schema: string): Promise<void> {
  for (const { name } of COPIED) if (!LASTING.has(name)) await run(`DELETE FROM "${schema}".${name}`);
}

/** Numbers that PostgreSQL gives go on after those that were copied; every process reads everything anew. */
async function settle(run: RunStatement, schema: string): Promise<void> {
  for (const [table, column] of [
    ["streams", "no"],
    ["questions", "arrival"],
    ["dead_letters", "arrival"],
    ["inbox", "arrival"],
  ] as const)
    await run(
      `SELECT setval(pg_get_serial_sequence('"${schema}".${table}', '${column}'), (SELECT coalesce(max(${column}), 0) + 1 FROM "${schema}".${table}), false)`,
    );
  await run(`SELECT setval('"${schema}".ticks', greatest(${TICK}, (SELECT last_value FROM "${schema}".ticks)))`);
  await run(`UPDATE "${schema}".moved SET latest = $1, unknowns = $1, known = $1, forgot = $1, counts = $1, tightened = $1`, [TICK]);
  await run(`DELETE FROM "${schema}".counts`);
  await run(`DELETE FROM "${schema}".kept_counts`);
}

function targetOf(table: CopiedTable, places: DatabasePaths): (row: Row) => Target {
  const of = (row: Row, changed: Row, more: Row): Target => ({ same: { ...sameColumns(table, row), ...changed }, more });
  switch (table.name) {
    case "seals":
      return (row) => of(row, { recovered: row.recovered === 1 }, { tick: TICK });
    case "writers":
      return (row) => of(row, {}, { batch: 0, lease_until: "-infinity", lease_ms: 0, host: "", pid: 0 });
    case "sessions":
      return (row) => {
        const { seq, openQuestions, openUnknowns } = JSON.parse(String(row.summary)) as SessionSummary;
        return of(row, {}, { seq, questions: openQuestions, unknowns: openUnknowns });
      };
    case "inbox":
      return (row) => of(row, row.taken === 1 ? { intent: null } : {}, {});
    case "blobs":
      return (row) =>
        of(row, { text: toStored(row.text ?? readBlobFile(places.blobs, String(row.address)) ?? missingBlob(places, row)) }, {});
    case "known_values":
      return (row) => of(row, {}, { tick: TICK });
    default:
      return (row) => of(row, {}, {});
  }
}

function missingBlob({ blobs }: DatabasePaths, { address }: Row): never {
  throw new FaultError({
    kind: "journal-unreadable",
    file: blobs,
    detail: `text ${String(address)} is missing: \`orgate journal verify\` names its entry`,
  });
}
