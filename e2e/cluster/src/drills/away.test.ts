/** A database that stays away: processes give up in one line, and whoever starts them again finds every turn where it was. */
import { afterEach, expect, test } from "vitest";
import { DATABASE, openLine } from "../chaos/deployment.ts";
import { startPostgres } from "../servers/postgres.ts";
import type { TcpProxy } from "../servers/proxy.ts";
import { complaintsOf, openDrill } from "./drill.ts";

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

test("J-3 W-30 a database that is away for longer than 30 s in the middle of turns ends whoever writes with the reason; started again they go on, with nothing lost and nothing done twice", {
  timeout: 300_000,
}, async () => {
  const postgres = await startPostgres();
  ends.push(postgres.kill);
  const lines: TcpProxy[] = [];
  const envOf = async () => {
    const { line, url } = await openLine(postgres.url(), () => postgres.port);
    lines.push(line);
    return { [DATABASE]: url };
  };
  const drill = await openDrill({ seed: 41, url: postgres.url(), size: { envOf } });
  ends.push(drill.close);
  const opening = drill.open(1, 5);
  await drill.shown(60);
  for (const line of lines) line.close();
  // Whoever has something to write gives up; a worker with nothing to write may go on looking.
  await expect.poll(() => drill.cluster.workers.every((one) => one.isRunning()), { timeout: 120_000 }).toBe(false);
  const said = complaintsOf(drill.cluster.workers);
  for (const line of lines) line.open();
  await drill.revive();
  await opening;
  await drill.open(9, 9);
  expect(await drill.settle(120_000)).toEqual([]);
  // A coordinator that outlived it all tells of turns again, which it does from the journal.
  const session = drill.told().jobs.get("9") ?? "";
  await expect
    .poll(() => drill.cluster.serving[0]?.log(), { timeout: 60_000 })
    .toMatch(new RegExp(`"turn.started","session":"${session}"`));
  const { violations } = await drill.end();
  expect(violations).toEqual([]);
  expect(said).toContainEqual(expect.stringContaining("cannot be reached"));
  expect(said.filter((line) => !line.includes("cannot be reached"))).toEqual([]);
});
