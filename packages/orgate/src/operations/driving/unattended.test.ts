import { approvalId, type Journal, millis, sessionId } from "@orgate/core";
import type { ListedApproval } from "@orgate/core/journal";
import { expect, test } from "vitest";
import { createUnattendedFinder } from "./unattended.ts";

const MINUTE = 60_000;

/** A list of approval requests, in pages, and how many of its rows were read. */
function listOf(rows: readonly (number | null)[]) {
  const listed = rows.map((expiresAt, i) => toRow(i + 1, expiresAt));
  let read = 0;
  const journal: Pick<Journal, "session" | "sessions" | "expired"> = {
    session: async () => null,
    sessions: async () => [],
    expired: async ({ by, after, most }) => {
      const due = listed.filter(({ expiresAt }) => expiresAt !== null && expiresAt <= by);
      const page = due.filter(({ arrival }) => arrival > (after?.arrival ?? 0)).slice(0, most);
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

test("W-28 of approval requests only those that have expired are read, page by page, until somebody has driven their sessions", async () => {
  const list = listOf([...Array.from({ length: 1_200 }, () => null), 5 * MINUTE]);
  expect(await list.find(4 * MINUTE)).toEqual([]);
  expect(list.takeRead()).toBe(0);
  list.add(3 * MINUTE);
  expect(await list.find(3 * MINUTE)).toEqual([nameOf(1_202)]);
  expect(await list.find(5 * MINUTE)).toEqual([nameOf(1_201), nameOf(1_202)]);
  list.takeRead();
  for (let i = 0; i < 1_000; i += 1) list.add(MINUTE);
  expect((await list.find(MINUTE)).length).toBe(1_000);
  expect(list.takeRead()).toBe(1_000);
});
