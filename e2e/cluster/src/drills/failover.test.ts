// @module-tag debian
/** A primary dies under load and its streaming replica takes over: what the commit settings must be, and what is lost without them. */
import { expect, test } from "vitest";
import type { Postgres } from "../servers/postgres.ts";
import { startDebianPostgres, startReplica, waitForReplica } from "../servers/replica.ts";
import { lostRows, writeRows } from "./load.ts";

/** `behind`: the replica receives nothing for the last rows, as behind a network that has just failed. */
async function failOver(
  settings: Readonly<{ waits: boolean; behind: boolean }>,
): Promise<Readonly<{ acknowledged: number; lost: number }>> {
  const primary = await startDebianPostgres();
  const replica = await startReplica(primary, "standby");
  try {
    if (settings.waits) await waitForReplica(primary, "standby");
    const load = await writeRows(primary.url("postgres"));
    await load.until(300);
    if (settings.behind) await replica.kill();
    // Without waiting, commits go on while the replica is away. With it, none is acknowledged: the writers stand still.
    if (!settings.waits) await load.until(load.acknowledged().size + 300);
    await primary.kill();
    await load.stop();
    if (settings.behind) await replica.start();
    await replica.promote();
    const lost = await lostRows(load, await rowsOf(replica));
    await replica.query("INSERT INTO kept VALUES (-1)"); // it takes writes
    return { acknowledged: load.acknowledged().size, lost: lost.length };
  } finally {
    await primary.kill();
    await replica.kill();
  }
}

const rowsOf = (server: Postgres): Promise<readonly Readonly<{ n: number }>[]> => server.query<{ n: number }>("SELECT n FROM kept");

test("with synchronous_standby_names, a promoted replica has every acknowledged commit, also when it was cut off before", async () => {
  for (const behind of [false, true]) {
    const { acknowledged, lost } = await failOver({ waits: true, behind });
    expect(acknowledged).toBeGreaterThanOrEqual(300);
    expect(lost).toBe(0);
  }
});

test("without it, a replica that was behind loses acknowledged commits when it is promoted", async () => {
  const { acknowledged, lost } = await failOver({ waits: false, behind: true });
  expect(acknowledged).toBeGreaterThanOrEqual(600);
  expect(lost).toBeGreaterThanOrEqual(300);
});
