/**
 * Knowledge moves with the journal, `orgate migrate`: items with their past, documents, and which ids were forgotten, row by row; both indexes are made anew.
 * N-12 PostgreSQL and the file have the same afterwards and nothing else, so that what was forgotten since an earlier copy does not come back.
 * Vectors move where the extension of the other place can be used; otherwise they are left behind, and said. NOT TESTED with `pgvector` (`vectors.ts`).
 */
import type { DatabaseSync } from "node:sqlite";
import { itemText } from "@orgate/core/knowledge";
import type { KnowledgeBody } from "@orgate/core/vocab";
import type { Link, RunStatement } from "../../store/postgres/link.ts";
import type { Beside } from "../../store/postgres/moving/beside.ts";
import { asMover } from "../../store/postgres/moving/closing.ts";
import {
  type CopiedTable,
  compareRows,
  copiedTable,
  copyRows,
  copyRowsToFile,
  notTheSame,
  type Row,
  type RowSource,
  sameColumns,
} from "../../store/postgres/moving/rows.ts";
import { toIndexWords } from "../index-words.ts";
import { KNOWLEDGE_FILE, openKnowledgeDatabase } from "../sqlite-schema.ts";
import { openVectors } from "../sqlite-vectors.ts";
import { tablesOf } from "./tables.ts";
import { openPostgresVectors } from "./vectors.ts";

const ITEMS = copiedTable(
  [
    "knowledge_items",
    "n",
    "n id realm kind slot document directory body scope agent confidence source labels verified stream seq created valid_from valid_to used_at uses superseded_by",
    "slot document directory body agent",
  ],
  { table: "items" },
);
const TABLES: readonly CopiedTable[] = [
  copiedTable(["knowledge_forgotten", "id", "id"], { table: "forgotten" }),
  copiedTable(["knowledge_realms", "n", "n scope agent", "agent"], { table: "realms" }),
  ITEMS,
  copiedTable(["knowledge_documents", "path scope agent", "path scope agent digest chunks", "path agent"], { table: "documents" }),
];

const wordsOf = (row: Row): readonly string[] =>
  row.superseded_by === null ? toIndexWords(Number(row.realm), itemText(JSON.parse(String(row.body)) as KnowledgeBody)) : [];
/** A word may be one that the notation of a `tsvector` would read otherwise. */
const lexeme = (word: string): string => `'${word.replaceAll(/['\\]/g, "$&$&")}'`;

const toRows = (db: DatabaseSync | null): RowSource => ({
  db,
  tables: TABLES,
  toTarget: (table) => (row) =>
    table === ITEMS
      ? {
          same: { ...sameColumns(table, row), verified: row.verified === 1 },
          more: { words: [...new Set(wordsOf(row))].map(lexeme).join(" ") },
        }
      : { same: sameColumns(table, row), more: {} },
});

export const KNOWLEDGE_BESIDE: Beside = {
  name: "items of knowledge",
  file: KNOWLEDGE_FILE,
  tables: ["items", "forgotten", "documents"],
  open: (directory) => openKnowledgeDatabase(directory, { isMoving: true }),
  async toSchema(link, db, progress) {
    const tables = tablesOf(link.schema);
    const vectors = openPostgresVectors(tables);
    await asMover(link, async (run) => {
      await vectors.drop(run);
      for (const { name } of TABLES) await run(`DELETE FROM "${link.schema}".${name}`);
    });
    await copyRows(link, toRows(db), progress);
    await asMover(link, (run) => makeIndex(run, link.schema));
    if (db !== null) await copyVectors(link, db);
    for (const name of ["items", "words", "documents", "forgotten"] as const) await link.query(`VACUUM ${tables[name]}`); // an earlier copy leaves the pages too
  },
  async toFile(link, db) {
    await asMover(link, async (run) => {
      for (const table of TABLES) await copyRowsToFile(run, link.schema, table, db);
    });
    indexFile(db);
    await copyVectorsToFile(link, db);
  },
  async compare(link, db, progress) {
    await compareRows(link, toRows(db), progress);
    return compareVectors(link, db);
  },
  async count(link) {
    const [row] = await link.read<{ n: number }>(`SELECT count(*)::int AS n FROM ${tablesOf(link.schema).items}`);
    return row?.n ?? 0;
  },
};

// ── words ──

/** Numbers go on after those that were copied; each word is counted anew. */
async function makeIndex(run: RunStatement, schema: string): Promise<void> {
  const { items, words } = tablesOf(schema);
  await run("SET LOCAL statement_timeout = 0");
  for (const table of ["knowledge_realms", "knowledge_items"])
    await run(
      `SELECT setval(pg_get_serial_sequence('"${schema}".${table}', 'n'), (SELECT coalesce(max(n), 0) + 1 FROM "${schema}".${table}), false)`,
    );
  await run(`DELETE FROM ${words}`);
  await run(`INSERT INTO ${words} SELECT w, count(*) FROM ${items} AS i, unnest(tsvector_to_array(i.words)) AS w GROUP BY w`);
}

function indexFile(db: DatabaseSync): void {
  const add = db.prepare("INSERT INTO item_words (rowid, words) VALUES (?, ?)");
  const count = db.prepare("INSERT INTO word_counts VALUES (?, 1) ON CONFLICT (word) DO UPDATE SET items = items + 1");
  for (const row of db.prepare("SELECT n, realm, body, superseded_by FROM items WHERE superseded_by IS NULL").iterate()) {
    const words = wordsOf(row);
    add.run(Number(row.n), words.join(" "));
    for (const word of new Set(words)) count.run(word);
  }
}

// ── vectors ──

const PAGE = 200;

async function copyVectors(link: Link, db: DatabaseSync): Promise<void> {
  const [from, to] = [openVectors(db), openPostgresVectors(tablesOf(link.schema))];
  const { model } = from.about() ?? { model: "" };
  for (let after = 0; ; ) {
    const rows = from.list(after, PAGE);
    if (typeof rows === "string" || rows.length === 0) return;
    const places = rows.map(({ n, realm, values }) => ({ n: String(n), realm: String(realm), values }));
    if ((await asMover(link, (run) => to.put(run, places, model))) !== null) return; // `compareVectors` says so
    after = rows.at(-1)?.n ?? after;
  }
}

/** Those of PostgreSQL after that number. */
async function listVectors(link: Link, after: number) {
  const { items, vectors, embedding } = tablesOf(link.schema);
  const [about] = await link.read<{ model: string; dimension: number }>(`SELECT model, dimension FROM ${embedding}`);
  if (about === undefined) return null;
  const rows = await link.read<{ n: string; realm: string; text: string | null }>(
    `SELECT i.n, i.realm, v.embedding::text AS text FROM ${items} AS i LEFT JOIN ${vectors} AS v ON v.n = i.n WHERE i.embedded AND i.n > $1 ORDER BY i.n LIMIT ${PAGE}`,
    [after],
  );
  const valuesOf = (text: string | null): Float32Array =>
    text === null ? new Float32Array(about.dimension) : Float32Array.from(text.slice(1, -1).split(","), Number);
  return { model: about.model, rows: rows.map(({ n, realm, text }) => ({ n: Number(n), realm: Number(realm), values: valuesOf(text) })) };
}

async function copyVectorsToFile(link: Link, db: DatabaseSync): Promise<void> {
  const to = openVectors(db);
  for (let after = 0; ; ) {
    const found = await listVectors(link, after);
    if (found === null || found.rows.length === 0 || to.put(found.rows, found.model) !== null) return;
    after = found.rows.at(-1)?.n ?? after;
  }
}

/** A file keeps directions only, so directions are compared. Null, or which were left behind. */
async function compareVectors(link: Link, db: DatabaseSync | null): Promise<string | null> {
  if (db === null) return null;
  const file = openVectors(db);
  for (let after = 0; ; ) {
    const there = await listVectors(link, after);
    const here = file.list(after, PAGE);
    if (there === null || typeof here === "string" || file.about() === null) return leftBehind(there?.rows.length ?? 0, file.count());
    const isSame = here.length === there.rows.length && here.every((one, i) => isAlike(one, there.rows[i]));
    if (!isSame || file.about()?.model !== there.model) throw notTheSame("vectors of knowledge");
    if (here.length === 0) return null;
    after = here.at(-1)?.n ?? after;
  }
}

const leftBehind = (inDatabase: number, inFile: number): string | null =>
  inDatabase + inFile === 0
    ? null
    : "vectors of knowledge were left behind: the other place cannot keep them (pgvector, sqlite-vec); `orgate knowledge embed` makes them again";

type Placed = Readonly<{ n: number; values: Float32Array }>;
const ENOUGH = 1e-5;

function isAlike(a: Placed, b: Placed | undefined): boolean {
  if (b === undefined || a.n !== b.n || a.values.length !== b.values.length) return false;
  const [long, other] = [Math.hypot(...a.values) || 1, Math.hypot(...b.values) || 1];
  return a.values.every((x, i) => Math.abs(x / long - (b.values[i] ?? 0) / other) < ENOUGH);
}
