// A server for each thing that goes wrong, on each wire: what the adapter says of it, and that it never hangs.
import { createServer, type Socket } from "node:net";
import { type Fault, isFault, type ModelReply } from "@orgate/core";
import { afterEach, describe, expect, test } from "vitest";
import { geminiWire } from "./fixtures/gemini-wire.ts";
import { request, user } from "./fixtures/golden.ts";
import { type Answer, type Local, listen, provider, refuse, type Script, type WireFormat } from "./fixtures/server.ts";
import { KEY, modelAt, providerOf, WIRES, type Wired } from "./fixtures/wires.ts";
import { watchedFetch } from "./wire.ts";

const never = new AbortController().signal;
const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

const NOW = Date.parse("2026-11-15T10:00:00Z");
const SAID = "Ann owes five, and Bob owes nothing at all.";
const SCRIPT: Script = { parts: [{ say: SAID }], finish: "stop", usage: { input: 20, cached: 0, output: 9, reasoning: 0 } };

async function at(answer: Answer): Promise<Local> {
  const local = await listen(answer);
  opened.push(local);
  return local;
}

type Options = Readonly<{ firstByteMs?: number; idleMs?: number; maxReplyChars?: number }>;
const ask = (wired: Wired, url: string, options: Options = {}, signal = never): Promise<ModelReply> =>
  modelAt(wired, url, options, () => NOW).ask(request([user("Who owes?")]), () => {}, signal);

type Failed = Extract<Fault, { kind: "model-failed" }>;
async function faultOf(asked: Promise<unknown>): Promise<Failed> {
  const came = await asked.then(
    (reply) => ({ reply }),
    (error: unknown) => error,
  );
  if (!isFault(came, "model-failed") || came.fault.kind !== "model-failed")
    throw new Error(`no fault: ${JSON.stringify(came)} ${String(came)}`);
  expect(came.cause).toBeUndefined(); // what libraries throw carries the whole request
  expect(`${came.stack} ${JSON.stringify(came.fault)}`).not.toContain(KEY);
  return came.fault;
}

/** The start of a reply, up to the middle of what it says. */
const half = (wire: WireFormat): string => wire.stream(SCRIPT).slice(0, wire.stream(SCRIPT).indexOf("five,"));
const SSE = { "content-type": "text/event-stream" };

describe.each(WIRES)("$id", (wired) => {
  const { wire } = wired;

  test.each([408, 429, 500, 502, 503, 504, 529])("M-6 %d passes by itself", async (status) => {
    const local = await at((response) => refuse(response, wire, status, `busy with ${KEY}`));
    const fault = await faultOf(ask(wired, local.url));
    expect(fault).toMatchObject({ status, transient: true, again: true, broke: false, retryAfterMs: null });
    expect(fault.detail).toContain(`the provider answered ${status}: busy with [key]`);
    expect(local.asked).toHaveLength(1); // what is tried again is tried by the loop, and journalled
  });

  test.each([400, 401, 403, 404, 409, 413, 422, 501])("M-6 %d does not", async (status) => {
    const local = await at((response) => refuse(response, wire, status, "no"));
    expect(await faultOf(ask(wired, local.url))).toMatchObject({ status, transient: false, again: false, broke: false });
  });

  test.each([
    [{ "retry-after": "7" }, 7_000],
    [{ "retry-after": "0" }, 0],
    [{ "retry-after": "Sun, 15 Nov 2026 10:00:30 GMT" }, 30_000],
    [{ "retry-after": "Sun, 15 Nov 2026 09:00:00 GMT" }, 0],
    [{ "retry-after-ms": "1500", "retry-after": "7" }, 1_500],
    [{ "retry-after": "soon" }, null],
    [{ "retry-after": "-5" }, null],
  ])("M-6 how long to wait is read from %j", async (headers, retryAfterMs) => {
    const local = await at((response) => refuse(response, wire, 429, "slow down", headers as Record<string, string>));
    expect(await faultOf(ask(wired, local.url))).toMatchObject({ status: 429, transient: true, retryAfterMs });
  });

  test("M-10 no first byte: given up in time, and it may have cost something", async () => {
    const local = await at(() => {});
    expect(await faultOf(ask(wired, local.url, { firstByteMs: 40 }))).toMatchObject({
      detail: expect.stringContaining("no answer within 40 ms"),
      transient: true,
      again: true,
      broke: true,
    });
  });

  test("M-10 headers, and then nothing", async () => {
    const local = await at((response) => response.writeHead(200, SSE).flushHeaders());
    expect(await faultOf(ask(wired, local.url, { idleMs: 40 }))).toMatchObject({
      detail: expect.stringContaining("the answer stalled for 40 ms"),
      again: true,
      broke: true,
    });
  });

  test("M-10 a stall in the middle of a reply", async () => {
    const local = await at((response) => response.writeHead(200, SSE).write(half(wire)));
    expect(await faultOf(ask(wired, local.url, { idleMs: 60 }))).toMatchObject({
      detail: expect.stringContaining("the answer stalled for 60 ms"),
      transient: true,
      again: true,
      broke: true,
    });
  });

  test("M-13 a connection that is cut in the middle of an event", async () => {
    const local = await at((response) => response.writeHead(200, SSE).write(half(wire), () => response.destroy()));
    expect(await faultOf(ask(wired, local.url))).toMatchObject({ again: true, broke: true });
  });

  test("M-13 a stream that ends without its end is no reply", async () => {
    const local = await at((response) => response.writeHead(200, SSE).end(half(wire)));
    expect(await faultOf(ask(wired, local.url))).toMatchObject({ again: true, broke: true });
    const empty = await at((response) => response.writeHead(200, SSE).end());
    expect(await faultOf(ask(wired, empty.url))).toMatchObject({ again: true, broke: true });
  });

  test("M-4 events that are no JSON, at the start and in the middle", async () => {
    const first = await at((response) => response.writeHead(200, SSE).end(`event: x\ndata: {"key":"${KEY}\n\n${wire.stream(SCRIPT)}`));
    expect(await faultOf(ask(wired, first.url))).toMatchObject({ again: true, broke: true });
    const text = wire.stream(SCRIPT);
    const middle = text.indexOf("\n\n", text.indexOf("owes")) + 2;
    const later = await at((response) =>
      response.writeHead(200, SSE).end(`${text.slice(0, middle)}data: ${KEY}}{\n\n${text.slice(middle)}`),
    );
    expect(await faultOf(ask(wired, later.url))).toMatchObject({ again: true, broke: true });
  });

  test("M-10 a page in place of an answer", async () => {
    const local = await at((response) => response.writeHead(200, { "content-type": "text/html" }).end("<h1>Welcome to the hotel</h1>"));
    expect(await faultOf(ask(wired, local.url))).toMatchObject({
      status: 200,
      again: false,
      transient: false,
      detail: expect.stringContaining("`text/html`"),
    });
  });

  test("M-9 a redirect is not followed: the key stays here", async () => {
    const elsewhere = await at((response) => response.end("got it"));
    const local = await at((response) => response.writeHead(307, { location: `${elsewhere.url}/v1/messages` }).end());
    expect(await faultOf(ask(wired, local.url))).toMatchObject({ status: 307, again: false, broke: false });
    expect(elsewhere.asked).toEqual([]);
  });

  test("M-10 a reply without end is cut off", async () => {
    const long: Script = { ...SCRIPT, parts: [{ say: "and so on ".repeat(400) }] };
    const local = await provider(wire, [long]);
    opened.push(local);
    expect(await faultOf(ask(wired, local.url, { maxReplyChars: 500 }))).toMatchObject({
      detail: expect.stringContaining("the reply is longer than 500 characters"),
      again: false,
      broke: true,
    });
  });

  test("M-6 nobody there, and a door slammed", async () => {
    const gone = await listen(() => {});
    await gone.close();
    const refused = await faultOf(ask(wired, gone.url));
    expect(refused).toMatchObject({
      detail: expect.stringContaining("the connection was refused (ECONNREFUSED)"),
      transient: true,
      again: true,
      broke: false,
    });

    const sockets = new Set<Socket>();
    const slammer = createServer((socket) => {
      sockets.add(socket);
      socket.on("error", () => {}).once("data", () => socket.resetAndDestroy());
    });
    await new Promise<void>((resolve) => slammer.listen(0, "127.0.0.1", resolve));
    opened.push({ close: () => new Promise((resolve) => slammer.close(() => resolve())) });
    const address = slammer.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    expect(await faultOf(ask(wired, `http://127.0.0.1:${port}`))).toMatchObject({ transient: true, again: true, broke: true });
  });

  test("M-10 whoever stops it is obeyed at once, before and during an answer", async () => {
    const silent = await at(() => {});
    const before = new AbortController();
    const waiting = faultOf(ask(wired, silent.url, {}, before.signal));
    before.abort("Ctrl-C");
    expect(await waiting).toMatchObject({ detail: "stopped", again: false });
    const during = new AbortController();
    const speaking = await at((response) => response.writeHead(200, SSE).write(half(wire)));
    const model = modelAt(wired, speaking.url, {}, () => NOW);
    const asked = faultOf(model.ask(request([user("x")]), () => during.abort("Ctrl-C"), during.signal));
    expect(await asked).toMatchObject({ detail: "stopped", again: false, broke: true });
    const late = AbortSignal.abort("gone");
    expect(await faultOf(ask(wired, silent.url, {}, late))).toMatchObject({ detail: "stopped" });
  });

  test("M-12 fields that nobody knew are let be", async () => {
    const text = wire.stream(SCRIPT).replaceAll(/^data: \{/gm, 'data: {"from_the_future":{"a":[1]},');
    const local = await at((response) => response.writeHead(200, { ...SSE, "x-future": "1" }).end(text));
    expect(await ask(wired, local.url)).toMatchObject({ finish: "stop", parts: [{ kind: "text", text: SAID }] });
  });

  test("M-12 kinds of events that nobody knew are let be", async () => {
    const text = wire.stream(SCRIPT);
    const place = text.indexOf("\n\n", text.indexOf("owes")) + 2;
    const future = UNKNOWN[providerOf(wired)] ?? ": keep-alive\n\n";
    const local = await at((response) => response.writeHead(200, SSE).end(`${text.slice(0, place)}${future}${text.slice(place)}`));
    expect(await ask(wired, local.url)).toMatchObject({ finish: "stop", parts: [{ kind: "text", text: SAID }] });
  });

  test("M-13 arguments that were cut by the limit come as they are; cut by the line, they are no call", async () => {
    if (wire === geminiWire) return; // its arguments come whole or not at all
    const script: Script = { ...SCRIPT, parts: [{ call: "toolu_1", tool: "look_up", args: '{"name":"An' }], finish: "length" };
    const local = await provider(wire, [script]);
    opened.push(local);
    expect(await ask(wired, local.url)).toMatchObject({
      finish: "length",
      parts: [{ kind: "call", tool: "look_up", text: '{"name":"An' }],
    });
    const text = wire.stream(script);
    const cut = await at((response) => response.writeHead(200, SSE).end(text.slice(0, text.indexOf("An") + 2)));
    expect(await faultOf(ask(wired, cut.url))).toMatchObject({ again: true, broke: true });
  });
});

const UNKNOWN: Readonly<Record<string, string>> = {
  anthropic: 'event: message_mood\ndata: {"type":"message_mood","mood":"sunny"}\n\n',
  openai: 'event: response.mood.delta\ndata: {"type":"response.mood.delta","sequence_number":90,"mood":"sunny"}\n\n',
  "openai-chat": ": keep-alive\n\nevent: mood\nid: 7\nretry: 100\n\n",
  openrouter: ": OPENROUTER PROCESSING\n\n",
  google: 'data: {"mood":"sunny"}\n\n',
};

const ERRORS: readonly Readonly<{ id: string; said: string }>[] = [
  { id: "anthropic", said: 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n' },
  { id: "openai-chat", said: 'data: {"error":{"message":"The server had an error","type":"server_error","param":null,"code":null}}\n\n' },
  {
    id: "openai",
    said: 'event: error\ndata: {"type":"error","sequence_number":9,"error":{"type":"server_error","code":"server_error","message":"The server had an error","param":null}}\n\n',
  },
  {
    id: "openrouter",
    said: 'data: {"id":"gen-1","object":"chat.completion.chunk","created":1,"model":"maker/model-test","provider":"Maker","error":{"code":502,"message":"Provider disconnected unexpectedly"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}\n\n',
  },
  { id: "google", said: 'data: {"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}\n\n' },
];

test.each(ERRORS)("M-6 an overload that $id announces within a good answer is one too", async ({ id, said }) => {
  const wired = WIRES.find((one) => one.id.startsWith(`${id}/`));
  if (wired === undefined) throw new Error(id);
  const opening = await at((response) => response.writeHead(200, SSE).end(said));
  expect(await faultOf(ask(wired, opening.url))).toMatchObject({ transient: true, again: true, status: expect.any(Number) });
  const text = wired.wire.stream(SCRIPT);
  const place = text.indexOf("\n\n", text.indexOf("owes")) + 2;
  const midway = await at((response) => response.writeHead(200, SSE).end(`${text.slice(0, place)}${said}`));
  expect(await faultOf(ask(wired, midway.url))).toMatchObject({ transient: true, again: true, broke: true });
});

test("M-6 a quota that is used up is a 429 that does not pass", async () => {
  const body = JSON.stringify({
    error: { message: "You exceeded your current quota", type: "insufficient_quota", param: null, code: "insufficient_quota" },
  });
  const local = await at((response) => response.writeHead(429, { "content-type": "application/json" }).end(body));
  const wired = WIRES[1];
  if (wired === undefined) throw new Error("no wire");
  expect(await faultOf(ask(wired, local.url))).toMatchObject({ status: 429, transient: false, again: false });
});

test("M-10 an answer has so many bytes and no more, one endless line included", async () => {
  const local = await at(async (response) => {
    response.writeHead(200, SSE);
    for (let i = 0; i < 50; i += 1) response.write("x".repeat(1_000));
    response.end();
  });
  const response = await watchedFetch(() => null, 10_000)(local.url, { method: "POST", body: "{}" });
  await expect(response.text()).rejects.toThrow("longer than 10000 bytes");
});
