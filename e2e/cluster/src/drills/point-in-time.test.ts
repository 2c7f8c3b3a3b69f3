// @module-tag debian
/** A project in PostgreSQL, restored to a moment before a mistake: a base backup, the archived WAL, and a target. Its sessions go on as the guide says. */
import { chownSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { DATABASE } from "../chaos/deployment.ts";
import { type Postgres, startPostgres } from "../servers/postgres.ts";
import { ordinaryUser, ownFolder } from "../servers/process.ts";
import { copyServer, startDebianPostgres } from "../servers/replica.ts";
import { linesTo, openDrill } from "./drill.ts";

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const POINT = "before the mistake";

/** The server of a base backup, brought to the point by the archive. */
async function restore(primary: Postgres, data: string, archive: string): Promise<Postgres> {
  const signal = join(data, "recovery.signal");
  writeFileSync(signal, "");
  if (ordinaryUser !== null) chownSync(signal, ordinaryUser.uid, ordinaryUser.gid);
  const settings = { restore_command: `cp ${archive}/%f %p`, recovery_target_name: POINT, recovery_target_action: "promote" };
  const restored = await startPostgres({ programs: primary.programs, data, settings });
  ends.push(restored.kill);
  const recovering = "SELECT pg_is_in_recovery() AS recovering";
  await expect
    .poll(async () => (await restored.query<{ recovering: boolean }>(recovering))[0]?.recovering, { timeout: 60_000 })
    .toBe(false);
  return restored;
}

test("a project restored to a point in time has every entry that was shown before it and none after, and its sessions go on when the halt is lifted", {
  timeout: 300_000,
}, async () => {
  const archive = ownFolder("archive");
  const archiveCommand = `test ! -f ${archive}/%f && cp %p ${archive}/%f`;
  const primary = await startDebianPostgres({ settings: { archive_mode: "on", archive_command: archiveCommand } });
  ends.push(primary.kill);
  let server = primary;
  const drill = await openDrill({ seed: 23, url: primary.url(), size: { envOf: linesTo(primary.url(), () => server.port) } });
  ends.push(drill.close);
  const { project } = drill;
  const headNow = async (): Promise<string> => (await project.orgate(["journal", "head"])).trim();

  const opening = drill.open(1, 10);
  await drill.shown(20);
  const data = await copyServer(primary); // while it is written
  await drill.shown(60);
  const [told, head] = [drill.told(), await headNow()];
  await primary.query(`SELECT pg_create_restore_point('${POINT}')`);
  await drill.shown(60); // work that the restored journal does not have
  await opening;
  const later = await headNow();
  await Promise.all(drill.processes.map((one) => one.kill()));
  await primary.query("SELECT pg_switch_wal()");
  const mistaken = await startMistake(primary);
  expect(mistaken).toBe(0);
  await primary.stop(); // an orderly stop waits for the archiver

  server = await restore(primary, data, archive);
  const there = { [DATABASE]: server.url() };
  expect(await project.orgate(["journal", "verify", "--head", head], there)).toContain("verified");
  const { code, stdout } = await project.run(["journal", "verify", "--head", later], there);
  expect([code, stdout]).toEqual([1, expect.stringMatching(/is missing: the given head has seal \d+, the journal ends before it/)]);

  await project.orgate(["halt", "all", "--reason", "restored from a copy"], there);
  const before = drill.outside.effects().length;
  await Promise.all(drill.processes.map((one) => one.start()));
  await drill.open(11, 12); // they wait with the halt
  const listed = await project.orgate(["sessions", "list", "--limit", "500"], there);
  const find = (line: RegExp): readonly string[] => [...listed.matchAll(line)].map(([, session = ""]) => session);
  const waiting = find(/^(s_\S+) +waiting +boss /gm);
  const halted = find(/^(s_\S+) +idle +boss .* halted /gm);
  expect(listed).toContain("halted"); // turns that were running have ended so
  for (const session of waiting.slice(0, 1)) await project.orgate(["sessions", "cancel", session, "--reason", "somebody did it"], there);
  expect(drill.outside.effects().length).toBe(before);
  await project.orgate(["resume-work", "all", "--reason", "compared with the systems outside"], there);
  for (const session of halted) expect((await project.run(["sessions", "say", session, "go on"], there)).code).toBeOneOf([0, 3]);
  expect(await drill.settle(120_000)).toEqual([]);
  const { violations } = await drill.end(told, there);
  // What happened between the point and the loss is unknown to the restored journal: these rules speak of it, all others hold.
  expect(violations.filter((violation) => !/^(L-5|L-7|M-4) /.test(violation))).toEqual([]);
});

/** Somebody drops what matters; how many entries are left. */
async function startMistake(primary: Postgres): Promise<number> {
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: primary.url() });
  await client.connect();
  await client.query('TRUNCATE "orgate".appends CASCADE');
  const { rows } = await client.query<{ n: number }>('SELECT count(*)::int AS n FROM "orgate".appends');
  await client.end();
  return rows[0]?.n ?? -1;
}
