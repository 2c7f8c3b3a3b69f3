import { isFault, type StreamId } from "@orgate/core";
import { S1, S2 } from "@orgate/core/testing";
import { expect, test } from "vitest";
import { type Ground, openGround, settle } from "../fixtures/crank.ts";
import type { FanoutEntry, Follow } from "./fanout.ts";

const everything: Follow = { to: { kind: "all" }, after: 0, previews: true, sees: () => true, signal: new AbortController().signal };
const ofS1 = { ...everything, to: { kind: "session", session: S1 } } as const;

async function opened(bounds?: Parameters<typeof openGround>[0]): Promise<Ground> {
  const ground = openGround(bounds);
  await ground.open(S1);
  await ground.open(S2);
  return ground;
}

const next = async (told: AsyncGenerator<FanoutEntry>): Promise<FanoutEntry> => {
  const { value } = await told.next();
  if (value === undefined) throw new Error("nothing more is told");
  return value;
};
type Batch = Extract<FanoutEntry, { kind: "batch" }>;

/** Everything up to the mark that all was told. */
async function caughtUp(told: AsyncGenerator<FanoutEntry>): Promise<readonly Batch[]> {
  const batches: Batch[] = [];
  for (;;) {
    const one = await next(told);
    if (one.kind === "caught-up") return batches;
    if (one.kind === "batch") batches.push(one);
  }
}
const placesOf = (batches: readonly Batch[]): readonly number[] =>
  batches.flatMap(({ items }) => items.map((text) => JSON.parse(text)).map(({ position, entry }) => position ?? entry.seq));
const from1 = (to: number): readonly number[] => Array.from({ length: to }, (_, i) => i + 1);

test("W-24 a slow reader misses nothing, gets nothing twice, and the server does not grow for it", async () => {
  const ground = await opened({ entries: 64, bytes: 1_000_000, batchBytes: 100_000 });
  const slow = ground.fanout.follow(everything);
  const own = ground.fanout.follow(ofS1);
  await caughtUp(slow);
  await caughtUp(own);
  for (let i = 0; i < 1_000; i += 1) {
    await ground.note(i % 2 === 0 ? S1 : S2, `n${i}`);
    if (i % 100 === 0) await settle();
    expect(ground.fanout.held().entries).toBeLessThanOrEqual(64);
  }
  await settle();
  const [late, lateOwn]: [Batch[], Batch[]] = [[], []];
  while ((late.at(-1)?.to ?? 0) < 1_002) late.push((await next(slow)) as Batch);
  while ((lateOwn.at(-1)?.to ?? 0) < 501) lateOwn.push((await next(own)) as Batch);
  expect(placesOf(late)).toEqual(from1(1_002).slice(2));
  expect(placesOf(lateOwn)).toEqual(from1(501).slice(1));
  for (const batches of [late, lateOwn]) for (const [i, { after }] of batches.entries()) if (i > 0) expect(after).toBe(batches[i - 1]?.to);
  await slow.return(undefined);
  await own.return(undefined);
});

test("W-24 it can be followed from every place there is, and from none that there is not", async () => {
  const ground = await opened();
  for (let i = 0; i < 10; i += 1) await ground.note(S1, `n${i}`);
  for (let after = 0; after <= 12; after += 1)
    expect(placesOf(await caughtUp(ground.fanout.follow({ ...everything, after })))).toEqual(from1(12).slice(after));
  expect(await caughtUp(ground.fanout.follow({ ...everything, after: "now" }))).toEqual([]);
  await expect(next(ground.fanout.follow({ ...everything, after: 13 }))).rejects.toSatisfy((e) => isFault(e, "usage"));
  await expect(next(ground.fanout.follow({ ...ofS1, after: 12 }))).rejects.toSatisfy((e) => isFault(e, "usage"));
});

test("W-25 what is kept is bounded in entries and in bytes, and let go with the last follower", async () => {
  const ground = await opened({ entries: 1_000, bytes: 50_000, batchBytes: 10_000 });
  const told = ground.fanout.follow(everything);
  await caughtUp(told);
  for (let i = 0; i < 40; i += 1) await ground.note(S1, "x".repeat(5_000));
  await settle();
  const { bytes, entries } = ground.fanout.held();
  expect(bytes).toBeLessThanOrEqual(50_000);
  expect(entries).toBeGreaterThan(1);
  const batch = await next(told);
  expect(batch.kind === "batch" && batch.items.join("").length).toBeLessThan(20_000);
  await told.return(undefined);
  expect(ground.fanout.held()).toEqual({ followers: 0, entries: 0, bytes: 0 });
});

test("W-24 a follower is told only what it may see, and the stretch it is told covers the rest", async () => {
  const ground = await opened();
  let seen: ReadonlySet<StreamId> = new Set([S1]);
  const told = ground.fanout.follow({ ...everything, sees: (stream) => seen.has(stream) });
  expect(placesOf(await caughtUp(told))).toEqual([1]);
  await ground.note(S2, "hidden");
  expect(await next(told)).toEqual({ kind: "batch", after: 2, to: 3, items: [] });
  seen = new Set([S1, S2]);
  await ground.note(S2, "shown");
  expect(placesOf([(await next(told)) as Batch])).toEqual([4]);

  const own = ground.fanout.follow({ ...ofS1, sees: (stream) => seen.has(stream) });
  expect(await caughtUp(own)).toHaveLength(1);
  seen = new Set();
  await ground.note(S1, "not any more");
  expect(await next(own)).toMatchObject({ kind: "hidden", at: 1 });
  expect((await own.next()).done).toBe(true);
});

test("W-24 whoever comes late gets the words so far, after the entries before them, and none once the reply is there", async () => {
  const ground = await opened();
  const say = (text: string, offset: number) =>
    ground.ear.add({ kind: "preview", session: S1, iteration: 1, attempt: 1, preview: { part: "text", offset, text } });
  const early = ground.fanout.follow(ofS1);
  await caughtUp(early);
  say("Good ", 0);
  say("morn", 5);
  expect(await next(early)).toMatchObject({ kind: "words", words: { preview: { part: "text", offset: 0, text: "Good morn" } } });
  const late = ground.fanout.follow(ofS1);
  expect(await caughtUp(late)).toHaveLength(1);
  expect(await next(late)).toMatchObject({ kind: "words", words: { preview: { offset: 0, text: "Good morn" } } });
  say("ing", 9);
  for (const one of [early, late]) expect(await next(one)).toMatchObject({ kind: "words", words: { preview: { offset: 9, text: "ing" } } });
  const quiet = ground.fanout.follow({ ...ofS1, previews: false });
  await caughtUp(quiet);
  await ground.note(S1, "n");
  for (const one of [early, late, quiet]) expect(await next(one)).toMatchObject({ kind: "batch", to: 2 });
  for (const one of [early, late, quiet]) await one.return(undefined);
});
