// @module-tag postgres
/** Answers of the database that arrive in another order than they were made, or are older than what a process has read. */
import type { Append, Hold } from "@orgate/core/journal";
import { opened } from "@orgate/core/testing";
import {
  type Fault,
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
import { noteOf } from "../../fixtures/store.ts";
import { LocalCopy } from "../copy.ts";
import { createSchema, type TestSchema } from "../fixtures/schemas.ts";
import type { Link } from "../link.ts";
import { disconnect, openShared, type Shared } from "../shared.ts";

const S = sessionId("s_postgres0001");
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

test("J-1 of two answers about a stream that crossed, the older one takes nothing back", () => {
  const copy = new LocalCopy();
  ends.push(async () => copy.close());
  const seen = (at: number, approvals: readonly string[]) => ({
    streams: [{ no: 1, stream: S, seq: at, hash: `hash of ${at}`, at: 0, epoch: 1, holder: null, incarnation: null }],
    ...{ appends: [], seals: [], blobs: [], session: { session: S, state: "waiting", agent: "echo", opened_at: 0, summary: `of ${at}` } },
    questions: approvals.map((approval, i) => ({ arrival: i + 1, session: S, approval, question: "{}", mac: "" })),
  });
  const now = () => [
    copy.db.prepare("SELECT seq, hash FROM streams").all(),
    copy.db.prepare("SELECT summary FROM sessions").all(),
    copy.db.prepare("SELECT approval FROM questions").all(),
  ];
  copy.hold(seen(7, ["first"]));
  copy.hold(seen(8, ["second"]));
  copy.hold(seen(7, ["first"]));
  expect(now()).toEqual([[{ seq: 8, hash: "hash of 8" }], [{ summary: "of 8" }], [{ approval: "second" }]]);
});

/** A process that only reads, whose first answer with that in it arrives after the answer to a later look. */
async function crossed(place: TestSchema, what: string, meanwhile: () => Promise<unknown>): Promise<Shared> {
  let isFirst = true;
  const link: Link = {
    ...place.link,
    close: async () => {},
    async read(sql, values) {
      const rows = await place.link.read(sql, values);
      if (isFirst && sql.includes(what)) {
        isFirst = false;
        await meanwhile();
        await shared.listener.catchUp();
      }
      return rows as never;
    },
  };
  const trust = () => ({ isRooted: () => true, whyBadSeal: () => null });
  const shared = await openShared(link, { directory: place.directory, blobKey: "blob key of the test project", trust }, null);
  ends.push(() => disconnect(shared));
  return shared;
}

test("J-19 J-25 what is read while others write has no gap, and is proved by the seals of its own moment", async () => {
  const place = await schema();
  const a = await place.open();
  const hold = await a.journal.take(S);
  await a.journal.append(append(hold, 0, opened("echo")));
  await a.journal.append(append(hold, 1, noteOf(1))); // not sealed yet
  const goOn = async (): Promise<void> => {
    await a.journal.append(append(hold, 2, noteOf(2)));
    await a.seal();
  };
  const one = await crossed(place, "pull_stream", goOn);
  expect((await one.reads.read(S, seq(0), 10)).length).toBe(3);
  const by = { kind: "user", id: "ann" } as const;
  const authority = append(TRUSTED_VALUES as typeof NOTES, 0, { kind: "known.added", set: "hosts", value: "a", by, why: "" });
  const other = await crossed(place, "pull_tail", async () => {
    await a.journal.append(append(hold, 3, noteOf(3)));
    await a.journal.append(authority);
  });
  expect((await other.reads.tail(0, 10)).map(({ position, kind }) => [position, kind])).toEqual([1, 2, 3, 4, 5].map((n) => [n, "entry"]));
  expect([one.alarms.standing(), other.alarms.standing()]).toEqual([[], []]);
});

test("J-3 a database that has gone back behind what a process has read is one clear line", async () => {
  const place = await schema();
  const a = await place.open();
  await a.journal.append(append(NOTES, 0, noteOf(1)));
  await a.catchUp();
  await place.link.query(`UPDATE "${place.schema}".moved SET latest = 0`);
  expect(await faultOf(a.journal.read(NOTES, seq(0), 10))).toMatchObject({
    kind: "journal-unreadable",
    detail: expect.stringContaining("gone back"),
  });
});
