/** Rule 8, on counts: what an iteration adds to the journal does not depend on how many came before it. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeAll, expect, test } from "vitest";
import { storedBytes } from "./floors.ts";
import { inFolder, openBench } from "./places.ts";

type Grown = Readonly<{ entries: number; commits: number; bytes: number; pages: number }>;

/** What a journal holds after one session of so many iterations. */
const grown = (iterations: number): Promise<Grown> =>
  inFolder(async (folder) => {
    const { runtime, session } = await openBench(folder, { synchronous: "off", thread: "main" });
    await session(iterations);
    const counted = storedBytes(runtime.place.store.records);
    await runtime.close();
    const db = new DatabaseSync(join(folder, "journal.db"), { readOnly: true });
    const pages = Number(db.prepare("PRAGMA page_count").get()?.page_count);
    db.close();
    return { ...counted, pages };
  });

let [ten, hundred, thousand]: Grown[] = [];

beforeAll(async () => {
  // opening and ending a session is the same whatever lies between: taken off, so that 10 iterations can be compared with 1,000
  const empty = await grown(0);
  const perIteration = async (iterations: number): Promise<Grown> => {
    const after = await grown(iterations);
    const each = (what: keyof Grown): number => (after[what] - empty[what]) / iterations;
    return { entries: each("entries"), commits: each("commits"), bytes: each("bytes"), pages: each("pages") };
  };
  ten = await perIteration(10);
  hundred = await perIteration(100);
  thousand = await perIteration(1_000);
});

const apart = (a: number | undefined, b: number | undefined): number => Math.abs((a ?? Number.NaN) / (b ?? Number.NaN) - 1);

test("J60 events and bytes per iteration are the same, within 5 %, at 10, 100 and 1,000 iterations", () => {
  for (const one of [ten, hundred]) {
    expect(apart(one?.entries, thousand?.entries)).toBeLessThanOrEqual(0.05);
    expect(apart(one?.bytes, thousand?.bytes)).toBeLessThanOrEqual(0.05);
  }
  expect(thousand?.entries).toBeCloseTo(6, 1); // replied, decided, started; ended, decided, asked (the leave to answer stands)
});

test("J60 the database grows by the same number of pages, within 5 %, at 100 and 1,000 iterations", () => {
  expect(apart(hundred?.pages, thousand?.pages)).toBeLessThanOrEqual(0.05);
});

test("L6 an iteration is two commits, however long the run", () => {
  expect([ten, hundred, thousand].map((one) => one?.commits)).toEqual([2, 2, 2]);
});
