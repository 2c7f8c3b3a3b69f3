import { setImmediate as turnOfLoop } from "node:timers/promises";
import { type Millis, millis, type SessionId, sessionId } from "@orgate/core";
import { afterEach, expect, test } from "vitest";
import type { SessionClaims } from "../../store/store.ts";
import { type Claiming, startClaiming } from "./claiming.ts";

const nameOf = (n: number): SessionId => sessionId(`s_${String(n).padStart(16, "0")}`);

type Desk = Claiming &
  Readonly<{
    /** Sessions that are due, in order. */
    due: SessionId[];
    driven: SessionId[];
    putOff: Map<SessionId, Millis | null>;
    asked: number[];
    fills: () => number;
    state: { room: number; nextMs: number | null; broken: boolean; asLeft: Set<SessionId> };
    /** What a notification does. */
    told(): void;
    /** Lets time pass until the next timer, and returns how long that was. */
    tick(): Promise<number>;
    failures: unknown[];
  }>;

const open: Claiming[] = [];
afterEach(() => {
  for (const one of open.splice(0)) one.stop();
});

/** A store with sessions to hand out, and a clock that goes when it is told. */
async function desk(): Promise<Desk> {
  const [due, driven, asked, failures]: [SessionId[], SessionId[], number[], unknown[]] = [[], [], [], []];
  const putOff = new Map<SessionId, Millis | null>();
  const state = { room: 100, nextMs: null as number | null, broken: false, asLeft: new Set<SessionId>() };
  let [now, fills] = [0, 0];
  let watcher = (): void => {};
  const timers: { ms: number; then: () => void }[] = []; // at most one
  const claims: SessionClaims = {
    async claim(most) {
      asked.push(most);
      if (state.broken) throw new Error("away");
      const sessions = due.splice(0, most);
      return { sessions, isMore: sessions.length === most, nextMs: state.nextMs };
    },
    leave: async (session, at) => void putOff.set(session, at),
    fill: async () => void (fills += 1),
    watch(then) {
      watcher = then;
      return () => {
        watcher = () => {};
      };
    },
  };
  const claiming = startClaiming({
    claims,
    room: () => state.room,
    async offer(session) {
      if (state.asLeft.has(session)) return { kind: "as-left", due: millis(7) };
      state.room -= 1;
      driven.push(session);
      return { kind: "driven" };
    },
    failed: (error) => void failures.push(error),
    timer(ms, then) {
      expect(timers).toEqual([]);
      timers.push({ ms, then });
      return () => void timers.splice(0);
    },
    now: () => millis(now),
  });
  open.push(claiming);
  const settle = async (): Promise<void> => {
    for (let i = 0; i < 5; i += 1) await turnOfLoop();
  };
  await settle();
  return {
    ...claiming,
    ...{ due, driven, putOff, asked, failures, state, fills: () => fills, told: () => watcher() },
    async tick() {
      const [{ ms, then } = { ms: Number.NaN, then: () => {} }] = timers.splice(0);
      now += ms;
      then();
      await settle();
      return ms;
    },
  };
}

test("W-28 a worker looks when it is told, when something is due next, and every ten seconds: a notification that is lost loses nothing", async () => {
  const at = await desk();
  expect(await at.tick()).toBe(25); // the pause after its first look
  at.due.push(nameOf(1));
  expect(await at.tick()).toBe(10_000);
  expect(at.driven).toEqual([nameOf(1)]);
  at.state.nextMs = 400;
  await at.tick(); // the pause
  await at.tick(); // a session was had, and there may be another
  expect(await at.tick()).toBe(25);
  expect(await at.tick()).toBe(400);
  at.due.push(nameOf(2));
  at.told();
  await at.tick();
  await at.tick();
  expect(at.driven).toEqual([nameOf(1), nameOf(2)]);
});

test("W-28 what is due and in another worker's hands is not asked for without pause", async () => {
  const at = await desk();
  at.state.nextMs = -5;
  at.told();
  await at.tick();
  await at.tick();
  expect(await at.tick()).toBe(250);
});

test("W-28 a worker takes no more than it has room for, a few at a time, and looks again as soon as it has left one", async () => {
  const at = await desk();
  at.state.room = 10;
  at.due.push(...Array.from({ length: 30 }, (_, i) => nameOf(i)));
  at.told();
  await at.tick();
  expect(at.driven).toHaveLength(10);
  expect(at.asked.slice(-2)).toEqual([8, 2]);
  at.state.room = 1;
  at.left();
  await at.tick();
  expect(at.driven).toHaveLength(11);
});

test("W-28 a session that stands as this worker left it is put off, and not driven; a database that is away is asked again", async () => {
  const at = await desk();
  at.state.asLeft.add(nameOf(1));
  at.due.push(nameOf(1));
  at.told();
  await at.tick();
  expect([at.driven, [...at.putOff]]).toEqual([[], [[nameOf(1), 7]]]);
  at.state.broken = true;
  at.told();
  await at.tick();
  expect(at.failures).toHaveLength(1);
  await at.tick();
  expect(await at.tick()).toBe(1_000);
});

test("W-28 rows that are missing are looked for at the start, and every five minutes", async () => {
  const at = await desk();
  expect(at.fills()).toBe(1);
  for (let i = 0; i < 40; i += 1) await at.tick();
  expect(at.fills()).toBe(1);
  for (let i = 0; i < 40; i += 1) await at.tick();
  expect(at.fills()).toBe(2);
});
