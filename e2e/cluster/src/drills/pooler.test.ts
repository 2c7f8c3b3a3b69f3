// @module-tag debian
/** Whole processes behind PgBouncer in transaction mode, as docs/guide/cluster.md sets them up; and the ways to set them up wrongly. */
import { afterEach, expect, test } from "vitest";
import { CLUSTER_SETTINGS } from "../chaos/deployment.ts";
import { startPgBouncer } from "../servers/pgbouncer.ts";
import { startPostgres } from "../servers/postgres.ts";
import { complaintsOf, openDrill } from "./drill.ts";

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const LISTEN = "ORGATE_LISTEN";

test("a coordinator and two workers behind PgBouncer drive sessions to their ends, approvals and a killed worker included; what is set up wrongly there is said in one line", {
  timeout: 300_000,
}, async () => {
  const postgres = await startPostgres();
  ends.push(postgres.kill);
  const pooler = await startPgBouncer(postgres, 6);
  ends.push(pooler.kill);
  const drill = await openDrill({
    seed: 51,
    url: pooler.url(),
    settings: `${CLUSTER_SETTINGS}listen = { env = "${LISTEN}" }\n`,
    env: { [LISTEN]: postgres.url() },
  });
  ends.push(drill.close);
  const opening = drill.open(1, 8);
  await drill.shown(100);
  await drill.cluster.workers[0]?.kill();
  await drill.revive();
  await opening;
  expect(await drill.settle(120_000)).toEqual([]);

  const untimed = /`statement_timeout` of the database is 0 .*`statement_seconds` does not reach a database behind a pooler/;
  const doctor = async (
    env: Readonly<Record<string, string>>,
  ): Promise<Readonly<{ ok: boolean; detail: string; weak: readonly string[] }>> =>
    JSON.parse((await drill.project.run(["doctor", "--json"], env)).stdout).journal;
  expect(await doctor({})).toMatchObject({ ok: true, weak: [expect.stringMatching(untimed)] });
  expect(drill.cluster.workers[1]?.log()).toMatch(untimed);
  await postgres.query("ALTER ROLE orgate SET statement_timeout = '30s'");
  // Through a pooler that was told to let these settings pass, LISTEN would not be noticed to be deaf.
  const lenient = await startPgBouncer(postgres, 6, ["ignore_startup_parameters = statement_timeout,lock_timeout"]);
  ends.push(lenient.kill);
  expect(await doctor({ [LISTEN]: lenient.url() })).toMatchObject({
    ok: true,
    weak: expect.arrayContaining([expect.stringMatching(/LISTEN leads through a pooler.*set `listen`/)]),
  });

  const { violations, counts } = await drill.end();
  expect([violations, complaintsOf(drill.processes)]).toEqual([[], []]);
  expect(counts["approvals answered"]).toBeGreaterThan(0);
});
