// @module-tag small-disk
/** The disk of PostgreSQL fills up under Orgate's processes: nothing is lost, nothing happens twice, and work goes on when there is room. */
import { afterEach, expect, test } from "vitest";
import { startPostgres } from "../servers/postgres.ts";
import { mountSmallDisk } from "../servers/small-disk.ts";
import { complaintsOf, openDrill } from "./drill.ts";

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

test("processes whose database has no room say so in one line and end; when there is room their sessions go on, with nothing lost and nothing done twice", {
  timeout: 300_000,
}, async () => {
  const disk = mountSmallDisk(48);
  ends.push(disk.end);
  const postgres = await startPostgres(); // its WAL lies elsewhere, as it should: a full WAL stops the server itself
  ends.push(postgres.kill);
  await postgres.query(`CREATE TABLESPACE small LOCATION '${disk.folder}'`);
  await postgres.query("CREATE DATABASE small TABLESPACE small");
  const drill = await openDrill({ seed: 31, url: postgres.url("small") });
  ends.push(drill.close);
  const opening = drill.open(1, 5);
  await drill.shown(60);
  const before = complaintsOf(drill.processes);
  disk.fill(64 * 1024);
  await expect.poll(() => drill.processes.filter((one) => !one.isRunning()).length, { timeout: 90_000 }).toBeGreaterThan(0);
  const said = complaintsOf(drill.processes);
  for (const one of drill.processes) {
    const sessions = complaintsOf([one]).flatMap((line) => /"session":"(s_\w+)"/.exec(line)?.[1] ?? []);
    const times = [...Map.groupBy(sessions, (session) => session).values()].map(({ length }) => length);
    expect(Math.max(0, ...times), one.log().slice(-6_000)).toBeLessThanOrEqual(3); // it does not try again and again
  }
  disk.free();
  await drill.revive();
  await opening;
  expect(await drill.settle(120_000)).toEqual([]);
  const { violations } = await drill.end();
  expect([before, violations]).toEqual([[], []]);
  expect(said.filter((line) => !line.includes("is full"))).toEqual([]);
});
