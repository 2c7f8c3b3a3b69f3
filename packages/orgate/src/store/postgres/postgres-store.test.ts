// @module-tag postgres
import { createConnection, createServer, type Server, type Socket } from "node:net";
import type { Append, Hold } from "@orgate/core/journal";
import { headText, NO_SEAL } from "@orgate/core/journal";
import { callDecided, lost, opened, started } from "@orgate/core/testing";
import {
  digest,
  type Fault,
  HALT,
  isFault,
  millis,
  type SessionEvent,
  type SystemEvent,
  seq,
  sessionId,
  streamId,
  TRUSTED_VALUES,
} from "@orgate/core/vocab";
import { afterEach, expect, test } from "vitest";
import { noteOf } from "../fixtures/store.ts";
import { createSchema, type TestSchema, testUrl } from "./fixtures/schemas.ts";
import { openLink } from "./link.ts";
import { openPostgresReadStore } from "./read-store.ts";
import { SEALS_BACK } from "./schema/functions.ts";
import { ALL_MIGRATIONS, migrate } from "./schema/migrations.ts";

const [S, T] = [sessionId("s_postgres0001"), sessionId("s_postgres0002")];
const NOTES = streamId("notes");
const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function schema(): Promise<TestSchema> {
  const made = await createSchema();
  ends.push(made.drop);
  return made;
}
const append = (to: Hold | typeof NOTES, after: number, ...events: (SessionEvent | SystemEvent)[]): Append => ({
  stream: typeof to === "string" ? to : to.session,
  after: seq(after),
  hold: typeof to === "string" ? null : to,
  events: events.map((event) => ({ at: millis(1_000), event })),
  consumes: [],
  unlessHalted: [],
});
const faultOf = (work: Promise<unknown>): Promise<Fault | null> =>
  work.then(
    () => null,
    (error: unknown) => {
      if (isFault(error)) return error.fault;
      throw error;
    },
  );

type Way = Readonly<{ url: string; cut(): void; swallow(): void; pause(): void; goOn(): void; server: Server }>;
/** A way to the server that can be cut, or paused. With `swallow`, what the server answers is lost with the connection. */
async function cuttable(): Promise<Way> {
  const target = new URL(testUrl());
  const sockets = new Set<Socket>();
  let isSwallowing = false;
  let paused: (() => void)[] | null = null;
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  const server = createServer((near) => {
    const far = createConnection(Number(target.port), target.hostname);
    for (const socket of [near, far]) socket.on("error", () => {});
    sockets.add(near);
    near.on("data", (bytes) => (paused === null ? far.write(bytes) : paused.push(() => far.write(bytes))));
    far.on("data", (bytes) => {
      if (!isSwallowing) return void near.write(bytes);
      isSwallowing = false;
      setTimeout(cut, 50); // the server has done it, and nobody hears of it
    });
    near.on("close", () => far.end());
    far.on("close", () => near.end());
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  ends.push(async () => server.close());
  const address = server.address();
  const url = new URL(testUrl());
  url.port = String(typeof address === "object" ? address?.port : 0);
  const swallow = (): void => {
    isSwallowing = true;
  };
  const pause = (): void => {
    paused = [];
  };
  const goOn = (): void => {
    const late = paused ?? [];
    paused = null;
    for (const send of late) send();
  };
  return { url: url.href, cut, swallow, pause, goOn, server };
}

test("J-31 what a process left unsealed when it died is sealed by the next one under its name, and marked", async () => {
  const place = await schema();
  const a = await place.open();
  const hold = await a.journal.take(S);
  await a.journal.append(append(hold, 0, opened("echo")));
  await a.journal.append(append(hold, 1, noteOf(1), noteOf(2)));
  await place.kill(a);
  const b = await place.open();
  expect(b.slot).toMatchObject({ writer: a.slot.writer, incarnation: 2 });
  await b.seal();
  const seals = [...(await place.records()).seals(a.slot.writer)];
  expect(seals.map(({ recovered, wrote }) => [recovered, wrote.slice(0, S.length + 2)])).toEqual([
    [false, `${S}#1`],
    [true, `${S}#3`],
  ]);
});

test("J-18 J-31 a new process has a new key: it seals nothing before its first append, which certifies it, and both with one seal", async () => {
  const place = await schema();
  const a = await place.open();
  const hold = await a.journal.take(S);
  await a.journal.append(append(hold, 0, opened("echo")));
  await a.journal.append(append(hold, 1, noteOf(1)));
  await place.kill(a);
  const sealed = async () => [...(await place.records()).seals(a.slot.writer)].slice(1);
  await (await place.open()).close(); // it ended before it was certified
  expect(await sealed()).toEqual([]);
  const c = await place.open();
  expect(c.slot).toMatchObject({ writer: a.slot.writer, incarnation: 3 });
  await c.journal.append(append(NOTES, 0, noteOf("its certificate")));
  const [one, ...more] = await sealed();
  expect([one?.recovered, more]).toEqual([true, []]);
  for (const end of [`${S}#2`, `${NOTES}#1`]) expect(one?.wrote).toContain(end);
});

test("J-22 a process whose name another has taken over stops, and does not take the other for a forger", async () => {
  const place = await schema();
  const a = await place.open();
  await a.journal.append(append(NOTES, 0, noteOf(1)));
  await a.seal();
  await place.link.query(`UPDATE "${place.schema}".writers SET lease_until = clock_timestamp() - interval '1 second'`);
  const b = await place.open();
  expect(b.slot).toMatchObject({ writer: a.slot.writer, incarnation: 2 });
  await b.journal.append(append(NOTES, 1, noteOf(2)));
  await b.seal();
  await a.catchUp();
  expect((await faultOf(a.journal.append(append(streamId("other") as typeof NOTES, 0, noteOf(1)))))?.kind).toBe("journal-unwritable");
  expect([await a.alarms.standing(), await b.alarms.standing()]).toEqual([[], []]);
});

test("J-4 a process whose lease ran out is sure of nothing, and cannot append where another has taken over", async () => {
  const place = await schema();
  const [a, b] = [await place.open({ leaseMs: 300 }), await place.open()];
  const hold = await a.journal.take(S);
  await a.journal.append(append(hold, 0, opened("echo")));
  expect((await faultOf(b.journal.take(S)))?.kind).toBe("session-held");
  expect(await b.holder(S)).toMatchObject({ writer: a.slot.writer, pid: process.pid });
  await place.kill(a); // it renews nothing any more, and wakes up as a zombie
  const taken = await b.journal.take(S);
  expect(taken.epoch).toBe(2);
  await expect.poll(() => a.journal.holds(hold), { timeout: 5_000 }).toBe(false);
  expect(b.journal.holds(taken)).toBe(true);
  const again = await place.open(); // under the name that the dead one had
  expect(again.slot.writer).toBe(a.slot.writer);
  expect((await faultOf(again.journal.append(append(hold, 1, noteOf("zombie")))))?.kind).toBe("hold-lost");
});

test("J-4 a process that wakes up after its lease goes on with what is left to it, and with nothing that another has taken", async () => {
  const place = await schema();
  const way = await cuttable();
  const [a, b] = [await place.open({ url: way.url, listenUrl: testUrl(), leaseMs: 1_000 }), await place.open()];
  const [lostHold, kept] = [await a.journal.take(S), await a.journal.take(T)];
  await a.journal.append(append(lostHold, 0, opened("echo")));
  await a.journal.append(append(kept, 0, opened("echo")));
  way.pause(); // as a stopped process: nothing of it arrives
  const late = faultOf(a.journal.append(append(lostHold, 1, noteOf("zombie"))));
  await expect.poll(() => b.journal.take(S).catch(() => null), { timeout: 10_000 }).not.toBe(null);
  expect(a.journal.holds(lostHold)).toBe(false);
  way.goOn();
  expect((await late)?.kind).toBe("hold-lost");
  await expect.poll(() => a.journal.holds(kept), { timeout: 10_000 }).toBe(true);
  expect(a.journal.holds(lostHold)).toBe(false); // its lease runs again, and the session stays another's
  expect(await a.journal.append(append(kept, 1, noteOf("goes on")))).toBe(2);
  expect((await b.journal.read(S, seq(0), 10)).length).toBe(1);
});

test("J-4 a process that is gone loses its sessions long before its lease, one that is only silent does not", async () => {
  const place = await schema();
  const way = await cuttable();
  const [silent, gone] = [await place.open({ url: way.url, listenUrl: testUrl(), leaseMs: 60_000 }), await place.open({ leaseMs: 60_000 })];
  const b = await place.open();
  const [s, t] = [await silent.journal.take(S), await gone.journal.take(T)];
  await silent.journal.append(append(s, 0, opened("echo")));
  await gone.journal.append(append(t, 0, opened("echo")));
  way.pause();
  await gone.abandon();
  let told = 0;
  const stop = b.inbox.watchChanges(() => void told++);
  await expect.poll(() => b.journal.take(T).catch(() => null), { timeout: 20_000 }).not.toBe(null);
  await expect.poll(() => told, { timeout: 20_000 }).toBeGreaterThan(0); // whoever looks for work hears of it
  stop();
  expect((await faultOf(b.journal.take(S)))?.kind).toBe("session-held");
  expect(silent.journal.holds(s)).toBe(true);
  way.goOn();
});

const pooler = process.env.ORGATE_TEST_PGBOUNCER;
if (pooler !== undefined)
  test("J-4 where LISTEN goes through a pooler, whose connections stand for no process, holds are sure only for as long as nobody may end the lease early", async () => {
    const place = await schema();
    const way = await cuttable();
    const silent = await place.open({ url: way.url, listenUrl: pooler, leaseMs: 60_000 });
    const hold = await silent.journal.take(S);
    await silent.journal.append(append(hold, 0, opened("echo")));
    await expect.poll(() => silent.journal.holds(hold), { timeout: 10_000 }).toBe(true);
    way.pause();
    await expect.poll(() => silent.journal.holds(hold), { timeout: 20_000 }).toBe(false);
    way.goOn();
    await expect.poll(() => silent.journal.holds(hold), { timeout: 20_000 }).toBe(true);
  });

test("J-3 an append whose answer was lost is neither lost nor written twice", async () => {
  const place = await schema();
  const way = await cuttable();
  const store = await place.open({ url: way.url, listenUrl: testUrl(), poolSize: 1 });
  const hold = await store.journal.take(S);
  await store.journal.append(append(hold, 0, opened("echo")));
  way.swallow();
  expect(await store.journal.append(append(hold, 1, noteOf("once")))).toBe(2);
  way.cut();
  expect(await store.journal.append(append(hold, 2, noteOf("and on")))).toBe(3);
  expect((await store.journal.read(S, seq(0), 10)).length).toBe(3);
  expect(await store.journal.position()).toBe(3);
});

test("J-4 a session whose taking was not answered is taken by asking again, by the same process", async () => {
  const place = await schema();
  const way = await cuttable();
  const store = await place.open({ url: way.url, listenUrl: testUrl(), poolSize: 1 });
  way.swallow();
  expect((await faultOf(store.journal.take(S)))?.kind).toBe("journal-unwritable");
  const hold = await store.journal.take(S);
  expect(hold.epoch).toBe(2);
  expect((await faultOf(store.journal.take(S)))?.kind).toBe("session-held");
  expect(await store.journal.append(append(hold, 0, opened("echo")))).toBe(1);
});

test("J-3 a database that stays away stops the store in one line, and nothing is driven on", async () => {
  const place = await schema();
  const way = await cuttable();
  const store = await place.open({ url: way.url, listenUrl: testUrl(), poolSize: 1, patienceMs: 300 });
  const hold = await store.journal.take(S);
  await store.journal.append(append(hold, 0, opened("echo")));
  way.server.close();
  way.cut();
  const fault = await faultOf(store.journal.append(append(hold, 1, noteOf("unwritten"))));
  expect(fault).toMatchObject({ kind: "journal-unwritable" });
  expect(JSON.stringify(fault)).toMatch(/cannot be reached/);
  expect(JSON.stringify(fault)).not.toContain(new URL(testUrl()).password || "no password");
  expect(store.journal.holds(hold)).toBe(false);
});

test("G-4 an effect that was decided before this process knew of a new unknown outcome is refused, and decided again", async () => {
  const place = await schema();
  const [a, b] = [await place.open(), await place.open()];
  const [one, two] = [await a.journal.take(S), await b.journal.take(T)];
  await b.journal.append(append(two, 0, opened("other")));
  await a.journal.append(append(one, 0, opened("echo"), callDecided("1.0"), started("1.0")));
  const effect: Append = { ...append(two, 1, noteOf("begins")), unlessHalted: ["all"] };
  const waiting = `SELECT count(*)::int AS n FROM pg_locks WHERE NOT granted AND objid = '"${place.schema}".appends'::regclass`;
  const [left, begun] = await place.link.transact("BEGIN", async (run) => {
    await run(`SELECT "${place.schema}".begin_change()`);
    const queued = async (n: number) => expect.poll(async () => (await run<{ n: number }>(waiting))[0]?.n, { timeout: 10_000 }).toBe(n);
    const first = a.journal.append(append(one, 3, lost("1.0")));
    await queued(1);
    const second = faultOf(b.journal.append(effect));
    await queued(2);
    return [first, second] as const;
  });
  await left;
  expect(await begun).toMatchObject({ kind: "counters-moved" });
  const sought = { tool: "send", resource: { type: "Host", id: "a.example" }, digest: digest("f".repeat(64)) };
  expect(b.journal.unknownsLike(sought).length).toBe(1); // the refusal has told it
  expect(await b.journal.append(effect)).toBe(2);
});

test("Q-13 a halt that another process has just set refuses what would begin, in the transaction itself", async () => {
  const place = await schema();
  const [a, b] = [await place.open(), await place.open()];
  const hold = await b.journal.take(S);
  await b.journal.append(append(hold, 0, opened("echo")));
  await a.journal.append(
    append(HALT as typeof NOTES, 0, { kind: "work.halted", scope: "all", by: { kind: "user", id: "ana" }, reason: "stop" } as SystemEvent),
  );
  expect(await faultOf(b.journal.append({ ...append(hold, 1, noteOf("begins")), unlessHalted: ["all"] }))).toEqual({
    kind: "halted",
    scope: "all",
  });
});

test("J-22 a journal opens however many seals came after the one of an authority, and after the last one that another writer has seen", async () => {
  const place = await schema();
  const [a, b] = [await place.open({ sealing: "each" }), await place.open({ sealing: "each" })];
  const [busy, idle] = [streamId("busy"), streamId("idle")];
  const by = { kind: "user", id: "ann" } as const;
  await a.journal.append(append(TRUSTED_VALUES as typeof NOTES, 0, { kind: "known.added", set: "hosts", value: "a", by, why: "" }));
  await a.journal.append(append(busy as typeof NOTES, 0, noteOf(0)));
  await b.catchUp();
  await b.journal.append(append(idle as typeof NOTES, 0, noteOf("what it names of the other is old soon")));
  for (let i = 1; i < SEALS_BACK + 5; i += 1) await a.journal.append(append(busy as typeof NOTES, i, noteOf(i)));
  const c = await place.open();
  expect(await c.alarms.standing()).toEqual([]);
  expect((await c.journal.read(busy, seq(0), 100)).length).toBe(SEALS_BACK + 5);
  // Of the newest seals none may be missing.
  await place.link.query(`DELETE FROM "${place.schema}".seals WHERE writer = $1 AND number = $2`, [a.slot.writer, SEALS_BACK]);
  expect((await faultOf(place.open()))?.kind).toBe("seal-bad");
});

test("J-5 texts that PostgreSQL cannot hold come back as they were", async () => {
  const place = await schema();
  const store = await place.open();
  const odd = `\0 back\\slash \\0 ${"\0".repeat(20_000)}`;
  await store.journal.append(append(NOTES, 0, noteOf(odd)));
  const by = { kind: "user", id: "ann" } as const;
  await store.journal.append(
    append(TRUSTED_VALUES as typeof NOTES, 0, { kind: "known.added", set: "paths", value: "a\0b\\", by, why: "" }),
  );
  const [entry] = await store.journal.read(NOTES, seq(0), 1);
  expect(entry?.event).toEqual(noteOf(odd));
  expect([store.journal.isKnown("paths", ["a\0b\\"], true), store.journal.isKnown("paths", ["a"], true)]).toEqual([true, false]);
});

test("J-11 a snapshot is a journal in SQLite with the same entries, seals and head, in which every row is right", async () => {
  const place = await schema();
  const [a, b] = [await place.open(), await place.open()];
  const hold = await a.journal.take(S);
  await a.journal.append(append(hold, 0, opened("echo"), callDecided("1.0"), started("1.0"), lost("1.0")));
  await a.journal.append(append(hold, 4, noteOf("x".repeat(20_000))));
  await b.journal.append(append(NOTES, 0, noteOf("b")));
  await a.journal.release(hold);
  const snapshot = await a.snapshot();
  ends.push(snapshot.close);
  expect([...snapshot.records.entries(S)].map((e) => e.seq)).toEqual([1, 2, 3, 4, 5]);
  expect(snapshot.wrongRows(2_000)).toEqual([]);
  expect(headText(await b.head())).toBe(
    headText(new Map([...snapshot.records.writers()].map((w) => [w, [...snapshot.records.seals(w)].at(-1) ?? NO_SEAL]))),
  );
});

test("J-36 many processes prepare an empty database at once; a newer one, another's and a wrong address are refused in one line", async () => {
  const place = await schema();
  const stores = await Promise.all([place.open(), place.open(), place.open()]);
  expect(new Set(stores.map((s) => s.slot.writer)).size).toBe(3);
  await migrate(place.link);
  await place.link.query(`UPDATE "${place.schema}".format SET migrations = 99`);
  expect(await faultOf(place.open())).toMatchObject({ kind: "journal-unreadable", detail: expect.stringContaining("newer version") });
  await place.link.query(`DROP TABLE "${place.schema}".format`);
  expect(await faultOf(place.open())).toMatchObject({ kind: "journal-unreadable", detail: expect.stringContaining("no journal") });
  const url = new URL(testUrl());
  url.pathname = "/nowhere";
  expect(await faultOf(place.open({ url: url.href }))).toMatchObject({ detail: expect.stringContaining("no such database") });
  url.port = "1";
  expect(await faultOf(place.open({ url: url.href }))).toMatchObject({ detail: expect.stringContaining("cannot be reached") });
  expect(await faultOf(place.open({ url: "mysql://x:secret@y/z" }))).toMatchObject({
    kind: "journal-unreadable",
    detail: expect.not.stringContaining("secret"),
  });
  expect(await faultOf(openLink({ url: testUrl(), schema: 'x"; DROP' }))).toMatchObject({ kind: "journal-unreadable" });
});

test("J-36 a machine with other keys is refused in one line before it reads anything, and nobody else is disturbed", async () => {
  const place = await schema();
  const store = await place.open();
  await store.journal.append(append(NOTES, 0, noteOf("one")));
  const other = { blobKey: "a key that another machine has made for itself" };
  expect(await faultOf(place.open(other))).toMatchObject({ kind: "key-bad", detail: expect.stringContaining("was made with other keys") });
  const { directory, schema: name } = place;
  const trust = () => ({ isRooted: () => true, whyBadSeal: () => null });
  expect(await faultOf(openPostgresReadStore({ url: testUrl(), schema: name, directory, trust, ...other }))).toMatchObject({
    kind: "key-bad",
  });
  expect(await store.alarms.standing()).toEqual([]);
  expect(await store.journal.append(append(NOTES, 1, noteOf("two")))).toBe(2);
});

test("J-36 a database of the first version is brought up to date by many processes at once, and what it holds goes on; a running older process goes on beside them", async () => {
  const place = await schema();
  await migrate(place.link, ALL_MIGRATIONS.slice(0, 1));
  const writer = `INSERT INTO "${place.schema}".writers VALUES ('w1', 1, NULL, 0, clock_timestamp() - interval '1 hour', 1000, 'host', 1)`;
  await place.link.query(writer);
  const stores = await Promise.all([place.open(), place.open(), place.open()]);
  expect(stores.map(({ slot }) => slot.writer).sort()).toEqual(["w1", "w2", "w3"]);
  const [first, second] = stores;
  if (first === undefined || second === undefined) throw new Error("there are three");
  const hold = await first.journal.take(S);
  await first.journal.append(append(hold, 0, opened("echo")));
  const newer = [...ALL_MIGRATIONS, "CREATE TABLE of_a_later_version (n int)"];
  await Promise.all([migrate(place.link, newer), migrate(place.link, newer)]);
  expect(await first.journal.append(append(hold, 1, noteOf("an older process goes on")))).toBe(2);
  expect((await second.journal.read(S, seq(0), 10)).length).toBe(2);
  expect(await faultOf(place.open())).toMatchObject({ detail: expect.stringContaining("a newer version of Orgate has made it") });
});

test("J-25 whoever only reads sees what is written, proved, and puts intents", async () => {
  const place = await schema();
  const store = await place.open();
  const { directory } = place;
  const reads = await openPostgresReadStore({
    url: testUrl(),
    schema: place.schema,
    directory,
    blobKey: "blob key of the test project",
    trust: () => ({ isRooted: () => true, whyBadSeal: () => null }),
  });
  ends.push(reads.close);
  await store.journal.append(append(NOTES, 0, noteOf("one")));
  expect((await reads.journal.tail(0, 10)).map((w) => w.kind)).toEqual(["entry"]);
});
