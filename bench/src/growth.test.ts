/** Rule 8, on counts: what an iteration adds to the journal does not depend on how many came before it, nor what an operation reads on how much it holds. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { countStored, type Stored } from "./floors.ts";
import { inLargeJournals } from "./growth/large-journal.ts";
import { OPERATIONS, serve } from "./growth/operations.ts";
import { findScans, recordStatements, type Statements, totalOf } from "./growth/statements.ts";
import { inFolder, openBench } from "./places.ts";

type Grown = Stored & Readonly<{ pages: number }>;

/** What a journal holds after one session of so many iterations. */
const grown = (iterations: number): Promise<Grown> =>
  inFolder(async (folder) => {
    const { runtime, session } = await openBench(folder, { powerCut: "lose-last-moments", thread: "main" });
    await session(iterations);
    await runtime.close();
    const counted = countStored(folder);
    const db = new DatabaseSync(join(folder, "journal.db"), { readOnly: true });
    const pages = Number(db.prepare("PRAGMA page_count").get()?.page_count);
    db.close();
    return { ...counted, pages };
  });

/** Per iteration of sessions of 10, 100 and 1,000; seals as they are, and bytes of one. Measured once, for all of them. */
const measured = (async (): Promise<readonly [Grown, Grown, Grown]> => {
  // opening and ending a session, and the label that its first result brings, are the same whatever follows: taken off, so that 10 iterations can be compared with 1,000
  const first = await grown(1);
  const perIteration = async (iterations: number): Promise<Grown> => {
    const after = await grown(iterations);
    const each = (what: keyof Grown): number => (after[what] - first[what]) / (iterations - 1);
    const perSeal = { seals: after.seals, sealBytes: after.sealBytes / after.seals };
    return { entries: each("entries"), appends: each("appends"), bytes: each("bytes"), pages: each("pages"), ...perSeal };
  };
  return [await perIteration(10), await perIteration(100), await perIteration(1_000)];
})();

const apart = (a: number, b: number): number => Math.abs(a / b - 1);

test("J-26 events and bytes per iteration are the same, within 5 %, at 10, 100 and 1,000 iterations", async () => {
  const [ten, hundred, thousand] = await measured;
  for (const one of [ten, hundred]) {
    expect(apart(one.entries, thousand.entries)).toBeLessThanOrEqual(0.05);
    expect(apart(one.bytes, thousand.bytes)).toBeLessThanOrEqual(0.05);
  }
  expect(thousand.entries).toBeCloseTo(4, 1); // replied, started with its decision; ended, asked with its decision (the leave to answer stands)
});

test("J-26 the database grows by the same number of pages, within 5 %, at 100 and 1,000 iterations", async () => {
  const [, hundred, thousand] = await measured;
  expect(apart(hundred.pages, thousand.pages)).toBeLessThanOrEqual(0.05);
});

test("L-9 an iteration is two appends, however long the run", async () => {
  expect((await measured).map((one) => one.appends)).toEqual([2, 2, 2]);
});

test("J-26 J-31 there are fewer seals than appends, and a seal is no larger after 1,000 iterations than after 10", async () => {
  const [ten, , thousand] = await measured;
  expect(thousand.seals).toBeLessThan(2_000);
  expect(thousand.sealBytes).toBeLessThanOrEqual(ten.sealBytes * 1.05);
});

/** More sessions than any page shows, and more seals than are checked when a journal is opened; and three times as many. */
const SIZES = [300, 900];
/** They read a bounded number of the newest, and these journals are below that bound: the benchmark has them. */
const BOUNDED = new Set(["search sessions by text"]);
/** Tables without a row for what is over: of the schema, and of what is open; and one row of a table, the last or any. */
const SHORT =
  /^SCAN (?:(?:sqlite_master|sqlite_schema|format|indexed|unknowns|count_slots|halts|session_counts|inbox USING COVERING INDEX inbox_pending)\b|appends: .* FROM appends ORDER BY id DESC LIMIT 1|seals: SELECT 1 FROM seals LIMIT 1$)/s;

/** The least of so many counts: the server looks into the journal by itself, too, and after a halt it goes on for a moment. */
const TIMES = 3;

/** `work`: statements and rows. */
type Cost = Readonly<{ work: readonly number[]; scans: readonly string[] }>;

const costs = inLargeJournals(SIZES, async (folders): Promise<ReadonlyMap<string, Cost>> => {
  const found = new Map<string, Cost>();
  const served = await Promise.all(folders.map(serve));
  for (const { name, run } of OPERATIONS) {
    const scans = new Set<string>();
    const work: number[] = [];
    for (const one of served) {
      await run(one); // what is made once is there
      const taken: Statements[] = [];
      for (let i = 0; i < TIMES; i += 1) taken.push(await recordStatements(() => run(one)));
      work.push(Math.min(...taken.map(totalOf).map(({ calls, rows }) => calls + rows)));
      for (const ran of taken) for (const scan of findScans(join(one.directory, "journal.db"), ran)) scans.add(scan);
    }
    found.set(name, { work, scans: [...scans] });
  }
  for (const one of served) await one.close();
  return found;
});

describe("J-26 with three times the entries and sessions", () => {
  test.each(OPERATIONS.filter(({ name }) => !BOUNDED.has(name)))(
    "$name runs as many statements and reads as many rows",
    async ({ name }) => {
      const [few = 0, many = 0] = (await costs).get(name)?.work ?? [];
      expect(few).toBeGreaterThan(0);
      expect(many).toBeLessThanOrEqual(few * 1.25 + 10); // a binary search by time takes two steps more
    },
  );
  test.each(OPERATIONS)("$name goes through no table that grows", async ({ name }) => {
    expect((await costs).get(name)?.scans.filter((scan) => !SHORT.test(scan))).toEqual([]);
  });
});

test("L-23 the last page of a long conversation's turns is read from where the page before ended", () =>
  inFolder(async (folder) => {
    const { runtime, session } = await openBench(folder, { powerCut: "lose-last-moments", thread: "main" });
    await session(1);
    const [{ session: id } = { session: null }] = await runtime.sessions.list();
    if (id === null) throw new Error("there is no session");
    for (let turn = 2; turn <= 60; turn += 1) await runtime.run("bench", "go", { session: id }).result;
    await runtime.close();
    const served = await serve(folder);
    const seen: number[] = [];
    const rows: number[] = [];
    for (let next: string | null = ""; next !== null; ) {
      const cursor: string = next;
      const statements = await recordStatements(async () => {
        const page = (await served.get(`/sessions/${id}/turns?limit=20${cursor}`)) as { items: { turn: number }[]; next: string | null };
        seen.push(...page.items.map(({ turn }) => turn));
        next = page.next === null ? null : `&cursor=${page.next}`;
      });
      rows.push(totalOf(statements).rows);
    }
    await served.close();
    expect(seen).toEqual(Array.from({ length: 60 }, (_, i) => i + 1));
    expect(rows.at(-1)).toBeLessThan(rows[0] ?? 0);
  }));
