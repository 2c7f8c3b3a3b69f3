// @module-tag postgres
/** Two projects of two teams in one database, each with a schema and a role of its own: neither reads nor changes anything of the other, by any operation. */
import { randomBytes } from "node:crypto";
import { OPERATION_NAMES, OPERATIONS, type OperationName, SOCKET_OPERATIONS } from "@orgate/protocol";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { testUrl } from "../../store/postgres/fixtures/schemas.ts";
import { ABSENT_IN_WORDS, HONEST, SAMPLES } from "./fixtures/tenant-samples.ts";
import { openTeam, type Team, type Things } from "./fixtures/tenants.ts";

const admin = new pg.Client({ connectionString: testUrl() });
const names: string[] = [];
let teams: readonly [Team, Team];

beforeAll(async () => {
  await admin.connect();
  teams = await Promise.all([openTeam(admin, (name) => names.push(name)), openTeam(admin, (name) => names.push(name))]);
}, 180_000);
afterAll(async () => {
  for (const { server, desk } of teams ?? []) {
    server.kill("SIGKILL");
    await server.ended;
    desk.remove();
  }
  for (const name of names) await admin.query(`DROP SCHEMA "${name}" CASCADE; DROP OWNED BY "${name}"; DROP ROLE "${name}"`);
  await admin.end();
});

const digits = (n: number): string => randomBytes(n).toString("hex").slice(0, n);
/** Names of the same form that nobody has ever given. */
const missing = (its: Things): Things => {
  const renamed = new Map<string, string>();
  const other = (text: string): string => {
    const known = renamed.get(text);
    if (known !== undefined) return known;
    const made = text.replaceAll(/[0-9a-z]{8,}/g, (run) => (/^[0-9a-f]+$/.test(run) ? digits(run.length) : `n${digits(run.length - 1)}`));
    renamed.set(text, made);
    return made;
  };
  const { unknown, dead, ...flat } = its;
  const named = Object.fromEntries(Object.entries(flat).map(([field, text]) => [field, other(text)])) as unknown as Omit<
    Things,
    "unknown" | "dead"
  >;
  return {
    ...named,
    unknown: { session: other(unknown.session), call: unknown.call },
    dead: { session: other(dead.session), call: dead.call },
  };
};
const namesIn = ({ unknown, dead, ...flat }: Things): readonly string[] =>
  [...Object.values(flat), unknown.session, dead.session].sort((a, b) => b.length - a.length);
/** An answer, but for the names that were asked for, and what is of the moment. */
const withoutNames = (text: string, its: Things): string =>
  namesIn(its)
    .reduce((left, name) => left.replaceAll(name, "NAME"), text)
    .replaceAll(/"(?:requestId|instance|at|now)":("[^"]*"|\d+)/g, "")
    .trim();

type Answer = Readonly<{ status: number; text: string }>;

/** Streams do not end by themselves: what has come by then is what is looked at. */
async function ask<K extends OperationName>(
  name: K,
  { url, token }: Pick<Team, "url" | "token">,
  its: Things,
  key = digits(16),
): Promise<Answer> {
  const { method, path } = OPERATIONS[name];
  const {
    params = {},
    query = {},
    body,
  } = SAMPLES[name](its) as { params?: Record<string, string>; query?: Record<string, string>; body?: unknown };
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, field: string) => encodeURIComponent(String(params[field])));
  const search = new URLSearchParams(Object.entries(query).map(([field, value]): [string, string] => [field, String(value)]));
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json", "idempotency-key": key };
  const isStream = !["json", "text"].includes(OPERATIONS[name].answers.kind);
  const init = {
    method,
    headers,
    signal: AbortSignal.timeout(isStream ? 1_000 : 30_000),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  };
  const answer = await fetch(`${url}/api/v1${filled}?${search}`, init);
  let text = "";
  try {
    for await (const part of answer.body ?? []) text += new TextDecoder().decode(part as Uint8Array);
  } catch (error) {
    if (!isStream || !(error instanceof Error) || error.name !== "TimeoutError") throw error;
  }
  return { status: answer.status, text };
}

/** The same as a frame of the socket: one connection for all of them. */
async function callAll({ url, token }: Pick<Team, "url" | "token">, all: readonly Things[]): Promise<ReadonlyMap<string, Answer>> {
  const socket = new WebSocket(`${url.replace("http", "ws")}/ws/v1`, { headers: { authorization: `Bearer ${token}` } });
  const answers = new Map<string, Answer>();
  const wanted = SOCKET_OPERATIONS.flatMap((name) => all.map((its, i) => ({ id: `${name}.${i}`, name, its })));
  const done = Promise.withResolvers<void>();
  socket.on("error", done.reject);
  socket.on("close", () => done.reject(new Error(`closed with ${answers.size} of ${wanted.length} answers`)));
  socket.on("open", () => socket.send(JSON.stringify({ kind: "hello", version: 1 })));
  const call = ({ id, name, its }: (typeof wanted)[number]): void =>
    socket.send(JSON.stringify({ kind: "call", id, operation: name, input: SAMPLES[name](its), key: digits(16) }));
  socket.on("message", (bytes: Buffer) => {
    const frame = JSON.parse(String(bytes)) as { kind: string; id?: string; status?: number; problem?: { status: number } };
    if (frame.id !== undefined)
      answers.set(frame.id, { status: frame.status ?? frame.problem?.status ?? 0, text: String(bytes).replaceAll(frame.id, "ID") });
    const next = wanted[answers.size];
    if (next === undefined) done.resolve();
    else call(next);
  });
  try {
    await done.promise;
    return answers;
  } finally {
    socket.removeAllListeners("close");
    socket.close();
  }
}

/** Nothing of theirs: neither the word that stands in all they wrote, nor a name of theirs that was not asked for. */
function expectNothingOf(theirs: Things, text: string, asked: string): void {
  const { mark: _, ...named } = theirs;
  for (const name of [theirs.mark, ...namesIn({ ...named, mark: theirs.mark })])
    if (!asked.includes(name)) expect(text).not.toContain(name);
}

/** An input that its owner may send is not refused for its form. */
function expectAbsence(name: OperationName, { status, text }: Answer, its: Things): void {
  const inWords = ABSENT_IN_WORDS[name];
  if (inWords === undefined) expect(status, text).not.toBe(400);
  else expect(withoutNames(text, its)).toContain(inWords);
}

const isNamed = (name: OperationName, its: Things): boolean =>
  JSON.stringify(SAMPLES[name](its)) !== JSON.stringify(SAMPLES[name](missing(its)));

/** All that the first team got: what is kept from the other was there to be got. */
const got: string[] = [];

describe("J-37 what one team has", () => {
  test.each([...OPERATION_NAMES])("is reached by `%s` for that team, and is for the other what never was", async (name) => {
    const [own, other] = teams;
    const its = own.things;
    const asked = JSON.stringify(SAMPLES[name](its));
    const key = `same-${name}`; // also the other team's key is the same
    const works = await ask(name, own, its, key);
    expect([works.status, works.text], asked).toEqual([HONEST[name] ?? OPERATIONS[name].status, works.text]);
    got.push(works.text);
    const tried = await ask(name, other, its, key);
    expectNothingOf(its, tried.text, asked);
    if (!isNamed(name, its)) return expect([tried.status, tried.text]).toEqual([OPERATIONS[name].status, tried.text]);
    const never = missing(its);
    const absent = await ask(name, other, never);
    expect({ status: tried.status, text: withoutNames(tried.text, its) }).toEqual({
      status: absent.status,
      text: withoutNames(absent.text, never),
    });
    expectAbsence(name, tried, its);
    const there = await ask(name, { url: own.url, token: other.token }, its); // their own key, at the server of the first
    if (OPERATIONS[name].act !== "open") expect([401, 429], there.text).toContain(there.status); // 429: unknown keys may not try often
    expectNothingOf(its, there.text, asked);
  });

  test("is shown to that team, all of it", () => {
    const all = got.join("");
    for (const name of namesIn(teams[0].things)) expect(all).toContain(name);
  });

  test("is for the other what never was by any call over the socket", async () => {
    const [{ things: its }, other] = teams;
    const never = missing(its);
    const answers = await callAll(other, [its, never]);
    for (const name of SOCKET_OPERATIONS) {
      const [tried, absent] = [answers.get(`${name}.0`), answers.get(`${name}.1`)];
      expect(tried?.status, name).toBeGreaterThan(0);
      expectNothingOf(its, tried?.text ?? "", JSON.stringify(SAMPLES[name](its)));
      if (!isNamed(name, its)) continue;
      expect([name, tried?.status, withoutNames(tried?.text ?? "", its)]).toEqual([
        name,
        absent?.status,
        withoutNames(absent?.text ?? "", never),
      ]);
      if (tried !== undefined) expectAbsence(name, tried, its);
    }
  });
});

test("J-37 after all that both journals verify, and none has an entry or a word of the other", async () => {
  for (const [own, theirs] of [teams, [...teams].reverse() as unknown as readonly [Team, Team]]) {
    expect(await own.json("journal", "verify")).toMatchObject({ verified: true });
    const { stdout } = await own.desk.within(own.env, ["journal", "export"]);
    expect([stdout.includes(own.things.mark), stdout.includes(theirs.things.mark)]).toEqual([true, false]);
  }
});

test("J-37 with the credential of one team nothing of the other's schema can be read, changed or called in SQL", async () => {
  const [a, b] = teams.map(({ name }) => name);
  const client = new pg.Client({ connectionString: teams[0].env.TEAM_DATABASE });
  await client.connect();
  const list = async (sql: string): Promise<readonly string[]> =>
    (await admin.query<{ name: string }>(sql, [b])).rows.map(({ name }) => name);
  const relations = await list(
    "SELECT quote_ident(relname) AS name FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind IN ('r', 'v', 'm', 'p', 'S')",
  );
  const functions = await list("SELECT oid::regprocedure::text AS name FROM pg_proc WHERE pronamespace = $1::regnamespace");
  expect([relations.length > 20, functions.length > 10]).toEqual([true, true]);
  try {
    const refused = async (sql: string): Promise<void> => expect(client.query(sql), sql).rejects.toThrow(/permission denied|must be owner/);
    for (const name of relations) {
      const at = `"${b}".${name}`;
      for (const sql of [
        `SELECT * FROM ${at}`,
        `DELETE FROM ${at}`,
        `TRUNCATE ${at}`,
        `DROP TABLE ${at}`,
        `ALTER TABLE ${at} RENAME TO mine`,
        `COPY ${at} TO STDOUT`,
      ])
        await refused(sql);
    }
    for (const name of functions) {
      const types = /\((.*)\)$/.exec(name)?.[1]?.split(",") ?? [];
      await refused(
        `SELECT ${name.replace(/\(.*/, "")}(${types
          .filter((t) => t !== "")
          .map((t) => `NULL::${t}`)
          .join(", ")})`,
      );
    }
    for (const sql of [
      `SET ROLE "${b}"`,
      `CREATE TABLE "${b}".x (y int)`,
      `GRANT "${b}" TO "${a}"`,
      `ALTER SCHEMA "${b}" OWNER TO "${a}"`,
      `ALTER ROLE "${b}" PASSWORD 'x'`,
    ])
      await refused(sql);
    const { rows } = await client.query("SELECT count(*)::int AS n FROM pg_stats WHERE schemaname = $1", [b]);
    expect(rows).toEqual([{ n: 0 }]);
  } finally {
    await client.end();
  }
});

test("J-37 rows of one team that somebody with both credentials writes into the other's tables do not verify there", async () => {
  const [a, b] = teams;
  const [from, to] = [`"${a.name}"`, `"${b.name}"`];
  await admin.query("BEGIN");
  const { rows } = await admin.query<{ no: string }>(
    `INSERT INTO ${to}.streams (stream, seq, hash, at, epoch) SELECT stream, seq, hash, at, epoch FROM ${from}.streams WHERE stream = $1 RETURNING no`,
    [a.things.session],
  );
  await admin.query(
    `INSERT INTO ${to}.appends SELECT (SELECT max(id + count) FROM ${to}.appends) + sum(count) OVER (ORDER BY first) - count, count, $2, first, writer, seal, hash, mac, body
       FROM ${from}.appends WHERE stream = (SELECT no FROM ${from}.streams WHERE stream = $1)`,
    [a.things.session, rows[0]?.no],
  );
  await admin.query(`INSERT INTO ${to}.sessions SELECT * FROM ${from}.sessions WHERE session = $1`, [a.things.session]);
  await admin.query("COMMIT");
  const verified = await b.desk.within(b.env, ["journal", "verify", "--json"]);
  expect([verified.code, verified.stdout + verified.stderr]).toEqual([1, expect.stringContaining(a.things.session)]);
  const shown = await b.desk.within(b.env, ["sessions", "show", a.things.session]);
  expect([shown.code, shown.stdout + shown.stderr]).toEqual([1, expect.not.stringContaining(a.things.mark)]);
});
