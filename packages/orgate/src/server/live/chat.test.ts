/** The contract of `/ws/chat`, played sentence by sentence, against a real runtime. */
import { type Row, type SessionId, seq } from "@orgate/core";
import { failure, reply } from "@orgate/core/testing";
import { type ChatServerMessage, chatServerMessage } from "@orgate/protocol";
import { afterEach, expect, test } from "vitest";
import { openStage, type Stage, type StageOptions } from "../fixtures/stage.ts";
import { latch } from "../fixtures/stand.ts";
import { conversationName, openChat } from "./chat.ts";
import type { Connection } from "./connection.ts";

const open: Stage[] = [];
afterEach(async () => {
  for (const stage of open.splice(0)) {
    await stage.close();
    expect(stage.errors).toEqual([]);
  }
});
async function stageOf(options: StageOptions): Promise<Stage> {
  const stage = await openStage(options);
  open.push(stage);
  return stage;
}

type Client = Readonly<{
  say(message: unknown): void;
  messages: readonly ChatServerMessage[];
  /** Resolves with everything heard so far once so many requests are done. */
  done(requests?: number): Promise<readonly ChatServerMessage[]>;
  heard(is: (message: ChatServerMessage) => boolean): Promise<void>;
  connection: Connection;
}>;

function connect(stage: Stage, id = "c1"): Client {
  const messages: ChatServerMessage[] = [];
  const waiting = new Set<() => void>();
  const send = async (text: string): Promise<void> => {
    messages.push(chatServerMessage.parse(JSON.parse(text))); // nothing that is not in the contract, no field more, none less
    for (const look of [...waiting]) look();
  };
  const when = (is: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (!is()) return;
        waiting.delete(look);
        resolve();
      };
      waiting.add(look);
      look();
    });
  const ports = { ...stage.ports, subscribe: stage.runtime.subscribe, agent: "clerk" };
  const connection = openChat(ports, { caller: stage.caller, id, duplex: { send, close: () => {} } });
  return {
    say: (message) => connection.hear(typeof message === "string" ? message : JSON.stringify(message)),
    messages,
    async done(requests = 1) {
      await when(() => messages.filter((m) => m.type === "ChatChunk" && m.done).length >= requests);
      return messages;
    },
    heard: (is) => when(() => messages.some(is)),
    connection,
  };
}

const chat = (content: string, id = "1") => ({ type: "ChatSend", id, content });
const without = (messages: readonly ChatServerMessage[]) =>
  messages.map((m) => ("request_id" in m ? { ...m, request_id: undefined } : m)).map((m) => JSON.parse(JSON.stringify(m)));
const requestsOf = (messages: readonly ChatServerMessage[]) => [
  ...new Set(messages.flatMap((m) => ("request_id" in m ? [m.request_id] : []))),
];
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const turnsOf = async ({ runtime }: Stage, session: SessionId) =>
  (await runtime.place.store.journal.read(session, seq(0), 1_000)).filter(({ event }) => event.kind === "turn.started").length;

test("W-26 no hello is needed: `ChatSend` and `Ping` are answered at once, by messages tagged `type`", async () => {
  const client = connect(await stageOf({ steps: [reply.text("Good morning.")] }));
  client.say({ type: "Ping" });
  expect(client.messages).toEqual([{ type: "Pong" }]);
  client.say(chat("hello"));
  expect(without(await client.done())).toEqual([
    { type: "Pong" },
    { type: "PolicyDecision", action: "respond", decision: "allow", reason: "permitted by permit-all" },
    { type: "PolicyDecision", action: "model", decision: "allow", reason: "permitted by permit-all" },
    { type: "ChatChunk", content: "Good morning.", done: true },
  ]);
});

test("W-26 undecodable frames get `PARSE_ERROR` with a null `request_id`, and the connection lives", async () => {
  const client = connect(await stageOf({ steps: [] }));
  const bad = [
    "{",
    "[]",
    '"Ping"',
    { type: "Dance" },
    { type: "ChatSend", id: 1, content: "x" },
    { type: "ChatSend", id: "1" },
    { type: "Ping", x: 1 },
  ];
  for (const one of bad) client.say(one);
  expect(client.messages).toHaveLength(bad.length);
  for (const message of client.messages) expect(message).toMatchObject({ type: "Error", request_id: null, code: "PARSE_ERROR" });
  client.say({ type: "Ping" });
  expect(client.messages.at(-1)).toEqual({ type: "Pong" });
});

test("W-27 the server makes one `request_id`, a UUID, per turn, and tags every message of that turn with it", async () => {
  const client = connect(await stageOf({ steps: [reply.calls([{ tool: "look", args: {} }]), reply.text("one"), reply.text("two")] }));
  client.say(chat("first", "1"));
  await client.done(1);
  client.say(chat("second", "2"));
  const ids = requestsOf(await client.done(2));
  expect(ids).toHaveLength(2);
  for (const id of ids) expect(id).toMatch(UUID);
});

test("W-26 `ToolCallStarted` when a call starts, its `arguments` the model's own JSON text; `ToolCallResult` when it has ended", async () => {
  const hold = latch();
  const text = '{ "b" : 1.50,\n "a":"x" }';
  const client = connect(await stageOf({ steps: [reply.calls([{ tool: "wait", text }]), reply.text("done")], hold }));
  client.say(chat("go"));
  await hold.reached;
  await client.heard((m) => m.type === "ToolCallStarted");
  expect(without(client.messages).at(-1)).toEqual({ type: "ToolCallStarted", call_id: "1.0", tool_name: "wait", arguments: text });
  hold.open();
  const messages = without(await client.done());
  expect(messages).toContainEqual({ type: "ToolCallResult", call_id: "1.0", result: "waited", is_error: false });
});

test("W-26 a call that fails has a result that is an error; one that returns an object has its JSON", async () => {
  const rows: readonly Row[] = [{ id: "permit-all", action: "*", verdict: "allow" }];
  const steps = [reply.calls([{ tool: "fall", args: {} }]), reply.calls([{ tool: "pay", args: {} }]), reply.text("done")];
  const client = connect(await stageOf({ steps, rows }));
  client.say(chat("go"));
  const results = without(await client.done()).filter(({ type }) => type === "ToolCallResult");
  expect(results).toEqual([
    { type: "ToolCallResult", call_id: "1.0", result: expect.stringContaining("it fell over"), is_error: true },
    { type: "ToolCallResult", call_id: "2.0", result: '{"paid":5}', is_error: false },
  ]);
});

test("W-26 a denied call has only its `PolicyDecision`, with the policy's name", async () => {
  const client = connect(await stageOf({ steps: [reply.calls([{ tool: "erase", args: {} }]), reply.text("I may not.")] }));
  client.say(chat("erase it"));
  const messages = without(await client.done());
  expect(messages.filter((m) => m.action === "tool:erase")).toEqual([
    { type: "PolicyDecision", action: "tool:erase", decision: "deny", reason: "nothing is erased here (no-erase)" },
  ]);
  expect(messages.some(({ type }) => type === "ToolCallStarted" || type === "ToolCallResult")).toBe(false);
});

test("W-26 a call that asks is told as `ask`, and as what was decided once somebody has answered", async () => {
  const stage = await stageOf({ steps: [reply.calls([{ tool: "pay", args: {} }]), reply.text("Paid.")] });
  const client = connect(stage);
  client.say(chat("pay"));
  await client.heard((m) => m.type === "PolicyDecision" && m.decision === "ask");
  client.say({ type: "Ping" });
  expect(client.messages.at(-1)).toEqual({ type: "Pong" });
  const [question] = await stage.runtime.approvals.list();
  if (question === undefined) throw new Error("nothing waits");
  const { approval, digest, session } = question;
  await stage.sessionDriver.send({ session, wish: { kind: "answer", approval, digest, answer: { kind: "approve" } }, as: stage.ann });
  const about = without(await client.done()).filter((m) => m.action === "tool:pay" || m.call_id !== undefined);
  expect(about).toEqual([
    { type: "PolicyDecision", action: "tool:pay", decision: "ask", reason: "ask-pay asks: pay it?" },
    { type: "PolicyDecision", action: "tool:pay", decision: "allow", reason: "permitted by ask-pay" },
    { type: "ToolCallStarted", call_id: "1.0", tool_name: "pay", arguments: "{}" },
    { type: "ToolCallResult", call_id: "1.0", result: '{"paid":5}', is_error: false },
  ]);
});

test("W-26 exactly one `ChatChunk` with `done: true`, last, with partial text and the ending's sentence when it stopped early", async () => {
  const steps = [reply.calls([{ tool: "look", args: {} }], { text: "Looking." })];
  const client = connect(await stageOf({ steps, limits: { iterations: 1 } }));
  client.say(chat("look"));
  const messages = without(await client.done());
  expect(messages.filter(({ type }) => type === "ChatChunk")).toEqual([
    { type: "ChatChunk", content: "Looking.\n\nThe turn used up its model calls.", done: true },
  ]);
  expect(messages.at(-1).type).toBe("ChatChunk");
});

test("W-26 on a failure the last chunk is followed by `Error` with `LOOP_ERROR`", async () => {
  const client = connect(await stageOf({ steps: [failure("no such model", { again: false })] }));
  client.say(chat("hello"));
  await client.heard((m) => m.type === "Error");
  expect(without(client.messages).slice(-2)).toEqual([
    { type: "ChatChunk", content: "The turn failed.", done: true },
    { type: "Error", code: "LOOP_ERROR", message: expect.stringContaining("no such model") },
  ]);
});

test("W-26 what a person may not do is a request that came to nothing, with its one last chunk", async () => {
  const stage = await stageOf({ steps: [] });
  const ports = { ...stage.ports, subscribe: stage.runtime.subscribe, agent: "clerk", access: { mayDo: () => "not you" } };
  const heard: unknown[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const send = async (text: string): Promise<void> => {
    heard.push(JSON.parse(text));
    if (heard.length === 2) resolve();
  };
  openChat(ports, { caller: stage.caller, id: "c", duplex: { send, close: () => {} } }).hear(JSON.stringify(chat("hello")));
  await promise;
  expect(heard).toMatchObject([
    { type: "ChatChunk", done: true },
    { type: "Error", code: "LOOP_ERROR", message: expect.stringContaining("not you") },
  ]);
});

test("W-27 a second `ChatSend` during a turn follows it, with its own `request_id`; each has its one last chunk", async () => {
  const hold = latch();
  const stage = await stageOf({ steps: [reply.calls([{ tool: "wait", args: {} }]), reply.text("first"), reply.text("second")], hold });
  const client = connect(stage);
  client.say(chat("one", "1"));
  await hold.reached;
  client.say(chat("two", "2"));
  client.say({ type: "Ping" });
  expect(client.messages.at(-1)).toEqual({ type: "Pong" });
  hold.open();
  const messages = await client.done(2);
  const last = messages.filter((m) => m.type === "ChatChunk");
  expect(last).toMatchObject([
    { content: "first", done: true },
    { content: "second", done: true },
  ]);
  expect(requestsOf(last)).toHaveLength(2);
});

test("W-27 the same `id` twice is one turn, on one connection and on another", async () => {
  const hold = latch();
  const stage = await stageOf({ steps: [reply.calls([{ tool: "wait", args: {} }]), reply.text("once")], hold });
  const first = connect(stage, "c1");
  const id = "0f9b2f1e-2d64-4c8e-9a55-6c1d2f3e4a5b";
  first.say(chat("pay it", id));
  await hold.reached;
  first.say(chat("pay it", id));
  const second = connect(stage, "c2");
  second.say(chat("pay it", id));
  hold.open();
  const [a, b] = [await first.done(), await second.done()];
  expect(b.filter((m) => m.type !== "PolicyDecision")).toEqual(a.filter((m) => m.type !== "PolicyDecision"));
  const third = connect(stage, "c3");
  third.say(chat("pay it", id));
  expect(await third.done()).toEqual(a);
  const { session } = await stage.runtime.sessions.create({ agent: "clerk", id: conversationName(stage.caller, "clerk") });
  expect(await turnsOf(stage, session)).toBe(1);
});

test("W-27 another message under the `id` of an earlier one is refused, on one connection and on another; the earlier turn goes on", async () => {
  const hold = latch();
  const stage = await stageOf({ steps: [reply.calls([{ tool: "wait", args: {} }]), reply.text("once")], hold });
  const [first, second] = [connect(stage, "c1"), connect(stage, "c2")];
  const id = "0f9b2f1e-2d64-4c8e-9a55-6c1d2f3e4a5b";
  const refused = "Nothing was done: this id was used for another request.";
  const chunks = (messages: readonly ChatServerMessage[]) => messages.flatMap((m) => (m.type === "ChatChunk" ? [m.content] : []));
  first.say(chat("pay it", id));
  first.say(chat("pay it twice", id));
  expect(chunks(await first.done())).toEqual([refused]);
  await hold.reached;
  second.say(chat("pay it twice", id));
  expect(chunks(await second.done())).toEqual([refused]);
  second.say(chat("pay it", id));
  hold.open();
  for (const one of [first, second]) expect(chunks(await one.done(2))).toEqual([refused, "once"]);
  expect(requestsOf(first.messages)).toHaveLength(2);
  const { session } = await stage.runtime.sessions.create({ agent: "clerk", id: conversationName(stage.caller, "clerk") });
  expect(await turnsOf(stage, session)).toBe(1);
});

test("W-27 a short `id` is a counter of its connection: another connection that counts from 1 too asks for something new", async () => {
  const stage = await stageOf({ steps: [reply.text("first"), reply.text("second")] });
  const [a, b] = [connect(stage, "c1"), connect(stage, "c2")];
  a.say(chat("hello", "1"));
  await a.done();
  b.say(chat("hello again", "1"));
  expect((await b.done()).at(-1)).toMatchObject({ content: "second" });
});

test("W-27 a turn runs to its end when its client has gone, and the conversation is there for whoever comes back", async () => {
  const hold = latch();
  const stage = await stageOf({ steps: [reply.calls([{ tool: "wait", args: {} }]), reply.text("finished")], hold });
  const client = connect(stage);
  const id = "a-long-enough-id-of-my-own";
  client.say(chat("go", id));
  await hold.reached;
  client.connection.gone();
  await client.connection.over;
  hold.open();
  const back = connect(stage, "c2");
  back.say(chat("go", id));
  expect((await back.done()).at(-1)).toMatchObject({ type: "ChatChunk", content: "finished", done: true });
});
