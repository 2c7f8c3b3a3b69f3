import { connect } from "node:net";
import { isFault } from "@orgate/core";
import { OPERATION_NAMES, OPERATIONS, type Operation, problemSchema, readChatMessage, readClientFrame } from "@orgate/protocol";
import { afterEach, expect, test } from "vitest";
import { WebSocket } from "ws";
import { raw, type Serving, type ServingOptions, serving } from "../fixtures/serving.ts";
import { latch } from "../fixtures/stand.ts";
import { createRateLimit } from "./limits.ts";
import type { SocketProtocols } from "./socket-connections.ts";

const open: Serving[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.stop();
});
async function serve(options: ServingOptions = {}): Promise<Serving> {
  const one = await serving(options);
  open.push(one);
  return one;
}
const problemIn = async (response: Response) => problemSchema.parse(await response.json());
const bodyIn = (text: string): unknown => JSON.parse(text.slice(text.indexOf("\r\n\r\n") + 4));

test("W-19 a body that is too long is refused by its length, and when it says none by what comes; nothing is done", async () => {
  const at = await serve({ serve: { bounds: { bodyBytes: 1_000 } } });
  const head =
    "POST /api/v1/halt HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer full\r\ncontent-type: application/json\r\nidempotency-key: a\r\n";
  const told = await raw(at.at.port, [`${head}content-length: 5000000000\r\n\r\n`]);
  expect(told).toMatch(/^HTTP\/1\.1 413 /);
  expect(bodyIn(told)).toMatchObject({ kind: "too-large", status: 413 });
  const piece = `3e8\r\n${"x".repeat(1_000)}\r\n`;
  const flood = await raw(at.at.port, [`${head}transfer-encoding: chunked\r\n\r\n`, piece, piece, piece]);
  expect(flood).toMatch(/^HTTP\/1\.1 413 /);
  expect(await at.runtime.halts()).toEqual([]);
});

test("W-19 headers and bodies that trickle in are answered 408 and closed, and others are served meanwhile", async () => {
  const at = await serve({ serve: { bounds: { headersMs: 200, requestMs: 400 } } });
  const slowHeaders = raw(at.at.port, ["GET /livez HTTP/1.1\r\nhost: local"]);
  const slowBody = raw(at.at.port, [
    "POST /api/v1/halt HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer full\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{",
  ]);
  expect((await at.get("/livez", null)).status).toBe(200);
  for (const told of [await slowHeaders, await slowBody]) {
    expect(told).toMatch(/^HTTP\/1\.1 408 /);
    expect(bodyIn(told)).toMatchObject({ kind: "request-timeout" });
  }
});

test("W-19 what is not HTTP, or has endless headers, gets one problem and no connection", async () => {
  const at = await serve();
  expect(await raw(at.at.port, ["EHLO there\r\n\r\n"])).toMatch(/^HTTP\/1\.1 400 /);
  const endless = await raw(at.at.port, ["GET /livez HTTP/1.1\r\nhost: localhost\r\nx: ", "y".repeat(40_000), "\r\n\r\n"]);
  expect(endless).toMatch(/^HTTP\/1\.1 413 /);
});

test("W-19 one more connection than allowed is turned away, those that are there go on, and a place is free again", async () => {
  const at = await serve({ serve: { bounds: { connectionsPerAddress: 2 } } });
  const hello = "GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n";
  const holders = [connect(at.at.port, "127.0.0.1"), connect(at.at.port, "127.0.0.1")];
  const answers = holders.map((socket) => new Promise<string>((resolve) => socket.once("data", (bytes) => resolve(String(bytes)))));
  for (const socket of holders) socket.write(hello);
  for (const answer of await Promise.all(answers)) expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  expect(await raw(at.at.port, [hello])).toMatch(/^(HTTP\/1\.1 503 |$)/);
  const again = new Promise<string>((resolve) => holders[0]?.once("data", (bytes) => resolve(String(bytes))));
  holders[0]?.write(hello);
  expect(await again).toMatch(/^HTTP\/1\.1 200 /);
  await Promise.all(
    holders.map((socket) => new Promise<void>((resolve) => socket.end(() => socket.once("close", () => resolve())).resume())),
  );
  while (at.at.connections() > 0) await new Promise((resolve) => setImmediate(resolve));
  expect((await at.get("/livez", null)).status).toBe(200);
});

const QUIET = { hear: () => {}, gone: () => {}, leave: () => {} };

test("W-19 who asks too often is told how long to wait; who guesses at keys sooner, and by address", async () => {
  const at = await serve({ serve: { bounds: { burst: 3, perSecond: 0.01, strangersBurst: 2, strangersPerSecond: 0.01 } } });
  const known = [];
  for (let i = 0; i < 4; i += 1) known.push(await at.get("/api/v1/me"));
  expect(known.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
  expect(Number(known[3]?.headers.get("retry-after"))).toBeGreaterThan(0);
  const strange = [];
  for (let i = 0; i < 3; i += 1) strange.push((await at.get("/api/v1/me", "guess")).status);
  expect(strange).toEqual([401, 401, 429]);
});

test("W-17 what any page can make a browser ask keeps nobody waiting who shows a key; what is for anybody stays so", async () => {
  const at = await serve({
    serve: { bounds: { strangersBurst: 2, strangersPerSecond: 0.01 }, more: () => ({ talks: { "/ws/v1": () => QUIET } }) },
  });
  const status = async (token: string | null) => (await at.get("/api/v1/me", token)).status;
  const nothing = [];
  for (let i = 0; i < 4; i += 1) nothing.push(await status(null));
  expect(nothing).toEqual([401, 401, 429, 429]);
  for (let i = 0; i < 4; i += 1) {
    const socket = new WebSocket(`${at.at.url.replace("http", "ws")}/ws/v1?token=guess`);
    await new Promise((resolve) => {
      socket.onerror = resolve;
    });
  }
  expect(await status("full")).toBe(200);
  const guesses = [];
  for (let i = 0; i < 3; i += 1) guesses.push(await status("guess"));
  expect(guesses).toEqual([401, 401, 429]);
  for (const path of ["/livez", "/readyz", "/api/v1/health"]) expect((await at.get(path, null)).status).toBe(200);
});

test("W-19 what is kept of those who asked does not grow, and a bucket fills as time goes by", () => {
  const rate = createRateLimit(1, 1, 100);
  for (let i = 0; i < 10_000; i += 1) rate.take(`who-${i}`, i);
  expect(rate.size()).toBeLessThanOrEqual(100);
  expect([rate.take("a", 20_000), rate.take("a", 20_000), rate.take("a", 21_000)]).toEqual([0, 1_000, 0]);
});

test("W-19 counting who asks does not walk through all that asked before: a flood from ever new sources costs each request the same", () => {
  const rate = createRateLimit(20, 1, 1_000);
  const min = Math.min; // what is left of a bucket is worked out with it
  let looked = 0;
  Math.min = (...numbers) => {
    looked += 1;
    return min(...numbers);
  };
  try {
    for (let i = 0; i < 5_000; i += 1) rate.take(`who-${i}`, i / 10);
  } finally {
    Math.min = min;
  }
  expect(looked).toBeLessThanOrEqual(2 * 5_000);
  expect(rate.size()).toBeLessThanOrEqual(1_000);
});

test("W-23 live and ready tell of the journal, without saying where it lies; a journal that takes nothing is not ready", async () => {
  const at = await serve();
  expect(await (await at.get("/readyz", null)).json()).toMatchObject({ status: "ok" });
  await at.runtime.place.store.close();
  const { openHealthChecks: probesOf } = await import("../../operations/health-checks.ts");
  const { NO_LOG } = await import("../../operations/logs.ts");
  const fresh = probesOf({ runtime: at.runtime, isLeaving: () => false, log: NO_LOG });
  const checks = await fresh.ready();
  expect(checks.find(({ name }) => name === "journal-write")).toMatchObject({ ok: false, detail: "journal-unwritable" });
  const live = await at.get("/livez", null);
  expect(live.status).toBe(503);
  expect(await live.text()).not.toContain(at.folder);
});

test("W-21 every answer and every error carries the same headers, its request's id, and nothing to be cached", async () => {
  const at = await serve();
  for (const response of [await at.get("/api/v1/agents"), await at.get("/api/v1/agents", "wrong"), await at.get("/nowhere")]) {
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    expect(response.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  }
});

test("W-14 a request under another name is refused, also for a socket", async () => {
  const at = await serve();
  const told = await raw(at.at.port, [
    "GET /api/v1/agents HTTP/1.1\r\nhost: evil.example\r\nauthorization: Bearer full\r\nconnection: close\r\n\r\n",
  ]);
  expect(told).toMatch(/^HTTP\/1\.1 400 /);
  expect(told).not.toContain("clerk");
  const upgrade =
    "GET /ws/v1 HTTP/1.1\r\nhost: evil.example\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
  expect(await raw(at.at.port, [upgrade])).toMatch(/^HTTP\/1\.1 400 /);
});

test("W-6 who is not known learns nothing of a request's form, and who may not does nothing", async () => {
  const at = await serve();
  const stranger = await at.post("/api/v1/halt", { scope: 7 }, {}, "wrong");
  expect([stranger.status, (await problemIn(stranger)).issues]).toEqual([401, []]);
  const blind = await at.post("/api/v1/halt", { scope: "all", reason: "a" }, {}, "blind");
  expect([blind.status, (await problemIn(blind)).kind]).toEqual([403, "not-permitted"]);
  expect(await at.runtime.halts()).toEqual([]);
  const wrong = await at.post("/api/v1/halt", { scope: 7 });
  expect((await problemIn(wrong)).issues[0]?.path).toBe("scope");
  expect((await at.post("/api/v1/halt", "{", {})).status).toBe(400);
  expect((await at.post("/api/v1/halt", "scope=all", { "content-type": "text/plain" })).status).toBe(415);
  const [method, none] = [await at.post("/api/v1/agents", {}), await at.get("/api/v1/channels")];
  expect([method.status, method.headers.get("allow"), none.status]).toEqual([405, "GET", 404]);
});

test("W-6 no route of the table answers anybody who is not known, but those that are for anybody", async () => {
  const at = await serve({ serve: { bounds: { strangersBurst: 1_000 } } });
  for (const name of OPERATION_NAMES) {
    const route: Operation = OPERATIONS[name];
    const path = `/api/v1${route.path.replaceAll(/\{\w+\}/g, "s_000000000000")}`;
    const response = route.method === "GET" ? await at.get(path, null) : await at.post(path, {}, {}, null);
    await response.text();
    const isOffered = response.status !== 503;
    if (isOffered) expect([name, response.status === 401]).toEqual([name, route.act !== "open"]);
  }
});

test("W-33 a port in use, a host that is none: a line and what to do", async () => {
  const at = await serve();
  const again = serving({ serve: { port: at.at.port } });
  await expect(again).rejects.toSatisfy((e) => isFault(e, "usage") && e.message.includes("in use"));
  const nowhere = serving({ serve: { host: "192.0.2.1" } });
  await expect(nowhere).rejects.toSatisfy((e) => isFault(e, "usage") && e.message.includes("no address of this machine"));
});

/** Answers what it hears, as long as it is there. */
const echo: SocketProtocols = {
  "/ws/v1": (_, __, duplex) => ({
    hear: (text) => void duplex.send(text),
    gone: () => {},
    leave: (problem, again, code = 1001) => {
      void duplex.send(JSON.stringify({ problem, again }));
      duplex.close(code, problem.title);
    },
  }),
};

test("W-29 when it goes, sockets are told why and to come back, the turn in progress is finished, and nothing new is taken", async () => {
  const hold = latch();
  const at = await serving({ hold, serve: { more: () => ({ talks: echo }) } });
  const socket = new WebSocket(`ws://127.0.0.1:${at.at.port}/ws/v1?token=full`);
  await new Promise((resolve) => socket.once("open", resolve));
  const answer = at.post("/api/v1/agents/clerk/execute", { input: "wait" });
  await hold.reached;
  const told = new Promise<string>((resolve) => socket.once("message", (bytes) => resolve(String(bytes))));
  const closed = new Promise<number>((resolve) => socket.once("close", (code) => resolve(code)));
  const leaving = at.at.leave({ finishMs: 5_000, landMs: 1_000, answersMs: 1_000 });
  const refused = await at.post("/api/v1/agents/clerk/execute", { input: "more" });
  expect([refused.status, (await problemIn(refused)).kind]).toEqual([503, "runtime-closed"]);
  expect((await at.get("/readyz", null)).status).toBe(503);
  hold.open();
  expect(await (await answer).json()).toMatchObject({ ending: "completed", output: "wait answered: waited" });
  expect(await leaving).toBe(true);
  expect(JSON.parse(await told)).toMatchObject({ again: true, problem: { kind: "unavailable" } });
  expect(await closed).toBe(1001);
  await expect(fetch(at.at.url)).rejects.toThrow();
  await at.close();
});

test("W-29 a socket that nobody may open is refused as a problem, and binary or oversize frames close it", async () => {
  const at = await serve({ serve: { more: () => ({ talks: echo }) } });
  const refused = new WebSocket(`ws://127.0.0.1:${at.at.port}/ws/v1?token=wrong`);
  const status = await new Promise((resolve) => refused.once("unexpected-response", (_, response) => resolve(response.statusCode)));
  expect(status).toBe(401);
  const socket = new WebSocket(`ws://127.0.0.1:${at.at.port}/ws/v1?token=full`);
  await new Promise((resolve) => socket.once("open", resolve));
  socket.send(Buffer.from([1, 2, 3]));
  expect(await new Promise((resolve) => socket.once("close", resolve))).toBe(1008);
  const large = new WebSocket(`ws://127.0.0.1:${at.at.port}/ws/v1?token=full`);
  await new Promise((resolve) => large.once("open", resolve));
  large.on("error", () => {});
  large.send("x".repeat(33 * 1024 * 1024));
  expect([1009, 1006]).toContain(await new Promise((resolve) => large.once("close", resolve)));
});

const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;

test("W-4 a body, frame or message that is nested without end is a bad request, and nobody else's trouble", async () => {
  const at = await serve();
  for (const body of [nested(5_000), `[${"[".repeat(20_000)}`, '{"scope":"all","scope":"agent:x"}']) {
    const refused = await at.post("/api/v1/halt", body);
    expect([body.slice(0, 20), refused.status, (await problemIn(refused)).kind]).toEqual([body.slice(0, 20), 400, "bad-request"]);
  }
  expect(await at.runtime.halts()).toEqual([]);
  expect(readClientFrame(nested(5_000))).toMatchObject({ kind: "refused", problem: { status: 400 } });
  expect(readChatMessage(nested(5_000))).toMatchObject({ kind: "refused" });
});

test("W-14 a request with two names for the server is refused, whichever comes first", async () => {
  const at = await serve();
  for (const hosts of [
    ["localhost", "evil.example"],
    ["evil.example", "localhost"],
    ["localhost", "localhost"],
  ]) {
    const head = hosts.map((host) => `Host: ${host}\r\n`).join("");
    expect(await raw(at.at.port, [`GET /livez HTTP/1.1\r\n${head}\r\n`])).toMatch(/^HTTP\/1\.1 400 /);
    expect(
      await raw(at.at.port, [
        `GET /ws/v1?token=full HTTP/1.1\r\n${head}connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`,
      ]),
    ).toMatch(/^HTTP\/1\.1 400 /);
  }
});

test("W-20 the history of an agent reads as much of its sessions as it shows", async () => {
  const at = await serve();
  const first = await at.runtime.complete("clerk", "say 0");
  for (let n = 1; n < 150; n += 1) await at.runtime.complete("clerk", `say ${n}`, { session: first.session });
  const { journal } = at.runtime.place.store;
  const read = journal.read.bind(journal);
  let entries = 0;
  Object.assign(journal, {
    read: async (...given: Parameters<typeof read>) => {
      const found = await read(...given);
      entries += given[0] === first.session ? found.length : 0;
      return found;
    },
  });
  type History = { items: { turn: number }[]; next: string | null };
  const page = async (cursor: string | null): Promise<History> =>
    (await at.get(`/api/v1/agents/clerk/history?limit=50${cursor === null ? "" : `&cursor=${cursor}`}`)).json() as Promise<History>;
  const one = await page(null);
  expect(one.items.map(({ turn }) => turn)).toEqual(Array.from({ length: 50 }, (_, i) => 150 - i));
  const all = (await at.runtime.inspect.session(first.session))?.seq ?? 0;
  expect(entries).toBeLessThan(all); // and no more than this, however long the session is
  const two = await page(one.next);
  expect(two.items.map(({ turn }) => turn)).toEqual(Array.from({ length: 50 }, (_, i) => 100 - i));
});
