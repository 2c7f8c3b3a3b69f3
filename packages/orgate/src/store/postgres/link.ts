/**
 * Connections to PostgreSQL. No session state: statements are whole transactions, so a pooler in transaction mode may stand between.
 * `pg` is an optional package, loaded when a project names a database (decision 0056).
 */
import { setTimeout as sleep } from "node:timers/promises";
import { FaultError } from "@orgate/core/vocab";
import type { Client, ClientConfig, Pool, PoolClient, QueryResultRow } from "pg";
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
  /** One statement, which is a transaction. Throws what `pg` throws. `answerMs`: how long its answer may take, if less than that of any statement. */
  query<Row extends QueryResultRow>(sql: string, values?: readonly unknown[], answerMs?: number): Promise<readonly Row[]>;
  /** The same, for reads: tried again while the database is away; errors are `journal-unreadable`. */
  read<Row extends QueryResultRow>(sql: string, values?: readonly unknown[]): Promise<readonly Row[]>;
  /** Runs statements of one transaction on one connection. `answerMs`: how long the answer to each may take, if not as long as that of any statement. */
  transact<T>(begin: string, work: (run: RunStatement) => Promise<T>, answerMs?: number): Promise<T>;
  /** Takes what is gone out of the pages too, for as long as that takes. False: something was in the way, and PostgreSQL's own next vacuum does it. */
  vacuum(...tables: readonly string[]): Promise<boolean>;
  /** A connection outside the pool, not yet connected. */
  listener(): Client;
  close(): Promise<void>;
}>;
export type RunStatement = <Row extends QueryResultRow>(sql: string, values?: readonly unknown[]) => Promise<readonly Row[]>;

/** Patience: long enough for a restart or a fail-over. */
const DEFAULTS = { poolSize: 4, statementTimeoutMs: 30_000, lockTimeoutMs: 10_000, patienceMs: 30_000 } as const;
const PAUSE_MS = 200;
const CONNECT_MS = 10_000;
/**
 * On top of what the database itself allows a statement. A host that is gone, or a network that drops everything, closes no connection: without a limit of our
 * own whoever waits for an answer waits until the kernel gives up, a quarter of an hour later.
 */
export const SILENCE_MS = 5_000;
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
    query_timeout: statementTimeoutMs + SILENCE_MS,
    max: poolSize,
    idleTimeoutMillis: 60_000,
    allowExitOnIdle: true,
  });
  pool.on("error", () => {}); // an idle connection was lost: the next statement opens another, and reports what it meets
  let wasReached = false; // an address that is wrong stays wrong
  let isClosed = false;
  const query: Link["query"] = async <Row extends QueryResultRow>(sql: string, values: readonly unknown[] = [], answerMs?: number) =>
    (await pool.query<Row>(toQuery(sql, values, answerMs))).rows;
  return {
    schema,
    place,
    lockTimeoutMs,
    patienceMs,
    query,
    async read(sql, values) {
      let until = Number.POSITIVE_INFINITY;
      for (;;) {
        try {
          const rows = await query(sql, values);
          wasReached = true;
          return rows as never;
        } catch (error) {
          until = Math.min(until, performance.now() + patienceMs); // waiting for an answer that did not come was no try
          const mayPass = wasReached && !isClosed && isConnectionLost(error) && performance.now() < until;
          if (!mayPass) throw asUnreadable(error, place);
          await sleep(PAUSE_MS);
        }
      }
    },
    transact: async (begin, work, answerMs) => transact(await pool.connect(), begin, work, answerMs),
    vacuum: (...tables) => vacuum(new pg.Client({ ...common, connectionString: withPlainMode(listenUrl ?? url) }), tables),
    listener: () => new pg.Client({ ...common, connectionString: withPlainMode(listenUrl ?? url), query_timeout: SILENCE_MS }),
    close() {
      isClosed = true;
      return pool.end();
    },
  };
}

const toQuery = (text: string, values: readonly unknown[], answerMs: number | undefined) => ({
  ...{ text, values: [...values] },
  ...(answerMs === undefined ? null : { query_timeout: answerMs }),
});

async function transact<T>(client: PoolClient, begin: string, work: (run: RunStatement) => Promise<T>, answerMs?: number): Promise<T> {
  let broken = false;
  const run: RunStatement = async (sql, values = []) => (await client.query(toQuery(sql, values, answerMs))).rows;
  try {
    await client.query(begin);
    const result = await work(run);
    await client.query("COMMIT");
    return result;
  } catch (error) {
    broken = isConnectionLost(error); // it would be waited for once more
    if (!broken)
      await client.query("ROLLBACK").catch(() => {
        broken = true;
      });
    throw error;
  } finally {
    client.release(broken);
  }
}

/** On a connection of its own, without limits. What it is for is done by then: nobody must take its failure for a failure of that. */
async function vacuum(client: Client, tables: readonly string[]): Promise<boolean> {
  let isDone = true;
  client.on("error", () => {}); // the statement's own rejection says so
  client.on("notice", ({ severity }) => {
    isDone &&= severity !== "WARNING"; // a table was skipped
  });
  try {
    await client.connect();
    await client.query("SET statement_timeout = 0"); // of a large table it takes longer than any statement may
    await client.query(`VACUUM (SKIP_LOCKED) ${tables.join(", ")}`);
    return isDone;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
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
