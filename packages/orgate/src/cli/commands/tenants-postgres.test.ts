// @module-tag postgres
/** Two projects of two teams in one database, each with a schema and a role of its own: neither reads nor changes anything of the other, by any operation. */
import { randomBytes } from "node:crypto";
import { createInterface } from "node:readline";
import type { Json, JsonObject } from "@orgate/core/vocab";
import { OPERATION_NAMES, OPERATIONS, type OperationName, toOperationInput } from "@orgate/protocol";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { testUrl } from "../../store/postgres/fixtures/schemas.ts";
import { type Desk, makeDesk, type Started } from "./fixtures/desk.ts";

/** `mark`: stands in everything that this team has written, and nowhere else. */
type Team = Readonly<{
  desk: Desk;
  env: Readonly<Record<string, string>>;
  mark: string;
  session: string;
  url: string;
  token: string;
  server: Started;
  json(...args: readonly string[]): Promise<unknown>;
}>;

const admin = new pg.Client({ connectionString: testUrl() });
const names: string[] = [];
let teams: readonly [Team, Team];

async function openTeam(): Promise<Team> {
  const name = `team_${randomBytes(6).toString("hex")}`;
  names.push(name);
  await admin.query(`CREATE ROLE "${name}" LOGIN PASSWORD 'tenant'`);
  await admin.query(`CREATE SCHEMA "${name}" AUTHORIZATION "${name}"`);
  const url = new URL(testUrl());
  [url.username, url.password] = [name, "tenant"];
  const env = { TEAM_DATABASE: url.href };
  const desk = makeDesk();
  desk.write("orgate.toml", `${desk.read("orgate.toml")}[cluster]\ndatabase = { env = "TEAM_DATABASE" }\nschema = "${name}"\n`);
  const mark = `mark-of-${name}`;
  const json = async (...args: readonly string[]): Promise<unknown> => {
    const { code, stdout, stderr } = await desk.within(env, [...args, "--json"]);
    if (code !== 0) throw new Error(`orgate ${args.join(" ")}: ${stderr}${stdout}`);
    return JSON.parse(stdout);
  };
  await json("keys", "create", "ana");
  const { session } = (await json("run", "desk", "--input", `look, ${mark}`, "--as", "ana")) as { session: string };
  await json("known", "add", "paths", mark, "--why", mark);
  await json("schedules", "add", mark, "--agent", "desk", "--cron", "0 3 1 1 *", "--input", mark);
  const server = desk.start(["up", "--port", "0", "--json", "--as", "ana"], undefined, env);
  const line = new Promise<string>((resolve) => server.child.stdout && createInterface(server.child.stdout).once("line", resolve));
  const told = JSON.parse(await Promise.race([line, server.ended.then(({ stderr }) => Promise.reject(new Error(stderr)))])) as {
    url: string;
  };
  const { token } = (await json("keys", "create", "ana", "--api", "--as", "ana")) as { token: string };
  return { desk, env, mark, session, url: told.url, token, server, json };
}

beforeAll(async () => {
  await admin.connect();
  teams = [await openTeam(), await openTeam()];
}, 120_000);
afterAll(async () => {
  for (const { server, desk } of teams ?? []) {
    server.kill("SIGKILL");
    await server.ended;
    desk.remove();
  }
  for (const name of names) await admin.query(`DROP SCHEMA "${name}" CASCADE; DROP OWNED BY "${name}"; DROP ROLE "${name}"`);
  await admin.end();
});

const asObject = (value: Json | undefined): JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};

/** What fits the schema, with the other team's things wherever a name is asked for. */
function sample(schema: Json | undefined, field: string, theirs: Team): Json {
  const s = asObject(schema);
  const [choice] = [s.const, ...(Array.isArray(s.enum) ? s.enum : [])].filter((one) => one !== undefined);
  if (choice !== undefined) return choice;
  for (const several of [s.anyOf, s.oneOf, s.allOf]) if (Array.isArray(several)) return sample(several[0], field, theirs);
  if (s.type === "object") return sampleObject(s, theirs);
  if (s.type === "array") return [sample(s.items as Json, field, theirs)];
  if (s.type === "integer" || s.type === "number") return typeof s.minimum === "number" ? Math.max(1, s.minimum) : 1;
  if (s.type === "boolean") return true;
  if (field === "agent") return "desk";
  if (/^(seq|from|to)$/.test(field)) return "1";
  if (field === "digest") return "0".repeat(64);
  return /^(name|schedule|value|path)$/.test(field) ? theirs.mark : /^(input|text|reason|why|message)$/.test(field) ? "x" : theirs.session;
}
function sampleObject({ properties, required }: JsonObject, theirs: Team): JsonObject {
  const wanted = Array.isArray(required) ? required : [];
  const all = Object.entries(asObject(properties));
  return Object.fromEntries(
    all.filter(([name]) => wanted.includes(name) || name === "session").map(([name, of]) => [name, sample(of, name, theirs)]),
  );
}

/** The path, with the names of the other team's things, and a body that the operation takes. */
function requestFor(name: OperationName, theirs: Team) {
  const { path, body } = OPERATIONS[name];
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, field = ""]) => [field, sample({ type: "string" }, field, theirs)] as const);
  const schema = body instanceof z.ZodUndefined ? {} : (z.toJSONSchema(body, { unrepresentable: "any", io: "input" }) as JsonObject);
  const input = toOperationInput(name, { ...sampleObject(schema, theirs), ...Object.fromEntries(inPath) });
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, field: string) => encodeURIComponent(String(input.params[field])));
  return { path: filled, body: input.body, hasNames: inPath.some(([field]) => field !== "agent") };
}

/** Streams do not end by themselves: what has come by then is what is looked at. */
async function ask(name: OperationName, { url, token }: Pick<Team, "url" | "token">, theirs: Team) {
  const { method } = OPERATIONS[name];
  const { path, body, hasNames } = requestFor(name, theirs);
  const headers: Record<string, string> = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  if (method !== "GET") headers["idempotency-key"] = `key-${randomBytes(8).toString("hex")}`;
  const init = { method, headers, signal: AbortSignal.timeout(3_000), ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  const answer = await fetch(`${url}/api/v1${path}`, init);
  let text = "";
  try {
    for await (const part of answer.body ?? []) text += new TextDecoder().decode(part as Uint8Array);
  } catch (error) {
    if (!(error instanceof Error) || error.name !== "TimeoutError") throw error;
  }
  const asked = JSON.stringify([path, body ?? null]);
  return { status: answer.status, text, asked, hasNames };
}

const DIRECTIONS = [
  ["the first", 0, 1],
  ["the second", 1, 0],
] as const;

describe.each(DIRECTIONS)("J-37 %s team", (_, mine, other) => {
  test.each([...OPERATION_NAMES])("gets nothing of the other's by `%s`", async (name) => {
    const [own, theirs] = [teams[mine], teams[other]];
    const there = await ask(name, { url: theirs.url, token: own.token }, theirs); // my key at their server
    if (OPERATIONS[name].act !== "open") expect([401, 429], there.asked).toContain(there.status); // 429: unknown keys may not try often
    expect(there.text).not.toContain(theirs.mark);
    const here = await ask(name, own, theirs); // their names at my server
    expect(here.status, here.text).not.toBe(500);
    if (here.hasNames) expect([here.status >= 400, here.asked, here.text]).toEqual([true, here.asked, here.text]);
    const shown = here.asked.includes(theirs.mark) ? [] : [theirs.mark]; // what I have said myself may come back in an error
    for (const secret of shown) expect(here.text).not.toContain(secret);
  });
});

test("J-37 after all that both journals verify, and none has an entry or a word of the other", async () => {
  for (const [own, theirs] of [teams, [...teams].reverse() as unknown as readonly [Team, Team]]) {
    expect(await own.json("journal", "verify")).toMatchObject({ verified: true });
    expect((await own.json("schedules", "list")) as object[]).toHaveLength(1);
    const { stdout } = await own.desk.within(own.env, ["journal", "export"]);
    expect([stdout.includes(own.mark), stdout.includes(theirs.session)]).toEqual([true, false]);
  }
});

test("J-37 with the credential of one team nothing of the other's schema can be read, changed or called in SQL", async () => {
  const [a, b] = names;
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
