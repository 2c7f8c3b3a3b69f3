/**
 * Loaded before the victim (`node --import`): makes every transaction on the journal visible from outside, before it begins, right before its
 * COMMIT and right after it. An append that is a transaction by itself has the same three points. The runtime has no crash hooks; this watches SQLite instead.
 *
 * Transactions are numbered as they commit. One that only seals what was written before happens when its time has come, so it takes no number: the
 * others have the same numbers in every run.
 */
import { basename } from "node:path";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { readLines } from "../rows.ts";
import { linger, orders, point } from "./outlet.ts";
import { decode, type Said, type Written, type WrittenSeal } from "./wire.ts";

type Step = Extract<Said, { kind: "mark" }>["step"];
const LINGER_MS = { begin: 4, commit: 5, committed: 9 } as const;

let numbered = 0;
let name = "";
let open = false;
let written: Written[] = [];
let seal: WrittenSeal | null = null;
let full = false;

function mark(step: Step & keyof typeof LINGER_MS): void {
  const at = `${name} ${step}`;
  point({ kind: "mark", point: at, step, written, seal });
  if (orders.fullAt === at) full = true;
  linger(LINGER_MS[step]);
}

const isJournal = (db: DatabaseSync): boolean => basename(db.location() ?? "") === "journal.db";
const prepare = DatabaseSync.prototype.prepare;

DatabaseSync.prototype.prepare = function prepared(this: DatabaseSync, ...given: Parameters<typeof prepare>): StatementSync {
  const statement = prepare.apply(this, given);
  const [sql] = given;
  if (!isJournal(this)) return statement;
  if (sql === "BEGIN IMMEDIATE") around(statement, () => began(this));
  // Reading transactions end in COMMIT too; they change nothing, and are passed over, as is what was rolled back before them.
  if (sql === "BEGIN") around(statement, rolledBack);
  if (sql === "COMMIT") around(statement, () => open && commits(), committed);
  if (sql.startsWith("INSERT INTO appends ")) aroundAppend(this, statement);
  if (sql.startsWith("INSERT INTO seals ")) around(statement, noteSeal);
  return statement;
};

type Result = ReturnType<StatementSync["run"]>;
function around(
  statement: StatementSync,
  before: (values: readonly SQLInputValue[]) => void,
  after: (result: Result) => void = () => {},
): void {
  const run = statement.run.bind(statement);
  Object.assign(statement, {
    run(...values: SQLInputValue[]) {
      before(values);
      const result = run(...values);
      after(result);
      return result;
    },
  });
}

/** Without a transaction around it the statement is one. */
function aroundAppend(db: DatabaseSync, statement: StatementSync): void {
  let isAlone = false;
  around(
    statement,
    (values) => {
      isAlone = !db.isTransaction;
      if (isAlone) began(db);
      note(values);
      if (isAlone) commits();
    },
    ({ changes }) => {
      if (!isAlone) return;
      if (changes === 1) committed();
      else rolledBack();
    },
  );
}

function began(db: DatabaseSync): void {
  written = [];
  seal = null;
  name = `tx ${numbered + 1}`;
  mark("begin");
  if (full) db.exec(`PRAGMA max_page_count = ${Number(prepare.call(db, "PRAGMA page_count").get()?.page_count)}`);
  open = true;
}

function commits(): void {
  if (seal !== null && written.length === 0) name = `seal before tx ${numbered + 1}`;
  else numbered += 1;
  mark("commit");
}

function committed(): void {
  if (!open) return;
  open = false;
  mark("committed");
}

function rolledBack(): void {
  open = false;
}

function note([, first, , , , , body, stream]: readonly SQLInputValue[]): void {
  for (const [i, { kind, payload }] of readLines(String(body)).entries()) {
    const { call } = decode<{ call?: unknown }>(payload);
    written.push({ stream: String(stream), seq: Number(first) + i, kind, call: typeof call === "string" ? call : null });
  }
}

function noteSeal([writer, number, , , , recovered]: readonly SQLInputValue[]): void {
  seal = { writer: String(writer), number: Number(number), recovered: recovered === 1 };
}
