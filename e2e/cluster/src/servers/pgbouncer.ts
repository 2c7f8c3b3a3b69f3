/** Debian's PgBouncer in transaction mode, in front of a PostgreSQL: two transactions of one client may run on two connections. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { installDebianPrograms, pgbouncerProgram } from "./debian.ts";
import { POSTGRES_PASSWORD, POSTGRES_USER, type Postgres } from "./postgres.ts";
import { freePort, ownFolder, type ServerProcess, serverProcess } from "./process.ts";

export type PgBouncer = ServerProcess & Readonly<{ port: number; url(database?: string): string }>;

/** `connections`: how many to PostgreSQL, for all clients together. `more`: further lines of `pgbouncer.ini`. */
export async function startPgBouncer(postgres: Postgres, connections = 4, more: readonly string[] = []): Promise<PgBouncer> {
  const why = installDebianPrograms((line) => console.error(line));
  const program = pgbouncerProgram();
  if (program === null) throw new Error(`PgBouncer is not installed: ${why}`);
  const folder = ownFolder("pgbouncer");
  const port = await freePort();
  writeFileSync(join(folder, "users.txt"), `"${POSTGRES_USER}" "${POSTGRES_PASSWORD}"\n`, { mode: 0o644 });
  const settings = [
    "[databases]",
    `* = host=127.0.0.1 port=${postgres.port}`,
    "[pgbouncer]",
    "listen_addr = 127.0.0.1",
    `listen_port = ${port}`,
    "auth_type = scram-sha-256",
    `auth_file = ${join(folder, "users.txt")}`,
    "pool_mode = transaction",
    `default_pool_size = ${connections}`,
    "max_client_conn = 500",
    "unix_socket_dir =",
    ...more,
  ];
  writeFileSync(join(folder, "pgbouncer.ini"), `${settings.join("\n")}\n`, { mode: 0o644 });
  const url = (database = POSTGRES_USER): string => `postgres://${POSTGRES_USER}:${POSTGRES_PASSWORD}@127.0.0.1:${port}/${database}`;
  const server = serverProcess({
    name: "pgbouncer",
    program,
    args: [join(folder, "pgbouncer.ini")],
    folder,
    stopSignal: "SIGINT",
    isReady: async () => {
      const client = new pg.Client({ connectionString: url("postgres") });
      client.on("error", () => {});
      await client.connect();
      await client.query("SELECT 1").finally(() => client.end());
      return true;
    },
  });
  await server.start();
  return { ...server, port, url };
}
