/** Counters over hours and days that somebody changes in the database, who has not the project's keys: no limit opens by it. */
import { spawn } from "node:child_process";
import { once as event } from "node:events";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { millis } from "@orgate/core/vocab";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { editEntry, findEntries } from "../store/fixtures/tamper.ts";
import type { Runtime } from "./api.ts";
import { LIMITED, openCounted, wantAll } from "./fixtures/counted-sessions.ts";
import { databaseIn } from "./fixtures/forging.ts";
import { eraseEntries } from "./people/erase.ts";

const folders: string[] = [];
const runtimes: Runtime[] = [];
afterEach(async () => {
  for (const runtime of runtimes.splice(0)) await runtime.close();
});
afterAll(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});
function newFolder(): string {
  const made = mkdtempSync(join(tmpdir(), "orgate-counter-proof-"));
  folders.push(made);
  return made;
}
const journalOf = (folder: string): string => join(folder, ".orgate");

type Sender = Readonly<{ runtime: Runtime; sent: () => number; close: () => Promise<void> }>;
async function openSender(folder: string, thread: "main" | "worker" = "main", policies = LIMITED): Promise<Sender> {
  let sent = 0;
  const runtime = await openCounted({ directory: journalOf(folder), thread, policies, sent: () => (sent += 1) });
  runtimes.push(runtime);
  const close = async (): Promise<void> => {
    runtimes.splice(runtimes.indexOf(runtime), 1);
    await runtime.close();
  };
  return { runtime, sent: () => sent, close };
}
function tamper(folder: string, sql: string): void {
  const db = databaseIn(journalOf(folder));
  db.exec(sql);
  db.close();
}
const TABLES = ["counts", "count_slots", "kept_counts"] as const;
const saved = (tables: readonly string[]): string => tables.map((name) => `CREATE TABLE old_${name} AS SELECT * FROM ${name};`).join("");
const putBack = (tables: readonly string[]): string =>
  tables.map((name) => `DELETE FROM ${name}; INSERT INTO ${name} SELECT * FROM old_${name};`).join("");

/** Six of ten were sent, by two processes at once; how things stood after the first three was saved. And three, that no policy counts. */
let template: string;
let uncounted: string;
const UNLIMITED = LIMITED.replace("when { context.calls.send.hour < 10 }", "");
beforeAll(async () => {
  [template, uncounted] = [newFolder(), newFolder()];
  const first = await openSender(template);
  await wantAll(first.runtime, 3);
  tamper(template, saved([...TABLES, "seals"]));
  const second = await openSender(template);
  await wantAll(second.runtime, 2);
  await wantAll(first.runtime, 1);
  await first.close();
  await second.close();
  const only = await openSender(uncounted, "main", UNLIMITED);
  await wantAll(only.runtime, 3);
  await only.close();
});
function copied(from = template): string {
  const folder = newFolder();
  cpSync(from, folder, { recursive: true });
  return folder;
}

const NEWEST = "(writer, number) IN (SELECT writer, max(number) FROM seals GROUP BY writer)";
const CHANGES = [
  ["rows deleted", "DELETE FROM counts"],
  ["one row deleted", "DELETE FROM counts WHERE (owner) IN (SELECT owner FROM counts LIMIT 1)"],
  ["set to nothing", "UPDATE counts SET n = 0"],
  ["set to less than nothing", "UPDATE counts SET n = -1000"],
  ["a row that takes away", "INSERT INTO counts SELECT slot, name, agent, value, bucket, 'x', -1000 FROM counts LIMIT 1"],
  ["moved to yesterday", "UPDATE counts SET bucket = bucket - 288"],
  ["moved to another slot", "UPDATE counts SET slot = '99'"],
  ["rows put back", putBack(["counts"])],
  ["rows and sums put back", putBack(TABLES)],
  ["everything but the seals emptied", TABLES.map((name) => `DELETE FROM ${name};`).join("")],
  [
    "everything emptied, and the seals say nothing",
    `${TABLES.map((name) => `DELETE FROM ${name};`).join("")} UPDATE seals SET counts = ''`,
  ],
  [
    "everything put back, with what the seals said",
    `${putBack(TABLES)} UPDATE seals SET counts = ifnull((SELECT counts FROM old_seals AS o WHERE o.writer = seals.writer ORDER BY number DESC LIMIT 1), '') WHERE ${NEWEST}`,
  ],
  ["kept since another time", "UPDATE kept_counts SET since = since - 1"],
  ["not kept", "DELETE FROM kept_counts"],
] as const;

test.each(CHANGES.flatMap(([how, sql]) => (["main", "worker"] as const).map((thread) => [how, thread, sql] as const)))(
  "J-24 counters that were changed let nothing pass, in a process that lives and in the next one: %s (%s)",
  async (_, thread, sql) => {
    const folder = copied();
    const alive = await openSender(folder, thread);
    await wantAll(alive.runtime, 1);
    expect([alive.sent(), await alive.runtime.place.store.alarms.standing()]).toEqual([1, []]);
    tamper(folder, sql);
    const results = await Promise.allSettled(Array.from({ length: 12 }, () => wantAll(alive.runtime, 1)));
    expect(alive.sent()).toBe(1);
    expect(results.some(({ status }) => status === "rejected")).toBe(true);
    expect((await alive.runtime.place.store.alarms.standing()).map(({ what }) => what)).toEqual([
      expect.stringMatching(/`counts`|^seal \d+ of writer/),
    ]);
    const still = copied();
    tamper(still, sql);
    let late = 0;
    await openSender(still, thread).then(
      async (next) => {
        await Promise.allSettled(Array.from({ length: 12 }, () => wantAll(next.runtime, 1)));
        late = next.sent();
      },
      (error: unknown) => expect(String(error)).toMatch(/counts|counters/),
    );
    expect([late, existsSync(join(journalOf(still), "alarms.jsonl"))]).toEqual([0, true]);
  },
);

test("J-24 counters that were just made are believed by others before whoever made them has committed anything", async () => {
  const folder = newFolder();
  const before = await openSender(folder, "main", UNLIMITED);
  await wantAll(before.runtime, 3);
  await before.runtime.place.store.journal.keepCounts(["calls:send"], millis(Date.now()));
  const other = await openSender(folder);
  await wantAll(other.runtime, 20);
  expect([other.sent(), await other.runtime.place.store.alarms.standing()]).toEqual([7, []]);
});

test("J-24 processes that are killed while they count leave counters that are believed, and that count all that was sent", async () => {
  const folder = newFolder();
  const file = join(folder, "sent");
  const lines = (): number => (existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean).length : 0);
  const script = join(import.meta.dirname, "fixtures", "counted-sessions.ts");
  for (const most of [2, 4, 6]) {
    const workers = Array.from({ length: 2 }, () =>
      spawn(process.execPath, [script, journalOf(folder), file, "4"], { stdio: ["pipe", "pipe", "inherit"] }),
    );
    await Promise.all(workers.map((w) => event(w.stdout, "data")));
    const ended = workers.map((w) => event(w, "exit"));
    for (const w of workers) w.stdin.end("go\n");
    while (lines() < most && workers.some((w) => w.exitCode === null)) await new Promise((resume) => setImmediate(resume));
    for (const w of workers) w.kill("SIGKILL");
    await Promise.all(ended);
  }
  const next = await openSender(folder);
  const before = lines();
  await wantAll(next.runtime, 20);
  const { store } = next.runtime.place;
  expect([await store.alarms.standing(), (await store.snapshot()).wrongRows(Date.now())]).toEqual([[], []]);
  expect(before + next.sent()).toBeLessThanOrEqual(10); // one that was killed between the count and its effect counts
});

test("J-24 an erased session leaves counters that are believed", async () => {
  const folder = copied();
  const { runtime, sent, close } = await openSender(folder);
  const [one] = await runtime.place.store.journal.sessions({ state: null, agent: null, before: null, most: 1 });
  if (one === undefined) throw new Error("there is no session");
  const entries = { first: 1 as never, last: 3 as never, by: { kind: "user", id: "ana" }, reason: "asked for" } as const;
  await eraseEntries(runtime.place, { session: one.session, ...entries });
  await wantAll(runtime, 2);
  await close();
  const next = await openSender(folder);
  await wantAll(next.runtime, 20);
  expect([sent(), next.sent(), await next.runtime.place.store.alarms.standing()]).toEqual([2, 2, []]);
});

test("J-24 counters that nobody has kept so far are made from the sealed entries", async () => {
  const next = await openSender(copied(uncounted));
  await wantAll(next.runtime, 20);
  expect(next.sent()).toBe(7);
  const { store } = next.runtime.place;
  expect([await store.alarms.standing(), (await store.snapshot()).wrongRows(Date.now())]).toEqual([[], []]);
});

test("J-24 what a counter is made from is proved: an entry that was changed is an alarm, and nothing is sent", async () => {
  const folder = copied(uncounted);
  const db = databaseIn(journalOf(folder));
  for (const { stream } of db.prepare("SELECT stream FROM streams").all())
    for (const at of findEntries(db, String(stream), "act.started"))
      editEntry(db, String(stream), at, (entry) => {
        entry.payload = JSON.stringify({ ...JSON.parse(entry.payload), start: 2 });
      });
  db.close();
  const next = await openSender(folder);
  await Promise.allSettled(Array.from({ length: 12 }, () => wantAll(next.runtime, 1)));
  expect(next.sent()).toBe(0);
  expect(await next.runtime.place.store.alarms.standing()).toHaveLength(1);
});

test("J-20 J-24 counters that an operator acknowledged as they are count on, in this process and the next; a further change is another alarm", async () => {
  const folder = copied();
  const { runtime, sent, close } = await openSender(folder);
  tamper(folder, "INSERT INTO counts SELECT slot, name, agent, value, bucket, 'x', 1 FROM counts LIMIT 1"); // seven of ten
  await expect(wantAll(runtime, 1)).rejects.toThrow("table `counts`");
  await runtime.place.store.alarms.acknowledge({ by: "ana", reason: "as it is" });
  await wantAll(runtime, 2);
  await close();
  const next = await openSender(folder);
  await wantAll(next.runtime, 20);
  expect([sent(), next.sent(), await next.runtime.place.store.alarms.standing()]).toEqual([2, 1, []]);
  tamper(folder, "DELETE FROM counts WHERE owner = 'x'; DELETE FROM counts");
  await expect(wantAll(next.runtime, 1)).rejects.toThrow("table `counts`");
});
