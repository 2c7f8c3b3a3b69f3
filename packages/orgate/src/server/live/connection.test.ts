import { millis } from "@orgate/core";
import { S1, S2 } from "@orgate/core/testing";
import { type ClientFrameInput, frameText, type ServerFrame } from "@orgate/protocol";
import { expect, test } from "vitest";
import type { Caller } from "../../operations/access.ts";
import { openLanes } from "../../operations/lanes.ts";
import { openOwners } from "../../operations/visibility.ts";
import { ANN, type Ground, openGround, settle } from "../fixtures/crank.ts";
import type { FrameLimits } from "../http/frame-limit.ts";
import type { CountRequest } from "../http/socket-connections.ts";
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

type Connecting = Readonly<{ caller?: Caller; countRequest?: CountRequest }>;

function connect(
  ground: Ground,
  more: Partial<ConnectionPorts> = {},
  rates: Partial<FrameLimits> = {},
  { caller = ANN, countRequest = () => 0 }: Connecting = {},
): Ends {
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
  const connection = openConnection(ports, { caller, id: "c1", duplex: { send, close }, countRequest, rates: { ...RATES, ...rates } });
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
  const ends = connect(ground, { now: () => millis(now) }, {}, { caller });
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

const CHECK: ClientFrameInput = {
  kind: "call",
  id: "check",
  operation: "checkPolicies",
  input: { body: { files: [{ path: "a.cedar", text: "permit(principal, action, resource);" }] } },
};
const HALT: ClientFrameInput = { kind: "call", id: "halt", operation: "halt", input: { body: { scope: "all", reason: "stop" } } };

test("W-20 what a call holds is free when the call has its answer, and when the connection ends before it", async () => {
  const lanes = openLanes();
  let isStuck = false;
  const execute: ConnectionPorts["operations"]["execute"] = async ({ gone }) => {
    lanes.take(ANN, "check", gone);
    if (isStuck) await new Promise(() => {});
    return { status: 200, result: { kind: "json", value: {} } };
  };
  const ends = connect(await opened(), { operations: { execute } });
  await ends.say(HELLO);
  for (let i = 0; i < 5; i += 1) expect(await ends.say({ ...CHECK, id: `c${i}` })).toMatchObject([{ kind: "result", id: `c${i}` }]);
  isStuck = true;
  for (const id of ["x", "y", "z"]) expect(await ends.say({ ...CHECK, id })).toEqual([]);
  expect(await ends.say({ ...CHECK, id: "one-more" })).toMatchObject([{ kind: "error", problem: { kind: "too-many" } }]);
  void ends.gone();
  expect(() => lanes.take(ANN, "check", new AbortController().signal)).not.toThrow();
});

test("W-17 a halt gets through behind as many calls as may be under way, and is bounded itself", async () => {
  const halted: string[] = [];
  let isStuck = false;
  const execute: ConnectionPorts["operations"]["execute"] = async ({ name }) => {
    if (name !== "halt" || isStuck) await new Promise(() => {});
    halted.push(name);
    return { status: 200, result: { kind: "json", value: {} } };
  };
  const ends = connect(await opened(), { operations: { execute } }, { asked: 2, halts: 2 });
  await ends.say(HELLO);
  for (const id of ["a", "b"]) expect(await ends.say({ ...CHECK, id })).toEqual([]);
  expect(await ends.say({ ...CHECK, id: "c" })).toMatchObject([{ kind: "error", id: "c", problem: { kind: "too-many" } }]);
  expect(await ends.say(HALT)).toMatchObject([{ kind: "result", id: "halt" }]);
  isStuck = true;
  for (const id of ["d", "e"]) expect(await ends.say({ ...HALT, id })).toEqual([]);
  expect(await ends.say({ ...HALT, id: "f" })).toMatchObject([{ kind: "error", id: "f", problem: { kind: "too-many" } }]);
});

test("W-17 W-19 calls and histories count against the rate of their caller; a halt has its own", async () => {
  const counted: string[] = [];
  const countRequest: CountRequest = (what) => {
    counted.push(what);
    return what === "halt" ? 0 : 1_500;
  };
  const ends = connect(await opened(), {}, {}, { countRequest });
  await ends.say(HELLO);
  const slow = { kind: "too-many", status: 429, hint: "wait 2 s, then send it again" };
  expect(await ends.say(CHECK)).toMatchObject([{ kind: "error", id: "check", problem: slow }]);
  expect(await ends.say({ kind: "history", id: "h", session: S1, before: null })).toMatchObject([
    { kind: "error", id: "h", problem: slow },
  ]);
  expect(await ends.say(HALT)).toMatchObject([{ kind: "result", id: "halt" }]);
  expect(await ends.say({ kind: "ping", id: "p" })).toMatchObject([{ kind: "pong" }]);
  expect(counted).toEqual(["other", "other", "halt"]);
});

test("W-19 frames and inputs are bounded in bytes", async () => {
  const ends = connect(await opened(), {}, { callBytes: 300, frameBytes: 1_000 });
  await ends.say(HELLO);
  const cancel = (reason: string): ClientFrameInput => ({
    kind: "call",
    id: "d",
    operation: "cancel",
    input: { params: { session: S1 }, body: { reason } },
  });
  expect(await ends.say(cancel("x".repeat(100)))).toMatchObject([{ kind: "result" }]);
  expect(await ends.say(cancel("\u6f22".repeat(100)))).toMatchObject([{ kind: "error", problem: { kind: "too-large" } }]);
  expect(await ends.say(cancel("\u6f22".repeat(400)))).toMatchObject([{ kind: "closing", problem: { kind: "too-large" } }]);
});

test("W-19 an error is short, however long the frame that it quotes", async () => {
  const ends = connect(await opened());
  await ends.say(HELLO);
  const long = "k".repeat(500_000);
  const many = Object.fromEntries(Array.from({ length: 60_000 }, (_, i) => [`k${i}`, 1]));
  const frames = [
    JSON.stringify({ kind: "call", id: "a", operation: "whoami", input: { [long]: 1 } }),
    JSON.stringify({ kind: "call", id: "b", operation: "whoami", input: many }),
    JSON.stringify({ ...CHECK, input: { body: { [long]: 1 } } }),
    `{"${long}":1,"${long}":2}`,
    `{"${long}" 1}`,
  ];
  for (const frame of frames) {
    const [answer] = await ends.say(frame);
    expect(answer).toMatchObject({ kind: "error", problem: { kind: "bad-request" } });
    expect(JSON.stringify(answer).length).toBeLessThan(1_500);
  }
});
