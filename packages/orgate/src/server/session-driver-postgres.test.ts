// @module-tag postgres
import { randomBytes } from "node:crypto";
import { type Entry, intentId, type SessionId, seq, tableGate } from "@orgate/core";
import { afterEach, expect, test } from "vitest";
import { sha256 } from "../node/crypto.ts";
import { type DriveReport, type DriverRole, openSessionDriver, type SessionDriver } from "../operations/session-driver.ts";
import { type Link, openLink } from "../store/postgres/link.ts";
import { openStand, type Stand, type StandOptions } from "./fixtures/stand.ts";

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

type Member = Stand & Readonly<{ driver: SessionDriver; told: DriveReport[] }>;
type Cluster = Readonly<{
  member(role: DriverRole): Promise<Member>;
  /** Rows of claims. */
  claims(): Promise<readonly Readonly<{ session: string; told: Date | null; tries: number }>[]>;
}>;

/** Members of one project on PostgreSQL, in this process; each has its own runtime and journal. */
async function cluster(options: StandOptions = {}): Promise<Cluster> {
  const url = process.env.ORGATE_TEST_POSTGRES ?? "";
  const schema = `d_${randomBytes(6).toString("hex")}`;
  const settings = { database: { kind: "text" as const, text: url }, listen: null, schema, leaseMs: 10_000, poolSize: 4, restate: null };
  const link: Link = await openLink({ url, schema, poolSize: 1 });
  ends.push(async () => {
    await link.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
    await link.close();
  });
  let folder: string | null = null;
  return {
    claims: () => link.query(`SELECT session, told, tries FROM "${schema}".claims ORDER BY session`),
    async member(role) {
      const stand: Stand = await openStand({
        ...options,
        ...(folder === null ? {} : { folder, keep: true }),
        cluster: { ...settings, statementMs: 30_000, lockMs: 10_000 },
      });
      folder ??= stand.folder;
      const told: DriveReport[] = [];
      const driver = openSessionDriver({ runtime: stand.runtime, role, atOnce: 4, waitMs: 20_000, report: (one) => told.push(one) });
      ends.push(async () => {
        await driver.leave(0, 5_000);
        await stand.close();
      });
      return { ...stand, driver, told };
    },
  };
}

const opened = async ({ runtime }: Member, id: string): Promise<SessionId> =>
  (await runtime.sessions.create({ agent: "clerk", id })).session;
const say = ({ driver, ann }: Member, session: SessionId, text: string, id = `say-${session}`) =>
  driver.send({ session, wish: { kind: "follow-up", text }, as: ann, id: intentId(id) });
const entries = ({ runtime }: Member, session: SessionId): Promise<readonly Entry[]> =>
  runtime.place.store.journal.read(session, seq(0), 1_000);
const countOf = async (at: Member, session: SessionId, kind: string): Promise<number> =>
  (await entries(at, session)).filter(({ event }) => event.kind === kind).length;
const patiently = { timeout: 50_000, interval: 50 };

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
