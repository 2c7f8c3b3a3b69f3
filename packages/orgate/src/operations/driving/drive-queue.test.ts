import { sessionId } from "@orgate/core";
import { expect, test } from "vitest";
import { DriveQueue } from "./drive-queue.ts";

const [S, T] = [sessionId("s_0000000000000001"), sessionId("s_0000000000000002")];

test("W-28 an inbox that cannot be read when a session is left ends no process, and others are driven on", async () => {
  const driven: string[] = [];
  const gate = Promise.withResolvers<void>();
  const queue = new DriveQueue({
    atOnce: 1,
    async drive(session) {
      driven.push(session);
      await gate.promise;
    },
    hasPendingIntents: async () => Promise.reject(new Error("the database is away")),
    left() {},
  });
  queue.wake(S);
  queue.wake(S); // while it is driven
  queue.wake(T);
  gate.resolve();
  await expect.poll(() => queue.driving).toBe(0);
  expect(driven).toEqual([S, T]);
});
