// @module-tag postgres

import { setImmediate as turnOfLoop } from "node:timers/promises";
import type { Append, Hold } from "@orgate/core/journal";
import { asked, callDecided, opened, turnStarted } from "@orgate/core/testing";
import { callId, intentId, millis, NO_USAGE, type SessionEvent, type SessionId, seq, sessionId } from "@orgate/core/vocab";
import { afterEach, expect, test } from "vitest";
import { noteOf } from "../fixtures/store.ts";
import { createSchema, type TestSchema, testUrl } from "./fixtures/schemas.ts";
import { openLink } from "./link.ts";
import { CLAIMS, DUE_CLAIMS } from "./schema/claims.ts";
import { ALL_MIGRATIONS, migrate } from "./schema/migrations.ts";
import type { PostgresStore } from "./store.ts";

const MINUTE = 60_000;
const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

type Place = TestSchema &
  Readonly<{
    /** Moves due times, and the ends of claims that are out, nearer by so much: time passes for them alone. */
    pass(ms: number): Promise<void>;
    dueIn(session: SessionId): Promise<number | null>;
  }>;

async function place(): Promise<Place> {
  const made = await createSchema();
  ends.push(made.drop);
  const at = `"${made.schema}".claims`;
  const pass = async (ms: number) =>
    void (await made.link.query(
      `UPDATE ${at} SET due = due - $1 * interval '1 ms', claimed = claimed - $1 * interval '1 ms', told = told - $1 * interval '1 ms'`,
      [ms],
    ));
  const dueIn = async (session: SessionId) => {
    const rows = await made.link.query<{ ms: string }>(
      `SELECT extract(epoch FROM due - clock_timestamp()) * 1000 AS ms FROM ${at} WHERE session = $1`,
      [session],
    );
    return rows[0] === undefined ? null : Number(rows[0].ms);
  };
  return { ...made, pass, dueIn, open: (options = {}) => made.open({ claimMs: MINUTE, ...options }) };
}

const nameOf = (n: number): SessionId => sessionId(`s_claims${String(n).padStart(8, "0")}`);
const [S, T, U] = [nameOf(1), nameOf(2), nameOf(3)];

const claimed = async (store: PostgresStore, most = 10): Promise<readonly SessionId[]> => (await store.claims?.claim(most))?.sessions ?? [];
const append = (hold: Hold, after: number, ...events: SessionEvent[]): Append => ({
  ...{ stream: hold.session, after: seq(after), hold, consumes: [], unlessHalted: [] },
  events: events.map((event) => ({ at: millis(1_000), event })),
});
const put = (store: PostgresStore, session: SessionId, id: string): Promise<unknown> =>
  store.inbox.put({
    ...{ id: intentId(id), session, at: millis(5), by: { kind: "user", id: "ana" }, key: null, signature: null },
    wish: { kind: "steer", text: "left" },
  });
const expiring = (at: number): SessionEvent => ({ ...asked("q1", "model:1", 1), expiresAt: millis(at) }) as SessionEvent;
const ended: SessionEvent = {
  ...{ kind: "turn.ended", turn: 1, ending: "completed", output: null, detail: null, usage: NO_USAGE, lost: NO_USAGE },
  ...{ micros: null, iterations: 1, calls: 0, activeMs: 0 },
};
const childOf = (parent: SessionId): SessionEvent =>
  ({ ...opened("helper"), parent: { session: parent, call: callId("1.0") } }) as SessionEvent;
const childOpened = (child: SessionId): SessionEvent =>
  ({
    kind: "child.opened",
    call: callId("1.0"),
    child,
    agent: "helper",
    allotment: { tokens: 0, micros: null },
  }) as unknown as SessionEvent;

/** A turn that this process drives. */
async function drive(store: PostgresStore, session: SessionId, ...more: SessionEvent[]): Promise<Hold> {
  const hold = await store.journal.take(session);
  await store.journal.append(append(hold, 0, opened("echo"), turnStarted(1, "go"), ...more));
  return hold;
}

test("W-28 a session with an intent is handed to one of many who ask at once, and to nobody else while that one may take it", async () => {
  const at = await place();
  const stores = await Promise.all([at.open(), at.open(), at.open()]);
  const [a] = stores;
  const all = Array.from({ length: 60 }, (_, i) => nameOf(i + 10));
  for (const [i, session] of all.entries()) await put(a, session, `i_${i}`);
  const given: SessionId[] = [];
  for (let round = 0; given.length < 60 && round < 60; round += 1)
    given.push(...(await Promise.all(stores.map((store) => claimed(store, 7)))).flat());
  expect(given.toSorted()).toEqual(all.toSorted());
  for (const store of stores) expect(await claimed(store, 100)).toEqual([]);
});

test("W-28 what was handed to a process that died before it took it is handed out again, and later for longer", async () => {
  const at = await place();
  const [a, b] = [await at.open(), await at.open()];
  await put(a, S, "i_1");
  expect(await claimed(a)).toEqual([S]);
  await at.kill(a);
  await put(b, S, "i_2"); // an intent does not shorten a claim: whoever has it reads the inbox
  expect(await claimed(b)).toEqual([]);
  await at.pass(MINUTE);
  expect(await claimed(b)).toEqual([S]);
  expect(await at.dueIn(S)).toBeLessThan(MINUTE); // the intent was new
  await at.pass(MINUTE);
  expect(await claimed(b)).toEqual([S]);
  expect(await at.dueIn(S)).toBeGreaterThan(2 * MINUTE);
});

test("W-28 what somebody holds is not handed out before that lease ends, and then at once", async () => {
  const at = await place();
  const [a, b] = [await at.open({ leaseMs: MINUTE }), await at.open()];
  const hold = await drive(a, S);
  await put(b, S, "i_1");
  expect(await claimed(b)).toEqual([]);
  await at.pass(MINUTE);
  expect(await claimed(b)).toEqual([]);
  expect(await at.dueIn(S)).toBeGreaterThan(MINUTE / 2); // looked at again when that lease would end
  const heard = Promise.withResolvers<void>();
  ends.push(async () => b.claims?.watch(heard.resolve)());
  b.claims?.watch(heard.resolve);
  await at.kill(a);
  await heard.promise;
  expect(await claimed(b)).toEqual([S]);
  expect(hold.epoch).toBe(1);
});

test("W-28 letting go of a session says what is left: nothing, an intent that came in the last moment, a turn, an expiring request", async () => {
  const at = await place();
  const [a, b] = [await at.open(), await at.open()];
  const idle = await drive(a, S, ended);
  await a.journal.release(idle);
  expect(await at.dueIn(S)).toBe(null);

  const late = await a.journal.take(S);
  await put(b, S, "i_1"); // its holder has read the inbox already
  await a.journal.release(late);
  expect(await claimed(b)).toEqual([S]);

  await a.journal.release(await drive(a, T)); // as a worker that leaves
  expect(await at.dueIn(T)).toBeLessThan(1_000);
  await at.pass(1_000);
  expect(await claimed(b)).toEqual([T]);

  const now = Date.now();
  await a.journal.release(await drive(a, U, expiring(now + 10 * MINUTE)));
  expect(await claimed(b)).toEqual([]);
  expect(await at.dueIn(U)).toBeGreaterThan(8 * MINUTE);
});

test("W-28 a request that has expired is handed out, one that has not is not", async () => {
  const at = await place();
  const a = await at.open();
  const now = Date.now();
  await a.journal.release(await drive(a, S, expiring(now - MINUTE)));
  await a.journal.release(await drive(a, T, expiring(now + 10 * MINUTE)));
  await at.pass(1_000);
  expect(await claimed(a)).toEqual([S]);
  const due = await a.claims?.claim(10);
  expect(due).toMatchObject({ sessions: [], isMore: false });
  expect(due?.nextMs).toBeLessThan(MINUTE); // when S is handed out again
});

test("W-28 a request about something that a model named with U+0000 stops nobody, and expires", async () => {
  const at = await place();
  const a = await at.open();
  const about = callDecided("1.0", 'be\u0000n", "expiresAt":1');
  await a.journal.release(await drive(a, S, about, { ...asked("q1", "1.0", 1), expiresAt: millis(Date.now() - MINUTE) } as SessionEvent));
  await a.journal.release(await drive(a, T, about, { ...asked("q1", "1.0", 1), expiresAt: null } as SessionEvent));
  expect(await a.journal.expired({ by: millis(Date.now()), after: null, most: 10 })).toMatchObject([{ session: S }]);
  await at.pass(1_000);
  expect(await claimed(a)).toEqual([S]);
});

test("W-28 a parent that waits for its sub-agents is not handed out; one whose sub-agents nobody drives is, once for all of them", async () => {
  const at = await place();
  const [a, b] = [await at.open({ sealing: "each" }), await at.open()];
  const parent = await drive(a, S, childOpened(T), childOpened(U));
  const [one, two] = [await a.journal.take(T), await a.journal.take(U)];
  await a.journal.append(append(one, 0, childOf(S), turnStarted(1, "help"), expiring(Date.now() + 60 * MINUTE)));
  await a.journal.append(append(two, 0, childOf(S), turnStarted(1, "help")));
  for (const hold of [parent, one]) await a.journal.release(hold);
  await at.pass(5_000);
  expect(await claimed(b)).toEqual([]); // the second sub-agent is driven
  await a.journal.release(two);
  await at.pass(5_000);
  expect(await claimed(b)).toEqual([S]); // through whichever sub-agent
  expect(await claimed(b)).toEqual([]);
  const again = await b.journal.take(U);
  await b.journal.append(append(again, 2, expiring(Date.now() + 60 * MINUTE)));
  await b.journal.release(again);
  await at.pass(120 * MINUTE);
  expect(await claimed(b)).toEqual([]); // both wait for people, and S for them
});

test("W-28 sub-agents that nobody drives bring the session they work for to one worker, not to one for each of them", async () => {
  const at = await place();
  const [a, b] = [await at.open({ sealing: "each" }), await at.open()];
  const parent = await drive(a, S, childOpened(T), childOpened(U));
  const children = [await a.journal.take(T), await a.journal.take(U)];
  for (const hold of children) await a.journal.append(append(hold, 0, childOf(S), turnStarted(1, "help")));
  await at.kill(a);
  expect([await claimed(b, 1), await claimed(b, 1), await claimed(b, 1), await claimed(b, 1)].flat()).toEqual([S]);
  expect(parent.epoch).toBe(1);
});

test("W-28 a turn that stays open without anything to do is handed out ever more seldom, until something happens in it", async () => {
  const at = await place();
  const a = await at.open();
  await a.journal.release(await drive(a, S));
  const dues: number[] = [];
  for (let i = 0; i < 6; i += 1) {
    await at.pass(10 * MINUTE);
    expect(await claimed(a)).toEqual([S]);
    await a.journal.release(await a.journal.take(S)); // as a driver that finds it halted
    dues.push(Math.round((await at.dueIn(S)) ?? 0));
  }
  expect(dues).toEqual(dues.toSorted((x, y) => x - y));
  expect(dues.at(-1)).toBeGreaterThan(10_000);
  const hold = await a.journal.take(S);
  await a.journal.append(append(hold, 2, noteOf(1), noteOf(2), noteOf(3)));
  await a.journal.release(hold);
  expect(await at.dueIn(S)).toBeLessThan(1_000);
});

test("W-28 a driver says when a decision that it deferred is due, and until then nobody else looks; an intent comes first", async () => {
  const at = await place();
  const a = await at.open();
  await a.journal.release(await drive(a, S));
  const due = millis(Date.now() + 10 * MINUTE);
  await a.claims?.leave(S, due, false);
  await at.pass(5 * MINUTE);
  expect(await claimed(a)).toEqual([]);
  await at.pass(6 * MINUTE);
  expect(await claimed(a)).toEqual([S]);
  await a.claims?.leave(S, due, true); // it knows that nothing has come
  expect(await at.dueIn(S)).toBeGreaterThan(5 * MINUTE);
  await put(a, S, "i_1");
  expect(await claimed(a)).toEqual([S]);

  // Of those that wait for a person, too, the journal says no time, or a later one.
  await a.journal.release(await drive(a, T, { ...expiring(0), expiresAt: null } as SessionEvent));
  await a.journal.release(await drive(a, U, expiring(Date.now() + 60 * MINUTE)));
  for (const session of [T, U]) await a.claims?.leave(session, due, false);
  await at.pass(11 * MINUTE);
  expect((await claimed(a)).toSorted()).toEqual([S, T, U]); // the first is handed out again
});

test("W-28 a time that has passed when a driver says it is not forgotten, and brings nobody at once: its clock may be behind", async () => {
  const at = await place();
  const a = await at.open();
  await a.journal.release(await drive(a, S, { ...expiring(0), expiresAt: null } as SessionEvent));
  await a.journal.release(await drive(a, T, expiring(Date.now() + 60 * MINUTE)));
  for (const session of [S, T]) await a.claims?.leave(session, millis(Date.now() - 1_000), false);
  for (const session of [S, T]) expect(await at.dueIn(session)).toBeGreaterThan(0);
  await at.pass(MINUTE);
  expect((await claimed(a)).toSorted()).toEqual([S, T]);
});

test("W-28 a row that is missing, or due at no time, is made anew from what the journal holds", async () => {
  const at = await place();
  const a = await at.open();
  await a.journal.release(await drive(a, S));
  await put(a, T, "i_1");
  await a.journal.release(await drive(a, U, expiring(Date.now() - 1)));
  await at.link.query(`DELETE FROM "${at.schema}".claims WHERE session <> $1`, [T]);
  await at.link.query(`UPDATE "${at.schema}".claims SET due = 'infinity'`);
  expect(await claimed(a)).toEqual([]);
  await a.claims?.fill();
  expect((await claimed(a)).toSorted()).toEqual([S, T, U]);
  await a.claims?.fill();
  expect(await claimed(a)).toEqual([]);
});

const BEFORE = ALL_MIGRATIONS.slice(0, ALL_MIGRATIONS.indexOf(CLAIMS));

test("J-36 a database of the version before learns what wants driving when it is brought up to date, by many processes at once; an older process beside them loses nothing", async () => {
  const at = await place();
  await migrate(at.link, BEFORE);
  const intent = (session: SessionId, id: string) => at.link.query(`SELECT "${at.schema}".put_intent($1, $2, '{}')`, [id, session]);
  await intent(S, "i_old");
  await Promise.all([1, 2, 3].map(() => migrate(at.link)));
  const a = await at.open();
  expect(await claimed(a)).toEqual([S]);
  await intent(T, "i_new"); // as a process of the version before puts it
  expect(await claimed(a)).toEqual([T]);
  const taken = await at.link.query<{ t: { epoch: number } }>(`SELECT "${at.schema}".take_session($1, $2, $3, false) AS t`, [
    U,
    a.slot.writer,
    a.slot.incarnation,
  ]);
  await intent(U, "i_held");
  await at.link.query(`UPDATE "${at.schema}".streams SET holder = NULL, incarnation = NULL WHERE stream = $1`, [U]); // and lets go
  expect(taken[0]?.t.epoch).toBe(1);
  expect(await claimed(a)).toEqual([U]);
});

test("J-36 a large database is brought up to date while processes of the version before work on it", async () => {
  const at = await place();
  await migrate(at.link, BEFORE);
  const beside = await openLink({ url: testUrl(), schema: at.schema, poolSize: 2 });
  ends.push(() => beside.close());
  const [writer] = await beside.query<{ writer: string; incarnation: string }>(
    `SELECT * FROM "${at.schema}".claim_writer(60000, 'host', 1)`,
  );
  const long = ALL_MIGRATIONS.map((sql) => (sql === CLAIMS ? `${sql}; SELECT pg_sleep(1.5)` : sql)); // longer than PostgreSQL waits before it looks for deadlocks
  let isDone = false;
  const upToDate = migrate(at.link, long).finally(() => {
    isDone = true;
  });
  const renew = async (): Promise<void> => {
    while (!isDone)
      await beside
        .query(`SELECT "${at.schema}".renew_lease($1, $2, 0, false)`, [writer?.writer, writer?.incarnation])
        .then(() => turnOfLoop());
  };
  await Promise.all([upToDate, renew()]);
  expect(await at.link.query(`SELECT migrations FROM "${at.schema}".format`)).toEqual([{ migrations: ALL_MIGRATIONS.length }]);
});

test("W-28 a claim costs the same however many sessions are parked: it reads by index, and only what is due", async () => {
  const at = await place();
  const a = await at.open();
  const table = (name: string): string => `"${at.schema}".${name}`;
  const far = Date.now() + 1_000 * MINUTE;
  await at.link.query(`INSERT INTO ${table("sessions")} SELECT 's_parked' || lpad(n::text, 8, '0'), 'waiting', 'clerk', n, 1, 1, 0,
    '{"children":[],"turns":1,"parent":null}' FROM generate_series(1, 10000) AS n`);
  await at.link.query(
    `INSERT INTO ${table("questions")} (session, approval, question, mac) SELECT session, 'q', json_build_object('expiresAt', $1::bigint), '' FROM ${table("sessions")}`,
    [far],
  );
  await at.link.query(`INSERT INTO ${table("claims")} (session, due) SELECT session, to_timestamp($1 / 1000.0) FROM ${table("sessions")}`, [
    far,
  ]);
  for (const session of [S, T]) await put(a, session, `i_${session}`);
  await at.link.transact("BEGIN", async (run) => {
    const reads = async (): Promise<ReadonlyMap<string, readonly number[]>> => {
      const rows = await run<{ name: string; reads: readonly string[] }>(
        `SELECT relname AS name, ARRAY[seq_scan, seq_tup_read, idx_tup_fetch] AS reads FROM pg_stat_xact_user_tables
         WHERE schemaname = $1 AND relname IN ('claims', 'sessions', 'questions', 'inbox', 'streams')`,
        [at.schema],
      );
      return new Map(rows.map((row) => [row.name, row.reads.map(Number)]));
    };
    const before = await reads(); // of this connection, not told yet
    const [row] = await run<{ answer: { sessions: string[] } }>(`SELECT ${table("claim_sessions")}(10, 2000) AS answer`);
    expect(row?.answer.sessions.toSorted()).toEqual([S, T]);
    await run(`SELECT ${table("fill_claims")}()`);
    for (const [name, after] of await reads()) {
      const [scans, rows, fetched] = after.map((n, i) => n - (before.get(name)?.[i] ?? 0));
      expect([name, scans, rows]).toEqual([name, 0, 0]);
      expect(fetched, name).toBeLessThan(40);
    }
  });
  await at.link.query(`ANALYZE ${table("claims")}`);
  const due = DUE_CLAIMS.replace("claims", table("claims")).replace("<= t", "<= clock_timestamp()").replace("LIMIT most", "LIMIT 10");
  const plan = await at.link.query<{ "QUERY PLAN": string }>(`EXPLAIN ${due}`);
  const text = plan.map((row) => row["QUERY PLAN"]).join("\n");
  expect(text).toContain("Index Scan using claims_due");
  expect(text).not.toContain("Seq Scan");
});
