/** Statements that SQLite ran in this thread: how often, how many rows came back, and by which plan. */
import { DatabaseSync, StatementSync } from "node:sqlite";

export type Ran = { calls: number; rows: number };
export type Statements = ReadonlyMap<string, Readonly<Ran>>;

/** All statements that run in this thread while `work` does. */
export async function recordStatements(work: () => Promise<void> | void): Promise<Statements> {
  const ran = new Map<string, Ran>();
  const { all, get, run, iterate } = StatementSync.prototype;
  const count = (sql: string, rows: number): void => {
    const before = ran.get(sql) ?? { calls: 0, rows: 0 };
    ran.set(sql, { calls: before.calls + 1, rows: before.rows + rows });
  };
  Object.assign(StatementSync.prototype, {
    all(this: StatementSync, ...given: Parameters<typeof all>) {
      const rows = all.apply(this, given);
      count(this.sourceSQL, rows.length);
      return rows;
    },
    get(this: StatementSync, ...given: Parameters<typeof get>) {
      const row = get.apply(this, given);
      count(this.sourceSQL, row === undefined ? 0 : 1);
      return row;
    },
    run(this: StatementSync, ...given: Parameters<typeof run>) {
      count(this.sourceSQL, 0);
      return run.apply(this, given);
    },
    *iterate(this: StatementSync, ...given: Parameters<typeof iterate>) {
      count(this.sourceSQL, 0);
      const entry = ran.get(this.sourceSQL);
      for (const row of iterate.apply(this, given)) {
        if (entry !== undefined) entry.rows += 1;
        yield row;
      }
    },
  });
  try {
    await work();
  } finally {
    Object.assign(StatementSync.prototype, { all, get, run, iterate });
  }
  return ran;
}

export const totalOf = (statements: Statements): Ran => {
  const all = [...statements.values()];
  return { calls: all.reduce((n, one) => n + one.calls, 0), rows: all.reduce((n, one) => n + one.rows, 0) };
};

/** Steps that go through a whole table or index, or sort: `SCAN entries`, with the statement. Statements of other databases are left out. */
export function findScans(file: string, statements: Statements): readonly string[] {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    return [...statements.keys()].flatMap((sql) => scansIn(db, sql).map((step) => `${step}: ${sql}`));
  } finally {
    db.close();
  }
}

function scansIn(db: DatabaseSync, sql: string): readonly string[] {
  if (!/^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)/i.test(sql)) return [];
  let plan: string[];
  try {
    const text = `EXPLAIN QUERY PLAN ${sql}`;
    const nulls = sql.match(/\?/g)?.map(() => null) ?? [];
    plan = db
      .prepare(text)
      .all(...nulls)
      .map((row) => String(row.detail));
  } catch {
    return []; // of another database
  }
  return plan.filter((step) => /^SCAN (?!CONSTANT|\w+ VIRTUAL|asked|json_each)/.test(step) || step.includes("TEMP B-TREE"));
}
