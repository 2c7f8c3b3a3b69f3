// @module-tag postgres
/** Several coordinators behind one address: what one has been told or has given out counts at the other, also while it is under way. */
import { randomBytes } from "node:crypto";
import type { AddressInfo } from "node:net";
import { createConnection, createServer, type Socket } from "node:net";
import { openLink } from "@orgate/protocol";
import { afterEach, expect, test } from "vitest";
import { WebSocket } from "ws";
import { testUrl } from "../../../store/postgres/fixtures/schemas.ts";
import { until } from "../fixtures/desk.ts";
import { SLOW_AGENT, startSpokenModel } from "../fixtures/spoken-model.ts";
import { openCluster } from "../fixtures/worker-cases.ts";

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** Hands each new connection to the next server. */
async function openBalancer(servers: readonly string[]) {
  const sockets = new Set<Socket>();
  let next = 0;
  const server = createServer((near) => {
    const target = new URL(servers[next % servers.length] ?? "");
    next += 1;
    const far = createConnection(Number(target.port), target.hostname);
    for (const socket of [near, far]) socket.on("error", () => {});
    sockets.add(near);
    near.pipe(far);
    far.pipe(near);
    near.on("close", () => far.destroy());
    far.on("close", () => near.destroy());
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  ends.push(() => {
    server.close();
    cut();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, cut, given: () => next };
}

/** The numbers of the entries that a client of `/ws/v1` receives, whatever becomes of its connection. */
function followThrough(url: string, token: string, session: string) {
  const places: number[] = [];
  const kinds: string[] = [];
  const link = openLink({
    dial(events) {
      const socket = new WebSocket(`${url.replace("http", "ws")}/ws/v1`, { headers: { authorization: `Bearer ${token}` } });
      socket.on("open", () => events.opened());
      socket.on("message", (text) => events.heard(String(text)));
      socket.on("error", () => {});
      socket.on("close", () => events.closed());
      return { send: (text) => socket.send(text), close: () => socket.close() };
    },
    makeId: () => randomBytes(8).toString("hex"),
    later(ms, run) {
      const timer = setTimeout(run, ms);
      return () => clearTimeout(timer);
    },
  });
  ends.push(() => link.close());
  const entries = (items: readonly object[]): void => {
    for (const item of items as readonly { entry: { seq: number; event: { kind: string } } }[]) {
      places.push(item.entry.seq);
      kinds.push(item.entry.event.kind);
    }
  };
  link.follow({ kind: "session", session } as Parameters<typeof link.follow>[0], { after: 0 }, { entries });
  return { places, kinds };
}

/** Reads server-sent events until one of them says this. */
async function readUntil(answer: Response, said: string): Promise<string> {
  let text = "";
  for await (const bytes of answer.body ?? []) {
    text += new TextDecoder().decode(bytes);
    if (text.includes(said)) break;
  }
  return text;
}
const placesIn = (text: string): readonly number[] => [...text.matchAll(/"stream":"s_[^"]*","seq":(\d+)/g)].map(([, at]) => Number(at));

test("W-5 W-12 W-24 behind a balancer a request is done once though both coordinators have it, streams go on at the other, and what is revoked ends at both at once", async () => {
  const model = await startSpokenModel();
  ends.push(() => model.close());
  const env = { TEST_DATABASE: testUrl(), OLLAMA_BASE_URL: model.url };
  const schema = `b_${randomBytes(6).toString("hex")}`;
  const settings = `[cluster]\ndatabase = { env = "TEST_DATABASE" }\nschema = "${schema}"\n`;
  const edit = (policies: string): string => policies;
  const { ask, servers, token, worker, desk } = await openCluster({ settings, env }, edit, (one) =>
    one.write("agents/slow.ts", SLOW_AGENT),
  );
  await worker();
  const balancer = await openBalancer(servers.map(({ told }) => String(told.url)));

  const headers = { authorization: `Bearer ${token}`, "idempotency-key": `key-${randomBytes(8).toString("hex")}` };
  const execute = (at: number, input: string): Promise<Response> =>
    ask(at, "POST", "/api/v1/agents/slow/execute", { body: { input, waitMs: 60_000 }, headers });
  const both = [execute(0, "tell"), execute(1, "tell")];
  const reply = await model.asked(1);
  expect((await execute(1, "tell something else")).status).toBe(422);
  const { items } = (await (await ask(1, "GET", "/api/v1/sessions")).json()) as { items: { session: string }[] };
  const session = String(items[0]?.session);
  expect(items).toHaveLength(1);

  const follower = followThrough(balancer.url, token, session);
  const bearer = { authorization: `Bearer ${token}`, accept: "text/event-stream" };
  const early = await readUntil(await ask(0, "GET", `/api/v1/sessions/${session}/stream`, { headers: bearer }), "model.asked");
  const last = [...early.matchAll(/^id: ?(.*)$/gm)].at(-1)?.[1] ?? "";
  await until(() => (follower.kinds.includes("model.asked") ? true : null));
  balancer.cut();
  reply.say("Once.");
  reply.finish();
  const [first, second] = await Promise.all(both.map(async (one) => (await one).json() as Promise<Record<string, unknown>>));
  expect([first?.ending, first?.session, second?.session, second?.ending]).toEqual(["completed", session, session, "completed"]);
  expect(await (await execute(0, "tell")).json()).toEqual(await (await execute(1, "tell")).json());
  await until(() => (follower.kinds.includes("turn.ended") ? true : null));
  expect(follower.places).toEqual(follower.places.map((_, i) => i + 1));
  expect(follower.kinds.filter((kind) => kind === "turn.started")).toEqual(["turn.started"]);
  expect(balancer.given()).toBe(2);
  const late = await readUntil(
    await ask(1, "GET", `/api/v1/sessions/${session}/stream`, { headers: { ...bearer, "last-event-id": last } }),
    "turn.ended",
  );
  expect([...placesIn(early), ...placesIn(late)]).toEqual(follower.places);

  for (let round = 0; round < 5; round += 1) {
    const key = { ...headers, "idempotency-key": `key-${randomBytes(8).toString("hex")}` };
    const body = { schedule: `nightly-${round}`, agent: "slow", input: "tell", cron: "0 3 1 1 *" };
    const added = await Promise.all([0, 1, 0, 1].map((at) => ask(at, "POST", "/api/v1/schedules", { body, headers: key })));
    const texts = await Promise.all(added.map((one) => one.text()));
    expect([added[0]?.status, ...new Set(texts)]).toEqual([201, texts[0]]);
    const other = { ...key, "idempotency-key": `key-${randomBytes(8).toString("hex")}` };
    expect((await ask(1, "POST", "/api/v1/schedules", { body, headers: other })).status).toBe(400);
  }

  for (let round = 0; round < 5; round += 1) {
    const made = await desk.within(env, ["keys", "create", "ana", "--api", "--as", "ana", "--json"]);
    const given = JSON.parse(made.stdout) as { token: string; access: string };
    const mine = { headers: { authorization: `Bearer ${given.token}` } };
    expect((await Promise.all([0, 1].map((at) => ask(at, "GET", "/api/v1/sessions", mine)))).map(({ status }) => status)).toEqual([
      200, 200,
    ]);
    const closed = new Promise((end) => {
      const socket = new WebSocket(`${String(servers[1]?.told.url).replace("http", "ws")}/ws/v1`, mine);
      socket.on("error", end).on("close", end);
    });
    await desk.within(env, ["keys", "revoke", given.access, "--reason", "gone", "--as", "ana"]);
    expect((await Promise.all([1, 0].map((at) => ask(at, "GET", "/api/v1/sessions", mine)))).map(({ status }) => status)).toEqual([
      401, 401,
    ]);
    await closed;
  }
}, 300_000);
