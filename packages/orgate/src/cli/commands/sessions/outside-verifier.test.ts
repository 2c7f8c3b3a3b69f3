// @module-tag python
/** The verifier that shares no code (`docs/verifier/verify.py`) beside the product's own: over real journals, their exports, and each way to alter them. */
import { spawn } from "node:child_process";
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ALTERATIONS, forgeAppend, type Scene } from "../fixtures/alterations.ts";
import { type Desk, holding, makeDesk, POLICIES, until } from "../fixtures/desk.ts";

const REPOSITORY = join(import.meta.dirname, "../../../../../..");
const PROGRAM = join(REPOSITORY, "docs/verifier/verify.py");

type Verdict = Readonly<{
  code: number | null;
  verified: boolean;
  counts: Readonly<Record<string, number>>;
  head: string | null;
  firstBad: { name: string } | null;
}>;
const desk = makeDesk();
const folders: string[] = [];
let scene: Scene;
let roots: Readonly<{ first: string; last: string; foreign: string }>;
afterAll(() => {
  desk.remove();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "orgate-outside-"));
  folders.push(folder);
  return folder;
};
const databaseOf = (folder: string): string => join(folder, ".orgate", "journal.db");

function outside(...args: readonly string[]): Promise<Verdict> {
  const child = spawn("python3", [PROGRAM, ...args, "--json"], { stdio: ["ignore", "pipe", "pipe"] });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  return new Promise((resolve, reject) =>
    child.on("close", (code) =>
      stdout === "" ? reject(new Error(`verify.py exited ${code}: ${stderr}`)) : resolve({ code, ...JSON.parse(stdout) }),
    ),
  );
}
async function inside(folder: string, ...args: readonly string[]): Promise<Verdict> {
  const { code, stdout, stderr } = await desk.from(folder, ["journal", "verify", ...args, "--json"]);
  if (stdout === "") throw new Error(`orgate journal verify exited ${code}: ${stderr}`);
  return { code, ...JSON.parse(stdout) };
}

/** Two writers, one of whom was killed; long texts, an erasure, a halt, changed policies, a rotated root and a rotated writer. */
async function makeScene(own: Desk): Promise<Omit<Scene, "other">> {
  const run = async (input: string): Promise<string> => ((await own.json("run", "desk", "--input", input)) as { session: string }).session;
  await own.json("keys", "create", "ana");
  const session = await run("please look");
  const held = own.start(["run", "desk", "--input", "hold"]);
  await holding(own);
  const long = await run(`tell me ${"a long story ".repeat(4_000)}`);
  await own.orgate("run", "desk", "--input", "a text for a file of its own ".repeat(10_000)); // more tokens than a turn may have: it is journalled all the same
  own.write("go", "");
  expect((await held.ended).code).toBe(0);
  const killed = own.start(["run", "desk", "--input", "stuck"]);
  await until(() => (own.read("effects.txt").includes("stuck") ? true : null));
  killed.kill("SIGKILL");
  await killed.ended;
  const erased = await run("look, and be forgotten");
  await own.json("journal", "erase", "--session", erased, "--reason", "asked for");
  await own.json("halt", "agent", "other", "--reason", "a drill", "--anyway");
  own.write("policies/desk.cedar", `${POLICIES}// another set\n`);
  await run("again");
  await own.json("journal", "rotate-key");
  await own.json("journal", "rotate-key", "--writer");
  await run("look once more");
  return { session, long, erased };
}

const rootsOf = async (own: Desk): Promise<readonly string[]> =>
  ((await own.json("keys", "list")) as { holder: string; publicKey: string }[]).flatMap(({ holder, publicKey }) =>
    holder === "root" ? [publicKey] : [],
  );

beforeAll(async () => {
  const made = await makeScene(desk);
  const elsewhere = makeDesk();
  folders.push(elsewhere.root);
  await elsewhere.json("keys", "create", "ana");
  await elsewhere.json("run", "desk", "--input", "please look");
  const other = databaseOf(elsewhere.root);
  scene = { ...made, other };
  const [first = "", last = ""] = await rootsOf(desk);
  const [foreign = ""] = await rootsOf(elsewhere);
  roots = { first, last, foreign };
  await desk.json("journal", "export", "--out", "journal.jsonl");
  await desk.json("journal", "export", "--session", scene.session, "--out", "session.jsonl");
  await desk.json("journal", "export", "--session", scene.erased, "--out", "erased.jsonl");
}, 60_000);

/** A copy of the project's folder that can be altered. */
function copied(): string {
  const folder = newFolder();
  cpSync(desk.root, folder, { recursive: true, verbatimSymlinks: true });
  return folder;
}

type Both = Readonly<{ theirs: Verdict; ours: Verdict }>;
async function bothOn(folder: string, ...more: readonly string[]): Promise<Both> {
  const [theirs, ours] = await Promise.all([
    outside(databaseOf(folder), "--root", roots.first, ...more),
    inside(folder, "--key", roots.first, ...more),
  ]);
  return { theirs, ours };
}
/** Both verdicts on the database in a folder agree on good or bad, and on the first bad place. */
async function agreed(folder: string, ...more: readonly string[]): Promise<Verdict> {
  const { theirs, ours } = await bothOn(folder, ...more);
  expect([theirs.code, theirs.verified, theirs.firstBad?.name]).toEqual([ours.code, ours.verified, ours.firstBad?.name]);
  return theirs;
}
function altered(alter: (db: DatabaseSync) => void): string {
  const folder = copied();
  const db = new DatabaseSync(databaseOf(folder));
  alter(db);
  db.close();
  return folder;
}
/** The same of an exported file; the product names its lines. */
async function agreedOnFile(text: string): Promise<Verdict> {
  const folder = newFolder();
  writeFileSync(join(folder, "file.jsonl"), text);
  const theirs = await outside(join(folder, "file.jsonl"), "--root", roots.first);
  const ours = await inside(desk.root, join(folder, "file.jsonl"), "--key", roots.first);
  expect([theirs.code, theirs.verified]).toEqual([ours.code, ours.verified]);
  return theirs;
}

test("J-11 a program that shares no code verifies the journal as it was written, with either root key, and finds the same head and counts", async () => {
  const whole = await agreed(desk.root);
  const ours = await inside(desk.root);
  expect([whole.verified, whole.head, whole.counts]).toEqual([true, ours.head, ours.counts]);
  expect(whole.counts.erased).toBeGreaterThan(0);
  expect(whole.counts.blobs).toBeGreaterThan(0);
  expect(whole.counts.writers).toBe(2);
  expect(await outside(databaseOf(desk.root), "--root", roots.last)).toMatchObject({ code: 0, verified: true });
  expect(await outside(databaseOf(desk.root), "--root", roots.foreign)).toMatchObject({ code: 1, verified: false });
});

test.each(ALTERATIONS)("J-11 two verifiers name the same first bad place: $how", async ({ alter, elsewhere }) => {
  const folder = altered((db) => alter(db, scene));
  if (elsewhere === undefined) expect(await agreed(folder)).toMatchObject({ code: 1, verified: false });
  else expect(await bothOn(folder)).toMatchObject({ theirs: { code: 1, verified: false }, ours: { code: 1, verified: false } });
});

test("J-5 a long text in a file of its own is checked where it stands", async () => {
  const changed = copied();
  const [file = "none"] = globSync("*", { cwd: join(changed, ".orgate", "blobs") });
  expect(statSync(join(changed, ".orgate", "blobs", file)).size).toBeGreaterThan(262_144);
  writeFileSync(join(changed, ".orgate", "blobs", file), "another text");
  expect(await agreed(changed)).toMatchObject({ code: 1, verified: false });
  rmSync(join(changed, ".orgate", "blobs", file));
  expect(await agreed(changed)).toMatchObject({ code: 1, verified: false });
});

test("J-23 rows beside the journal are compared by the product only: the program outside reads none of them", async () => {
  const folder = altered((db) => db.exec("DELETE FROM halts"));
  expect(await bothOn(folder)).toMatchObject({ theirs: { code: 0, verified: true }, ours: { code: 1, verified: false } });
});

test("J-31 a forged unsealed tail is counted by the program outside, and told from the project's own by the product, which has the key", async () => {
  const folder = altered((db) => void forgeAppend(db, scene.session, "note", '{"data":{},"namespace":"x"}'));
  expect(await bothOn(folder)).toMatchObject({
    theirs: { code: 0, verified: true, counts: { unsealed: 1 } },
    ours: { code: 1, verified: false },
  });
});

test("J-11 a journal that was rolled back as a whole verifies, except against a head that was kept elsewhere", async () => {
  const older = copied();
  await desk.json("run", "desk", "--input", "one more");
  const head = (await desk.orgate("journal", "head")).stdout.trim();
  expect(await agreed(older)).toMatchObject({ code: 0, verified: true });
  expect(await agreed(older, "--head", head)).toMatchObject({ code: 1, verified: false });
  expect(await agreed(desk.root, "--head", head)).toMatchObject({ code: 0, verified: true });
});

test.each(["journal.jsonl", "session.jsonl", "erased.jsonl"])("J-13 a program that shares no code verifies an export: %s", async (file) => {
  const text = desk.read(file);
  expect(await agreedOnFile(text)).toMatchObject({ code: 0, verified: true });
});

test("J-13 the example of the page verifies, with the root key that the page names", async () => {
  const page = readFileSync(join(REPOSITORY, "docs/journal-format.md"), "utf8");
  const [, file = ""] = /```jsonl\n([^`]*)```/.exec(page) ?? [];
  const [, root = ""] = /The root's public key is\n`(ed25519:[^`]*)`/.exec(page) ?? [];
  const path = join(newFolder(), "example.jsonl");
  writeFileSync(path, file);
  expect(await outside(path, "--root", root)).toMatchObject({ code: 0, verified: true, counts: { seals: 1, entries: 3 } });
});

/** Each way is tried on lines all over the file. */
const FILE_ALTERATIONS: readonly Readonly<{ how: string; alter: (lines: string[], at: number) => readonly string[] }>[] = [
  { how: "a line is gone", alter: (lines, at) => lines.toSpliced(at, 1) },
  { how: "a line stands twice", alter: (lines, at) => lines.toSpliced(at, 0, lines[at] ?? "") },
  {
    how: "a digit is another",
    alter: (lines, at) =>
      lines.with(
        at,
        (lines[at] ?? "").replace(/[0-9](?=[^0-9]*$)/, (digit) => (digit === "0" ? "1" : "0")),
      ),
  },
  { how: "a space is added", alter: (lines, at) => lines.with(at, (lines[at] ?? "").replace(",", ", ")) },
  { how: "the end is gone", alter: (lines, at) => lines.slice(0, at + 1) },
];
const SAMPLES = 3;
test.each(FILE_ALTERATIONS)("J-13 two verifiers refuse an export in which $how", async ({ alter }) => {
  const tries = ["journal.jsonl", "session.jsonl"].flatMap((file) => {
    const lines = desk.read(file).split("\n").slice(0, -1);
    return Array.from({ length: SAMPLES }, (_, sample) => alter(lines, Math.floor((sample * (lines.length - 1)) / SAMPLES)));
  });
  const verdicts = await Promise.all(tries.map((lines) => agreedOnFile(`${lines.join("\n")}\n`)));
  expect(verdicts.map(({ code }) => code)).toEqual(tries.map(() => 1));
});
