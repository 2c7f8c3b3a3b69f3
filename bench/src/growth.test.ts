/** Rule 8, on counts: what an iteration adds to the journal does not depend on how many came before it. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
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

/** Per iteration of sessions of 10, 100 and 1,000. Measured once, for all of them. */
const measured = (async (): Promise<readonly [Grown, Grown, Grown]> => {
  // opening and ending a session is the same whatever lies between: taken off, so that 10 iterations can be compared with 1,000
  const empty = await grown(0);
  const perIteration = async (iterations: number): Promise<Grown> => {
    const after = await grown(iterations);
    const each = (what: keyof Grown): number => (after[what] - empty[what]) / iterations;
    return { entries: each("entries"), commits: each("commits"), bytes: each("bytes"), pages: each("pages") };
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
  expect(thousand.entries).toBeCloseTo(6, 1); // replied, decided, started; ended, decided, asked (the leave to answer stands)
});

test("J-26 the database grows by the same number of pages, within 5 %, at 100 and 1,000 iterations", async () => {
  const [, hundred, thousand] = await measured;
  expect(apart(hundred.pages, thousand.pages)).toBeLessThanOrEqual(0.05);
});

test("L-9 an iteration is two commits, however long the run", async () => {
  expect((await measured).map((one) => one.commits)).toEqual([2, 2, 2]);
});
