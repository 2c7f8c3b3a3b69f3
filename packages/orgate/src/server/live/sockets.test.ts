/** The live ways in, over real sockets of a real server. */
import { defineAgent, type Entry, seq } from "@orgate/core";
import { openLink, readServerFrame, type SentMessage, type ServerFrame, sendMessage } from "@orgate/protocol";
import { DefaultChatTransport, readUIMessageStream, type UIMessage } from "ai";
import { afterEach, expect, test } from "vitest";
import { NO_LOG } from "../../operations/logs.ts";
import { type Serving, serving } from "../fixtures/serving.ts";
import { type Access, DENY_EVERYBODY } from "../identity/authentication.ts";
import { openSockets } from "./sockets.ts";

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

/** As the table of callers has it. */
const access: Access = {
  ...DENY_EVERYBODY,
  mayDo: ({ scope }, { agent, on }) =>
    scope.agents === null || on === "listing" || (agent !== null && scope.agents.includes(agent)) ? null : "not one of its agents",
};
const echo = (name: string) =>
  defineAgent({ name, instructions: "Echo.", model: "offline/echo", modelOptions: { rules: [{ say: "You said: {{input}}" }] } });

async function serve(): Promise<Serving> {
  const agents = [echo("clerk"), echo("other"), echo("coordinator")];
  const one = await serving({ agents, serve: { more: (front, operations) => openSockets(front, operations, access, NO_LOG) } });
  open.push(one.stop);
  return one;
}

const socketTo = ({ at }: Serving, path: string, token: string): WebSocket =>
  new WebSocket(`${at.url.replace("http", "ws")}${path}?token=${token}`);

function linkTo(serving: Serving, token = "full") {
  let ids = 0;
  const link = openLink({
    dial({ opened, heard, closed }) {
      const socket = socketTo(serving, "/ws/v1", token);
      socket.onopen = opened;
      socket.onmessage = ({ data }) => heard(String(data));
      socket.onclose = closed;
      return { send: (text) => socket.send(text), close: () => socket.close() };
    },
    makeId() {
      ids += 1;
      return `${token}-${ids}`;
    },
    later(ms, run) {
      const timer = setTimeout(run, ms);
      return () => clearTimeout(timer);
    },
  });
  open.push(link.close);
  return link;
}

/** Everything that was told, once an entry is among it. */
function followed(link: ReturnType<typeof linkTo>, isLast: (entry: Entry) => boolean): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  return new Promise((resolve) => {
    link.follow(
      { kind: "all" },
      { after: 0 },
      {
        entries(items) {
          for (const item of items) {
            if (item.kind !== "entry") continue;
            entries.push(item.entry);
            if (isLast(item.entry)) resolve(entries);
          }
        },
      },
    );
  });
}
const chat = (link: ReturnType<typeof linkTo>, agent: string, text: string) => sendMessage(link, { agent, session: null }, { text });
const sessionIn = (got: Awaited<ReturnType<typeof chat>>): SentMessage["session"] => {
  if (got.kind !== "ok") throw new Error(JSON.stringify(got));
  return got.value.session;
};

test("W-24 over a real socket: what is asked is done, what is followed is the journal", async () => {
  const at = await serve();
  const link = linkTo(at);
  const told = followed(link, ({ event }) => event.kind === "turn.ended");
  const session = sessionIn(await chat(link, "clerk", "hello"));
  const entries = await told;
  const own = await at.runtime.place.store.journal.read(session, seq(0), 100);
  expect(entries.filter(({ stream }) => stream === session)).toEqual(
    own.slice(0, entries.filter(({ stream }) => stream === session).length),
  );
  expect(own.at(-1)?.event).toMatchObject({ kind: "turn.ended", output: "You said: hello" });
});

test("W-24 a key that is scoped to an agent is told that agent's sessions alone, and may ask no other", async () => {
  const at = await serve();
  const [full, scoped] = [linkTo(at), linkTo(at, "scoped")];
  const told = followed(scoped, ({ event }) => event.kind === "turn.ended");
  const theirs = sessionIn(await chat(full, "other", "not for them"));
  const ours = sessionIn(await chat(full, "clerk", "for them"));
  expect(new Set((await told).map(({ stream }) => stream))).toEqual(new Set([ours]));
  expect(await chat(scoped, "other", "hello")).toMatchObject({ kind: "problem", problem: { kind: "not-permitted" } });
  expect(await scoped.history({ session: theirs, before: null })).toMatchObject({
    kind: "problem",
    problem: { kind: "session-unknown" },
  });
});

/** The frames of an event stream, until one is the last. */
async function framesOf(response: Response, isLast: (frame: ServerFrame) => boolean): Promise<readonly ServerFrame[]> {
  const frames: ServerFrame[] = [];
  let text = "";
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    const blocks = text.split("\n\n");
    text = blocks.pop() ?? "";
    for (const data of blocks.flatMap((block) => /^data: (.*)$/m.exec(block)?.[1] ?? [])) {
      const read = readServerFrame(data);
      if (read.kind === "refused") throw new Error(read.problem.detail);
      frames.push(read.frame);
      if (isLast(read.frame)) return frames;
    }
  }
  throw new Error("it ended early");
}

test("W-24 a session is followed as server-sent events over HTTP, from the place that is named", async () => {
  const at = await serve();
  const session = sessionIn(await chat(linkTo(at), "clerk", "hello"));
  for await (const live of at.runtime.subscribe({ session })) if (live.kind === "entry" && live.entry.event.kind === "turn.ended") break;
  const own = await at.runtime.place.store.journal.read(session, seq(0), 100);
  const isEnd = ({ kind }: ServerFrame): boolean => kind === "caught-up";
  const all = await framesOf(await at.get(`/api/v1/sessions/${session}/stream`), isEnd);
  expect(all.flatMap((frame) => (frame.kind === "entries" ? frame.items : []))).toHaveLength(own.length);
  const rest = await framesOf(await at.get(`/api/v1/sessions/${session}/stream`, "full", { "last-event-id": "3" }), isEnd);
  expect(rest.flatMap((frame) => (frame.kind === "entries" ? frame.items : []))).toHaveLength(own.length - 3);
  expect((await at.get(`/api/v1/sessions/${session}/stream`, "blind")).status).toBe(404);
});

test("W-26 the AI SDK's transport and reader get a message from the route over HTTP", async () => {
  const at = await serve();
  const transport = new DefaultChatTransport({ api: `${at.at.url}/api/v1/agents/clerk/chat`, headers: { authorization: "Bearer full" } });
  const said: UIMessage = { id: "m1", role: "user", parts: [{ type: "text", text: "good morning" }] };
  const stream = await transport.sendMessages({
    trigger: "submit-message",
    chatId: "c1",
    messageId: undefined,
    messages: [said],
    abortSignal: undefined,
  });
  let last: UIMessage | null = null;
  for await (const message of readUIMessageStream({ stream })) last = message;
  expect(last?.parts.flatMap((part) => (part.type === "text" ? [part.text] : []))).toEqual(["You said: good morning"]);
});

test("W-26 `/ws/chat` over a real socket: a message, its decisions, its one last chunk", async () => {
  const at = await serve();
  const socket = socketTo(at, "/ws/chat", "full");
  open.push(() => socket.close());
  const messages: { type: string; done?: boolean; content?: string }[] = [];
  await new Promise<void>((resolve) => {
    socket.onopen = () => socket.send(JSON.stringify({ type: "ChatSend", id: "1", content: "hello" }));
    socket.onmessage = ({ data }) => {
      messages.push(JSON.parse(String(data)));
      if (messages.at(-1)?.done === true) resolve();
    };
  });
  expect(messages.map(({ type }) => type)).toEqual(["PolicyDecision", "PolicyDecision", "ChatChunk"]);
  expect(messages.at(-1)).toMatchObject({ content: "You said: hello", done: true });
});
