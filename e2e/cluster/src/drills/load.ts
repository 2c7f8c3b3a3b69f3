/** Writers that insert one row after the other into a PostgreSQL and remember what was acknowledged: the simplest thing that can be lost. */
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";

export type Load = Readonly<{
  /** Rows whose commit was acknowledged so far. */
  acknowledged(): ReadonlySet<number>;
  /** Waits until that many were. */
  until(rows: number): Promise<void>;
  stop(): Promise<void>;
}>;

const WRITERS = 8;

export async function writeRows(url: string): Promise<Load> {
  const acknowledged = new Set<number>();
  const setUp = new pg.Client({ connectionString: url });
  await setUp.connect();
  await setUp.query("CREATE TABLE IF NOT EXISTS kept (n int PRIMARY KEY)");
  await setUp.end();
  let stopped = false;
  let next = 0;
  const write = async (): Promise<void> => {
    const client = new pg.Client({ connectionString: url });
    client.on("error", () => {}); // the query under way is rejected too
    await client.connect();
    while (!stopped) {
      const n = next++;
      await client.query("INSERT INTO kept VALUES ($1)", [n]);
      acknowledged.add(n);
    }
    await client.end();
  };
  const writing = Promise.allSettled(Array.from({ length: WRITERS }, write)); // a killed server ends them all
  return {
    acknowledged: () => acknowledged,
    async until(rows) {
      while (acknowledged.size < rows) await sleep(5);
    },
    async stop() {
      stopped = true;
      await writing;
    },
  };
}

/** Acknowledged rows that this server does not have. */
export async function lostRows(load: Load, rows: readonly Readonly<{ n: number }>[]): Promise<readonly number[]> {
  const there = new Set(rows.map(({ n }) => n));
  return [...load.acknowledged()].filter((n) => !there.has(n));
}
