// @module-tag debian
/** What an operator gets wrong, or a database does: real processes say it in one line, with what to do, and never show the password. */
import { execFile } from "node:child_process";
import { chownSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DATABASE } from "../chaos/deployment.ts";
import { type ChaosProject, makeProject, PERSON } from "../chaos/project.ts";
import { fakeTimeLibrary } from "../servers/debian.ts";
import { startPgBouncer } from "../servers/pgbouncer.ts";
import { POSTGRES_PASSWORD, type Postgres, startPostgres } from "../servers/postgres.ts";
import { ordinaryUser, ownFolder } from "../servers/process.ts";
import { startDebianPostgres } from "../servers/replica.ts";

const SETTINGS = `[cluster]\ndatabase = { env = "${DATABASE}" }\n`;
const newProject = (): ChaosProject =>
  makeProject({ folder: ownFolder("bad-input"), outside: "http://127.0.0.1:1", settings: SETTINGS, broken: null, env: {} });

const ends: (() => Promise<unknown>)[] = [];
let postgres: Postgres;
let project: ChaosProject;
let certificate: string;
beforeAll(async () => {
  const tls = await openTls();
  certificate = tls.certificate;
  postgres = await startDebianPostgres({ settings: tls.settings });
  ends.push(postgres.kill);
  project = newProject();
  await project.orgate(["keys", "create", PERSON], { [DATABASE]: postgres.url() }); // the project's journal begins
}, 120_000);
afterAll(async () => {
  for (const end of ends.reverse()) await end();
});

/** The URL with another part. */
const changed = (parts: Partial<Pick<URL, "port" | "password" | "pathname">>): string => Object.assign(new URL(postgres.url()), parts).href;

async function inDatabase(name: string, ...statements: readonly string[]): Promise<string> {
  const { default: pg } = await import("pg");
  const url = await postgres.createDatabase(name);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
  return url;
}

/** Settings of a server that lets nobody into the database `tls` without TLS, and its certificate. */
async function openTls(): Promise<Readonly<{ settings: Readonly<Record<string, string>>; certificate: string }>> {
  const folder = ownFolder("tls");
  const [key, certificate, rules] = [join(folder, "key.pem"), join(folder, "certificate.pem"), join(folder, "hba.conf")];
  const args = [
    "req",
    "-x509",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:prime256v1",
    "-nodes",
    "-days",
    "2",
    "-subj",
    "/CN=127.0.0.1",
  ];
  await promisify(execFile)("openssl", [...args, "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate]);
  const at = "all 127.0.0.1/32 scram-sha-256";
  writeFileSync(rules, `hostssl tls ${at}\nhost postgres,orgate,nowhere,other,newer,others ${at}\n`);
  if (ordinaryUser !== null) for (const file of [key, certificate, rules]) chownSync(file, ordinaryUser.uid, ordinaryUser.gid);
  return { settings: { ssl: "on", ssl_cert_file: certificate, ssl_key_file: key, hba_file: rules }, certificate };
}

/** `env`: the address of the database, or everything that is set otherwise. */
type Case = Readonly<{ what: string; env(): Promise<string | Readonly<Record<string, string>>>; says: RegExp }>;

/** Another clock for one process; its monotonic one is as it was, as where somebody sets the time. */
const clock = (by: string) => async (): Promise<Readonly<Record<string, string>>> => ({
  ...{ [DATABASE]: postgres.url(), LD_PRELOAD: fakeTimeLibrary() ?? "", FAKETIME: by, FAKETIME_DONT_FAKE_MONOTONIC: "1" },
});
const cases: readonly Case[] = [
  { what: "no address", env: async () => "", says: new RegExp(`\\$${DATABASE}, and there is nothing in it`) },
  {
    what: "the address of another database",
    env: async () => "mysql://orgate:laboratory@127.0.0.1:1/x",
    says: /is not `postgres:\/\/user:password@host:port\/name`/,
  },
  { what: "a wrong port", env: async () => changed({ port: "1" }), says: /cannot be reached: connect ECONNREFUSED/ },
  { what: "a wrong password", env: async () => changed({ password: "guess" }), says: /refuses the user or the password/ },
  {
    what: "an unknown database",
    env: async () => changed({ pathname: "/nowhere" }),
    says: /has no such database.*create it, or correct `database`/,
  },
  {
    what: "no TLS where the server asks for it",
    env: () => postgres.createDatabase("tls"),
    says: /refuses connections without TLS: add `\?sslmode=verify-full`/,
  },
  {
    what: "a certificate that nobody here has signed",
    env: async () => `${postgres.url("tls")}?sslmode=verify-full`,
    says: /has a certificate that is not trusted here.*`sslrootcert=FILE`/,
  },
  {
    what: "TLS that the server lacks",
    async env() {
      const plain = await startPostgres();
      ends.push(plain.kill);
      return `${plain.url()}?sslmode=require`;
    },
    says: /has no TLS, and its address asks for it/,
  },
  {
    what: "a schema with other tables",
    env: () => inDatabase("other", "CREATE SCHEMA orgate", "CREATE TABLE orgate.customers (n int)"),
    says: /there are tables in it, but no journal/,
  },
  {
    what: "a journal of a newer version",
    env: () =>
      inDatabase(
        "newer",
        "CREATE SCHEMA orgate",
        "CREATE TABLE orgate.format (version int, migrations int)",
        "INSERT INTO orgate.format VALUES (2, 999)",
      ),
    says: /a newer version of Orgate has made it/,
  },
  {
    what: "another project's keys",
    async env() {
      const url = await inDatabase("others");
      await newProject().orgate(["keys", "create", PERSON], { [DATABASE]: url });
      return url;
    },
    says: /was made with other keys/,
  },
  {
    what: "a pooler without `listen`",
    async env() {
      const pooler = await startPgBouncer(postgres);
      ends.push(pooler.kill);
      return pooler.url();
    },
    says: /is a pooler that takes no settings with its connections: set `listen`/,
  },
  { what: "a clock that is hours ahead", env: clock("+3h"), says: /the clock of this machine is 10[78]\d\d s ahead of that of .*NTP/ },
  { what: "a clock that is hours behind", env: clock("-3h"), says: /the clock of this machine is 10[78]\d\d s behind that of .*NTP/ },
];

for (const { what, env, says } of cases)
  test(`J-36 M-20 ${what}: a worker ends with one line, and \`orgate doctor\` reports the same`, { timeout: 120_000 }, async () => {
    const given = await env();
    const place = typeof given === "string" ? { [DATABASE]: given } : given;
    const [worker, doctor] = await Promise.all([project.run(["worker", "--as", PERSON], place), project.run(["doctor", "--json"], place)]);
    expect([worker.code, worker.stdout]).toEqual([expect.toSatisfy((code) => code === 1 || code === 2), ""]);
    const [line = "", hint = "hint: ", ...more] = worker.stderr.trimEnd().split("\n");
    expect([line, hint, more]).toEqual([expect.stringMatching(says), expect.stringMatching(/^hint: /), []]);
    const { healthy, journal } = JSON.parse(doctor.stdout);
    expect([doctor.code, healthy, journal.ok, journal.detail]).toEqual([1, false, false, expect.stringMatching(says)]);
    expect(`${worker.stderr}${doctor.stdout}${doctor.stderr}`).not.toMatch(new RegExp(`${POSTGRES_PASSWORD}|guess`));
  });

test("with the authority of its certificate named, a database is reached with TLS", async () => {
  const place = { [DATABASE]: `${postgres.url("tls")}?sslmode=verify-full&sslrootcert=${certificate}` };
  const own = newProject();
  await own.orgate(["keys", "create", PERSON], place);
  expect(JSON.parse((await own.run(["doctor", "--json"], place)).stdout).journal).toMatchObject({ ok: true, weak: [] });
}, 120_000);

test("M-20 settings of the database that take something back from the journal's promises are said by `orgate doctor`, also where they are this role's", async () => {
  const weak = async (): Promise<readonly string[]> =>
    JSON.parse((await project.run(["doctor", "--json"], { [DATABASE]: postgres.url() })).stdout).journal.weak;
  expect(await weak()).toEqual([]);
  await postgres.query("ALTER ROLE orgate SET synchronous_commit = 'off'");
  await postgres.query("ALTER SYSTEM SET fsync = 'off'");
  await postgres.query("SELECT pg_reload_conf()");
  expect(await weak()).toEqual([
    expect.stringMatching(/^`fsync` of the database is off \(from: configuration file\)/),
    expect.stringMatching(/^`synchronous_commit` of the database is off \(from: user\): .*are gone after a crash/),
  ]);
}, 120_000);
