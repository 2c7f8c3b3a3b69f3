// @module-tag postgres
import { intentId, type SessionId, tableGate } from "@orgate/core";
import { afterEach, expect, test } from "vitest";
import { sha256 } from "../node/crypto.ts";
import {
  busyProvider,
  type Cluster,
  countOf,
  entries,
  type Member,
  openCluster,
  opened,
  patiently,
  say,
} from "./fixtures/postgres-cluster.ts";
import type { StandOptions } from "./fixtures/stand.ts";

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});
const cluster = (options?: StandOptions): Promise<Cluster> => openCluster((end) => ends.push(end), options);

test("W-28 two workers on PostgreSQL drive what a coordinator takes, each session once, no more than they have room for, and nothing is left to claim", async () => {
  const { member, claims } = await cluster();
  const coordinator = await member("coordinator");
  const workers = [await member("worker"), await member("worker")];
  const sessions = await Promise.all(Array.from({ length: 20 }, (_, i) => opened(coordinator, `one-${i}`)));
  await Promise.all(sessions.map((session) => say(coordinator, session, "look")));
  for (const session of sessions) await expect.poll(() => countOf(coordinator, session, "turn.ended"), patiently).toBe(1);
  expect(workers.reduce((sum, { runs }) => sum + runs.look, 0)).toBe(20);
  expect(coordinator.runs.look).toBe(0);
  for (const session of sessions) expect(await countOf(coordinator, session, "turn.started")).toBe(1);
  await expect.poll(claims, patiently).toEqual([]);
  for (const { told } of workers) expect(told.filter(({ kind }) => kind === "failed")).toEqual([]);
});

test("W-28 a request expires while nobody is told of it", async () => {
  const gate = tableGate(
    [
      { id: "asks", action: "tool:pay", verdict: "ask", terms: { expiresMs: 500 } },
      { id: "all", action: "*", verdict: "allow" },
    ],
    sha256,
  );
  const { member } = await cluster({ gate });
  const [coordinator, worker] = [await member("coordinator"), await member("worker")];
  const session = await opened(coordinator, "one");
  await say(coordinator, session, "pay");
  await expect.poll(() => countOf(coordinator, session, "approval.expired"), patiently).toBe(1);
  await expect.poll(() => countOf(coordinator, session, "turn.ended"), patiently).toBe(1);
  expect(worker.runs.pay).toBe(0);
});

test.each(["look", "both"])(
  "W-28 a worker tells when a decision that it deferred is due, also one beside a question (%s), and no other looks before",
  async (what) => {
    const gate = tableGate(
      [
        { id: "asks", action: "tool:pay", verdict: "ask" },
        { id: "later", action: "tool:look", verdict: "defer", deferMs: 600_000 },
        { id: "all", action: "*", verdict: "allow" },
      ],
      sha256,
    );
    const { member, claims } = await cluster({ gate });
    const [coordinator, worker] = [await member("coordinator"), await member("worker")];
    const session = await opened(coordinator, "one");
    await say(coordinator, session, what);
    await expect.poll(claims, patiently).toMatchObject([{ session, told: expect.any(Date) }]);
    const before = await countOf(coordinator, session, "hold.taken");
    await member("worker");
    await worker.driver.sweep("interrupted");
    expect(await coordinator.runtime.place.store.claims?.claim(10)).toMatchObject({ sessions: [] });
    expect(await countOf(coordinator, session, "hold.taken")).toBe(before);
  },
);

test("Q-14 what was approved while its tool was halted runs in one worker when that is lifted", async () => {
  const { member, claims } = await cluster();
  const coordinator = await member("coordinator");
  const workers = [await member("worker"), await member("worker")];
  const session = await opened(coordinator, "one");
  await say(coordinator, session, "pay");
  const question = async () => (await coordinator.runtime.approvals.list())[0];
  await expect.poll(question, patiently).toBeDefined();
  const asked = await question();
  if (asked === undefined) throw new Error("nothing is asked");
  await coordinator.runtime.halt("tool:pay", "look first", coordinator.ann);
  const { approval, digest } = asked;
  await coordinator.driver.send({ session, wish: { kind: "answer", approval, digest, answer: { kind: "approve" } }, as: coordinator.ann });
  await expect.poll(claims, patiently).toMatchObject([{ session, tries: expect.any(Number) }]);
  await coordinator.runtime.resumeWork("tool:pay", "looked", coordinator.ann);
  await expect.poll(() => countOf(coordinator, session, "turn.ended"), patiently).toBe(1);
  expect(workers.reduce((sum, { runs }) => sum + runs.pay, 0)).toBe(1);
});

const holdersOf = async (at: Member, session: SessionId): Promise<number> => (await at.runtime.place.store.holders([session])).size;

test("M-7 W-28 while a provider asks for time nobody holds the session; another worker goes on when it is over, with one request", async () => {
  const { asked, model } = await busyProvider((end) => ends.push(end), 3_000);
  const { member, claims } = await cluster({ model });
  const [coordinator, first] = [await member("coordinator"), await member("worker", { maxRestMs: 500 })];
  const session = await opened(coordinator, "one");
  await say(coordinator, session, "go");
  await expect.poll(claims, patiently).toMatchObject([{ session, told: expect.any(Date) }]);
  await expect.poll(() => first.driver.driving(), patiently).toBe(0);
  expect([await holdersOf(coordinator, session), asked.length]).toEqual([0, 1]);
  await first.driver.leave(0, 5_000);
  const second = await member("worker", { maxRestMs: 500 });
  await expect.poll(() => countOf(coordinator, session, "turn.ended"), patiently).toBe(1);
  expect(asked).toHaveLength(2);
  const all = await entries(coordinator, session);
  const due = all.flatMap(({ event }) => (event.kind === "model.failed" && event.dueAt !== null ? [event.dueAt] : []));
  const again = all.filter(({ event }) => event.kind === "model.asked").slice(1);
  expect(again).toMatchObject([{ event: { attempt: 2 } }]);
  expect(again[0]?.at).toBeGreaterThanOrEqual(due[0] ?? Number.POSITIVE_INFINITY);
  const holder = all.findLast(({ event }) => event.kind === "hold.taken");
  expect(holder?.event).toMatchObject({ writer: second.runtime.place.store.journal.writer });
  await expect.poll(claims, patiently).toEqual([]);
  for (const { told } of [first, second]) expect(told.filter(({ kind }) => kind === "failed")).toEqual([]);
});

test("M-7 W-28 what a person wishes reaches a session that rests, and what does not end it lets it rest on", async () => {
  const { asked, model } = await busyProvider((end) => ends.push(end), 120_000);
  const { member, claims } = await cluster({ model });
  const [coordinator, worker] = [await member("coordinator"), await member("worker")];
  const session = await opened(coordinator, "one");
  await say(coordinator, session, "go");
  await expect.poll(claims, patiently).toMatchObject([{ session, told: expect.any(Date) }]);
  const wish = (id: string, wished: Parameters<Member["driver"]["send"]>[0]["wish"]) =>
    coordinator.driver.send({ session, wish: wished, as: coordinator.ann, id: intentId(id) });
  await wish("steer", { kind: "steer", text: "and the weather" });
  await expect.poll(() => countOf(coordinator, session, "input.steered"), patiently).toBe(1);
  await expect.poll(claims, patiently).toMatchObject([{ session, told: expect.any(Date) }]);
  await expect.poll(() => worker.driver.driving(), patiently).toBe(0);
  expect(await holdersOf(coordinator, session)).toBe(0);
  await wish("cancel", { kind: "cancel", reason: "enough" });
  await expect.poll(() => countOf(coordinator, session, "turn.ended"), patiently).toBe(1);
  expect(asked).toHaveLength(1);
  await expect.poll(claims, patiently).toEqual([]);
});

test("M-7 a server that drives itself waits a provider's time out, as its callers wait for the result", async () => {
  const { asked, model } = await busyProvider((end) => ends.push(end), 1_500);
  const { member } = await cluster({ model });
  const server = await member("server", { maxRestMs: 100 });
  const session = await opened(server, "one");
  const before = await countOf(server, session, "hold.taken");
  await say(server, session, "go");
  await expect.poll(() => countOf(server, session, "turn.ended"), patiently).toBe(1);
  expect([asked.length, await countOf(server, session, "hold.taken")]).toEqual([2, before + 1]);
});
