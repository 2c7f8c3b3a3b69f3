import { approvalId, type Journal, millis, sessionId } from "@orgate/core";
import type { ListedApproval } from "@orgate/core/journal";
import { expect, test } from "vitest";
import { createUnattendedFinder } from "./unattended.ts";

const MINUTE = 60_000;

/** A list of approval requests, in pages, and how many of its rows were read. */
function listOf(rows: readonly (number | null)[]) {
  const listed = rows.map((expiresAt, i) => toRow(i + 1, expiresAt));
  let read = 0;
  const journal: Pick<Journal, "session" | "sessions" | "questions"> = {
    session: async () => null,
    sessions: async () => [],
    questions: async ({ after, most }) => {
      const page = listed.filter(({ arrival }) => arrival > after).slice(0, most);
      read += page.length;
      return page;
    },
  };
  const find = createUnattendedFinder({ journal, inbox: { waiting: async () => [] } });
  return {
    find: async (now: number) => [...(await find(millis(now)))],
    add: (expiresAt: number | null) => void listed.push(toRow(listed.length + 1, expiresAt)),
    takeRead() {
      const before = read;
      read = 0;
      return before;
    },
  };
}
const nameOf = (n: number) => sessionId(`s_${String(n).padStart(16, "0")}`);
const toRow = (arrival: number, expiresAt: number | null): ListedApproval =>
  ({ arrival, session: nameOf(arrival), approval: approvalId(`a_${arrival}`), expiresAt }) as unknown as ListedApproval; // the rest of a row is not looked at

test("W-28 approval requests that only wait are read once, however often sessions are looked for; a new one and one that expires are found", async () => {
  const list = listOf([...Array.from({ length: 1_200 }, () => null), 5 * MINUTE]);
  expect(await list.find(0)).toEqual([]);
  expect(list.takeRead()).toBe(1_201);
  for (let now = 1; now < 100; now += 1) expect(await list.find(now)).toEqual([]);
  expect(list.takeRead()).toBe(0);
  list.add(3 * MINUTE);
  expect(await list.find(MINUTE)).toEqual([]);
  expect(list.takeRead()).toBe(1);
  expect(await list.find(3 * MINUTE)).toEqual([nameOf(1_202)]);
  expect(await list.find(5 * MINUTE)).toEqual([nameOf(1_201), nameOf(1_202)]);
  expect(await list.find(5 * MINUTE)).toEqual([nameOf(1_201), nameOf(1_202)]); // until somebody has driven them
});

test("W-28 the list of approval requests is read again as a whole every ten minutes, and when the clock was set back", async () => {
  const list = listOf([null, null]);
  await list.find(100 * MINUTE);
  await list.find(109 * MINUTE);
  expect(list.takeRead()).toBe(2);
  await list.find(110 * MINUTE);
  expect(list.takeRead()).toBe(2);
  await list.find(50 * MINUTE);
  expect(list.takeRead()).toBe(2);
});
