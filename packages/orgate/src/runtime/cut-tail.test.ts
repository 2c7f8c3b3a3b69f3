/** Seals or entries cut off the end of a real journal, between real processes: what another process has sealed names them. */
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ACCESS, accessId, HALT, isFault, type Seq, seq } from "@orgate/core";
import { FULL_EVERY, parseSeen } from "@orgate/core/journal";
import { afterAll, expect, test } from "vitest";
import { askingDesk, withPeople } from "../cli/commands/fixtures/asking.ts";
import type { Desk } from "../cli/commands/fixtures/desk.ts";
import { openAccessStore } from "../identity/access-store.ts";
import { secretPort } from "../identity/secret-hash.ts";
import { databaseIn, dropLastAppend } from "./fixtures/forging.ts";
import { NODE } from "./ports/outside.ts";
import { type OpenProjectStore, openProjectStore } from "./ports/project-store.ts";

const desks: Desk[] = [];
afterAll(() => {
  for (const desk of desks) desk.remove();
});
const ana = { kind: "user", id: "ana" } as const;
const halt = (place: OpenProjectStore, scope: string): Promise<void> =>
  place.orders.halt({ kind: "work.halted", scope, by: ana, reason: "x" });
const open = (directory: string): Promise<OpenProjectStore> =>
  openProjectStore({ directory, thread: "main", powerCut: "lose-last-moments" });
const errorOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: unknown) => error,
  );

async function newDesk(): Promise<Desk & { readonly directory: string }> {
  const desk = askingDesk();
  desks.push(desk);
  await withPeople(desk, "ana");
  return { ...desk, directory: join(desk.root, ".orgate") };
}

/** Cuts off the last seal of a writer, with the appends under it; all hashes and ends are as they were before it. Returns what it had written. */
function cutLast(directory: string, writer: string): string {
  const db = databaseIn(directory);
  const last = db.prepare("SELECT number, wrote FROM seals WHERE writer = ? ORDER BY number DESC LIMIT 1").get(writer);
  const gone = db
    .prepare("SELECT s.stream FROM appends AS a JOIN streams AS s ON s.no = a.stream WHERE a.writer = ? AND a.seal = ? ORDER BY a.id DESC")
    .all(writer, Number(last?.number));
  expect(gone.length).toBeGreaterThan(0);
  for (const { stream } of gone) dropLastAppend(db, String(stream));
  db.prepare("DELETE FROM seals WHERE writer = ? AND number = ?").run(writer, Number(last?.number));
  db.close();
  return String(last?.wrote);
}

test("J-22 a key that another process revoked stays revoked: its revocation cannot be cut off once anybody has written after it", async () => {
  const desk = await newDesk();
  const first = await open(desk.directory); // holds the first slot
  const book = openAccessStore({ journal: first.store.journal, secrets: secretPort, now: NODE.clock.now });
  const { access } = await book.give({ means: "key", person: "ana", agents: null, actions: null, until: null, note: "", by: ana });
  const revoked = await desk.start(["keys", "revoke", access.access, "--reason", "lost", "--as", "ana"]).ended;
  expect([revoked.code, revoked.stderr]).toEqual([0, ""]);
  expect((await book.refresh()).get(accessId(access.access))?.revoked).not.toBeNull();
  await halt(first, "agent:other");
  cpSync(desk.directory, `${desk.directory}.before`, { recursive: true });
  expect(cutLast(desk.directory, "w2")).toContain("access#");

  const living = await errorOf(halt(first, "agent:another")); // this process has seen it
  expect(isFault(living) && living.message).toMatch(/it was there before, while this process ran/);
  await first.close();
  rmSync(join(desk.directory, "alarms.jsonl"));
  const fresh = await errorOf(open(desk.directory)); // another reads it in the first one's seal
  expect(isFault(fresh) && fresh.message).toMatch(/is bad: it is missing: seal \d+ of writer `w1` names it/);
  const command = await desk.orgate("run", "clerk", "--input", "hello", "--as", "ana");
  expect([command.code, command.stderr]).toEqual([1, expect.stringContaining("the project is read-only")]);
  const verified = await desk.orgate("journal", "verify");
  expect([verified.code, verified.stdout]).toEqual([
    1,
    expect.stringMatching(/not verified: .*it is missing: seal \d+ of writer `w1` names it/),
  ]);

  rmSync(desk.directory, { recursive: true });
  cpSync(`${desk.directory}.before`, desk.directory, { recursive: true });
  expect((await desk.orgate("journal", "verify")).code).toBe(0);
  await (await open(desk.directory)).close();
}, 60_000);

test("J-22 entries cut off the end of a stream that gives authority are missed, however long ago they were written, with their seal or without", async () => {
  const desk = await newDesk();
  const first = await open(desk.directory);
  await halt(first, "all");
  const { journal } = first.store;
  let after: Seq = seq(0);
  for (let i = 0; i < 2 * FULL_EVERY + 3; i += 1) {
    const events = [{ at: NODE.clock.now(), event: { kind: "note", from: "test", call: null, name: "n", value: i } as const }];
    await journal.append({ stream: "breaker:x" as never, after, hold: null, events, consumes: [], unlessHalted: [] });
    after = seq(after + 1);
  }
  const named = [...(await first.store.snapshot()).records.seals(first.store.slot.writer)].map(({ number, seen }) => ({
    number,
    seen: parseSeen(seen) ?? [],
  }));
  expect(named.filter(({ seen }) => seen.some(({ name }) => name === HALT)).map(({ number }) => number)).toEqual([
    expect.any(Number), // right after it was written
    ...[1, 2].map((n) => n * FULL_EVERY),
  ]);
  await first.close();
  const db = databaseIn(desk.directory);
  while (dropLastAppend(db, "halt"));
  db.exec("DELETE FROM halts");
  db.close();
  const refused = await errorOf(open(desk.directory));
  expect(isFault(refused, "entry-bad") && refused.message).toContain("entry 1 of stream `halt` is bad: it is missing: seal");
  const command = await desk.orgate("run", "clerk", "--input", "hello", "--as", "ana");
  expect([command.code, command.stderr]).toEqual([1, expect.stringContaining("the project is read-only")]);
}, 60_000);

test("J-22 a living process notices that a stream it has read goes back", async () => {
  const desk = await newDesk();
  const first = await open(desk.directory);
  await halt(first, "all");
  cutLast(desk.directory, first.store.slot.writer);
  await expect(first.orders.refresh()).rejects.toThrow("entry 1 of stream `halt` is bad: it is missing");
  await first.close();
  const book = await errorOf(open(desk.directory).then((place) => place.store.journal.read(ACCESS, seq(0), 1).finally(place.close)));
  expect(book).toBeNull(); // all that came last of all is gone, and nobody has sealed anything since: only a head kept elsewhere tells
}, 60_000);
