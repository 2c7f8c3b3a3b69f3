import { createHash, randomUUID } from "node:crypto";
import { digest, FaultError, intentId, type Journal, keyId, millis, type Seq, seq, sessionId, writerId } from "@orgate/core";
import { memoryStore, opened, turnStarted } from "@orgate/core/testing";
import { expect, test } from "vitest";
import { LeftSessions } from "./left-sessions.ts";

const S = sessionId("s_0000000000000001");
const SINCE = millis(1);
const hash = (text: string) => digest(createHash("sha256").update(text).digest("hex"));

test("J-38 a session that a newer version has driven on since it was left here is no trouble for a look at others: it is driven, and left when that fails; an intent that came in the last moment has been seen by nobody (W-28)", async () => {
  const { journal, inbox } = memoryStore({
    ...{ writer: writerId("w1"), key: keyId("k1"), hash, salt: randomUUID },
    sign: (text) => hash(`signed ${text}`),
  });
  let newer: Seq | null = null;
  const read: Journal["read"] = async (stream, after, most) => {
    const found = await journal.read(stream, after, most);
    const bad = found.find((entry) => newer !== null && entry.seq >= newer);
    if (bad !== undefined) throw new FaultError({ kind: "entry-bad", stream, seq: bad.seq, detail: "it is of a newer version" });
    return found;
  };
  const left = new LeftSessions({ journal: { ...journal, session: journal.session, read }, inbox });
  const write = async (...events: readonly Parameters<typeof journal.append>[0]["events"][number]["event"][]): Promise<void> => {
    const hold = await journal.take(S);
    const after = (await journal.session(S))?.seq ?? seq(0);
    await journal.append({
      ...{ stream: S, after, hold, consumes: [], unlessHalted: [] },
      events: events.map((event) => ({ at: millis(1), event })),
    });
    await journal.release(hold);
  };
  await write(opened("clerk"), turnStarted(1, "go"));
  await left.remember(S, SINCE);
  expect(await left.isAsLeft(S)).toBe(true);
  await inbox.put({
    ...{ id: intentId("i_1"), session: S, at: millis(5), by: { kind: "user", id: "ana" }, key: null, signature: null },
    wish: { kind: "steer", text: "left" },
  });
  await left.remember(S, SINCE); // it came after its driver had looked
  expect(await left.isAsLeft(S)).toBe(false);
  await left.remember(S, SINCE); // one that a driver leaves there
  expect(await left.isAsLeft(S)).toBe(true);
  await write({ kind: "labels.added", labels: [], cause: "later" } as never);
  newer = seq(3);
  expect(await left.isAsLeft(S)).toBe(false);
  await left.remember(S, SINCE, newer);
  expect(await left.isAsLeft(S)).toBe(true);
  newer = null;
  expect(await left.isAsLeft(S)).toBe(false);
});
