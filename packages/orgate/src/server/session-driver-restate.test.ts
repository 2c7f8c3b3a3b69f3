// @module-tag postgres
import { afterEach, expect, test } from "vitest";
import { serveRestate } from "../operations/driving/restate/endpoint.ts";
import { openSummons } from "../operations/driving/restate/summons.ts";
import { busyProvider, countOf, entries, openCluster, opened, patiently, say } from "./fixtures/postgres-cluster.ts";

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});
const [ingress = "", admin = ""] = (process.env.ORGATE_TEST_RESTATE ?? "").split(" ");

test("M-7 W-28 with Restate a delayed message brings a session back whose model asked for time, and nobody holds it until then", async () => {
  const end = (then: () => Promise<unknown>): void => void ends.push(then);
  const { asked, model } = await busyProvider(end, 3_000);
  const { member, schema } = await openCluster(end, { model });
  const restate = { ingress, admin, endpoint: null, host: "127.0.0.1", port: 0, identity: [] };
  const failures: unknown[] = [];
  const summons = openSummons({ schema, restate }, (_, error) => failures.push(error));
  if (summons === null) throw new Error("there is a Restate");
  const worker = await member("worker", { maxRestMs: 500, summon: summons.summon });
  const { advancing } = worker.driver;
  const again: (number | null)[] = [];
  const endpoint = await serveRestate(restate, schema, {
    ...advancing,
    async advance(session) {
      const next = await advancing.advance(session);
      again.push(next.againMs);
      return next;
    },
    fire: async () => {},
    failed: (error) => failures.push(error),
  });
  end(async () => endpoint.close());
  const session = await opened(worker, "one");
  const before = await countOf(worker, session, "hold.taken");
  await say(worker, session, "go");
  await expect.poll(() => again.length, patiently).toBe(1);
  expect(again[0]).toBeGreaterThan(0);
  expect([worker.driver.driving(), (await worker.runtime.place.store.holders([session])).size, asked.length]).toEqual([0, 0, 1]);
  await expect.poll(() => countOf(worker, session, "turn.ended"), patiently).toBe(1);
  const all = await entries(worker, session);
  expect(all.filter(({ event }) => event.kind === "model.asked")).toHaveLength(2);
  expect((await countOf(worker, session, "hold.taken")) - before).toBe(2); // no look in between, and no second message
  await expect.poll(() => again, patiently).toEqual([expect.any(Number), null]);
  expect([asked.length, failures]).toEqual([2, []]);
});
