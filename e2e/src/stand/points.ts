/**
 * Loaded before the victim (`node --import`): makes every transaction on the journal visible from outside, before it begins, right before its
 * COMMIT and right after it. The runtime has no crash hooks; this watches SQLite instead.
 */
import { basename } from "node:path";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { linger, orders, point } from "./outlet.ts";
import { decode, type Said, type Written } from "./wire.ts";

type Step = Extract<Said, { kind: "mark" }>["step"];
const LINGER_MS = { begin: 4, commit: 5, committed: 9 } as const;

let transaction = 0;
let open = false;
let written: Written[] = [];
let full = false;

function mark(step: Step & keyof typeof LINGER_MS): void {
  const name = `tx ${transaction} ${step}`;
  point({ kind: "mark", point: name, step, written });
  if (orders.fullAt === name) full = true;
  linger(LINGER_MS[step]);
}

const isJournal = (db: DatabaseSync): boolean => basename(db.location() ?? "") === "journal.db";
const prepare = DatabaseSync.prototype.prepare;

DatabaseSync.prototype.prepare = function prepared(this: DatabaseSync, ...given: Parameters<typeof prepare>): StatementSync {
  const statement = prepare.apply(this, given);
  const [sql] = given;
  if (!isJournal(this)) return statement;
  if (sql === "BEGIN IMMEDIATE") around(statement, began(this), () => {});
  // Reading transactions end in COMMIT too; they change nothing, and are passed over.
  if (sql === "COMMIT") around(statement, () => open && mark("commit"), committed);
  if (sql.startsWith("INSERT INTO entries ")) around(statement, note, () => {});
  return statement;
};

function around(statement: StatementSync, before: (values: readonly SQLInputValue[]) => void, after: () => void): void {
  const run = statement.run.bind(statement);
  Object.assign(statement, {
    run(...values: SQLInputValue[]) {
      before(values);
      const result = run(...values);
      after();
      return result;
    },
  });
}

const began = (db: DatabaseSync) => (): void => {
  transaction += 1;
  written = [];
  mark("begin");
  if (full) db.exec(`PRAGMA max_page_count = ${Number(prepare.call(db, "PRAGMA page_count").get()?.page_count)}`);
  open = true;
};

function committed(): void {
  if (!open) return;
  open = false;
  mark("committed");
}

function note([stream, seq, , kind, , , , , payload]: readonly SQLInputValue[]): void {
  const { call } = decode<{ call?: unknown }>(String(payload));
  written.push({
    stream: String(stream),
    seq: Number(seq),
    kind: String(kind).split("@")[0] ?? "",
    call: typeof call === "string" ? call : null,
  });
}
