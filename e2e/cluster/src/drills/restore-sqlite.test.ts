/** A project whose disk is lost is restored from a copy that was taken while it was being written, and its sessions go on. */
import { cpSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { openClients } from "../chaos/clients.ts";
import { startEmbedded } from "../chaos/deployment.ts";
import { judge } from "../chaos/judge.ts";
import { SCHEDULE } from "../chaos/project.ts";
import { gatherEvidence, openWorld, waitForPeace } from "../chaos/world.ts";

const SEED = 5;
const JOBS = 12;

/** As docs/guide/backup.md says: databases by `VACUUM INTO`, then what is only ever added to. */
function backUp(directory: string, copy: string): void {
  mkdirSync(copy, { mode: 0o700 });
  for (const name of ["journal.db", "knowledge.db", "requests.db"]) {
    if (!existsSync(join(directory, name))) continue;
    const db = new DatabaseSync(join(directory, name), { readOnly: true, timeout: 30_000 });
    db.prepare("VACUUM INTO ?").run(join(copy, name));
    db.close();
  }
  for (const name of ["blobs", "keys", "operators"])
    if (existsSync(join(directory, name))) cpSync(join(directory, name), join(copy, name), { recursive: true });
}

test("a copy that was taken under load verifies against the head of its moment, and its sessions end once", {
  timeout: 200_000,
}, async () => {
  const { folder, outside, project, token } = await openWorld({ seed: SEED });
  const directory = join(project.root, ".orgate");
  const copy = join(folder, "copy");
  const first = await startEmbedded(project, folder, 2);
  const clients = openClients(first.urls, token);
  for (let job = 1; job <= JOBS; job += 1) await clients.openJob(String(job));
  while (clients.acknowledged.entries.size < 150) await sleep(20);
  const told = { entries: new Map(clients.acknowledged.entries), jobs: new Map(clients.acknowledged.jobs), answers: new Set<string>() };
  const head = (await project.orgate(["journal", "head"])).trim();
  backUp(directory, copy);
  while (clients.acknowledged.entries.size < told.entries.size + 50) await sleep(20); // work that the copy does not have
  await clients.end();
  for (const server of first.processes) await server.kill();

  rmSync(directory, { recursive: true });
  cpSync(copy, directory, { recursive: true });
  expect(await project.orgate(["journal", "verify", "--head", head])).not.toBe("");
  const second = await startEmbedded(project, folder, 2);
  const later = openClients(second.urls, token);
  await later.pauseSchedule(SCHEDULE);
  expect(await waitForPeace(later, 120_000)).toEqual([]);
  await later.end();
  for (const server of second.processes) await server.stop();

  const { violations } = judge({ ...(await gatherEvidence(folder, project, outside)), acknowledged: told });
  await outside.end();
  // What happened between the copy and the loss is unknown to the copy: these rules speak of it, all others hold.
  expect(violations.filter((violation) => !/^(L-5|L-7|M-4) /.test(violation))).toEqual([]);
});
