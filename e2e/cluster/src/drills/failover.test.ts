// @module-tag debian
/**
 * A primary dies under Orgate's processes and its streaming replica takes over: with the commit settings of the guide nothing is lost and nothing done twice;
 * without them the journal says what is lost.
 */
import { afterEach, expect, test } from "vitest";
import { DATABASE } from "../chaos/deployment.ts";
import type { Postgres } from "../servers/postgres.ts";
import { type Replica, startDebianPostgres, startReplica, waitForReplica } from "../servers/replica.ts";
import { complaintsOf, type Drill, linesTo, openDrill } from "./drill.ts";

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

type Pair = Readonly<{ primary: Postgres; replica: Replica; drill: Drill /** From now on lines lead to the replica. */; turn(): void }>;

async function openPair(waits: boolean): Promise<Pair> {
  const primary = await startDebianPostgres();
  ends.push(primary.kill);
  const replica = await startReplica(primary, "standby");
  ends.push(replica.kill);
  if (waits) await waitForReplica(primary, "standby");
  let port = primary.port;
  const drill = await openDrill({ seed: 11, url: primary.url(), size: { envOf: linesTo(primary.url(), () => port) } });
  ends.push(drill.close);
  const turn = (): void => {
    port = replica.port;
  };
  return { primary, replica, drill, turn };
}

const JOBS = 8;

test("with synchronous_standby_names a promoted replica has every entry that was shown, no effect happens twice, and every session ends", {
  timeout: 300_000,
}, async () => {
  const { primary, replica, drill, turn } = await openPair(true);
  const opening = drill.open(1, JOBS);
  await drill.shown(100);
  const head = (await drill.project.orgate(["journal", "head"])).trim();
  await drill.shown(50);
  await replica.kill(); // cut off shortly before: commits wait for it, and nothing more is shown
  await primary.kill();
  await replica.start();
  await replica.promote();
  turn();
  await drill.revive();
  await opening;
  await drill.open(JOBS + 1, JOBS + 2);
  expect(await drill.settle(120_000)).toEqual([]);
  const there = { [DATABASE]: replica.url() };
  const { violations, counts } = await drill.end(undefined, there);
  expect(violations).toEqual([]);
  expect(counts["entries shown to clients"]).toBeGreaterThan(150);
  expect(await drill.project.orgate(["journal", "verify", "--head", head], there)).toContain("verified");
});

test("without it, a replica that was behind has lost entries that were shown, and the journal says so where its head was kept", {
  timeout: 300_000,
}, async () => {
  const { primary, replica, drill, turn } = await openPair(false);
  const opening = drill.open(1, JOBS);
  await drill.shown(100);
  await replica.kill();
  await drill.shown(100); // commits go on
  const head = (await drill.project.orgate(["journal", "head"])).trim();
  await opening;
  const told = drill.told();
  await primary.kill();
  await replica.start();
  await replica.promote();
  turn();
  // Processes that still know better raise an alarm or end: nothing goes on as if nothing had happened.
  await expect.poll(() => complaintsOf(drill.processes).join("\n"), { timeout: 60_000 }).toMatch(GONE_BACK);
  const there = { [DATABASE]: replica.url() };
  const { code, stdout } = await drill.project.run(["journal", "verify", "--head", head], there);
  expect([code, stdout]).toEqual([1, expect.stringMatching(/is missing: the given head has seal \d+, the journal ends before it/)]);
  const lost = (await drill.end(told, there)).violations.filter((violation) => violation.startsWith("J-1 "));
  expect(lost.length).toBeGreaterThanOrEqual(100);
  console.log(`${lost.length} of ${told.entries.size} entries that were shown are lost`);
});

/** Where the replica lacks a process's own row, that is what it learns first. */
const GONE_BACK =
  /it was there before, while this process ran|the database has gone back behind what this process has read|another process has taken over the name of this writer/;
