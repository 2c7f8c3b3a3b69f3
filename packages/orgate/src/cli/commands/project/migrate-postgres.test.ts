// @module-tag postgres
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { copyFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { afterAll, expect, test } from "vitest";
import { openRequestKeys } from "../../../store/idempotency-keys.ts";
import { testUrl } from "../../../store/postgres/fixtures/schemas.ts";
import { fromStoredText } from "../../../store/postgres/text.ts";
import { type Desk, expectRefusal, holding, makeDesk } from "../fixtures/desk.ts";

const desks: Desk[] = [];
const schemas: string[] = [];
afterAll(async () => {
  for (const desk of desks) desk.remove();
  for (const schema of schemas) await query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
});

async function query<Row extends pg.QueryResultRow>(sql: string): Promise<readonly Row[]> {
  const client = new pg.Client({ connectionString: testUrl() });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

const DIE = join(import.meta.dirname, "..", "fixtures", "die-at-step.ts");
type Place = ReturnType<typeof project>;

function project() {
  const desk = makeDesk();
  desks.push(desk);
  const schema = `m_${randomBytes(6).toString("hex")}`;
  schemas.push(schema);
  const env = { TENANT_DATABASE: testUrl() };
  const orgate = (...args: readonly string[]) => desk.within(env, args);
  const json = async (...args: readonly string[]): Promise<unknown> => {
    const { code, stdout, stderr } = await orgate(...args, "--json");
    expect([code, code === 0 ? "" : stderr + stdout]).toEqual([0, ""]);
    return JSON.parse(stdout);
  };
  /** Whatever became of the turn: the offline model refuses long texts, and the journal has them all the same. */
  const say = async (input: string): Promise<string> => {
    const { stdout } = await orgate("run", "desk", "--input", input, "--json");
    return (JSON.parse(stdout) as { session: string }).session;
  };
  return { desk, schema, env, orgate, json, say, there: ["--to", "env:TENANT_DATABASE", "--schema", schema] as const };
}

test("J-37 a journal moves to PostgreSQL and back, entry by entry and seal by seal, and work goes on in either place", async () => {
  const { desk, json, say, there } = project();
  const first = await say("please look");
  const long = await say(`\0 and a text that is kept apart ${"ü".repeat(300_000)}`);
  await json("journal", "erase", "--session", await say("forget me"), "--reason", "asked for");
  const before = (await json("journal", "verify")) as { head: string; counts: object };
  const shown = await json("journal", "show", long);
  const moved = (await json("migrate", ...there)) as { head: string };
  expect(moved.head.split(",")).toEqual(before.head.split(","));
  expect(desk.read("orgate.toml")).toContain('[cluster]\ndatabase = { env = "TENANT_DATABASE" }');
  expect(await json("journal", "verify", "--head", before.head)).toMatchObject({ verified: true, counts: before.counts });
  expect(await json("journal", "show", long)).toEqual(shown);
  await json("run", "desk", "--session", first, "--input", "look again");
  const later = (await json("journal", "verify")) as { head: string };
  expect(await json("migrate", "--to", "files")).toMatchObject({ head: later.head });
  expect(desk.read("orgate.toml")).not.toContain("cluster");
  await json("run", "desk", "--session", first, "--input", "look once more");
  expect(await json("journal", "verify", "--head", later.head)).toMatchObject({ verified: true });
});

/** A project in which everything is to be copied that a copy could miss: a long text, an erased session, an intent that waits, a halt, a trusted value, knowledge, answers. */
async function lively(place: Place): Promise<void> {
  const { json, say, orgate, desk } = place;
  const first = await say("please look");
  await say(`a text that is kept apart ${"ü".repeat(300_000)}`);
  await json("journal", "erase", "--session", await say("forget me"), "--reason", "asked for");
  await json("known", "add", "paths", "a/b", "--why", "ours");
  await json("halt", "agent", "desk", "--reason", "later");
  await orgate("sessions", "say", first, "when the halt is lifted");
  desk.write("notes/one.md", "# Ledgers\n\nWe keep ledgers in PostgreSQL.\n");
  desk.write("notes/two.md", "# Secrets\n\nThe zqxcanary whispers.\n");
  await json("knowledge", "add", "notes/one.md", "notes/two.md");
  const [secret] = await knownAbout(place, "zqxcanary");
  await json("knowledge", "forget", secret?.id ?? "", "--reason", "asked for");
  const answers = openRequestKeys(join(desk.root, ".orgate"));
  await answers.begin("under way", "d1", Date.now());
  await answers.keep("given", "d2", { status: 201, body: "an \\ answer \0 as it was" }, Date.now());
  answers.close();
  desk.write("head.txt", ((await json("journal", "verify")) as { head: string }).head);
}

/** Without its relevance, of which each place has its own numbers. */
async function knownAbout({ json }: Place, text: string): Promise<readonly Readonly<{ id: string }>[]> {
  const { hits } = (await json("knowledge", "search", text)) as { hits: readonly { id: string; relevance: number }[] };
  return hits.map(({ relevance: _, ...item }) => item);
}

/** What lies beside the journal, wherever that is. */
async function listBeside(place: Place) {
  const rows = place.desk.read("orgate.toml").includes("[cluster]")
    ? (await query(`SELECT id, digest, coalesce(status, 0) AS status, body FROM "${place.schema}".requests ORDER BY id`)).map((row) => ({
        ...row,
        body: fromStoredText(String(row["body"])),
      }))
    : new DatabaseSync(join(place.desk.root, ".orgate", "requests.db"))
        .prepare("SELECT id, digest, status, body FROM requests ORDER BY id")
        .all();
  const { bytes: _, ...stats } = (await place.json("knowledge", "stats")) as { bytes?: number };
  return { rows, stats, found: await knownAbout(place, "ledgers"), gone: await knownAbout(place, "zqxcanary") };
}

async function dieAt(place: Place, step: string, ...args: readonly string[]) {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, ORGATE_HOME: place.desk.home, ...place.env };
  const child = spawn(process.execPath, [DIE, step, ...args, "--json"], {
    cwd: place.desk.root,
    env,
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  return { code, signal, said };
}

/** Tables are copied and compared alike: of these steps, those that are about the largest. */
const isTried = (step: string): boolean =>
  !/^(copying|comparing) [a-z_]+$/.test(step) || / (appends|blobs|inbox|knowledge_items)$/.test(step);

/** Killed before every step, one after the other: each try goes on where the one before was killed. */
async function moveThroughKills(place: Place, args: readonly string[], steps: readonly string[]): Promise<void> {
  const head = place.desk.read("head.txt");
  const tried = steps.filter(isTried);
  expect(tried.length).toBeGreaterThan(8);
  for (const step of tried) {
    const { signal, said } = await dieAt(place, step, ...args);
    expect([signal, said]).toEqual(["SIGKILL", expect.any(String)]);
    const seen = await place.orgate("journal", "verify", "--head", head, "--json"); // one place has everything, or none can be opened until the move goes on
    if (seen.code === 0) expect(JSON.parse(seen.stdout)).toMatchObject({ verified: true });
    else expect(seen.stderr, said).toContain("run the same `orgate migrate` again");
  }
  expect(await dieAt(place, "", ...args)).toMatchObject({ code: 0 });
}

/** The steps of a move that nobody kills. */
async function listSteps(place: Place, args: readonly string[]): Promise<readonly string[]> {
  const { code, said } = await dieAt(place, "", ...args);
  expect([code, said]).toEqual([0, expect.any(String)]);
  return [...said.matchAll(/^step \d+: (.*)$/gm)].map(([, step = ""]) => step);
}

test("J-37 a move that is killed before any of its steps goes on with the same command, there and back, and nothing is lost", async () => {
  const [place, twin] = [project(), project()];
  const { desk, json, there } = place;
  await lively(place);
  await twin.say("one");
  const steps = { there: await listSteps(twin, ["migrate", ...twin.there]), back: await listSteps(twin, ["migrate", "--to", "files"]) };
  const seen = async () => ({
    ...{ sessions: await json("sessions", "list"), known: await json("known", "list"), halts: await json("halts") },
    beside: await listBeside(place),
  });
  const before = await seen();
  expect(before.beside).toMatchObject({
    rows: [
      { id: "given", status: 201, body: "an \\ answer \0 as it was" },
      { id: "under way", status: 0 },
    ],
    ...{ stats: { forgotten: 1 }, found: [{}], gone: [] },
  });
  await moveThroughKills(place, ["migrate", ...there], steps.there);
  expect(desk.read("orgate.toml")).toContain("[cluster]");
  expect(await seen()).toEqual(before);
  desk.write("head.txt", ((await json("journal", "verify")) as { head: string }).head);
  await moveThroughKills(place, ["migrate", "--to", "files"], steps.back);
  expect(desk.read("orgate.toml")).not.toContain("cluster");
  expect(await seen()).toEqual(before);
  await json("migrate", ...there); // what an earlier move has left there is made the same
  expect(await seen()).toEqual(before);
  await json("migrate", "--to", "files");
  expect(await seen()).toEqual(before);
  await json("resume-work", "--reason", "now");
  expect(await json("journal", "verify", "--head", desk.read("head.txt"))).toMatchObject({ verified: true });
}, 600_000);

test("J-37 nothing is moved while a process works on the journal, nor over a journal that is in use, and each refusal is one line", async () => {
  const { desk, json, say, there, orgate } = project();
  expectRefusal(await orgate("migrate", ...there), 2, "there is no journal yet");
  await say("one");
  const run = desk.start(["run", "desk", "--input", "hold"]);
  await holding(desk);
  expectRefusal(await orgate("migrate", ...there), 2, "a process is working on the journal");
  desk.write("go", "");
  await run.ended;
  expectRefusal(await orgate("migrate", "--to", "postgres://u:secret@127.0.0.1/x"), 2, "--to is no address that may stand in orgate.toml");
  expectRefusal(await orgate("migrate", "--to", "files"), 2, "the journal is in files already");
  expectRefusal(await desk.within({ TENANT_DATABASE: "postgres://u:secret@127.0.0.1:1/x" }, ["migrate", ...there]), 1, "cannot be reached");
  await json("migrate", ...there);
  const other = project();
  await other.say("mine");
  expectRefusal(await other.orgate("migrate", ...there), 2, "has the journal of another project");
  expect(other.desk.has(".orgate/journal.db")).toBe(true);
  rmSync(join(desk.root, ".orgate", "journal.db"));
  copyFileSync(join(other.desk.root, ".orgate", "journal.db"), join(desk.root, ".orgate", "journal.db"));
  expectRefusal(await orgate("migrate", "--to", "files"), 2, "there is a journal in");
  expect(await json("journal", "verify")).toMatchObject({ verified: true });
});

test("J-37 W-5 who repeats a request after the move, there or back, gets the same answer, and nothing is done twice", async () => {
  const { desk, json, env, say, there } = project();
  await json("keys", "create", "ana");
  await say("one");
  const asked = async (text: string) => {
    const server = desk.start(["up", "--port", "0", "--json", "--as", "ana"], undefined, env);
    const line = new Promise<string>((resolve) => server.child.stdout && createInterface(server.child.stdout).once("line", resolve));
    const { url } = JSON.parse(await Promise.race([line, server.ended.then(({ stderr }) => Promise.reject(new Error(stderr)))])) as {
      url: string;
    };
    if (!desk.has("token")) desk.write("token", ((await json("keys", "create", "ana", "--api", "--as", "ana")) as { token: string }).token);
    const headers = {
      authorization: `Bearer ${desk.read("token")}`,
      "content-type": "application/json",
      "idempotency-key": "one-and-the-same",
    };
    const answer = await fetch(`${url}/api/v1/agents/desk/execute`, { method: "POST", headers, body: JSON.stringify({ input: text }) });
    const body = await answer.text();
    server.kill("SIGTERM");
    await server.ended;
    return { status: answer.status, body };
  };
  const first = await asked("hello");
  expect(first.status).toBeLessThan(300);
  const sessions = async (): Promise<number> => ((await json("sessions", "list")) as object[]).length;
  const n = await sessions();
  for (const to of [there, ["--to", "files"]]) {
    expect(await json("migrate", ...to)).toMatchObject({ beside: { "answers to requests": expect.any(Number) }, left: [] });
    expect(await asked("hello")).toEqual(first);
    expect((await asked("something else")).status).toBe(422);
    expect(await sessions()).toBe(n);
  }
}, 120_000);

test("J-37 a file of knowledge that did not come from this journal is not written over", async () => {
  const { desk, json, say, there, orgate } = project();
  await json("keys", "create", "ana");
  await say("one");
  await json("migrate", ...there);
  const other = project();
  other.desk.write("notes/one.md", "# Ours\n\nAnother team's.\n");
  await other.json("keys", "create", "ana");
  await other.json("knowledge", "add", "notes/one.md", "--as", "ana");
  copyFileSync(join(other.desk.root, ".orgate", "knowledge.db"), join(desk.root, ".orgate", "knowledge.db"));
  expectRefusal(await orgate("migrate", "--to", "files"), 2, "there is a file of items of knowledge already");
  expect(await json("journal", "verify")).toMatchObject({ verified: true });
});
