/**
 * Connections to PostgreSQL. No session state: statements are whole transactions, so a pooler in transaction mode may stand between.
 * `pg` is an optional package, loaded when a project names a database (decision 0056).
 */
import { setTimeout as sleep } from "node:timers/promises";
import { FaultError } from "@orgate/core/vocab";
import type { Client, ClientConfig, Pool, QueryResultRow } from "pg";
import { asUnreadable, isConnectionLost } from "./faults.ts";

export type DatabaseOptions = Readonly<{
  url: string;
  /** A direct address for LISTEN, where `url` leads to a pooler; then no settings are sent with connections either. */
  listenUrl?: string | null;
  /** One schema for each project. */
  schema: string;
  poolSize?: number;
  statementTimeoutMs?: number;
  lockTimeoutMs?: number;
  /** How long reads and appends wait for a database that has gone away. */
  patienceMs?: number;
}>;

export type Link = Readonly<{
  schema: string;
  /** The database as people see it: without its password. */
  place: string;
  lockTimeoutMs: number;
  patienceMs: number;
  /** One statement, which is a transaction. Throws what `pg` throws. */
  query<Row extends QueryResultRow>(sql: string, values?: readonly unknown[]): Promise<readonly Row[]>;
  /** The same, for reads: tried again while the database is away; errors are `journal-unreadable`. */
  read<Row extends QueryResultRow>(sql: string, values?: readonly unknown[]): Promise<readonly Row[]>;
  /** Runs statements of one transaction on one connection. */
  transact<T>(begin: string, work: (run: RunStatement) => Promise<T>): Promise<T>;
  /** A connection outside the pool, not yet connected. */
  listener(): Client;
  close(): Promise<void>;
}>;
export type RunStatement = <Row extends QueryResultRow>(sql: string, values?: readonly unknown[]) => Promise<readonly Row[]>;

/** Patience: long enough for a restart or a fail-over. */
const DEFAULTS = { poolSize: 4, statementTimeoutMs: 30_000, lockTimeoutMs: 10_000, patienceMs: 30_000 } as const;
const PAUSE_MS = 200;
const CONNECT_MS = 10_000;
const PG = "pg@8.23.1";

export async function openLink(options: DatabaseOptions): Promise<Link> {
  const { url, schema, listenUrl = null } = options;
  const { poolSize, statementTimeoutMs, lockTimeoutMs, patienceMs } = { ...DEFAULTS, ...withoutUndefined(options) };
  const place = describePlace(url);
  if (!/^[a-z][a-z0-9_]{0,49}$/.test(schema))
    throw new FaultError({
      kind: "journal-unreadable",
      file: place,
      detail: `\`${schema}\` cannot name a schema: use at most 50 of a-z, 0-9 and \`_\`, a letter first`,
    });
  const { default: pg } = await loadPg();
  const common: ClientConfig = { connectionTimeoutMillis: CONNECT_MS, keepAlive: true, application_name: "orgate" };
  const settings: ClientConfig = listenUrl === null ? { statement_timeout: statementTimeoutMs, lock_timeout: lockTimeoutMs } : {};
  const pool: Pool = new pg.Pool({
    ...common,
    ...settings,
    connectionString: withPlainMode(url),
    max: poolSize,
    idleTimeoutMillis: 60_000,
    allowExitOnIdle: true,
  });
  pool.on("error", () => {}); // an idle connection was lost: the next statement opens another, and reports what it meets
  let wasReached = false; // an address that is wrong stays wrong
  let isClosed = false;
  const query: RunStatement = async <Row extends QueryResultRow>(sql: string, values: readonly unknown[] = []) =>
    (await pool.query<Row>(sql, [...values])).rows;
  return {
    schema,
    place,
    lockTimeoutMs,
    patienceMs,
    query,
    async read(sql, values) {
      const until = performance.now() + patienceMs;
      for (;;) {
        try {
          const rows = await query(sql, values);
          wasReached = true;
          return rows as never;
        } catch (error) {
          const mayPass = wasReached && !isClosed && isConnectionLost(error) && performance.now() < until;
          if (!mayPass) throw asUnreadable(error, place);
          await sleep(PAUSE_MS);
        }
      }
    },
    async transact(begin, work) {
      const client = await pool.connect();
      let broken = false;
      try {
        await client.query(begin);
        const result = await work(async (sql, values = []) => (await client.query(sql, [...values])).rows);
        await client.query("COMMIT");
        return result;
      } catch (error) {
        await client.query("ROLLBACK").catch(() => {
          broken = true;
        });
        throw error;
      } finally {
        client.release(broken);
      }
    },
    listener: () => new pg.Client({ ...common, connectionString: withPlainMode(listenUrl ?? url) }),
    close() {
      isClosed = true;
      return pool.end();
    },
  };
}

/** A pooler makes up the process that a connection is told of: cancelling goes by that, and the real one changes. */
export async function isBehindPooler(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  const told: unknown = Reflect.get(client, "processID"); // the types of `pg` lack it
  return rows[0]?.pid !== told;
}

async function loadPg() {
  try {
    return await import("pg");
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND")) throw error;
    throw new FaultError(
      { kind: "journal-unreadable", file: "[cluster]", detail: `a journal in PostgreSQL needs the package \`pg\`: \`npm install ${PG}\`` },
      error,
    );
  }
}

/** `postgres://user@host:port/database`; the address itself is never shown when it cannot be read, for what it may contain. */
function describePlace(url: string): string {
  try {
    const { protocol, username, host, pathname } = new URL(url);
    if (protocol !== "postgres:" && protocol !== "postgresql:") throw new RangeError("another protocol");
    return `postgres://${username === "" ? "" : `${username}@`}${host}${pathname}`;
  } catch (error) {
    const detail = "the address of the database is not `postgres://user:password@host:port/name`";
    throw new FaultError({ kind: "journal-unreadable", file: "[cluster]", detail }, error);
  }
}

/** `pg` takes these modes for `verify-full` too, and says so in ten lines each time. */
function withPlainMode(address: string): string {
  const url = new URL(address);
  const { searchParams: given } = url;
  if (!/^(prefer|require|verify-ca)$/.test(given.get("sslmode") ?? "") || given.has("uselibpqcompat")) return address;
  given.set("sslmode", "verify-full");
  return url.href;
}

const withoutUndefined = <T extends object>(all: T): Partial<T> =>
  Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as Partial<T>;
