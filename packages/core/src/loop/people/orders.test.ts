import { expect, test } from "vitest";
import { type Entry, HALT, type JournalEvent, millis, type Seq, type StreamId, seq } from "../../vocab/index.ts";
import { openOrders } from "./orders.ts";

const BY = { kind: "user", id: "ops" } as const;

test("a refresh whose answer comes late folds nothing over what a later refresh has read: a halt stays", async () => {
  const log: Entry[] = [];
  const put = (event: JournalEvent) => log.push({ stream: HALT, seq: seq(log.length + 1), at: millis(1), event });
  put({ kind: "work.halted", scope: "all", by: BY, reason: "a" });
  put({ kind: "work.resumed", scope: "all", by: BY, reason: "b" });
  const [isReading, answers] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let isFirst = true;
  const read = async (stream: StreamId, after: Seq, most: number) => {
    if (stream !== HALT) return [];
    const rows = log.filter(({ seq: at }) => at > after).slice(0, most);
    if (isFirst) {
      isFirst = false;
      isReading.resolve();
      await answers.promise;
    }
    return rows;
  };
  const orders = openOrders({ read, append: () => Promise.reject(new Error("nothing is appended here")) }, () => millis(1));
  const first = orders.refresh();
  await isReading.promise;
  put({ kind: "work.halted", scope: "all", by: BY, reason: "stop everything" });
  await orders.refresh();
  answers.resolve();
  await first;
  expect([...orders.now().halts.keys()]).toEqual(["all"]);
  await orders.refresh();
  expect([...orders.now().halts.keys()]).toEqual(["all"]);
});
