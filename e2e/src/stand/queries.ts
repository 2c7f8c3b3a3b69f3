/** Loaded before a process (`node --import`): counts its statements on the journal's database, and reports them when it ends. */
import { basename } from "node:path";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { tell } from "./outlet.ts";

const counts = new Map<string, { times: number; rows: number }>();
const prepare = DatabaseSync.prototype.prepare;

function count(sql: string, rows: number): void {
  const so = counts.get(sql) ?? { times: 0, rows: 0 };
  counts.set(sql, { times: so.times + 1, rows: so.rows + rows });
}

DatabaseSync.prototype.prepare = function prepared(this: DatabaseSync, ...given: Parameters<typeof prepare>): StatementSync {
  const statement = prepare.apply(this, given);
  if (basename(this.location() ?? "") !== "journal.db") return statement;
  const [sql] = given;
  const run = statement.run.bind(statement);
  const get = statement.get.bind(statement);
  const all = statement.all.bind(statement);
  const iterate = statement.iterate.bind(statement);
  return Object.assign(statement, {
    run(...values: SQLInputValue[]) {
      count(sql, 0);
      return run(...values);
    },
    get(...values: SQLInputValue[]) {
      const row = get(...values);
      count(sql, row === undefined ? 0 : 1);
      return row;
    },
    all(...values: SQLInputValue[]) {
      const rows = all(...values);
      count(sql, rows.length);
      return rows;
    },
    *iterate(...values: SQLInputValue[]) {
      let rows = 0;
      try {
        for (const row of iterate(...values)) {
          rows += 1;
          yield row;
        }
      } finally {
        count(sql, rows);
      }
    },
  });
};

process.once("exit", () => tell({ kind: "queries", queries: [...counts].map(([sql, so]) => ({ sql, ...so })) }));
