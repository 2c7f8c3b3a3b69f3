// @module-tag postgres
import { headText } from "@orgate/core/journal";
import { intentId, millis, seq, sessionId } from "@orgate/core/vocab";
import { expect, test } from "vitest";
import { sha256 } from "../../../node/crypto.ts";
import { noteOf } from "../../fixtures/store.ts";
import golden from "../fixtures/migration-5.json" with { type: "json" };
import { createSchema, type TestSchema, testUrl } from "../fixtures/schemas.ts";
import { openLink } from "../link.ts";
import { ALL_MIGRATIONS, migrate } from "./migrations.ts";

const [S, T] = [sessionId("s_golden0001"), sessionId("s_golden0002")];

/** The rows of a database as an earlier version left it, under the tables and functions of that version. */
async function restore({ link, schema }: TestSchema): Promise<void> {
  await migrate(link, ALL_MIGRATIONS.slice(0, golden.migrations));
  await link.query(`TRUNCATE "${schema}".moved`);
  for (const [name, rows] of Object.entries(golden.rows)) {
    const table = `"${schema}".${name}`;
    await link.query(`INSERT INTO ${table} OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::${table}, $1)`, [
      JSON.stringify(rows),
    ]);
  }
  const counted = await link.query<{ name: string; column: string }>(
    "SELECT table_name AS name, column_name AS column FROM information_schema.columns WHERE table_schema = $1 AND is_identity = 'YES'",
    [schema],
  );
  for (const { name, column } of counted)
    await link.query(
      `SELECT setval(pg_get_serial_sequence('"${schema}".${name}', '${column}'), greatest(1, (SELECT max(${column}) FROM "${schema}".${name})))`,
    );
  await link.query(`SELECT setval('"${schema}".ticks', 100)`);
}

/** What databases out there were made with: a change of it would be in the new ones only. Add the next one when it has left the house. */
const MADE_WITH = ["8afb89dc36015118", "c0598e5f20b05bf4", "aeadba3310fbe7b9", "0df34fd832a74d05", "cafcac62b9928a96"];
test("J-36 a migration that databases were made with does not change", () => {
  expect(ALL_MIGRATIONS.slice(0, MADE_WITH.length).map((sql) => sha256(sql).slice(0, 16))).toEqual(MADE_WITH);
});

test("J-36 what a database of an earlier version holds is there, proved, after many processes brought it up to date at once, and goes on", async () => {
  const place = await createSchema();
  try {
    await restore(place);
    const [first, second, third] = await Promise.all([place.open(), place.open(), place.open()]);
    expect(headText(await third.head())).toBe(golden.head);
    expect((await second.journal.read(S, seq(0), 100)).map(({ event: e }) => e.kind)).toEqual([
      ...["session.opened", "turn.started", "gate.decided", "act.started", "act.ended", "note", "note"],
    ]);
    expect([...(await first.unknownsOf(S)).values()]).toMatchObject([{ call: "1.0", cause: "hold-lost" }]);
    expect(await third.journal.questions({ after: 0, most: 10 })).toMatchObject([{ session: T, approval: "q1" }]);
    expect(await first.inbox.pending(T)).toMatchObject([{ intent: { id: "i_golden" } }]);
    expect(await first.inbox.state(intentId("i_golden"))).toBe("pending");
    expect(await second.requests.find("a-key")).toEqual({ digest: "digest-of-a-request", status: 200, body: "{}" });
    const hold = await second.journal.take(S); // its holder died, and left an entry unsealed
    const event = noteOf("and on");
    await second.journal.append({ stream: S, after: seq(7), hold, events: [{ at: millis(2_000), event }], consumes: [], unlessHalted: [] });
    await second.journal.release(hold);
    const snapshot = await first.snapshot();
    expect([...snapshot.records.entries(S)].map((entry) => entry.seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect([snapshot.wrongRows(2_000), await first.alarms.standing()]).toEqual([[], []]);
    await snapshot.close();
  } finally {
    await place.drop();
  }
});

test("J-36 a migration of a large database takes as long as it takes, and others wait for it", async () => {
  const place = await createSchema();
  const links = await Promise.all(
    [1, 2].map(() => openLink({ url: testUrl(), schema: place.schema, statementTimeoutMs: 150, lockTimeoutMs: 100 })),
  );
  try {
    await migrate(place.link);
    const long = [...ALL_MIGRATIONS, "SELECT pg_sleep(0.5); CREATE TABLE of_a_later_version (n int)"];
    await Promise.all(links.map((link) => migrate(link, long)));
    expect(await place.link.query(`SELECT migrations FROM "${place.schema}".format`)).toEqual([{ migrations: long.length }]);
  } finally {
    for (const link of links) await link.close();
    await place.drop();
  }
});
