import { millis } from "@orgate/core";
import { S1, S2 } from "@orgate/core/testing";
import { type ClientFrameInput, frameText, type ServerFrame } from "@orgate/protocol";
import { expect, test } from "vitest";
import { openOwners } from "../../operations/visibility.ts";
import { ANN, type Ground, openGround, settle } from "../fixtures/crank.ts";
import type { FrameLimits } from "../http/frame-limit.ts";
import { type ConnectionPorts, openConnection, RATES } from "./connection.ts";

type Ends = Readonly<{
  say(frame: ClientFrameInput | string): Promise<readonly ServerFrame[]>;
  heard: readonly ServerFrame[];
  closed: readonly number[];
  /** From now on nothing is taken until it is let go. */
  stall(): void;
  flow(): void;
  gone(): Promise<void>;
}>;

function connect(ground: Ground, more: Partial<ConnectionPorts> = {}, rates: Partial<FrameLimits> = {}, caller = ANN): Ends {
  const heard: ServerFrame[] = [];
  const closed: number[] = [];
  let held: (() => void)[] | null = null;
  const ports: ConnectionPorts = {
    access: { mayDo: () => null },
    fanout: ground.fanout,
    journal: ground.journal,
    whose: openOwners(ground.journal),
    operations: { execute: async () => ({ status: 200, result: { kind: "json", value: {} } }) },
    position: ground.journal.position,
    now: () => millis(0),
    unforeseen: () => {},
    ...more,
  };
  const send = (text: string): Promise<void> => {
    heard.push(JSON.parse(text));
    return held === null ? Promise.resolve() : new Promise((resolve) => held?.push(resolve));
  };
  const flow = (): void => {
    for (const resolve of held ?? []) resolve();
    held = null;
  };
  const close = (code: number): void => {
    closed.push(code);
    flow();
  };
  const connection = openConnection(ports, { caller, id: "c1", duplex: { send, close }, rates: { ...RATES, ...rates } });
  return {
    async say(frame) {
      const before = heard.length;
      connection.hear(typeof frame === "string" ? frame : frameText(frame));
      await settle();
      return heard.slice(before);
    },
    heard,
    closed,
    stall: () => {
      held = [];
    },
    flow,
    async gone() {
      connection.gone();
      await connection.over;
    },
  };
}

const HELLO: ClientFrameInput = { kind: "hello", version: 1 };
const follow = (id: string, session = S1): ClientFrameInput => ({ kind: "subscribe", id, to: { kind: "session", session }, after: 0 });

async function opened(): Promise<Ground> {
  const ground = openGround();
  await ground.open(S1);
  await ground.open(S2);
  return ground;
}

test("W-25 hello is answered with who one is and where the journal stands; nothing is done before it", async () => {
  const ends = connect(await opened());
  expect(await ends.say(follow("a"))).toMatchObject([{ kind: "error", id: "a", problem: { kind: "conflict" } }]);
  expect(await ends.say(HELLO)).toEqual([
    {
      kind: "welcome",
      version: 1,
      connection: "c1",
      me: { principal: { kind: "user", id: "ann" }, agents: null, actions: null, expiresAt: null },
      position: 2,
      silenceMs: RATES.silenceMs,
    },
  ]);
  expect(await ends.say(HELLO)).toEqual([]);
  await ends.gone();
});

test("W-25 a frame that cannot be read gets an error and the connection lives", async () => {
  const ends = connect(await opened());
  await ends.say(HELLO);
  for (const bad of ["", "{", "[]", '{"kind":"dance"}', '{"kind":"ping","id":"x","more":1}', "\u0000"])
    expect(await ends.say(bad)).toMatchObject([{ kind: "error", problem: { kind: "bad-request" } }]);
  expect(await ends.say({ kind: "ping", id: "p" })).toEqual([{ kind: "pong", id: "p", at: {} }]);
  expect(ends.closed).toEqual([]);
});

test("W-25 a flood or an oversize frame closes it, and says so first", async () => {
  let now = 0;
  const flooded = connect(await opened(), { now: () => millis(now) }, { burst: 5, perSecond: 10 });
  await flooded.say(HELLO);
  for (let i = 0; i < 4; i += 1) expect(await flooded.say({ kind: "ping", id: "p" })).toMatchObject([{ kind: "pong" }]);
  now = 100; // one more is due
  expect(await flooded.say({ kind: "ping", id: "p" })).toMatchObject([{ kind: "pong" }]);
  expect(await flooded.say({ kind: "ping", id: "p" })).toMatchObject([{ kind: "closing", again: true, problem: { kind: "too-many" } }]);
  expect(flooded.closed).toEqual([1008]);
  expect(await flooded.say({ kind: "ping", id: "p" })).toEqual([]);

  const big = connect(await opened(), {}, { frameBytes: 100 });
  await big.say(HELLO);
  expect(await big.say("x".repeat(101))).toMatchObject([{ kind: "closing", again: false, problem: { kind: "too-large" } }]);
  expect(big.closed).toEqual([1009]);
});

test("W-25 what is not there, not allowed or too much is an error of its own subscription or request", async () => {
  const ground = await opened();
  const mayDo: ConnectionPorts["access"]["mayDo"] = (_, { session }) => (session === S2 ? "not yours" : null);
  const ends = connect(ground, { access: { mayDo } }, { asked: 0 });
  await ends.say(HELLO);
  expect(await ends.say(follow("a", S2))).toMatchObject([{ kind: "error", id: "a", problem: { kind: "session-unknown" } }]);
  const nowhere = { ...follow("b"), to: { kind: "session", session: "s_nowhere000" } };
  expect(await ends.say(JSON.stringify(nowhere))).toMatchObject([{ kind: "error", id: "b", problem: { kind: "session-unknown" } }]);
  expect(await ends.say({ kind: "history", id: "h", session: S1, before: null })).toMatchObject([
    { kind: "error", id: "h", problem: { kind: "too-many" } },
  ]);
  for (let i = 0; i < 64; i += 1) await ends.say(follow(`s${i}`));
  expect(await ends.say(follow("last"))).toMatchObject([{ kind: "error", id: "last", problem: { kind: "too-many" } }]);
  expect(ends.closed).toEqual([]);
  await ends.gone();
});

test("W-25 a connection ends when what it was opened with does", async () => {
  let now = 0;
  const caller = { ...ANN, scope: { ...ANN.scope, expiresAt: millis(1_000) } };
  const ground = await opened();
  const ends = connect(ground, { now: () => millis(now) }, {}, caller);
  await ends.say(HELLO);
  await ends.say(follow("a"));
  now = 1_000;
  await ground.note(S1, "for whoever still may");
  await settle();
  expect(ends.heard.at(-1)).toMatchObject({ kind: "closing", again: false, problem: { kind: "unauthenticated" } });
  expect(ends.heard.filter(({ kind }) => kind === "entries")).toHaveLength(1);
  expect(ends.closed).toEqual([1008]);
});

test("W-25 pings and requests are answered while a turn runs and while entries wait for a slow reader", async () => {
  const ground = await opened();
  const never = connect(ground, { operations: { execute: () => new Promise(() => {}) } });
  await never.say(HELLO);
  expect(await never.say({ kind: "call", id: "c", operation: "say", input: { params: { session: S1 }, body: { text: "hi" } } })).toEqual(
    [],
  );
  expect(await never.say({ kind: "ping", id: "p" })).toMatchObject([{ kind: "pong" }]);
  expect(await never.say({ kind: "history", id: "h", session: S1, before: null })).toMatchObject([{ kind: "page", id: "h", before: null }]);
  never.stall();
  expect(await never.say(follow("a"))).toMatchObject([{ kind: "entries", id: "a" }]);
  expect(await never.say({ kind: "ping", id: "q" })).toMatchObject([{ kind: "pong", id: "q", at: { a: 0 } }]);
  never.flow();
  await settle();
  expect(await never.say({ kind: "ping", id: "r" })).toMatchObject([{ kind: "pong", id: "r", at: { a: 1 } }]);
});

test("W-25 while a reader does not read, one batch is on its way to it and no more; asking on closes the connection", async () => {
  const ground = await opened();
  const ends = connect(ground, {}, { owed: 3 });
  await ends.say(HELLO);
  ends.stall();
  await ends.say(follow("a"));
  for (let i = 0; i < 50; i += 1) await ground.note(S1, `n${i}`);
  await settle();
  expect(ends.heard.filter(({ kind }) => kind === "entries")).toHaveLength(1);
  for (const id of ["p", "q", "r"]) await ends.say({ kind: "ping", id });
  expect(ends.closed).toEqual([]);
  await ends.say({ kind: "ping", id: "s" });
  expect(ends.closed).toEqual([1013]);
  await ends.gone();
});

test("W-25 what is unsubscribed is told no more", async () => {
  const ground = await opened();
  const ends = connect(ground);
  await ends.say(HELLO);
  await ends.say(follow("a"));
  expect(await ends.say({ kind: "unsubscribe", id: "a" })).toEqual([{ kind: "ended", id: "a", at: 1, why: "unsubscribed" }]);
  const before = ends.heard.length;
  await ground.note(S1, "nobody listens");
  await settle();
  expect(ends.heard).toHaveLength(before);
});

test("W-4 W-25 a call is decoded by its operation's schemas, run under its key, and bounded unless it may carry files", async () => {
  const orders: unknown[] = [];
  const execute: ConnectionPorts["operations"]["execute"] = async ({ name, request, idempotencyKey }) => {
    orders.push([name, request, idempotencyKey]);
    return { status: 202, result: { kind: "json", value: { session: S1 } } };
  };
  const ends = connect(await opened(), { operations: { execute } }, { callBytes: 300 });
  await ends.say(HELLO);
  const say = (id: string, input: object, more: object = {}): ClientFrameInput => ({ kind: "call", id, operation: "say", input, ...more });
  const fits = { params: { session: S1 }, body: { text: "x".repeat(400) } };
  expect(await ends.say(say("a", fits))).toEqual([{ kind: "result", id: "a", status: 202, value: { session: S1 } }]);
  await ends.say(say("b", fits, { key: "mine" }));
  expect(orders).toEqual([
    ["say", { ...fits, query: {} }, "a"],
    ["say", { ...fits, query: {} }, "mine"],
  ]);
  const refused = [{ kind: "error", id: "c", problem: { kind: "bad-request" } }];
  expect(await ends.say(say("c", { params: { session: S1 } }))).toMatchObject(refused);
  expect(await ends.say(say("c", { params: { session: S1 }, body: { text: "x", more: 1 } }))).toMatchObject(refused);
  expect(await ends.say(say("c", { ...fits, query: { more: 1 } }))).toMatchObject(refused);
  const long = { params: { session: S1 }, body: { reason: "x".repeat(400) } };
  expect(await ends.say({ kind: "call", id: "d", operation: "cancel", input: long })).toMatchObject([
    { kind: "error", id: "d", problem: { kind: "too-large" } },
  ]);
  expect(orders).toHaveLength(2);
});
