// @module-tag debian
import pg from "pg";
import { afterAll, expect, test } from "vitest";
import { startPgBouncer } from "./pgbouncer.ts";
import { startPostgres } from "./postgres.ts";
import { startDebianPostgres, startReplica, waitForReplica } from "./replica.ts";

const closing: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const close of closing.reverse()) await close();
});

test("PgBouncer in transaction mode gives a session's next transaction to any connection", async () => {
  const postgres = await startPostgres();
  closing.push(postgres.kill);
  const bouncer = await startPgBouncer(postgres, 2);
  closing.push(bouncer.kill);
  const clients = await Promise.all(
    Array.from({ length: 6 }, async () => {
      const client = new pg.Client({ connectionString: bouncer.url() });
      await client.connect();
      return client;
    }),
  );
  const backends = await Promise.all(clients.map((client) => client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid")));
  expect(new Set(backends.map(({ rows }) => rows[0]?.pid)).size).toBeLessThanOrEqual(2);
  for (const client of clients) await client.end();
});

test("a replica that commits wait for has everything that was committed, and can be promoted", async () => {
  const primary = await startDebianPostgres();
  closing.push(primary.kill);
  const replica = await startReplica(primary, "standby");
  closing.push(replica.kill);
  await waitForReplica(primary, "standby");
  await primary.query("CREATE TABLE kept (n int)");
  await primary.query("INSERT INTO kept VALUES (1)");
  await primary.kill();
  await replica.promote();
  expect(await replica.query("SELECT n FROM kept")).toEqual([{ n: 1 }]);
  await replica.query("INSERT INTO kept VALUES (2)");
});
