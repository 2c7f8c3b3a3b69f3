import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { WrittenEntry } from "@orgate/core/journal";
import { type Entry, ERASURES, millis, seq, sessionId } from "@orgate/core/vocab";
import { viewJournals as j, VIEW_CASES } from "@orgate/protocol/testing";
import { HOUR_MS, hourOf, sumUsage, type UsageRow } from "@orgate/protocol/view";
import fc from "fast-check";
import { afterEach, expect, test } from "vitest";
import { facetSql, openViews, USAGE_SQL } from "./views.ts";

const folders: string[] = [];
afterEach(() => {
  for (const one of folders.splice(0)) rmSync(one, { recursive: true, force: true });
});
const folder = (): string => {
  const made = mkdtempSync(join(tmpdir(), "orgate-views-"));
  folders.push(made);
  return made;
};

/** The table's journals as one: each a session of its own. */
const sessions = VIEW_CASES.map(({ entries }, i) => entries.map((entry): Entry => ({ ...entry, stream: sessionId(`s_viewed0000${i}`) })));
const written = (entries: readonly Entry[]): readonly WrittenEntry[] =>
  entries.map((entry, i) => ({ kind: "entry", position: i + 1, stream: entry.stream, seq: entry.seq, at: entry.at, entry }));
const journalOf = (all: readonly WrittenEntry[]) => ({
  reads: 0,
  async tail(after: number, most: number): Promise<readonly WrittenEntry[]> {
    this.reads += 1;
    return all.slice(after, after + most);
  },
  read: async (stream: string, after: number, most: number): Promise<readonly Entry[]> =>
    all.flatMap((one) => (one.kind === "entry" && one.stream === stream && one.seq > after && one.seq <= after + most ? [one.entry] : [])),
});
const all = written(sessions.flat());

test("V-4 an entry is found by what it is about, and by several facets together, newest first, page by page", async () => {
  const views = openViews(folder());
  await views.catchUp(journalOf(all), 10_000);
  const eventsAt = (positions: readonly number[]) => positions.map((p) => sessions.flat()[p - 1]?.event);
  const denied = eventsAt(views.find({ verdict: "deny" }, 1e9, 10));
  expect(denied.map((e) => (e?.kind === "gate.decided" ? e.verdict.kind : null))).toEqual(["deny", "deny"]);
  const both = eventsAt(views.find({ verdict: "deny", tool: "wipe", agent: "clerk", policy: "base/no-wipe" }, 1e9, 10));
  expect(both).toHaveLength(1);
  expect(views.find({ verdict: "deny", tool: "look_up" }, 1e9, 10)).toEqual([]);
  expect(eventsAt(views.find({ label: "secret" }, 1e9, 10)).map((e) => e?.kind)).toEqual(["labels.added"]);
  expect(eventsAt(views.find({ person: "ben" }, 1e9, 10)).map((e) => e?.kind)).toEqual(["approval.answered", "approval.answered"]);
  const first = views.find({ kind: "act.started" }, 1e9, 3);
  const second = views.find({ kind: "act.started" }, first.at(-1) ?? 0, 100);
  expect([...first, ...second]).toEqual(
    all
      .filter((w) => w.kind === "entry" && w.entry.event.kind === "act.started")
      .map((w) => w.position)
      .reverse(),
  );
  expect(views.find({}, 1e9, 2)).toEqual([all.length, all.length - 1]);
  views.close();
});

test("V-4 it holds what the entries say, whatever way it was made: at once, bit by bit, by two, opened again, or anew", async () => {
  const sums = (views: ReturnType<typeof openViews>) =>
    JSON.stringify(sumUsage(views.usage({ from: 0, to: 1e9, days: null }, 1_000).rows, ({ agent, model }) => `${agent} ${model}`));
  const whole = openViews(folder());
  await whole.catchUp(journalOf(all), 10_000);
  const expected = sums(whole);
  expect(JSON.parse(expected)).toContainEqual(expect.objectContaining({ name: "clerk ", turns: 4, denials: 1 }));

  const place = folder();
  for (let n = 5; n < all.length + 5; n += 5) {
    const one = openViews(place);
    const two = openViews(place);
    const journal = journalOf(all.slice(0, n));
    await Promise.all([one.catchUp(journal, 10_000), two.catchUp(journal, 10_000)]);
    one.close();
    two.close();
  }
  const again = openViews(place);
  expect(sums(again)).toBe(expected);
  expect(again.find({ agent: "clerk" }, 1e9, 1_000)).toEqual(whole.find({ agent: "clerk" }, 1e9, 1_000));
  again.close();
  whole.close();

  const spoilt = folder();
  writeFileSync(join(spoilt, "views.db"), "not a database at all, but long enough to be one of some sort".repeat(100));
  const anew = openViews(spoilt);
  await anew.catchUp(journalOf(all), 10_000);
  expect(sums(anew)).toBe(expected);
  anew.close();
});

test("V-5 what was used by day is exactly the sum of its hours, wherever days begin; what could not be read is said to be missing", async () => {
  const views = openViews(folder());
  const apart = sessions.map((entries, i) => entries.map((entry) => ({ ...entry, at: millis(entry.at + (i % 7) * 13 * HOUR_MS) })));
  await views.catchUp(journalOf(written(apart.flat())), 10_000);
  const [from, to] = [hourOf(j.START) - 5, hourOf(j.START) + 120];
  const hours = views.usage({ from, to, days: null }, 1_000);
  expect(hours.cut).toBe(false);
  fc.assert(
    fc.property(fc.uniqueArray(fc.integer({ min: from, max: to - 1 }), { maxLength: 8 }), (edges) => {
      const days = [from, ...edges.filter((edge) => edge > from).sort((a, b) => a - b)];
      const dayOf = (hour: number): number => days.findLast((day) => day <= hour) ?? from;
      const name = (day: number, { agent, model }: UsageRow): string => `${day} ${agent} ${model}`;
      const told = views.usage({ from, to, days }, 1_000);
      expect(new Set(told.rows.map((row) => name(row.hour, row))).size).toBe(told.rows.length); // one row each
      expect(sumUsage(told.rows, (row) => name(row.hour, row))).toEqual(sumUsage(hours.rows, (row) => name(dayOf(row.hour), row)));
    }),
    { numRuns: 30 },
  );
  const most = hours.rows.length - 1;
  expect(views.usage({ from, to, days: [from] }, most).cut).toBe(true);
  expect(views.usage({ from, to, days: [from] }, most + 1).cut).toBe(false);
  views.close();
});

test("V-4 what is erased is found by nothing that was in it, also while its text is still there; and it is made again only once", async () => {
  const views = openViews(folder());
  await views.catchUp(journalOf(all), 10_000);
  const stream = sessionId("s_viewed00004");
  expect(views.find({ label: "secret" }, 1e9, 10)).toHaveLength(1);
  const erasure: Entry = {
    stream: ERASURES,
    seq: seq(1),
    at: millis(j.START),
    event: { kind: "content.erased", stream, first: seq(1), last: seq(100), by: j.ana, reason: "asked for" },
  };
  const more = written([...sessions.flat(), erasure, ...(sessions[0] ?? []).map((e) => ({ ...e, stream: sessionId("s_viewed00009") }))]);
  const journal = journalOf(more);
  await views.catchUp(journal, 10_000);
  expect(journal.reads).toBeLessThan(6);
  expect(views.position()).toBe(more.length);
  expect(views.find({ label: "secret" }, 1e9, 10)).toEqual([]);
  expect(views.find({ kind: "content.erased", person: "ana" }, 1e9, 10)).toHaveLength(1);
  expect(views.find({ policy: "base/no-wipe" }, 1e9, 10)).toHaveLength(1);
  views.close();
});

test("Q-2 nothing is looked up by a scan", () => {
  const place = folder();
  openViews(place).close();
  const db = new DatabaseSync(join(place, "views.db"));
  for (const sql of [USAGE_SQL, facetSql(1), facetSql(3)]) {
    const plan = db
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all(...Array.from({ length: sql.split("?").length - 1 }, () => 1))
      .map(({ detail }) => String(detail));
    expect(plan.filter((line) => /^SCAN|TEMP B-TREE/.test(line))).toEqual([]);
  }
  db.close();
});
