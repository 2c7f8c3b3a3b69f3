/** A streaming replica of a PostgreSQL of Debian's, made with `pg_basebackup`, and its promotion. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { debianPrograms, installDebianPrograms } from "./debian.ts";
import { type Postgres, type PostgresOptions, startPostgres } from "./postgres.ts";
import { ordinaryUser, ownFolder } from "./process.ts";

export type Replica = Postgres & Readonly<{ promote(): Promise<void> }>;

/** A PostgreSQL of Debian's, whose programs include what replicas and backups need. */
export function startDebianPostgres(options: Omit<PostgresOptions, "programs"> = {}): Promise<Postgres> {
  const why = installDebianPrograms((line) => console.error(line));
  const programs = debianPrograms();
  if (programs === null) throw new Error(`Debian's PostgreSQL is not installed: ${why}`);
  return startPostgres({ ...options, programs });
}

/** A copy of the whole server while it runs and is written: `-X stream` brings the WAL that it needs to be consistent. */
export async function copyServer(primary: Postgres, more: readonly string[] = []): Promise<string> {
  const data = join(ownFolder("copy"), "data");
  const args = ["-d", primary.url("postgres"), "-D", data, "-X", "stream", "-c", "fast", ...more];
  await promisify(execFile)(join(primary.programs, "pg_basebackup"), args, { cwd: "/", ...ordinaryUser });
  return data;
}

/** `name` is what `synchronous_standby_names` of the primary calls it. */
export async function startReplica(primary: Postgres, name: string): Promise<Replica> {
  const data = await copyServer(primary, ["-R", "-C", "-S", name]);
  const source = `${primary.url("postgres")}?application_name=${name}`;
  const settings = { primary_conninfo: source, primary_slot_name: name, hot_standby: "on" };
  const replica = await startPostgres({ programs: primary.programs, data, settings });
  return {
    ...replica,
    async promote() {
      await replica.query("SELECT pg_promote(true, 60)");
    },
  };
}

/** From now on a commit is acknowledged once this replica has it on its disk as well. Not before it exists: nothing could be committed. */
export async function waitForReplica(primary: Postgres, name: string): Promise<void> {
  await primary.query(`ALTER SYSTEM SET synchronous_standby_names = '${name}'`);
  await primary.query("SELECT pg_reload_conf()");
  for (;;) {
    const [row] = await primary.query<{ state: string }>(
      "SELECT sync_state AS state FROM pg_stat_replication WHERE application_name = $1",
      [name],
    );
    if (row?.state === "sync") return;
    await sleep(50);
  }
}
