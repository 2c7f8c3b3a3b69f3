/**
 * Rows of a SQLite file and of PostgreSQL, made the same in either direction and compared page by page, column by column. Towards PostgreSQL only what
 * differs is written: a copy that was interrupted goes on, and once nothing is written any more every row is the same.
 */
import type { DatabaseSync, SQLInputValue, SQLOutputValue } from "node:sqlite";
import { FaultError } from "@orgate/core/vocab";
import { asUnwritable } from "../faults.ts";
import type { Link, RunStatement } from "../link.ts";
import { fromStoredText, toStoredText } from "../text.ts";
import { asMover } from "./closing.ts";

export type Row = Readonly<Record<string, SQLOutputValue | boolean>>;

export type CopiedTable = Readonly<{
  /** In PostgreSQL. */
  name: string;
  /** In the file. */
  table: string;
  /** What selects its rows, where more than the table is needed. */
  from: string;
  /** Pages are read in this order. */
  key: readonly string[];
  columns: readonly string[];
  /** Columns of texts that people and models write (`text.ts`). */
  texts: readonly string[];
  /** A row of PostgreSQL as the file has it, where the two differ. */
  toFile(row: Row): Row;
}>;

const words = (text: string): readonly string[] => text.split(" ").filter((word) => word !== "");
const unchanged = (row: Row): Row => row;

export const copiedTable = (
  [name, key, columns, texts = ""]: readonly [name: string, key: string, columns: string, texts?: string],
  { table = name, from = table, toFile = unchanged }: Partial<Pick<CopiedTable, "table" | "from" | "toFile">> = {},
): CopiedTable => ({ name, table, from, key: words(key), columns: words(columns), texts: words(texts), toFile });

/** A row as PostgreSQL has it: columns that both have, then those that only it has. */
export type Target = Readonly<{ same: Row; more: Row }>;

export type RowSource = Readonly<{
  /** Null: there is no file, and so there are no rows. */
  db: DatabaseSync | null;
  tables: readonly CopiedTable[];
  toTarget(table: CopiedTable): (row: Row) => Target;
}>;

export const toStored = (value: SQLOutputValue | boolean | undefined): SQLOutputValue | boolean =>
  typeof value === "string" ? toStoredText(value) : (value ?? null);

export const sameColumns = ({ columns, texts }: CopiedTable, row: Row): Row =>
  Object.fromEntries(columns.map((c) => [c, texts.includes(c) ? toStored(row[c]) : (row[c] ?? null)]));

const PAGE = 200;

/** `progress` hears of each table before it is copied. */
export async function copyRows(link: Link, source: RowSource, progress: (doing: string) => void): Promise<void> {
  await eachPage(link, source, { begin: (table) => progress(`copying ${table}`), page: putPage });
}

/** Every row of both places, column by column. Throws where they differ. */
export async function compareRows(link: Link, source: RowSource, progress: (doing: string) => void): Promise<void> {
  const page = async (put: PutPage): Promise<void> => {
    const { gone, missing } = await findDifferences(put);
    if (gone.length + missing.length > 0) throw notTheSame(`rows of table ${put.table.name}`);
  };
  await eachPage(link, source, { begin: (table) => progress(`comparing ${table}`), page });
}

export const notTheSame = (what: string): FaultError =>
  new FaultError({ kind: "journal-unwritable", detail: `${what} are not the same after they were copied` });

type EachPage = Readonly<{ begin(table: string): void; page(put: PutPage): Promise<void> }>;

async function eachPage(link: Link, { db, tables, toTarget }: RowSource, { begin, page }: EachPage): Promise<void> {
  for (const table of tables) {
    begin(table.name);
    const target = toTarget(table);
    let last: Row | null = null;
    for (let isMore = true; isMore; ) {
      const found: readonly Row[] = db === null ? [] : readPage(db, table, last);
      const end: Row | null = found.length < PAGE ? null : (found.at(-1) ?? null);
      const between = [last, end] as const;
      await asMover(link, (run) => page({ run, schema: link.schema, table, rows: found.map(target), between }));
      last = end;
      isMore = end !== null;
    }
  }
}

function readPage(db: DatabaseSync, { from, key }: CopiedTable, last: Row | null): readonly Row[] {
  const order = key.join(", ");
  const after = last === null ? "" : `WHERE (${order}) > (${key.map(() => "?").join(", ")})`;
  const values = last === null ? [] : key.map((k) => last[k] as SQLInputValue);
  return db.prepare(`SELECT * FROM ${from} ${after} ORDER BY ${order} LIMIT ${PAGE}`).all(...values);
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

const PAGE_TO_FILE = 500;

/** Into tables that are empty. */
export async function copyRowsToFile(run: RunStatement, schema: string, table: CopiedTable, db: DatabaseSync): Promise<void> {
  const { name, key, columns, texts } = table;
  const order = key.join(", ");
  let last: Row | undefined;
  for (;;) {
    const after = last === undefined ? "" : `WHERE (${order}) > (${key.map((_, i) => `$${i + 2}`).join(", ")})`;
    const sql = `SELECT coalesce(json_agg(t), '[]') AS rows FROM (SELECT ${columns.join(", ")} FROM "${schema}".${name} ${after} ORDER BY ${order} LIMIT $1) AS t`;
    const [{ rows } = { rows: [] }] = await run<{ rows: readonly Row[] }>(sql, [
      PAGE_TO_FILE,
      ...(last === undefined ? [] : key.map((k) => last?.[k])),
    ]);
    const inFile = rows.map((row) => table.toFile(row));
    const names = Object.keys(inFile[0] ?? {});
    const put = db.prepare(
      names.length === 0 ? "SELECT 1" : `INSERT INTO ${table.table} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`,
    );
    db.exec("SAVEPOINT page");
    for (const row of inFile) put.run(...names.map((c) => toCell(row[c], texts.includes(c))));
    db.exec("RELEASE page");
    last = rows.at(-1);
    if (rows.length < PAGE_TO_FILE) return;
  }
}

const toCell = (value: Row[string] | undefined, isText: boolean): SQLInputValue =>
  typeof value === "boolean" ? Number(value) : isText && typeof value === "string" ? fromStoredText(value) : (value ?? null);

export async function unlessUnwritable(link: Link, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    throw asUnwritable(error, link.place);
  }
}
