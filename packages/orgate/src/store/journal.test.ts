import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { entryHash, type Hold, headText, parseHead, parseMarks, sealHash } from "@orgate/core/journal";
import {
  answered,
  asked,
  callDecided,
  inboxContract,
  journalContract,
  lost,
  type MakeStore,
  type OpenedStore,
  opened,
  started,
  turnStarted,
} from "@orgate/core/testing";
import {
  callId,
  ERASURES,
  type Fault,
  intentId,
  isFault,
  millis,
  reconciledEvent,
  type Seq,
  type SessionEvent,
  type SessionId,
  type StreamId,
  seq,
  sessionId,
  streamId,
  ZERO,
} from "@orgate/core/vocab";
import { afterEach, expect, test } from "vitest";
import { sha256 } from "../node/crypto.ts";
import { noteOf, openTestStore, stamped } from "./fixtures/store.ts";
import { storeContract } from "./fixtures/store-contract.ts";
import { editDatabase, editEntry, removeEntry } from "./fixtures/tamper.ts";
import { openReadStore, type SqliteReadStore, type SqliteStore } from "./journal.ts";
import { DEAD_LETTERS_SQL } from "./sqlite/dead-letters.ts";
import { QUESTIONS_SQL } from "./sqlite/lists/approval-requests.ts";
import { sessionsSql } from "./sqlite/lists/sessions.ts";
import { APPENDS_SQL, HELD_SQL, NEXT_STREAM_SQL, STREAMS_SQL } from "./sqlite/rows.ts";
import { UNKNOWNS_SQL } from "./sqlite/unknowns.ts";

const folders: string[] = [];
const stores: SqliteStore[] = [];
function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "orgate-store-"));
  folders.push(made);
  return made;
}
function open(directory: string, options: Parameters<typeof openTestStore>[1] = {}): SqliteStore {
  const store = openTestStore(directory, options);
  stores.push(store);
  return store;
}
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
  for (const made of folders.splice(0)) rmSync(made, { recursive: true, force: true });
});

const edit = editDatabase;

const storesOn =
  (thread: "main" | "worker"): MakeStore =>
  async () => {
    const directory = mkdtempSync(join(tmpdir(), "orgate-contract-"));
    const opened: SqliteStore[] = [];
    return {
      async open(): Promise<OpenedStore> {
        const store = openTestStore(directory, { thread, maxPages: 400 });
        opened.push(store);
        // Within one process the most that can be done to a store without its help is to take its lock away; real kills are further down.
        return {
          journal: store.journal,
          inbox: store.inbox,
          records: async () => store.records,
          catchUp: async () => {},
          die: store.close,
        };
      },
      fill: async () => undefined, // 400 pages are 1.6 MB; the suite's next append is 3.2 MB
      spoil: async (stream, at) =>
        edit(directory, (db) =>
          editEntry(db, stream, at, (entry) => {
            entry.payload += " ";
          }),
        ),
      remove: async (stream, at) => edit(directory, (db) => removeEntry(db, stream, at)),
      async spoilBlobs() {
        edit(directory, (db) => db.exec("UPDATE blobs SET text = '!' || substr(text, 2) WHERE text IS NOT NULL"));
        for (const name of readdirSync(join(directory, "blobs"))) {
          const file = join(directory, "blobs", name);
          writeFileSync(file, `!${readFileSync(file, "utf8").slice(1)}`);
        }
      },
      async dispose() {
        for (const store of opened) await store.close();
        rmSync(directory, { recursive: true, force: true });
      },
    };
  };
for (const thread of ["main", "worker"] as const) {
  journalContract(`sqlite ${thread}`, storesOn(thread), { test, expect });
  inboxContract(`sqlite ${thread}`, storesOn(thread), { test, expect });
}
storeContract("sqlite", async () => {
  const directory = folder();
  return { open: async () => open(directory), catchUp: async () => {}, dispose: async () => {} };
});

const NOTES = streamId("notes");
const S = sessionId("s_sqlite0001");
const add = (store: SqliteStore, after: number, ...values: (string | number)[]): Promise<Seq> =>
  store.journal.append({
    stream: NOTES,
    after: seq(after),
    hold: null,
    events: stamped(...values.map(noteOf)),
    consumes: [],
    unlessHalted: [],
  });
const faultOf = (work: () => unknown): Promise<Fault | null> =>
  Promise.resolve()
    .then(work)
    .then(
      () => null,
      (error: unknown) => {
        if (isFault(error)) return error.fault;
        throw error;
      },
    );
const readAll = (store: Pick<SqliteReadStore, "journal">, stream: StreamId = NOTES) => store.journal.read(stream, seq(0), 1_000_000);

test("J-1 with the worker, what is asked for while a commit is being written is the next commit, whole", async () => {
  const directory = folder();
  const store = open(directory, { thread: "worker" });
  await add(store, 0, "first");
  const lock = new DatabaseSync(join(directory, "journal.db"));
  lock.exec("BEGIN IMMEDIATE"); // so that the next commit cannot be over before we are ready
  const running = add(store, 1, "second");
  for (let turns = 0; turns < 5; turns += 1) await new Promise((turn) => setImmediate(turn));
  const queued = [add(store, 2, 3), add(store, 3, 4), add(store, 4, 5)];
  lock.close();
  expect(await Promise.all([running, ...queued])).toEqual([2, 3, 4, 5]);
  const sealed = [...store.records.seals(store.slot.writer)].map(({ wrote }) =>
    parseMarks(wrote)?.map((mark) => `${mark.stream}#${mark.seq}`),
  );
  expect(sealed).toEqual([["notes#1"], ["notes#2"], ["notes#3", "notes#4", "notes#5"]]); // each transaction that writes such a stream has its seal
});

test("J-1 every seal's hash can be computed again from what is stored, and each append is named by the seal that its row says", async () => {
  const store = open(folder());
  await Promise.all([add(store, 0, 1, 2, 3), add(store, 3, 4)]);
  await add(store, 4, 5);
  const entries = [...store.records.entries(NOTES)];
  for (const e of entries) expect(entryHash(e, sha256)).toBe(e.entryHash);
  const seals = [...store.records.seals(store.slot.writer)];
  for (const one of seals) expect(sealHash(one, sha256)).toBe(one.hash);
  expect(seals.map(({ wrote }) => parseMarks(wrote))).toEqual(
    [[3, 4], [5]].map((ends) => ends.map((at) => ({ stream: NOTES, seq: at, hash: entries[at - 1]?.entryHash }))),
  );
  const places = await Promise.all([1, 2, 3, 4, 5].map((at) => store.stored(NOTES, seq(at))));
  expect(places.map((place) => place?.seal?.number)).toEqual([1, 1, 1, 1, 2]);
  const head = await store.head();
  expect(parseHead(headText(head))).toEqual(head);
  expect(head.get(store.slot.writer)).toEqual({ number: 2, hash: seals[1]?.hash });
});

test("J-7 a slot is continued by the next process, with its chain; two stores in one process are two writers", async () => {
  const directory = folder();
  const first = open(directory);
  const second = open(directory);
  expect([first.slot, second.slot]).toMatchObject([
    { writer: "w1", incarnation: 1, isNew: true },
    { writer: "w2", incarnation: 1, isNew: true },
  ]);
  await add(first, 0, 1);
  await first.close();
  const third = open(directory);
  expect(third.slot).toEqual({ writer: "w1", incarnation: 2, isNew: false });
  await add(third, 1, 2);
  const [one, two] = [...third.records.seals(third.slot.writer)];
  expect(two).toMatchObject({ number: 2, previous: one?.hash });
});

test("J-6 lists and lookups use an index: no table is scanned, nothing is sorted", () => {
  const directory = folder();
  open(directory);
  const plans: string[] = [];
  edit(directory, (db) => {
    const queries = [
      sessionsSql(false, false),
      sessionsSql(true, false),
      sessionsSql(false, true),
      sessionsSql(true, true),
      "SELECT intent FROM inbox WHERE session = ? AND taken = 0 ORDER BY arrival",
      ...Object.values(APPENDS_SQL),
      "SELECT id, stream FROM appends WHERE id > ? ORDER BY id",
      "SELECT number FROM seals WHERE writer = ? ORDER BY number DESC LIMIT 1",
      "SELECT * FROM seals WHERE writer = ? AND number > ? ORDER BY number LIMIT ?",
      "SELECT session FROM externals WHERE external = ?",
      ...Object.values(QUESTIONS_SQL),
      ...Object.values(UNKNOWNS_SQL),
      ...Object.values(DEAD_LETTERS_SQL),
      NEXT_STREAM_SQL,
      STREAMS_SQL,
      HELD_SQL,
    ];
    for (const sql of queries) for (const row of db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all()) plans.push(String(row.detail));
  });
  expect(plans.length).toBeGreaterThanOrEqual(11);
  expect(plans.filter((plan) => /SCAN(?! asked VIRTUAL TABLE| indexed)|TEMP B-TREE/.test(plan))).toEqual([]);
});

const ERASING = { stream: ERASURES, after: seq(0), hold: null, consumes: [], unlessHalted: [] };
const erasureOf = (stream: SessionId) =>
  ({ kind: "content.erased", stream, first: seq(2), last: seq(2), by: { kind: "user", id: "ana" }, reason: "" }) as const;

test("Q-25 the list of what waits is made again from the entries where it is missing, and forgets a session whose content is erased", async () => {
  const directory = folder();
  const first = open(directory);
  const session = sessionId("s_waits00001");
  const hold = await first.journal.take(session);
  const events = [opened("echo"), callDecided("1.0"), asked("q1", "1.0", 2), answered("q1", "ana", ZERO), asked("q2", "respond:1", 1)];
  const to = { stream: session, after: seq(0), hold, consumes: [], unlessHalted: [] };
  await first.journal.append({ ...to, events: events.map((event, i) => ({ at: millis(1_000 + i), event })) });
  const before = await first.journal.questions({ after: 0, most: 10 });
  expect(before.map((q) => [q.approval, q.tool, q.askedAt, q.votes.length])).toEqual([
    ["q1", "send", 1_002, 1],
    ["q2", "respond", 1_004, 0],
  ]);
  await first.close();
  edit(directory, (db) => db.exec("DROP TABLE questions"));
  const looking = openReadStore({ directory });
  expect(await looking.journal.questions({ after: 0, most: 10 })).toEqual(before);
  await looking.close();
  const second = open(directory);
  expect(await second.journal.questions({ after: 0, most: 10 })).toEqual(before);
  expect(await second.alarms.acknowledge({ by: "ana", reason: "made again" })).toMatchObject([{ what: "table `questions`" }]);
  await second.journal.append({ ...ERASING, events: [{ at: millis(3_000), event: erasureOf(session) }] });
  await second.erase(session, seq(2), seq(2));
  expect(await second.journal.questions({ after: 0, most: 10 })).toEqual([]);
});

test("J-1 J-23 several appends of one session in one transaction leave its row as the last of them does", async () => {
  const store = open(folder());
  const session = sessionId("s_together01");
  const hold = await store.journal.take(session);
  const to = { stream: session, hold, consumes: [], unlessHalted: [] };
  await store.journal.append({ ...to, after: seq(0), events: stamped(opened("echo"), turnStarted(1, "go")) });
  await Promise.all([
    store.journal.append({ ...to, after: seq(2), events: stamped(noteOf(3)) }),
    store.journal.append({
      ...to,
      after: seq(3),
      events: stamped({ kind: "session.closed", by: { kind: "user", id: "ana" }, reason: "done" }),
    }),
  ]);
  expect(await store.journal.session(session)).toMatchObject({ state: "closed", seq: 4 });
  expect((await store.snapshot()).wrongRows(2_000)).toEqual([]);
});

test("J-25 whoever watches one stream hears of no other, whichever process wrote it", async () => {
  const directory = folder();
  const [own, other] = [open(directory), open(directory)];
  const names = ["notes:1", "notes:2", "notes:3"].map(streamId);
  const heard: string[] = [];
  for (const name of names) own.journal.watch((stream) => heard.push(`${name} ${stream}`), name);
  const write = (store: SqliteStore, stream: StreamId, after: number) =>
    store.journal.append({ stream, after: seq(after), hold: null, consumes: [], unlessHalted: [], events: stamped(noteOf(1)) });
  await write(own, streamId("notes:2"), 0);
  expect(heard).toEqual(["notes:2 notes:2"]);
  const told = new Promise<void>((resolve) => own.journal.watch(() => resolve(), streamId("notes:3")));
  await write(other, streamId("notes:3"), 0);
  await told;
  expect(heard.filter((one) => one.startsWith("notes:1"))).toEqual([]);
  expect(heard).toContain("notes:3 null");
});

test("J-26 sessions, open requests and open unknowns are counted as they change; the counts are made again where the table is missing", async () => {
  const directory = folder();
  const store = open(directory);
  const [one, two] = [sessionId("s_counted001"), sessionId("s_counted002")];
  const holds = [await store.journal.take(one), await store.journal.take(two)] as const;
  const append = (hold: Hold, after: number, ...events: SessionEvent[]) =>
    store.journal.append({ stream: hold.session, after: seq(after), hold, consumes: [], unlessHalted: [], events: stamped(...events) });
  await append(holds[0], 0, opened("echo"), turnStarted(1, "go"), asked("q1", "respond:1", 1), asked("q2", "respond:2", 1));
  await append(holds[1], 0, opened("echo"), turnStarted(1, "go"), callDecided("1.0"), started("1.0"));
  const waiting = { agent: "echo", state: "waiting", count: 1, openQuestions: 2, openUnknowns: 0 };
  const running = { agent: "echo", state: "running", count: 1, openQuestions: 0, openUnknowns: 0 };
  expect(await store.tally()).toEqual([running, waiting]);
  await append(holds[0], 4, answered("q1", "ana", ZERO));
  await append(holds[1], 4, lost("1.0"));
  const now = [
    { ...running, openUnknowns: 1 },
    { ...waiting, openQuestions: 1 },
  ];
  expect(await store.tally()).toEqual(now);
  await store.close();
  edit(directory, (db) => db.exec("DROP TABLE session_counts"));
  const second = open(directory);
  expect(await second.tally()).toEqual(now);
  expect(await second.alarms.acknowledge({ by: "ana", reason: "made again" })).toMatchObject([{ what: "table `session_counts`" }]);
  await second.journal.append({ ...ERASING, events: [{ at: millis(3_000), event: erasureOf(two) }] });
  await second.erase(two, seq(2), seq(2));
  expect(await second.tally()).toEqual([
    { ...running, state: "closed" },
    { ...waiting, openQuestions: 1 },
  ]);
  expect(second.wrongRows(3_000)).toEqual([]);
});

test("J-24 a short page of the list is its last: a row that is not shown, because an operator has acknowledged it, takes no place on a page", async () => {
  const directory = folder();
  const store = open(directory);
  const session = sessionId("s_waits00001");
  const hold = await store.journal.take(session);
  const events = [opened("echo"), ...Array.from({ length: 9 }, (_, i) => asked(`q${i}`, `respond:${i + 1}`, 1))];
  await store.journal.append({ stream: session, after: seq(0), hold, consumes: [], unlessHalted: [], events: stamped(...events) });
  edit(directory, (db) => db.exec("UPDATE questions SET question = replace(question, '{', '{ ') WHERE approval IN ('q2', 'q3', 'q5')"));
  const read = async () => {
    const pages: string[][] = [];
    let after = 0;
    do {
      const rows = await store.journal.questions({ after, most: 3 });
      pages.push(rows.map(({ approval }) => approval));
      after = rows.at(-1)?.arrival ?? 0;
    } while (pages.at(-1)?.length === 3);
    return pages;
  };
  for (const _ of ["q2", "q3", "q5"]) {
    await expect(read()).rejects.toThrow("of table `questions`");
    await store.alarms.acknowledge({ by: "ana", reason: "seen" });
  }
  expect(await read()).toEqual([["q0", "q1", "q4"], ["q6", "q7", "q8"], []]);
});

test("J-8 the title of a session is gone with what is erased of it, in every file, and stays gone when the session is closed", async () => {
  const directory = folder();
  const first = open(directory);
  const session = sessionId("s_titled0001");
  const hold = await first.journal.take(session);
  const to = { stream: session, hold, consumes: [], unlessHalted: [] };
  const events = [opened("echo"), turnStarted(1, "the canary's own words"), noteOf(3)];
  await first.journal.append({ ...to, after: seq(0), events: events.map((event, i) => ({ at: millis(1_000 + i), event })) });
  await first.journal.release(hold);
  expect(await first.journal.session(session)).toMatchObject({ title: "the canary's own words" });
  await first.erase(session, seq(2), seq(2));
  expect((await first.journal.sessions({ state: null, agent: null, before: null, most: 10 })).map(({ title }) => title)).toEqual([null]);
  const again = await first.journal.take(session);
  const closed = { kind: "session.closed", by: { kind: "user", id: "ana" }, reason: "done" } as const;
  await first.journal.append({ ...to, hold: again, after: seq(3), events: [{ at: millis(2_000), event: closed }] });
  expect(await first.journal.session(session)).toMatchObject({ state: "closed", title: null });
  expect(filesWith(directory, "canary's own")).toEqual([]);
});

test("J-23 verify names the row of a session that says another title than its first turn, or none", async () => {
  const directory = folder();
  const first = open(directory);
  const session = sessionId("s_titled0002");
  const hold = await first.journal.take(session);
  const to = { stream: session, hold, consumes: [], unlessHalted: [] };
  const events = [opened("echo"), turnStarted(1, "its own words")];
  await first.journal.append({ ...to, after: seq(0), events: events.map((event, i) => ({ at: millis(1_000 + i), event })) });
  await first.close();
  const second = open(directory);
  expect(second.wrongRows(2_000)).toEqual([]);
  for (const title of ["NULL", "'forged'"]) {
    edit(directory, (db) => db.exec(`UPDATE sessions SET summary = json_set(summary, '$.title', ${title})`));
    expect(second.wrongRows(2_000)).toEqual([`row ${session} of table sessions`]);
  }
});

test("G-4 open unknowns are listed again from the entries where the table is missing, and those of a session whose content is erased are forgotten", async () => {
  const directory = folder();
  const first = open(directory);
  const session = sessionId("s_lost000001");
  const hold = await first.journal.take(session);
  const events = [opened("echo"), callDecided("1.0"), started("1.0"), callDecided("1.1"), started("1.1"), lost("1.0"), lost("1.1")];
  const to = { stream: session, hold, consumes: [], unlessHalted: [] };
  await first.journal.append({ ...to, after: seq(0), events: events.map((event, i) => ({ at: millis(1_000 + i), event })) });
  const found = reconciledEvent(callId("1.1"), "happened", "");
  await first.journal.append({ ...to, after: seq(events.length), events: [{ at: millis(2_000), event: found }] });
  const sought = { tool: "send", resource: { type: "Host", id: "a.example" }, digest: ZERO };
  const before = first.journal.unknownsLike(sought);
  expect(before.map((u) => [u.session, u.call, u.at, u.cause])).toEqual([[session, "1.0", 1_005, "hold-lost"]]);
  await first.close();
  edit(directory, (db) => db.exec("DROP TABLE unknowns"));
  const looking = openReadStore({ directory });
  expect(looking.journal.unknownsLike(sought)).toEqual(before);
  await looking.close();
  const second = open(directory);
  expect(second.journal.unknownsLike(sought)).toEqual(before);
  expect(await second.alarms.acknowledge({ by: "ana", reason: "made again" })).toMatchObject([{ what: "table `unknowns`" }]);
  await second.journal.append({ ...ERASING, events: [{ at: millis(3_000), event: erasureOf(session) }] });
  await second.erase(session, seq(2), seq(2));
  expect(second.journal.unknownsLike(sought)).toEqual([]);
});

test("F-6 what was set aside is listed again from the entries where the table is missing, and forgotten with its session's content", async () => {
  const directory = folder();
  const first = open(directory);
  const session = sessionId("s_aside00001");
  const hold = await first.journal.take(session);
  const aside = (call: string) => ({ ...reconciledEvent(callId(call), "happened", "full"), strategy: "dead-letter", found: null }) as const;
  const dismissed = {
    kind: "dead-letter.dismissed",
    call: callId("1.1"),
    by: { kind: "user", id: "ana" },
    note: "",
    intent: intentId("i_1"),
  } as const;
  const events = [
    opened("echo"),
    callDecided("1.0"),
    started("1.0"),
    callDecided("1.1"),
    started("1.1"),
    aside("1.1"),
    aside("1.0"),
    dismissed,
  ];
  const to = { stream: session, hold, consumes: [], unlessHalted: [] };
  await first.journal.append({ ...to, after: seq(0), events: events.map((event, i) => ({ at: millis(1_000 + i), event })) });
  const page = { after: 0, most: 10 };
  const bare = async (store: ReturnType<typeof openReadStore>) =>
    (await store.journal.deadLetters(page)).map(({ arrival: _, ...letter }) => letter);
  const before = await bare(first);
  expect(before.map((d) => [d.session, d.call, d.at, d.error])).toEqual([[session, "1.0", 1_006, "full"]]);
  await first.close();
  edit(directory, (db) => db.exec("DROP TABLE dead_letters"));
  const looking = openReadStore({ directory });
  expect(await bare(looking)).toEqual(before);
  await looking.close();
  const second = open(directory);
  expect(await bare(second)).toEqual(before);
  await second.erase(session, seq(2), seq(2));
  expect(await bare(second)).toEqual([]);
});

test("J-2 a database of another format, of another kind, or that is none is refused with its name", async () => {
  const other = folder();
  await open(other).close();
  edit(other, (db) => db.exec("UPDATE format SET version = 1"));
  const foreign = folder();
  edit(foreign, (db) => db.exec("CREATE TABLE recipes (name TEXT)"));
  const text = folder();
  writeFileSync(join(text, "journal.db"), "this is not a database, and long enough to be taken for one ".repeat(20));
  const details = [
    /format is 1, and this version reads format 2 only: move the folder away, or use the version that wrote it/,
    /not a journal/,
    /not a database/,
  ];
  for (const [i, directory] of [other, foreign, text].entries()) {
    for (const attempt of [() => openTestStore(directory), () => openReadStore({ directory })]) {
      const fault = await faultOf(attempt);
      expect(fault).toMatchObject({
        kind: "journal-unreadable",
        file: join(directory, "journal.db"),
        detail: expect.stringMatching(details[i] ?? /^$/),
      });
    }
  }
  expect(await faultOf(() => openReadStore({ directory: folder() }))).toMatchObject({
    kind: "journal-unreadable",
    detail: "there is no such file",
  });
});

test("J-2 a file that was cut off is refused, also when nothing of it is left", async () => {
  const directory = folder();
  const store = open(directory);
  for (let i = 0; i < 20; i += 1) await add(store, i, "x".repeat(10_000));
  await store.close();
  const file = join(directory, "journal.db");
  const whole = readFileSync(file);
  truncateSync(file, whole.length - 3 * 4_096);
  const cut = await faultOf(async () => {
    const reopened = openReadStore({ directory });
    try {
      await readAll(reopened);
    } finally {
      await reopened.close();
    }
  });
  expect(cut).toMatchObject({ kind: "journal-unreadable", file });
  truncateSync(file, 0);
  expect(await faultOf(() => openTestStore(directory))).toMatchObject({
    kind: "journal-unreadable",
    file,
    detail: expect.stringContaining("it is empty"),
  });
  rmSync(file);
  expect(await faultOf(() => openTestStore(directory))).toMatchObject({ kind: "journal-unreadable", file });
  writeFileSync(file, whole);
  expect((await readAll(open(directory))).length).toBe(20);
});

for (const thread of ["main", "worker"] as const)
  test(`J-3 a full disk fails all who wait, stops the store, and leaves what was durable (${thread})`, { tags: ["mount"] }, async () => {
    const directory = folder();
    expect(spawnSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", directory]).status).toBe(0);
    try {
      const store = openTestStore(directory, { thread });
      await add(store, 0, "durable");
      const big = Array.from({ length: 100 }, () => "y".repeat(16_000));
      const faults = await Promise.all([faultOf(() => add(store, 1, ...big)), faultOf(() => add(store, 101, "waits too"))]);
      expect(faults).toMatchObject([{ kind: "journal-unwritable" }, { kind: "journal-unwritable" }]);
      expect(await faultOf(() => add(store, 1, "small, but after it"))).toMatchObject({ kind: "journal-unwritable" });
      await store.close();
      const again = openTestStore(directory, { thread });
      expect((await readAll(again)).map((e) => e.seq)).toEqual([1]);
      expect(await add(again, 1, "goes on")).toBe(2);
      await again.close();
    } finally {
      spawnSync("umount", ["-l", directory]);
    }
  });

test("J-3 a read-only disk is refused with one clear fault when the store is opened", { tags: ["mount"] }, async () => {
  const directory = folder();
  spawnSync("mount", ["-t", "tmpfs", "-o", "size=4m", "tmpfs", directory]);
  try {
    const store = openTestStore(directory);
    await add(store, 0, 1);
    await store.close();
    expect(spawnSync("mount", ["-o", "remount,ro", directory]).status).toBe(0);
    expect((await faultOf(() => openTestStore(directory)))?.kind).toMatch(/^journal-un(readable|writable)$/);
  } finally {
    spawnSync("umount", ["-l", directory]);
  }
});

const bytesOf = (directory: string): { name: string; bytes: Buffer }[] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((f) => f.isFile())
    .map((f) => ({ name: f.name, bytes: readFileSync(join(f.parentPath, f.name)) }));
const filesWith = (directory: string, canary: string): string[] =>
  bytesOf(directory)
    .filter(({ bytes }) => bytes.includes(canary))
    .map(({ name }) => name);

async function withCanaries(
  directory: string,
  thread: "main" | "worker",
): Promise<{ store: SqliteStore; canary: string; session: SessionId }> {
  const canary = "CANARY-7f3a";
  const store = open(directory, { thread });
  const hold = await store.journal.take(S);
  const long = `${canary} ${"p".repeat(20_000)}`;
  const huge = `${canary} ${"q".repeat(300_000)}`;
  const events = stamped(noteOf("kept"), noteOf(canary), noteOf(long), noteOf(huge), noteOf(long));
  await store.journal.append({ stream: S, after: seq(0), hold, events, consumes: [], unlessHalted: [] });
  await add(store, 0, huge.replace(canary, "another"), "p".repeat(20_000));
  const by = { kind: "user", id: "ana" } as const;
  const wish = { kind: "say", text: `${canary} `.repeat(5_000) } as const; // long enough to leave free pages behind when it is taken
  await store.inbox.put({ id: intentId("i1"), session: S, at: millis(1), by, key: null, wish, signature: null });
  await store.inbox.put({ id: intentId("i2"), session: S, at: millis(1), by, key: null, wish, signature: null });
  await store.journal.append({
    stream: S,
    after: seq(5),
    hold,
    events: stamped(noteOf("took i1")),
    consumes: [intentId("i1")],
    unlessHalted: [],
  });
  return { store, canary, session: S };
}

for (const thread of ["main", "worker"] as const)
  test(`J-8 what was erased cannot be found in any file, the rest still reads, and the chain still holds (${thread})`, async () => {
    const directory = folder();
    const { store, canary } = await withCanaries(directory, thread);
    expect(filesWith(directory, canary).length).toBeGreaterThanOrEqual(2); // the WAL or the database, and a blob
    const erased = await store.erase(S, seq(2), seq(5));
    expect(erased).toEqual({ entries: 4, blobs: 2, files: 1, intents: 1, truncated: true });
    expect(filesWith(directory, canary)).toEqual([]);
    expect((await store.journal.read(S, seq(0), 1)).length).toBe(1);
    expect(await faultOf(() => readAll(store, S))).toEqual({ kind: "entry-erased", stream: S, seq: 2 });
    expect((await store.journal.read(S, seq(5), 10)).length).toBe(1);
    expect((await readAll(store)).length).toBe(2);
    const entries = [...store.records.entries(S)];
    expect(entries.map((e) => [e.kind, e.payload === null, e.salt === null])).toEqual(
      [false, true, true, true, true, false].map((x) => ["note", x, x]),
    );
    for (const e of entries) expect(entryHash(e, sha256)).toBe(e.entryHash);
    expect(await store.inbox.state(intentId("i2"))).toBe("taken");
    expect(await store.inbox.pending(S)).toEqual([]);
    expect(await store.erase(S, seq(2), seq(5))).toMatchObject({ entries: 0, blobs: 0 });
  });

test("J-8 a blob stays for as long as one entry refers to it", async () => {
  const directory = folder();
  const store = open(directory);
  const huge = "z".repeat(300_000);
  await add(store, 0, huge, huge);
  await add(store, 2, huge);
  expect(readdirSync(join(directory, "blobs")).length).toBe(1);
  expect(await store.erase(NOTES, seq(1), seq(2))).toMatchObject({ entries: 2, blobs: 0, files: 0 });
  expect((await store.journal.read(NOTES, seq(2), 1))[0]?.event).toMatchObject({ value: huge });
  expect(await store.erase(NOTES, seq(3), seq(3))).toMatchObject({ entries: 1, blobs: 1, files: 1 });
  expect(readdirSync(join(directory, "blobs"))).toEqual([]);
});

test("J-8 an erasure that a reader held up says so", async () => {
  const directory = folder();
  const { store, canary } = await withCanaries(directory, "main");
  const reader = new DatabaseSync(join(directory, "journal.db"));
  reader.exec("BEGIN");
  reader.prepare("SELECT count(*) FROM appends").get();
  expect(await store.erase(S, seq(2), seq(5), 10)).toMatchObject({ entries: 4, truncated: false });
  reader.exec("COMMIT");
  reader.close();
  expect(await store.erase(S, seq(2), seq(5), 10)).toMatchObject({ truncated: true });
  expect(filesWith(directory, canary)).toEqual([]);
});

test("J-8 a file that a crash left without an entry goes with the next erasure", async () => {
  const directory = folder();
  const store = open(directory);
  mkdirSync(join(directory, "blobs"), { recursive: true });
  writeFileSync(join(directory, "blobs", "0123.tmp"), "half");
  writeFileSync(join(directory, "blobs", "4567"), "whole, but never referred to");
  await add(store, 0, 1);
  expect(await store.erase(NOTES, seq(1), seq(1))).toMatchObject({ entries: 1, files: 2 });
  expect(readdirSync(join(directory, "blobs"))).toEqual([]);
});

test("J-5 blobs of two projects have other addresses for the same text", async () => {
  const [a, b] = [folder(), folder()];
  const text = "t".repeat(300_000);
  await add(open(a, { blobKey: "a" }), 0, text);
  await add(open(b, { blobKey: "b" }), 0, text);
  expect(readdirSync(join(a, "blobs"))).not.toEqual(readdirSync(join(b, "blobs")));
});

test("J-7 which of many sessions a living process holds is told in one look, as asking for each one would", async () => {
  const directory = folder();
  const store = open(directory);
  const [held, left, none] = [S, sessionId("s_left000001"), sessionId("s_none000001")];
  await store.journal.take(held);
  await store.journal.release(await store.journal.take(left));
  const reader = openReadStore({ directory });
  for (const at of [store, reader]) expect([...(await at.holders([none, left, held]))]).toEqual([[held, await at.holder(held)]]);
  expect(await reader.holder(held)).toMatchObject({ writer: "w1" });
  await store.close();
  expect([...(await reader.holders([none, left, held]))]).toEqual([]);
  await reader.close();
});

test("J-7 a reader needs no slot: it looks and puts intents beside a holder", async () => {
  const directory = folder();
  const store = open(directory);
  await add(store, 0, 1);
  const reader = openReadStore({ directory });
  expect((await reader.journal.read(NOTES, seq(0), 10)).length).toBe(1);
  const by = { kind: "user", id: "ana" } as const;
  const intent = {
    id: intentId("i1"),
    session: S,
    at: millis(1),
    by,
    key: null,
    wish: { kind: "cancel", reason: "" } as const,
    signature: null,
  };
  const heard = new Promise<void>((done) => store.inbox.watch(S, done));
  expect(await reader.inbox.put(intent)).toBe("new");
  await heard;
  expect((await store.inbox.pending(S)).map((one) => one.intent)).toEqual([intent]);
  await reader.close();
  expect(readdirSync(join(directory, "writers"))).toEqual(["w1.lock"]);
  expect(existsSync(join(directory, "journal.db"))).toBe(true);
  expect(statSync(join(directory, "writers", "w1.lock")).size).toBe(0);
});
