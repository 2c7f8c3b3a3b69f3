/**
 * Copies a journal from its SQLite file into PostgreSQL. Every page of rows is compared with what is there, column by column, and only what differs is
 * written: a copy that was interrupted goes on, and once nothing is written any more every row is the same. Counters are counted again when somebody keeps them.
 */
import type { DatabaseSync, SQLInputValue, SQLOutputValue } from "node:sqlite";
import type { SessionSummary } from "@orgate/core/journal";
import { FaultError } from "@orgate/core/vocab";
import { readBlobFile } from "../../sqlite/blobs.ts";
import { openPlaceIndex } from "../../sqlite/places.ts";
import type { DatabasePaths } from "../../sqlite/schema.ts";
import { asUnwritable } from "../faults.ts";
import type { Link, RunStatement } from "../link.ts";
import { toStoredText } from "../text.ts";
import { COPIED, type CopiedTable } from "./snapshot.ts";

type Row = Readonly<Record<string, SQLOutputValue | boolean>>;
/** A row as PostgreSQL has it: columns that both have, then those that only it has. */
type Target = Readonly<{ same: Row; more: Row }>;

const PAGE = 200;
/** Of rows that no process has copied yet: every process copies everything when it starts. */
const TICK = 1;

/** The file, in a transaction that keeps all others from writing. */
export type Source = Readonly<{ db: DatabaseSync; places: DatabasePaths }>;

/** `progress` hears of each table before it is copied or compared. */
export async function copyFromFile(link: Link, source: Source, progress: (doing: string) => void): Promise<void> {
  openPlaceIndex(source.db).catchUp(0); // heads of streams are exact in PostgreSQL
  try {
    await link.transact("BEGIN", (run) => clear(run, link.schema));
    await eachPage(link, source, { begin: (table) => progress(`copying ${table}`), page: putPage });
    await link.transact("BEGIN", (run) => settle(run, link.schema));
  } catch (error) {
    throw asUnwritable(error, link.place);
  }
}

/** Every row of both places, column by column. Throws where they differ. */
export async function compareWithFile(link: Link, source: Source, progress: (doing: string) => void): Promise<void> {
  const page = async (put: PutPage): Promise<void> => {
    const { gone, missing } = await findDifferences(put);
    if (gone.length + missing.length > 0)
      throw new FaultError({
        kind: "journal-unwritable",
        detail: `rows of table ${put.table.name} are not the same after they were copied`,
      });
  };
  try {
    await eachPage(link, source, { begin: (table) => progress(`comparing ${table}`), page });
  } catch (error) {
    throw asUnwritable(error, link.place);
  }
}

/** Rows that are added and never changed: what was copied before an interruption is not copied again. */
const LASTING = new Set(["appends", "seals", "blobs"]);

/** Of a journal that was here before, numbers may have been given to other rows since. */
async function clear(run: RunStatement, schema: string): Promise<void> {
  for (const { name } of COPIED) if (!LASTING.has(name)) await run(`DELETE FROM "${schema}".${name}`);
}

type EachPage = Readonly<{ begin(table: string): void; page(put: PutPage): Promise<void> }>;

async function eachPage(link: Link, { db, places }: Source, { begin, page }: EachPage): Promise<void> {
  for (const table of COPIED) {
    begin(table.name);
    const toTarget = targetOf(table, places);
    let last: Row | null = null;
    for (let isMore = true; isMore; ) {
      const found = readPage(db, table, last);
      const end: Row | null = found.length < PAGE ? null : (found.at(-1) ?? null);
      const between = [last, end] as const;
      await link.transact("BEGIN", (run) => page({ run, schema: link.schema, table, rows: found.map(toTarget), between }));
      last = end;
      isMore = end !== null;
    }
  }
}

function readPage(db: DatabaseSync, { name, key }: CopiedTable, last: Row | null): readonly Row[] {
  const order = key.join(", ");
  const after = last === null ? "" : `WHERE (${order}) > (${key.map(() => "?").join(", ")})`;
  const values = last === null ? [] : key.map((k) => last[k] as SQLInputValue);
  return db.prepare(`SELECT * FROM ${name} ${after} ORDER BY ${order} LIMIT ${PAGE}`).all(...values);
}

/** `between`: keys after which, and up to which, there must be these rows and no others; null: from the start, to the end. */
type PutPage = Readonly<{
  run: RunStatement;
  schema: string;
  table: CopiedTable;
  rows: readonly Target[];
  between: readonly [Row | null, Row | null];
}>;

/** `gone`: rows in PostgreSQL that the file has not, or otherwise; `missing`: rows that PostgreSQL has not, or otherwise. */
async function findDifferences({ run, schema, table: { name, key, columns }, rows, between }: PutPage) {
  const order = key.join(", ");
  const at = `"${schema}".${name}`;
  const [after, upTo] = between;
  const bound = (sign: string, row: Row | null, n: number): string =>
    row === null ? "" : `AND (${order}) ${sign} (SELECT ${order} FROM json_populate_record(NULL::${at}, $${n}::json))`;
  const bounds = between.filter((row) => row !== null).map((row) => JSON.stringify(keyOf(row, key)));
  const sql = `SELECT coalesce(json_agg(t), '[]') AS rows FROM (SELECT ${columns.join(", ")} FROM ${at}
    WHERE true ${bound(">", after, 1)} ${bound("<=", upTo, bounds.length)}) AS t`;
  const [{ rows: there } = { rows: [] }] = await run<{ rows: readonly Row[] }>(sql, bounds);
  const textOf = (row: Row): string => JSON.stringify(columns.map((column) => row[column] ?? null));
  const known = new Set(there.map(textOf));
  const wanted = new Set(rows.map(({ same }) => textOf(same)));
  return { gone: there.filter((row) => !wanted.has(textOf(row))), missing: rows.filter(({ same }) => !known.has(textOf(same))) };
}

async function putPage(put: PutPage): Promise<void> {
  const { run, schema, table } = put;
  const { gone, missing } = await findDifferences(put);
  const order = table.key.join(", ");
  const at = `"${schema}".${table.name}`;
  const set = `json_populate_recordset(NULL::${at}, $1::json)`;
  if (gone.length > 0) await run(`DELETE FROM ${at} WHERE (${order}) IN (SELECT ${order} FROM ${set})`, [JSON.stringify(gone)]);
  const [first] = missing;
  if (first === undefined) return;
  const all = [...table.columns, ...Object.keys(first.more)].join(", ");
  await run(`INSERT INTO ${at} (${all}) OVERRIDING SYSTEM VALUE SELECT ${all} FROM ${set}`, [
    JSON.stringify(missing.map(({ same, more }) => ({ ...same, ...more }))),
  ]);
}

const keyOf = (row: Row, key: readonly string[]): Row => Object.fromEntries(key.map((k) => [k, row[k] ?? null]));

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

function targetOf({ name, columns, texts }: CopiedTable, places: DatabasePaths): (row: Row) => Target {
  const same = (row: Row): Row => Object.fromEntries(columns.map((c) => [c, texts.includes(c) ? stored(row[c]) : (row[c] ?? null)]));
  const of = (row: Row, changed: Row, more: Row): Target => ({ same: { ...same(row), ...changed }, more });
  switch (name) {
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
        of(row, { text: stored(row.text ?? readBlobFile(places.blobs, String(row.address)) ?? missingBlob(places, row)) }, {});
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

const stored = (value: SQLOutputValue | boolean | undefined): SQLOutputValue | boolean =>
  typeof value === "string" ? toStoredText(value) : (value ?? null);
