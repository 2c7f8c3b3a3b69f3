/** Answers to requests move with the journal: who repeats one gets the same answer. An unfinished one has status 0 in the file, and none in PostgreSQL. */
import { openRequestsFile, REQUESTS_FILE } from "../../idempotency-keys.ts";
import type { Link } from "../link.ts";
import type { Beside } from "./beside.ts";
import { asMover } from "./closing.ts";
import { type CopiedTable, compareRows, copiedTable, copyRows, copyRowsToFile, type RowSource, sameColumns } from "./rows.ts";

const REQUESTS: CopiedTable = copiedTable(["requests", "id", "id digest status body at", "id body"], {
  toFile: (row) => ({ ...row, status: row.status ?? 0 }),
});

const toRows = (db: RowSource["db"]): RowSource => ({
  db,
  tables: [REQUESTS],
  toTarget: (table) => (row) => ({
    same: { ...sameColumns(table, row), status: row.status === 0 ? null : (row.status ?? null) },
    more: {},
  }),
});

export const REQUESTS_BESIDE: Beside = {
  name: "answers to requests",
  file: REQUESTS_FILE,
  tables: ["requests"],
  open: (directory) => openRequestsFile(directory, { isMoving: true }),
  async toSchema(link, db) {
    await copyRows(link, toRows(db), () => {});
    await vacuum(link);
  },
  toFile: (link, db) => asMover(link, (run) => copyRowsToFile(run, link.schema, REQUESTS, db)),
  async compare(link, db) {
    await compareRows(link, toRows(db), () => {});
    return null;
  },
  async count(link) {
    const [row] = await link.read<{ n: number }>(`SELECT count(*)::int AS n FROM "${link.schema}".requests`);
    return row?.n ?? 0;
  },
};

/** What was erased since it was copied an earlier time leaves the pages too. */
const vacuum = (link: Link): Promise<unknown> => link.query(`VACUUM "${link.schema}".requests`);
