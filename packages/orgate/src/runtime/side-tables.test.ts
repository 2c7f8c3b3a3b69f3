/** Rows beside the entries that somebody deletes, adds or changes: named by verify, and never believed for safety. */
import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineAgent, defineTool, FaultError, type Row, type SessionId, tableGate } from "@orgate/core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { ed25519, sha256 } from "../node/crypto.ts";
import { createPerson, openPerson, type Person } from "../store/keyring.ts";
import { openSnapshot } from "../store/open-read-only.ts";
import { verifyInWorker } from "../store/threads/verify-worker.ts";
import type { Runtime } from "./api.ts";
import { databaseIn } from "./fixtures/forging.ts";
import { eraseEntries } from "./people/erase.ts";
import { createRuntime } from "./runtime.ts";

const folders: string[] = [];
const runtimes: Runtime[] = [];
afterEach(async () => {
  for (const runtime of runtimes.splice(0)) await runtime.close();
});
afterAll(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});
const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "orgate-rows-"));
  folders.push(folder);
  return folder;
};
const ROWS: readonly Row[] = [
  { id: "asks", action: "tool:ask", verdict: "ask", say: "really?" },
  { id: "rest", action: "*", verdict: "allow" },
];
const none = { type: "object", properties: {}, additionalProperties: false } as const;

type Office = Readonly<{ directory: string; runtime: Runtime; sent: string[]; ana: Person }>;
async function openOffice(folder: string, isNew = false, thread: "main" | "worker" = "main"): Promise<Office> {
  const sent: string[] = [];
  const send = defineTool({
    name: "send",
    description: "sends, and the line goes dead",
    input: none,
    run: () => {
      sent.push("send");
      throw new FaultError({ kind: "outcome-unknown", cause: "connection-lost", detail: "the line went dead" });
    },
  });
  const ask = defineTool({ name: "ask", description: "asks first", input: none, run: () => "done" });
  const agent = defineAgent({
    name: "clerk",
    instructions: "Send.",
    model: "offline/clerk",
    tools: [send, ask],
    modelOptions: {
      rules: [
        { when: { says: "send", notCalled: ["send"] }, calls: [{ tool: "send" }] },
        { when: { says: "ask", notCalled: ["ask"] }, calls: [{ tool: "ask" }] },
        { when: {}, say: "Done." },
      ],
    },
  });
  const directory = join(folder, ".orgate");
  const runtime = await createRuntime({
    directory,
    agents: [agent],
    gate: tableGate(ROWS, sha256, {}),
    principal: { kind: "user", id: "eve" },
    powerCut: "lose-last-moments",
    thread,
  });
  runtimes.push(runtime);
  const home = join(folder, "home");
  const ana = isNew ? createPerson(home, "ana", ed25519) : openPerson(home, "ana", ed25519);
  if (isNew) await runtime.place.keyring.certifyPerson("ana", ana.key.publicKey);
  return { directory, runtime, sent, ana };
}

let template: Readonly<{ folder: string; doubtful: SessionId }>;
beforeAll(async () => {
  const folder = newFolder();
  const { runtime, ana } = await openOffice(folder, true);
  const doubtful = (await runtime.complete("clerk", "send")).session;
  await runtime.complete("clerk", "ask", { id: "mine" });
  await runtime.halt("agent:other", "a drill", ana, { anyway: true });
  template = { folder, doubtful };
  await runtime.close();
  runtimes.splice(0);
});
function copied(): string {
  const folder = newFolder();
  cpSync(template.folder, folder, { recursive: true });
  return folder;
}
function tamper(folder: string, sql: string): void {
  const db = databaseIn(join(folder, ".orgate"));
  db.exec(sql);
  db.close();
}
async function wrongIn(folder: string): Promise<readonly string[]> {
  const look = openSnapshot(join(folder, ".orgate"));
  try {
    return look.wrongRows(Date.now());
  } finally {
    await look.close();
  }
}

test.each([
  ["DELETE FROM unknowns", /^row s_\w+\/1\.0 of table unknowns$/],
  ["UPDATE unknowns SET tool = 'other'", /^row s_\w+\/1\.0 of table unknowns$/],
  ["DELETE FROM questions", /^row s_\w+\/a_\w+ of table questions$/],
  ["DELETE FROM sessions WHERE state = 'waiting'", /^row s_\w+ of table sessions$/, /^row clerk\/waiting of table session_counts$/],
  [
    "UPDATE sessions SET state = 'closed' WHERE state = 'waiting'",
    /^row s_\w+ of table sessions$/,
    /^row clerk\/closed of table session_counts$/,
    /^row clerk\/waiting of table session_counts$/,
  ],
  ["UPDATE session_counts SET questions = 0", /^row clerk\/waiting of table session_counts$/],
  ["DELETE FROM session_counts WHERE state = 'idle'", /^row clerk\/idle of table session_counts$/],
  ["INSERT INTO session_counts VALUES ('ghost', 'idle', 1, 0, 0)", /^row ghost\/idle of table session_counts$/],
  ["DELETE FROM halts", /^row agent:other of table halts$/],
  ["INSERT INTO halts VALUES ('all')", /^row all of table halts$/],
  ["INSERT INTO revoked VALUES ('g_1')", /^row g_1 of table revoked$/],
  ["DELETE FROM externals", /^row "mine" of table externals$/],
  ["UPDATE streams SET seq = seq - 1 WHERE stream = 'halt'", /^row halt of table streams$/],
])("J-23 verify names the row: %s", async (sql, ...names) => {
  const folder = copied();
  expect(await wrongIn(folder)).toEqual([]);
  tamper(folder, sql);
  expect(await wrongIn(folder)).toEqual(names.map((name) => expect.stringMatching(name)));
  const verified = await verifyInWorker(
    { snapshot: join(folder, ".orgate"), keys: join(folder, ".orgate", "keys") },
    () => {},
    new AbortController().signal,
  );
  expect([verified.ok, verified.problems[0]]).toEqual([false, expect.stringContaining("of table")]);
});

test.each(["main", "worker"] as const)(
  "J-24 a deleted row of an open unknown is noticed before a look-alike is decided, by a living process and by the next one (%s)",
  async (thread) => {
    const folder = copied();
    const alive = await openOffice(folder, false, thread);
    expect((await alive.runtime.complete("clerk", "send")).state).toBe("waiting"); // whatever the policies permit
    expect(alive.sent).toEqual([]);
    tamper(folder, "DELETE FROM unknowns");
    await expect(alive.runtime.complete("clerk", "send")).rejects.toThrow("table `unknowns`");
    expect(alive.sent).toEqual([]);
    await alive.runtime.close();
    runtimes.splice(0);
    rmSync(join(folder, ".orgate", "alarms.jsonl"));
    await expect(openOffice(folder)).rejects.toThrow("its rows are not those that the writers have sealed");
  },
);

test("J-24 a row that was changed or put in its place does not pass either; a resolved unknown and an erased session leave nothing behind", async () => {
  for (const sql of [
    "UPDATE unknowns SET resource_id = 'x', digest = 'x'",
    "INSERT INTO unknowns SELECT session, 'x', tool, resource_type, resource_id, digest, cause, at FROM unknowns",
  ]) {
    const folder = copied();
    tamper(folder, sql);
    await expect(openOffice(folder)).rejects.toThrow("table `unknowns`");
  }
  const folder = copied();
  const { runtime, ana, sent } = await openOffice(folder);
  await runtime.resolve({ session: template.doubtful, call: "1.0" as never, as: "did-not-happen", note: "looked" }, ana);
  const again = await runtime.complete("clerk", "send");
  expect(sent).toEqual(["send"]);
  await eraseEntries(runtime.place, {
    session: again.session,
    first: 1 as never,
    last: 1 as never,
    by: { kind: "user", id: "ana" },
    reason: "asked for",
  });
  expect((await runtime.complete("clerk", "send")).session).not.toBe(again.session);
  expect(sent).toEqual(["send", "send"]);
  await runtime.close();
  runtimes.splice(0);
  await openOffice(folder);
  expect(await wrongIn(folder)).toEqual([]);
});

test("J-23 a table that is gone, a trigger or a view is an alarm: the table is made again, and the project is read-only", async () => {
  for (const [sql, what] of [
    ["DROP TABLE unknowns", "table `unknowns`"],
    ["DROP TABLE questions", "table `questions`"],
    ["CREATE TRIGGER t AFTER INSERT ON halts BEGIN DELETE FROM halts; END", "trigger `t`"],
    ["CREATE VIEW v AS SELECT * FROM halts", "view `v`"],
  ] as const) {
    const folder = copied();
    tamper(folder, sql);
    const { runtime, directory } = await openOffice(folder).then(
      (office) => office,
      (error: unknown) => Promise.reject(error),
    );
    await expect(runtime.complete("clerk", "ask"), sql).rejects.toThrow(what);
    expect(readFileSync(join(directory, "alarms.jsonl"), "utf8")).toContain(JSON.stringify(what).slice(1, -1));
  }
});

const FORGERIES = [
  ["altered", "UPDATE questions SET question = json_set(question, '$.tool', 'harmless', '$.asks[0].question', 'say hello?')"],
  ["moved to another session", "UPDATE questions SET session = 's_other00001'"],
  [
    "put there",
    "INSERT INTO questions (session, approval, question, mac) SELECT session, 'a_forged', json_set(question, '$.approval', 'a_forged'), mac FROM questions",
  ],
  ["deleted", "DELETE FROM questions"],
  ["without its keyed hash", "UPDATE questions SET question = json_set(question, '$.tool', 'harmless'), mac = ''"],
  ["hidden from the list", "UPDATE questions SET arrival = -1"],
] as const;

test.each(FORGERIES)("J-24 an approval request that was %s is an alarm in the library and at the command line", async (_, sql) => {
  const folder = copied();
  const { runtime, directory } = await openOffice(folder);
  const [question] = await runtime.approvals.list();
  expect(question).toMatchObject({ tool: "ask", asks: [{ question: "really?" }] });
  tamper(folder, sql);
  await expect(runtime.approvals.list()).rejects.toThrow(/table `questions`/);
  await runtime.close();
  runtimes.splice(0);
  rmSync(join(directory, "alarms.jsonl"));
  const look = openSnapshot(directory);
  try {
    await expect(look.journal.questions({ after: 0, most: 100 })).rejects.toThrow(/table `questions`/);
    expect(await look.alarms.standing()).toHaveLength(1);
  } finally {
    await look.close();
  }
  const after = await openOffice(folder);
  await expect(after.runtime.complete("clerk", "hello")).rejects.toThrow("read-only");
});

test("J-24 a request that was taken away is missed when it is asked for by its id, and by whoever walks through the list page by page", async () => {
  const folder = copied();
  const first = await openOffice(folder);
  for (let i = 0; i < 4; i += 1) await first.runtime.complete("clerk", "ask");
  const all = await first.runtime.approvals.list();
  expect(all).toHaveLength(5);
  await first.runtime.close();
  runtimes.splice(0);
  tamper(folder, `DELETE FROM questions WHERE approval = '${all[1]?.approval}'`);
  const { runtime, directory } = await openOffice(folder);
  const page = await runtime.approvals.list({ most: 2 });
  expect(page).toEqual([all[0], all[2]]); // what is on a page is genuine; that one is missing shows at the end
  await expect(runtime.approvals.list({ after: page[1]?.arrival ?? 0, most: 3 })).rejects.toThrow("table `questions`");
  rmSync(join(directory, "alarms.jsonl"));
  await expect(runtime.approvals.show(all[1]?.approval ?? "")).rejects.toThrow("table `questions`");
});

test("J-24 an old request that was answered and is put back is an alarm; requests that come and go, and an erased session, leave a whole list", async () => {
  const folder = copied();
  const { runtime, ana, directory } = await openOffice(folder);
  const [question] = await runtime.approvals.list();
  if (question === undefined) throw new Error("nothing waits");
  const db = databaseIn(directory);
  const old = db.prepare("SELECT session, approval, question, mac FROM questions").get();
  await runtime.approvals.answer({ approval: question.approval, digest: question.digest, answer: { kind: "approve" } }, ana);
  expect(await runtime.approvals.list()).toEqual([]);
  const second = await runtime.complete("clerk", "ask");
  expect(await runtime.approvals.list()).toMatchObject([{ session: second.session }]);
  const entries = { first: 1 as never, last: 1 as never, by: { kind: "user", id: "ana" }, reason: "asked for" } as const;
  await eraseEntries(runtime.place, { session: second.session, ...entries, anyway: true });
  expect(await runtime.approvals.list()).toEqual([]);
  await runtime.close();
  runtimes.splice(0);
  const next = await openOffice(folder);
  expect(await next.runtime.approvals.list()).toEqual([]);
  db.prepare("INSERT INTO questions (session, approval, question, mac) VALUES (?, ?, ?, ?)").run(...Object.values(old ?? {}));
  db.close();
  await expect(next.runtime.approvals.list()).rejects.toThrow("table `questions`");
});

test("J-24 a journal whose requests have no keyed hashes yet gets them from its sealed entries, whatever its rows say", async () => {
  const folder = copied();
  const before = await openOffice(folder);
  const listed = await before.runtime.approvals.list();
  await before.runtime.close();
  runtimes.splice(0);
  tamper(folder, "ALTER TABLE questions DROP COLUMN mac; UPDATE questions SET question = json_set(question, '$.tool', 'harmless')");
  const { runtime } = await openOffice(folder);
  expect(await runtime.approvals.list()).toEqual(listed);
});

test("J-24 whoever approves says yes to one digest: what runs is the sealed action, and a row with another digest runs nothing", async () => {
  const folder = copied();
  const { runtime, ana, directory } = await openOffice(folder);
  const [question] = await runtime.approvals.list();
  if (question === undefined) throw new Error("nothing waits");
  const forged = "f".repeat(64);
  const yes = { approval: question.approval, answer: { kind: "approve" } } as const;
  await expect(runtime.approvals.answer({ ...yes, digest: forged as never }, ana)).rejects.toThrow(/digest|another/);
  expect(await runtime.approvals.list()).toEqual([question]);
  const db = databaseIn(directory);
  db.prepare("UPDATE questions SET question = json_set(question, '$.digest', ?)").run(forged);
  db.close();
  await expect(runtime.approvals.answer({ ...yes, digest: forged as never }, ana)).rejects.toThrow("table `questions`");
});

test("J-20 an acknowledgement that the project did not write lifts no alarm, nor does an old one that is copied behind a new alarm", async () => {
  const folder = copied();
  const { runtime, directory } = await openOffice(folder);
  const file = join(directory, "alarms.jsonl");
  const { alarms } = runtime.place.store;
  await alarms.raise("entry 1 of stream `x`", "a drill");
  appendFileSync(file, `${JSON.stringify({ kind: "acknowledged", at: 1, by: "ana", reason: "fine", isVerified: true })}\n`);
  await expect(runtime.complete("clerk", "hello")).rejects.toThrow("read-only");
  expect((await alarms.standing()).at(-1)).toMatchObject({ detail: "an acknowledgement in it was not written by this project" });
  await alarms.acknowledge({ by: "ana", reason: "looked" });
  expect((await runtime.complete("clerk", "hello")).ending).toBe("completed");
  const genuine = readFileSync(file, "utf8").trimEnd().split("\n").at(-1);
  await alarms.raise("entry 2 of stream `x`", "another drill");
  appendFileSync(file, `${genuine}\n`);
  await expect(runtime.complete("clerk", "hello")).rejects.toThrow("read-only");
});

test("J-20 what was acknowledged as it is stays so; a further change of the same table is another alarm, and so is the same after the journal verified", async () => {
  const folder = copied();
  const first = await openOffice(folder);
  await first.runtime.complete("clerk", "ask");
  const { alarms } = first.runtime.place.store;
  const db = databaseIn(first.directory);
  const dropFirst = (): void => void db.exec("DELETE FROM questions WHERE arrival = (SELECT min(arrival) FROM questions)");
  dropFirst();
  await expect(first.runtime.approvals.list()).rejects.toThrow("table `questions`");
  await alarms.acknowledge({ by: "ana", reason: "as it is" });
  expect(await first.runtime.approvals.list()).toHaveLength(1);
  await first.runtime.complete("clerk", "ask");
  expect(await first.runtime.approvals.list()).toHaveLength(2); // and goes on so
  dropFirst();
  await expect(first.runtime.approvals.list()).rejects.toThrow("table `questions`");
  await first.runtime.close();
  runtimes.splice(0);
  db.close();
  const again = copied();
  const { runtime, directory } = await openOffice(again);
  tamper(again, "UPDATE questions SET arrival = -1");
  await expect(runtime.approvals.list()).rejects.toThrow("table `questions`");
  tamper(again, "UPDATE questions SET arrival = 1");
  await runtime.place.store.alarms.acknowledge({ by: "ana", reason: "restored", isVerified: true });
  expect(await runtime.approvals.list()).toHaveLength(1);
  tamper(again, "UPDATE questions SET arrival = -1");
  await expect(runtime.approvals.list()).rejects.toThrow("table `questions`");
  expect(readFileSync(join(directory, "alarms.jsonl"), "utf8").match(/"kind":"alarm"/g)).toHaveLength(2);
});

test("J-20 a line of the alarms that a crash or a full disk has torn is an alarm, can be acknowledged, and hides none that comes after it", async () => {
  const { runtime, directory } = await openOffice(copied());
  const { alarms } = runtime.place.store;
  writeFileSync(join(directory, "alarms.jsonl"), '{"kind":"alarm","at":1,"what":"ent');
  expect(await alarms.standing()).toMatchObject([{ detail: "line 1 cannot be read" }]);
  await alarms.raise("entry 1 of stream `x`", "a drill");
  expect((await alarms.standing()).map(({ what }) => what)).toEqual([join(directory, "alarms.jsonl"), "entry 1 of stream `x`"]);
  await alarms.acknowledge({ by: "ana", reason: "the disk was full" });
  expect(await alarms.standing()).toEqual([]);
  expect((await runtime.complete("clerk", "hello")).ending).toBe("completed");
});
