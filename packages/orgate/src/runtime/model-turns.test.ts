// Whole turns against a server that goes wrong, on every wire: what the user is told, what is in the journal, what is asked again, and what was done.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { argumentsOf, defineTool, FaultError, type Limits, type Model, type State, toResult } from "@orgate/core";
import { type World, world } from "@orgate/core/testing";
import { afterEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { readModelSettings } from "../models/env.ts";
import { geminiWire } from "../models/fixtures/gemini-wire.ts";
import { request, user } from "../models/fixtures/golden.ts";
import { responsesWire } from "../models/fixtures/openai-responses-wire.ts";
import { type Answer, type Local, listen, provider, refuse, type Script, type WireFormat } from "../models/fixtures/server.ts";
import { envOf, modelAt, providerOf, WIRES, type Wired } from "../models/fixtures/wires.ts";
import { providerModel } from "../models/providers.ts";
import { nodeClock } from "../node/clock.ts";
import { sha256 } from "../node/crypto.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const never = new AbortController().signal;
const USAGE = { input: 20, cached: 0, output: 9, reasoning: 0 };
const CALLING: Script = {
  parts: [{ say: "I look." }, { call: "toolu_01", tool: "look_up", args: '{"name":"Ann"}' }],
  finish: "calls",
  usage: USAGE,
};
const DONE: Script = { parts: [{ say: "Ann owes five, and Bob owes nothing at all." }], finish: "stop", usage: USAGE };
const SSE = { "content-type": "text/event-stream" };

type Stage = Readonly<{ w: World; local: Local; effects: readonly string[] }>;
type Setting = Readonly<{ options?: object | undefined; limits?: Partial<Limits>; secret?: string }>;

/** The nth request gets the nth answer, and the last one every further request. */
async function stage(wired: Wired, answers: readonly Answer[], { options = {}, limits = {}, secret }: Setting = {}): Promise<Stage> {
  let next = 0;
  const local = await listen((response, asked) => answers[Math.min(next++, answers.length - 1)]?.(response, asked));
  closing.push(local.close);
  const effects: string[] = [];
  const lookUp = defineTool({
    name: "look_up",
    description: "Looks a person up.",
    input: z.strictObject({ name: z.string() }),
    run: ({ name }) => {
      effects.push(name);
      return "owes 5";
    },
  });
  const model = modelAt(wired, local.url, options, Date.now, secret);
  const w = world({
    hash: sha256,
    model,
    tools: [lookUp],
    limits,
    spoil: (p) => ({
      ...p,
      clock: nodeClock,
      modelRetry: { ...p.modelRetry, backoffMs: 0 },
      modelBreaker: { ...p.modelBreaker, failures: 100 },
    }),
  });
  return { w, local, effects };
}

const whole =
  (wire: WireFormat, script: Script): Answer =>
  (response) =>
    response.writeHead(200, SSE).end(wire.stream(script));
const no =
  (status: number, headers: Record<string, string> = {}) =>
  (wire: WireFormat): Answer =>
  (response) =>
    refuse(response, wire, status, "busy", headers);
/** A reply with a call, up to the middle of what comes after the call's first words. */
const half = (wire: WireFormat): string => wire.stream(CALLING).slice(0, wire.stream(CALLING).lastIndexOf("look_up"));

/** A reply that broke off may have been paid for: two more tries. A refused request costs nothing: four more. */
type Fault = Readonly<{ name: string; answer: (wire: WireFormat) => Answer; cause: object; told: string; tries: number; options?: object }>;

const AGAIN: readonly Fault[] = [
  {
    name: "429 with `retry-after`",
    answer: no(429, { "retry-after-ms": "20" }),
    cause: { status: 429, retryAfterMs: 20, transient: true, broke: false },
    told: "the provider answered 429: busy",
    tries: 5,
  },
  {
    name: "429 without",
    answer: no(429),
    cause: { status: 429, retryAfterMs: null, transient: true, broke: false },
    told: "the provider answered 429: busy",
    tries: 5,
  },
  {
    name: "500",
    answer: no(500),
    cause: { status: 500, transient: true, broke: false },
    told: "the provider answered 500: busy",
    tries: 5,
  },
  {
    name: "529",
    answer: no(529),
    cause: { status: 529, transient: true, broke: false },
    told: "the provider answered 529: busy",
    tries: 5,
  },
  {
    name: "a slow first byte",
    answer: () => () => {},
    cause: { transient: true, broke: true },
    told: "no answer within 300 ms",
    tries: 3,
    options: { firstByteMs: 300 },
  },
  {
    name: "a stall in the middle",
    answer: (wire) => (response) => response.writeHead(200, SSE).write(half(wire)),
    cause: { transient: true, broke: true },
    told: "the answer stalled for 300 ms",
    tries: 3,
    options: { idleMs: 300 },
  },
  {
    name: "a cut in the middle of JSON",
    answer: (wire) => (response) => response.writeHead(200, SSE).write(half(wire), () => response.destroy()),
    cause: { broke: true },
    told: "",
    tries: 3,
  },
  {
    name: "events that are no JSON",
    answer: (wire) => (response) => response.writeHead(200, SSE).end(`data: {"half":\n\n${wire.stream(CALLING)}`),
    cause: { broke: true },
    told: "the provider's answer",
    tries: 3,
  },
];

const FOR_GOOD: readonly Fault[] = [
  {
    name: "a page in place of an answer",
    answer: () => (response) => response.writeHead(200, { "content-type": "text/html" }).end("<h1>Welcome to the hotel</h1>"),
    cause: { status: 200, again: false, dueAt: null },
    told: "the answer is `text/html`, which is no answer of a model",
    tries: 1,
  },
  {
    name: "a huge reply",
    answer: (wire) => whole(wire, { ...DONE, parts: [{ say: "and so on ".repeat(400) }, ...CALLING.parts] }),
    cause: { again: false, broke: true, dueAt: null },
    told: "the reply is longer than 500 characters",
    tries: 1,
    options: { maxReplyChars: 500 },
  },
];

const asked = (w: World): readonly string[] => w.events("model.asked").map((e) => `${e.iteration}.${e.attempt}`);
const lostTokens = (s: State): number => toResult(s).usage.lost;

describe.each(WIRES)("$id", (wired) => {
  const { wire } = wired;

  test.each(AGAIN)("M-7 $name: on record with its cause, asked again, and its call made once", async ({ answer, cause, options }) => {
    const { w, local, effects } = await stage(wired, [answer(wire), whole(wire, CALLING), whole(wire, DONE)], { options });
    const s = await w.run("Ann?");
    expect(toResult(s)).toMatchObject({
      ending: "completed",
      output: "Ann owes five, and Bob owes nothing at all.",
      iterations: 2,
      calls: 1,
    });
    expect(effects).toEqual(["Ann"]);
    expect(asked(w)).toEqual(["1.1", "1.2", "2.1"]);
    expect(w.events("model.failed")).toMatchObject([{ model: wired.id, again: true, dueAt: expect.any(Number), ...cause }]);
    expect(lostTokens(s) > 0).toBe("broke" in cause && cause.broke === true); // what may have been used counts as used
    expect(local.asked).toHaveLength(3);
  });

  test.each(AGAIN)(
    "M-7 $name, again and again: the turn ends and says why, and nothing was done",
    async ({ answer, told, tries, options }) => {
      const { w, local, effects } = await stage(wired, [answer(wire)], { options });
      const s = await w.run("Ann?");
      expect(toResult(s)).toMatchObject({ ending: "failed", output: null, calls: 0, detail: expect.stringContaining(told) });
      expect([effects, local.asked.length, w.events("model.failed").length]).toEqual([[], tries, tries]);
      expect(w.events("turn.ended")).toHaveLength(1);
    },
  );

  test.each(FOR_GOOD)("M-7 $name: not asked again, told at once", async ({ answer, cause, told, options }) => {
    const { w, local, effects } = await stage(wired, [answer(wire), whole(wire, DONE)], { options });
    expect(toResult(await w.run("Ann?"))).toMatchObject({ ending: "failed", calls: 0, detail: expect.stringContaining(told) });
    expect([effects, local.asked.length]).toEqual([[], 1]);
    expect(w.events("model.failed")).toMatchObject([{ model: wired.id, ...cause }]);
  });

  test("M-7 arguments that were cut by the limit: the call is not made, the model is told", async () => {
    if (wire === geminiWire) return; // its arguments come whole or not at all
    const cut: Script = { ...CALLING, parts: [{ call: "toolu_01", tool: "look_up", args: '{"name":"An' }], finish: "length" };
    const { w, effects } = await stage(wired, [whole(wire, cut), whole(wire, DONE)]);
    expect(toResult(await w.run("Ann?"))).toMatchObject({ ending: "completed", iterations: 2, calls: 0 });
    expect(effects).toEqual([]);
    expect(w.events("model.replied")[0]).toMatchObject({
      finish: "length",
      parts: [{ kind: "call", text: '{"name":"An' }],
    });
    expect(argumentsOf({ text: '{"name":"An' })).toMatchObject({ kind: "not-json" });
    expect(w.events("gate.decided").find((e) => e.action.kind === "call")).toMatchObject({ verdict: { kind: "deny" } });
    expect(w.events("model.failed")).toEqual([]);
  });

  test("M-7 fields and events that nobody knew: nothing is noticed", async () => {
    const future: Answer = (response) =>
      response
        .writeHead(200, { ...SSE, "x-future": "1" })
        .end(wire.stream(CALLING).replaceAll(/^data: \{/gm, 'data: {"from_the_future":{"a":[1]},'));
    const { w, effects } = await stage(wired, [future, whole(wire, DONE)]);
    expect(toResult(await w.run("Ann?"))).toMatchObject({ ending: "completed", calls: 1 });
    expect([effects, w.events("model.failed")]).toEqual([["Ann"], []]);
  });

  test.each<[string, Answer]>([
    ["a server that never answers", () => {}],
    ["a stream that never goes on", (response) => response.writeHead(200, SSE).write(half(wire))],
  ])("M-7 %s is not waited for beyond the turn's own time", async (_, answer) => {
    const { w, effects } = await stage(wired, [answer], { limits: { turnMs: 400 } });
    expect(toResult(await w.run("Ann?"))).toMatchObject({ ending: "timed-out", calls: 0 });
    expect(effects).toEqual([]);
    expect(w.events("turn.ended")).toHaveLength(1);
  });

  test.each(["refused", "filtered"] as const)(
    "M-13 what ended `%s` is an ending of its own, and what it called is not done",
    async (finish) => {
      // OpenAI's package tells of a refusal beside a call as a call, which is then decided like any other.
      const calling = wire === responsesWire && finish === "refused" ? [] : CALLING.parts.slice(1);
      const { w, effects } = await stage(wired, [whole(wire, { ...CALLING, parts: [{ say: "I will not." }, ...calling], finish })]);
      const { ending, calls } = toResult(await w.run("Ann?"));
      expect(["refused", "filtered"]).toContain(ending);
      expect([calls, effects]).toEqual([0, []]);
    },
  );
});

// ── keys ──

describe.each(WIRES.filter(({ key }) => key !== null))("M-9 the canary over $id", (wired) => {
  const SECRET = "sk-canary/7f3a+9c21==";
  const { wire } = wired;
  const echoes: Readonly<Record<string, Answer>> = {
    "an error that quotes the request": (response, { headers }) =>
      refuse(response, wire, 401, `bad key in ${JSON.stringify(headers)}`, { "x-echo": SECRET }),
    "an error that is no JSON": (response) =>
      response.writeHead(500, { "content-type": "text/plain" }).end(`stack: Authorization: Bearer ${SECRET}`),
    "an error in base64": (response) => refuse(response, wire, 400, `got ${Buffer.from(SECRET).toString("base64")}`),
    "a type that names it": (response) => response.writeHead(200, { "content-type": `text/${SECRET}` }).end(),
    "a redirect that names it": (response) => response.writeHead(302, { location: `http://127.0.0.1:9/?key=${SECRET}` }).end(),
    "an error within the stream": (response) =>
      response
        .writeHead(200, SSE)
        .end(`${half(wire)}\n\ndata: {"type":"error","error":{"type":"server_error","message":"key ${SECRET}","code":502}}\n\n`),
    "events that are no JSON": (response) => response.writeHead(200, SSE).end(`data: {"key": "${SECRET}"\n\n`),
    "the reply itself": (response) => response.writeHead(200, SSE).end(wire.stream({ ...DONE, parts: [{ say: `it is ${SECRET} .` }] })),
    "the id of a call, and its tool": (response) =>
      response
        .writeHead(200, SSE)
        .end(wire.stream({ ...CALLING, parts: [{ call: `toolu_${SECRET}`, tool: `look_${SECRET}`, args: `{"name":"${SECRET}"}` }] })),
    "ids and names": (response) =>
      response
        .writeHead(200, SSE)
        .end(wire.stream(DONE).replaceAll(/"(id|responseId|modelVersion|model|system_fingerprint)":"[^"]*"/g, `"$1":"${SECRET}"`)),
  };

  test.each(Object.keys(echoes))("M-9 %s: not in the journal, not in what is told, not in what is shown", async (name) => {
    const { w, local } = await stage(wired, [echoes[name] ?? (() => {})], { secret: SECRET });
    const s = await w.run("Ann?");
    expect(JSON.stringify(local.asked[0]?.headers)).toContain(SECRET); // it was sent, and to nobody else
    const inProgress = name === "the reply itself" || name.startsWith("the id of a call"); // words in progress are shown as they come
    const shown = w.live.filter((one) => one.kind !== "preview" || !inProgress);
    const everything = JSON.stringify([w.entries(), shown, toResult(s)]);
    for (const form of [SECRET, encodeURIComponent(SECRET), Buffer.from(SECRET).toString("base64").replace(/=+$/, "")])
      expect(everything).not.toContain(form);
  });
});

test.each(WIRES)("M-9 an address with a password in it is refused for $id, and the password is not repeated", (wired) => {
  const settings = readModelSettings(
    { ...envOf(wired, "http://127.0.0.1:9"), [wired.base]: "http://me:hunter2hunter2@127.0.0.1:9/v1" },
    null,
  );
  const refusal = (() => {
    try {
      return providerModel(wired.id, {}, settings, Date.now);
    } catch (error) {
      return error;
    }
  })();
  if (!(refusal instanceof FaultError)) throw new Error("it was taken");
  expect(refusal.message).toContain(`$${wired.base} is no address`);
  expect(`${refusal.stack} ${JSON.stringify(refusal.fault)}`).not.toContain("hunter2");
});

test.each(WIRES)("M-4 an address of $id that cannot be asked at all has cost nothing, and is told at once", async (wired) => {
  const model = modelAt(wired, "http://127.0.0.1:9", {}, Date.now); // a port that fetch refuses
  const w = world({ hash: sha256, model, prices: { input: 3, output: 15 } });
  const s = await w.run("Ann?");
  expect(toResult(s)).toMatchObject({
    ending: "failed",
    cost: 0,
    detail: expect.stringContaining("the request could not be made: bad port"),
  });
  expect(w.events("model.failed")).toMatchObject([{ broke: false, again: false }]);
});

// ── a door that nobody opens ──

describe("M-10 nobody takes the connection", () => {
  /** A listener that never accepts, its queue full: a further SYN gets no answer. */
  async function deafPort(): Promise<number> {
    const code =
      "const s=require('node:net').createServer();s.listen({port:0,host:'127.0.0.1',backlog:1},()=>{require('node:fs').writeSync(1,s.address().port+'\\n');Atomics.wait(new Int32Array(new SharedArrayBuffer(4)),0,0)})";
    const child = spawn(process.execPath, ["-e", code], { stdio: ["ignore", "pipe", "inherit"] });
    closing.push(() => child.kill("SIGKILL"));
    const [line] = (await once(child.stdout, "data")) as [Buffer];
    const port = Number(line.toString());
    const fillers: Socket[] = Array.from({ length: 4 }, () => connect(port, "127.0.0.1").on("error", () => {}));
    closing.push(() => {
      for (const one of fillers) one.destroy();
    });
    await once(fillers[0] ?? fail(), "connect");
    return port;
  }
  const fail = (): never => {
    throw new Error("no connection");
  };

  test.each(WIRES)("M-10 M-7 $id gives up in time, and the turn says so", async (wired) => {
    const port = await deafPort();
    const model: Model = modelAt(wired, `http://127.0.0.1:${port}`, { firstByteMs: 150 }, Date.now);
    await expect(model.ask(request([user("x")]), () => {}, never)).rejects.toMatchObject({
      fault: { kind: "model-failed", detail: expect.stringContaining("no answer within 150 ms"), transient: true, again: true },
    });
  });

  test("M-6 M-4 Node's own time-out for connecting: nobody was reached, so it has cost nothing", { timeout: 30_000 }, async () => {
    const port = await deafPort();
    const [wired = fail()] = WIRES;
    const model = modelAt(wired, `http://127.0.0.1:${port}`, {}, Date.now);
    await expect(model.ask(request([user("x")]), () => {}, never)).rejects.toMatchObject({
      fault: {
        detail: expect.stringContaining("no connection in time (UND_ERR_CONNECT_TIMEOUT)"),
        transient: true,
        again: true,
        broke: false,
      },
    });
  });
});

// ── the cache ──

test("the request of every iteration begins with the bytes of the one before, on every wire", async () => {
  for (const wired of WIRES) {
    const { wire } = wired;
    const steps = Array.from(
      { length: 6 },
      (_, i): Script => ({
        ...CALLING,
        parts: [{ say: `Step ${i}.` }, { call: `toolu_0${i}`, tool: "look_up", args: `{ "name" : "Ann ${i}" }` }],
      }),
    );
    const { w, local } = await stage(
      wired,
      [...steps, DONE].map((script) => whole(wire, script)),
    );
    expect(toResult(await w.run("Ann?")).ending).toBe("completed");
    const bodies = local.asked.map(({ body }) => prefixOf(body));
    expect(bodies).toHaveLength(7);
    for (const [i, body] of bodies.entries()) {
      const next = bodies[i + 1];
      if (next === undefined) continue;
      expect([providerOf(wired), next.rest], "tools, instructions, settings").toEqual([providerOf(wired), body.rest]);
      expect(next.said.startsWith(body.said), `${wired.id}: request ${i + 2} begins as request ${i + 1} did`).toBe(true);
    }
  }
});

/** Marks are no part of what is cached; how much may be said is none either. */
function prefixOf(body: unknown): Readonly<{ rest: string; said: string }> {
  const plain = JSON.parse(JSON.stringify(body, (key, value: unknown) => (key === "cache_control" ? undefined : value))) as Record<
    string,
    unknown
  >;
  const { messages, input, contents, max_tokens: _, max_output_tokens: __, generationConfig: ___, ...rest } = plain;
  const said = (messages ?? input ?? contents) as readonly unknown[];
  return { rest: JSON.stringify(rest), said: JSON.stringify(said).slice(0, -1) };
}

test("M-18 what a provider read from its cache and put there is priced as that, and the reservation covered it", async () => {
  const [wired] = WIRES;
  if (wired === undefined) throw new Error("no wire");
  const usage = { input: 1_000, cached: 600, written: 300, output: 10, reasoning: 0 };
  const local = await provider(wired.wire, [{ ...DONE, usage }]);
  closing.push(local.close);
  const prices = { input: 3, output: 15, cachedInput: 0.3, cacheWrite: 3.75 };
  const w = world({ hash: sha256, model: modelAt(wired, local.url), prices });
  const s = await w.run(`Ann? ${"word ".repeat(900)}`);
  expect(w.events("model.replied")).toMatchObject([{ usage: { input: 1_000, cached: 600 }, micros: 100 * 3 + 180 + 1_125 + 150 }]);
  const [reserved] = w.events("model.asked");
  expect(reserved?.reservedMicros).toBe(Math.ceil((reserved?.reserved.input ?? 0) * 3.75 + (reserved?.reserved.output ?? 0) * 15));
  expect(toResult(s).cost).toBe(1_755 / 1_000_000);
});
