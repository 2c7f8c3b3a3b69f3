// @module-tag debian
/** PostgreSQL restored to a moment before a mistake: a base backup, the archived WAL, and a target. */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startPostgres } from "../servers/postgres.ts";
import { ordinaryUser, ownFolder } from "../servers/process.ts";
import { copyServer, startDebianPostgres } from "../servers/replica.ts";
import { lostRows, writeRows } from "./load.ts";

test("a restore to a point in time has every commit before it and none after", async () => {
  const archive = ownFolder("archive");
  const archiveCommand = `test ! -f ${archive}/%f && cp %p ${archive}/%f`;
  const primary = await startDebianPostgres({ settings: { archive_mode: "on", archive_command: archiveCommand } });
  const data = copyServer(primary); // taken first, and while rows are written
  const load = await writeRows(primary.url("postgres"));
  await load.until(200);
  await load.stop();
  const [point] = await primary.query<{ at: string }>("SELECT pg_create_restore_point('before the mistake')::text AS at");
  expect(point?.at).toMatch(/^[0-9A-F]+\/[0-9A-F]+$/);
  await primary.query("TRUNCATE kept"); // the mistake
  await primary.query("SELECT pg_switch_wal()");
  await primary.stop(); // an orderly stop waits for the archiver

  writeFileSync(join(data, "recovery.signal"), "");
  if (ordinaryUser !== null) spawnSync("chown", [`${ordinaryUser.uid}:${ordinaryUser.gid}`, join(data, "recovery.signal")]);
  const settings = {
    restore_command: `cp ${archive}/%f %p`,
    recovery_target_name: "before the mistake",
    recovery_target_action: "promote",
  };
  const restored = await startPostgres({ programs: primary.programs, data, settings });
  try {
    for (;;) {
      const [row] = await restored.query<{ recovering: boolean }>("SELECT pg_is_in_recovery() AS recovering");
      if (row?.recovering === false) break;
    }
    const rows = await restored.query<{ n: number }>("SELECT n FROM kept");
    expect(await lostRows(load, rows)).toEqual([]);
    expect(rows.length).toBeGreaterThanOrEqual(200);
    await restored.query("INSERT INTO kept VALUES (-1)");
  } finally {
    await restored.kill();
  }
});
