/**
 * A journal that is closed for a move. Nobody opens it, and a process that has it open already finds that it can write nothing: whoever looked right before
 * must not be told that an append or an intent is durable in a place that is no longer read.
 * Every step is one transaction, and harmless when it is done again.
 */
import type { DatabaseSync } from "node:sqlite";
import { FORMAT } from "@orgate/core/journal";
import { FaultError } from "@orgate/core/vocab";
import { MOVED } from "../../sqlite/schema.ts";
import { asUnwritable } from "../faults.ts";
import type { Link, RunStatement } from "../link.ts";

const IN_A_FILE = ["appends", "inbox"] as const;

export const isFileClosed = (db: DatabaseSync): boolean => db.prepare("SELECT version FROM format").get()?.version === MOVED;

/** In the transaction of the caller. A statement that another process has prepared finds its table no more. */
export function closeFile(db: DatabaseSync): void {
  for (const name of IN_A_FILE) db.exec(`ALTER TABLE ${name} RENAME TO ${name}_moved`);
  db.exec(`UPDATE format SET version = ${MOVED}`);
}

export function openFileAgain(db: DatabaseSync): void {
  db.exec("BEGIN IMMEDIATE");
  for (const name of IN_A_FILE) db.exec(`ALTER TABLE ${name}_moved RENAME TO ${name}`);
  db.exec(`UPDATE format SET version = ${FORMAT}; COMMIT`);
}

/** Its rows are still read from here. Rejects while a process writes. */
export async function closeSchema(link: Link): Promise<void> {
  const { schema } = link;
  await transact(link, async (run) => {
    await run(`SELECT "${schema}".begin_change()`);
    const [alive] = await run<{ writer: string; host: string; pid: number }>(
      `SELECT writer, host, pid FROM "${schema}".writers WHERE lease_until > clock_timestamp() LIMIT 1`,
    );
    if (alive !== undefined) throw inUse(`writer \`${alive.writer}\` (process ${alive.pid} on ${alive.host})`);
    await run(`UPDATE "${schema}".writers SET incarnation = incarnation + 1`); // a process that was only silent finds that it has lost its name
    await run(`UPDATE "${schema}".format SET version = $1`, [MOVED]);
    await refuseOthers(run, schema);
  });
}

export const openSchema = (link: Link): Promise<void> =>
  transact(link, async (run) => {
    for (const table of IN_A_SCHEMA) await run(`ALTER TABLE "${link.schema}".${table} DROP CONSTRAINT IF EXISTS journal_was_moved`);
    await run(`UPDATE "${link.schema}".format SET version = $1`, [FORMAT]);
  });

/** What a process may write that no longer looks at the format, or has no writer's name. */
const IN_A_SCHEMA = ["inbox", "requests", "knowledge_items", "knowledge_documents", "knowledge_forgotten"] as const;
const IS_MOVER = "coalesce(current_setting('orgate.mover', true), '') = 'yes'";

/** Until the schema is opened again nobody but the mover adds or changes a row there. */
export async function refuseOthers(run: RunStatement, schema: string): Promise<void> {
  for (const table of IN_A_SCHEMA) {
    const at = `"${schema}".${table}`;
    await run(`ALTER TABLE ${at} DROP CONSTRAINT IF EXISTS journal_was_moved`); // one of an earlier move
    const allowed = table === "inbox" ? `intent IS NULL OR ${IS_MOVER}` : IS_MOVER;
    await run(`ALTER TABLE ${at} ADD CONSTRAINT journal_was_moved CHECK (${allowed}) NOT VALID`);
  }
}

/** A transaction that may write where others are refused. */
export const asMover = <T>(link: Link, work: (run: RunStatement) => Promise<T>): Promise<T> =>
  link.transact("BEGIN", async (run) => {
    await run("SET LOCAL orgate.mover = 'yes'");
    return work(run);
  });

export const inUse = (who: string): FaultError =>
  new FaultError({
    kind: "usage",
    detail: `a process is working on the journal: ${who}`,
    hint: "stop servers, workers and runs of this project first",
  });

async function transact(link: Link, work: (run: RunStatement) => Promise<void>): Promise<void> {
  try {
    await link.transact("BEGIN", work);
  } catch (error) {
    throw asUnwritable(error, link.place);
  }
}
