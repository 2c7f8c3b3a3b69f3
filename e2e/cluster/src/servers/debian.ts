/** Programs of Debian that npm's PostgreSQL lacks: `pg_basebackup`, `pg_ctl promote`, PgBouncer; and a library that sets a process's clock. Installed as `scripts/machine.ts` does for other tests. */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

const VERSIONS = "/usr/lib/postgresql";
const LIBRARIES = "/usr/lib";
const PGBOUNCER = "/usr/sbin/pgbouncer";
const COMMAND = "apt-get install -y --no-install-recommends postgresql pgbouncer libfaketime";

/** The newest PostgreSQL of Debian that has every program; null where there is none. */
export function debianPrograms(): string | null {
  if (!existsSync(VERSIONS)) return null;
  const versions = readdirSync(VERSIONS).sort((a, b) => Number(b) - Number(a));
  const folders = versions.map((version) => join(VERSIONS, version, "bin"));
  return (
    folders.find((folder) => ["postgres", "initdb", "pg_basebackup", "pg_ctl"].every((program) => existsSync(join(folder, program)))) ??
    null
  );
}

/** The library that gives a process another clock, where it is installed. */
export function fakeTimeLibrary(): string | null {
  const places = readdirSync(LIBRARIES).map((folder) => join(LIBRARIES, folder, "faketime", "libfaketime.so.1"));
  return places.find((place) => existsSync(place)) ?? null;
}

export const pgbouncerProgram = (): string | null => (existsSync(PGBOUNCER) ? PGBOUNCER : null);

/** Installs what is missing as root; null once everything is there, else the reason and the command. No server of Debian's own is started. */
export function installDebianPrograms(say: (line: string) => void): string | null {
  const isThere = (): boolean => debianPrograms() !== null && pgbouncerProgram() !== null && fakeTimeLibrary() !== null;
  if (isThere()) return null;
  const hint = `run \`${COMMAND}\` as root`;
  if (process.env.ORGATE_INSTALL === "no") return `ORGATE_INSTALL=no leaves this machine as it is; ${hint}`;
  if (process.getuid?.() !== 0) return `only root can install Debian's PostgreSQL, PgBouncer and libfaketime; ${hint}`;
  say(`replicas, backups and pooling need Debian's packages: ${COMMAND}`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1" }; // no service starts by being installed
  const [program = "", ...args] = COMMAND.split(" ");
  const install = (): boolean => spawnSync(program, args, { env, stdio: "ignore" }).status === 0;
  if (!install() && spawnSync("apt-get", ["update"], { stdio: "ignore" }).status === 0) install();
  return isThere() ? null : `apt-get could not install them; ${hint}`;
}

if (import.meta.main) {
  const why = installDebianPrograms((line) => console.error(line));
  if (why !== null) {
    console.error(why);
    process.exitCode = 1;
  }
}
