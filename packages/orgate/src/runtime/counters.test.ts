/** Counters over hours and days, under the real gate and the real store: what is read, decided and set aside has no gap. */
import { spawn } from "node:child_process";
import { once as event } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openReadStore } from "../store/journal.ts";
import { LIMITED, openCounted, wantAll } from "./fixtures/counted-sessions.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});
function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "orgate-counters-"));
  folders.push(made);
  return made;
}

test.each(["main", "worker"] as const)("G-25 of 50 sessions at once against a limit of 10 exactly 10 act (%s)", async (thread) => {
  let sent = 0;
  const runtime = await openCounted({ directory: join(folder(), ".orgate"), thread, sent: () => (sent += 1) });
  await wantAll(runtime, 50);
  expect(sent).toBe(10);
  await wantAll(runtime, 1);
  expect(sent).toBe(10);
  await runtime.close();
});

test("G-25 of 50 sessions in five processes against a limit of 10 exactly 10 act", async () => {
  const root = folder();
  const file = join(root, "sent");
  const script = join(import.meta.dirname, "fixtures", "counted-sessions.ts");
  const workers = Array.from({ length: 5 }, () =>
    spawn(process.execPath, [script, join(root, ".orgate"), file, "10"], { stdio: ["pipe", "pipe", "inherit"] }),
  );
  await Promise.all(workers.map((w) => event(w.stdout, "data")));
  for (const w of workers) w.stdin.end("go\n");
  const codes = await Promise.all(workers.map(async (w) => (await event(w, "exit"))[0]));
  expect(codes).toEqual([0, 0, 0, 0, 0]);
  expect(existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : []).toHaveLength(10);
});

test("G-24 what a policy begins to read is counted from the journal, and goes on counting after a restart", async () => {
  const directory = join(folder(), ".orgate");
  let sent = 0;
  const free = LIMITED.replace("when { context.calls.send.hour < 10 }", "");
  const before = await openCounted({ directory, thread: "main", policies: free, sent: () => (sent += 1) });
  await wantAll(before, 7);
  await before.close();
  const db = new DatabaseSync(join(directory, "journal.db"), { readOnly: true });
  expect(db.prepare("SELECT count(*) AS n FROM counts").get()).toEqual({ n: 0 }); // nobody reads it: nothing is written
  db.close();
  const after = await openCounted({ directory, thread: "main", sent: () => (sent += 1) });
  await wantAll(after, 20);
  expect(sent).toBe(10);
  await after.close();
  const again = await openCounted({ directory, thread: "main", policies: LIMITED.replace("< 10", "< 12"), sent: () => (sent += 1) });
  await wantAll(again, 20);
  expect(sent).toBe(12);
  await again.close();
});

test("G-26 verify finds counters and sets that are not what the entries make of them", async () => {
  const directory = join(folder(), ".orgate");
  const runtime = await openCounted({ directory, thread: "main", sent: () => {} });
  await wantAll(runtime, 3);
  const { store } = runtime.place;
  expect((await store.snapshot()).wrongRows(Date.now())).toEqual([]);
  const tampered = async (sql: string): Promise<readonly string[]> => {
    const db = new DatabaseSync(join(directory, "journal.db"));
    db.exec(sql);
    db.close();
    return (await store.snapshot()).wrongRows(Date.now());
  };
  expect(await tampered("UPDATE counts SET n = n - 1")).toEqual(["counter calls:send"]);
  expect(await tampered("UPDATE counts SET n = n + 1")).toEqual([]);
  expect(await tampered("INSERT INTO known_values VALUES ('payees', 'DE1', 'de1', 'known', 0, 1)")).toEqual(["set payees"]);
  await runtime.close();
});

test("G-25 processes that spend at the same time are each decided on what the others have set aside, from their first commit on", async () => {
  const root = folder();
  const file = join(root, "sent");
  const script = join(import.meta.dirname, "fixtures", "counted-sessions.ts");
  const arguments_ = [script, join(root, ".orgate"), file, "6", "spending"];
  const workers = Array.from({ length: 3 }, () => spawn(process.execPath, arguments_, { stdio: ["pipe", "pipe", "inherit"] }));
  await Promise.all(workers.map((w) => event(w.stdout, "data")));
  for (const w of workers) w.stdin.end("go\n");
  expect(await Promise.all(workers.map(async (w) => (await event(w, "exit"))[0]))).toEqual([0, 0, 0]); // decided again, and nobody fails
  const look = openReadStore({ directory: join(root, ".orgate") });
  expect(look.wrongRows(Date.now())).toEqual([]);
  await look.close();
});

describe("a clock that jumps", () => {
  const DAYS = 3 * 86_400_000;
  const real = Date.now;
  let ahead = 0;
  beforeEach(() => {
    ahead = 0;
    Date.now = () => real() + ahead;
  });
  afterEach(() => {
    Date.now = real;
  });
  const verified = (directory: string): readonly string[] => {
    const look = openReadStore({ directory });
    const wrong = look.wrongRows(Date.now());
    void look.close();
    return wrong;
  };

  test.each(["main", "worker"] as const)(
    "G-25 three days forward and back under a process: the limit holds all the while, and verify finds nothing wrong (%s)",
    async (thread) => {
      const directory = join(folder(), ".orgate");
      let sent = 0;
      const runtime = await openCounted({ directory, thread, sent: () => (sent += 1) });
      await wantAll(runtime, 4);
      ahead = DAYS;
      await wantAll(runtime, 20);
      expect([sent, verified(directory)]).toEqual([10, []]);
      ahead = 0;
      await wantAll(runtime, 5);
      expect([sent, verified(directory)]).toEqual([10, []]);
      ahead = -DAYS;
      await wantAll(runtime, 5);
      expect([sent, verified(directory)]).toEqual([10, []]);
      await runtime.close();
      ahead = 0;
      const again = await openCounted({ directory, thread, sent: () => (sent += 1) });
      await wantAll(again, 5);
      expect([sent, verified(directory)]).toEqual([10, []]);
      await again.close();
    },
  );

  test("G-25 a process that began while the clock was ahead: when it is right again all that was sent in the last hour counts, and verify finds nothing wrong", async () => {
    const directory = join(folder(), ".orgate");
    let sent = 0;
    const want = async (sessions: number): Promise<void> => {
      const runtime = await openCounted({ directory, thread: "main", sent: () => (sent += 1) });
      await wantAll(runtime, sessions);
      await runtime.close();
    };
    await want(4);
    ahead = DAYS;
    await want(3);
    expect(verified(directory)).toEqual([]);
    ahead = 0;
    expect(verified(directory)).toEqual([]);
    await want(20);
    expect([sent, verified(directory)]).toEqual([10, []]); // the four, the three and three more
    ahead = -DAYS;
    await want(5);
    expect([sent, verified(directory)]).toEqual([10, []]);
  });

  test("G-25 rows that were swept away by another time are counted anew before they are read, also by a process that goes on", async () => {
    const directory = join(folder(), ".orgate");
    let sent = 0;
    const runtime = await openCounted({ directory, thread: "main", sent: () => (sent += 1) });
    await wantAll(runtime, 6);
    ahead = DAYS;
    const other = await openCounted({ directory, thread: "main", sent: () => (sent += 1) });
    await wantAll(other, 1); // believes the clock, and sweeps
    await other.close();
    ahead = 0;
    await wantAll(runtime, 20);
    await wantAll(runtime, 20);
    expect(sent).toBe(10);
    expect(verified(directory)).toEqual([]);
    await runtime.close();
  });
});
