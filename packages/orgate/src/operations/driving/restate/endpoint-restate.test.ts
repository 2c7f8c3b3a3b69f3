// @module-tag postgres
/** The handlers on a real Restate: who is asked to drive, and how often. What they drive is scripted; that driving twice is harmless is the store's to prove. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { SessionId } from "@orgate/core";
import { afterAll, expect, test } from "vitest";
import type { RestateConfig } from "../../../config/restate-schema.ts";
import { type RestatePorts, serveRestate } from "./endpoint.ts";
import { openSummons } from "./summons.ts";

const closing: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closing.reverse()) await close();
});
const [ingress = "", admin = "", identity = ""] = (process.env.ORGATE_TEST_RESTATE ?? "").split(" ");

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return port;
}

const session = (name: string) => `s_${name.padEnd(26, "0")}` as SessionId;

const newSchema = (): string => `t_${randomBytes(6).toString("hex")}`;

async function serve(given: Partial<RestatePorts>, more: Partial<RestateConfig> = {}, schema = newSchema()) {
  const config: RestateConfig = { ingress, admin, endpoint: null, host: "127.0.0.1", port: 0, identity: [], ...more };
  const failed: unknown[] = [];
  const fail = (error: unknown): void => void failed.push(error);
  const ports: RestatePorts = {
    advance: async () => ({ againMs: null }),
    look: async () => ({ kind: "free" }),
    fire: async () => {},
    failed: fail,
    ...given,
  };
  const endpoint = await serveRestate(config, schema, ports);
  closing.push(endpoint.close);
  const summons = openSummons({ schema, restate: config }, (_, error) => fail(error));
  if (summons === null) throw new Error("there is a Restate");
  return { endpoint, schema, failed, ...summons };
}

test("a session that nobody drives is advanced, and looked at again when something is due", async () => {
  const advanced: SessionId[] = [];
  const { summon, failed } = await serve({
    advance: async (one) => ({ againMs: advanced.push(one) < 3 ? 50 : null }),
    look: async () => ({ kind: "free" }),
  });
  summon(session("due"));
  await expect.poll(() => advanced.length).toBe(3);
  expect([new Set(advanced), failed]).toEqual([new Set([session("due")]), []]);
});

test("nothing queues behind a running turn: messages for it look, and do not wait", async () => {
  const turn = Promise.withResolvers<void>();
  const seen = { advances: 0, looks: 0 };
  let isHeld = false;
  const { summon } = await serve({
    async advance() {
      seen.advances += 1;
      isHeld = true;
      await turn.promise;
      isHeld = false;
      return { againMs: null };
    },
    look: async () => {
      seen.looks += 1;
      return isHeld ? { kind: "held", againMs: null } : { kind: "free" };
    },
  });
  summon(session("busy"));
  await expect.poll(() => seen.advances).toBe(1);
  for (let n = 2; n <= 10; n += 1) {
    summon(session("busy"));
    await expect.poll(() => seen.looks).toBe(n);
  }
  turn.resolve();
  expect(seen.advances).toBe(1);
});

test("a worker that goes away during a turn is replaced by another behind the same address", async () => {
  const links = new Set<Socket>();
  let target = 0;
  const balancer = createServer((socket) => {
    links.add(socket.on("error", () => {}));
    const on = connect(target, "127.0.0.1").on("error", () => socket.destroy());
    on.on("close", () => socket.destroy());
    socket.on("close", () => on.destroy());
    socket.pipe(on).pipe(socket);
  }).listen(0, "127.0.0.1");
  await once(balancer, "listening");
  closing.push(() => {
    for (const link of links) link.destroy();
    balancer.close();
  });
  const { port } = balancer.address() as AddressInfo;
  const schema = newSchema();
  const behind = { endpoint: `http://127.0.0.1:${port}` };
  const [portA, portB] = [await freePort(), await freePort()];
  const begun: string[] = [];
  const look: RestatePorts["look"] = async () => ({ kind: "free" });
  target = portA;
  const a = await serve({ advance: () => new Promise(() => begun.push("a")), look }, { ...behind, port: portA }, schema);
  a.summon(session("moved"));
  await expect.poll(() => begun).toEqual(["a"]);
  target = portB;
  await serve({ advance: async () => ({ againMs: begun.push("b") > 0 ? null : 0 }), look }, { ...behind, port: portB }, schema);
  await a.endpoint.close();
  await expect.poll(() => begun, { timeout: 30_000 }).toEqual(["a", "b"]);
});

test("schedules are fired once for a moment, whoever asks, when the time has come", async () => {
  const fired: number[] = [];
  const one = await serve({ fire: async () => void fired.push(Date.now()) });
  const config: RestateConfig = { ingress, admin, endpoint: null, host: "", port: 0, identity: [] };
  const other = openSummons({ schema: one.schema, restate: config }, () => {});
  const due = Date.now() + 2_000;
  for (const each of [one, other, one]) each?.fireAt(due);
  await expect.poll(() => fired.length, { timeout: 20_000 }).toBe(1);
  one.fireAt(due + 1);
  await expect.poll(() => fired.length, { timeout: 20_000 }).toBe(2);
  expect(fired[0]).toBeGreaterThanOrEqual(due - 50);
});

test("an advance that fails is tried again; one that keeps failing is given up, and what comes after it is heard", async () => {
  let tries = 0;
  const { summon } = await serve({
    advance: async () => {
      tries += 1;
      if (tries <= 8) throw new Error("the database is away");
      return { againMs: null };
    },
  });
  summon(session("again"));
  await expect.poll(() => tries, { timeout: 20_000 }).toBeGreaterThan(1);
  summon(session("again"));
  await expect.poll(() => tries, { timeout: 50_000 }).toBe(9);
});

test("a name that is no session's is answered in one line, and so is a Restate that refuses", async () => {
  const { schema } = await serve({});
  const answer = await fetch(`${ingress}/orgate-${schema}/nobody/wake`, { method: "POST" });
  expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining("is not the id of a session")]);
  const config = { ingress, admin, host: "127.0.0.1", port: 0, identity: [] };
  const ports: RestatePorts = {
    advance: async () => ({ againMs: null }),
    look: async () => ({ kind: "free" }),
    fire: async () => {},
    failed: () => {},
  };
  await expect(serveRestate({ ...config, admin: ingress, endpoint: null }, "none", ports)).rejects.toThrow(
    `Restate at ${ingress} does not take this worker`,
  );
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  closing.push(() => taken.close());
  const { port } = taken.address() as AddressInfo;
  await expect(serveRestate({ ...config, endpoint: null, port }, "none", ports)).rejects.toThrow(
    "a worker cannot listen for Restate on 127.0.0.1",
  );
});

test("a worker that begins before Restate does is registered when Restate is there", async () => {
  const failed: unknown[] = [];
  const [from, to] = [await freePort(), admin];
  const early = await serve({ failed: (error) => void failed.push(error) }, { admin: `http://127.0.0.1:${from}` });
  expect(String(failed[0])).toContain("does not take this worker");
  const door = createServer((socket) => {
    const on = connect(Number(new URL(to).port), "127.0.0.1");
    socket
      .on("error", () => on.destroy())
      .pipe(on.on("error", () => socket.destroy()))
      .pipe(socket);
  }).listen(from, "127.0.0.1");
  closing.push(() => door.close());
  const looked = async (): Promise<number> =>
    (await fetch(`${ingress}/orgate-${early.schema}/${session("early")}/wake`, { method: "POST" })).status;
  await expect.poll(looked, { timeout: 30_000, interval: 500 }).toBe(200);
});

test("a worker that registers again is asked in place of the one that registered after it and is gone", async () => {
  const schema = newSchema();
  const begun: string[] = [];
  const look: RestatePorts["look"] = async () => ({ kind: "free" });
  const advanceAs = (name: string) => async () => ({ againMs: begun.push(name) > 0 ? null : 0 });
  const first = await serve({ advance: advanceAs("first"), look }, {}, schema);
  const last = await serve({ advance: advanceAs("last"), look }, {}, schema);
  last.summon(session("one"));
  await expect.poll(() => begun).toEqual(["last"]);
  await last.endpoint.close();
  first.endpoint.register();
  first.endpoint.register();
  await expect
    .poll(
      () => {
        first.summon(session("two"));
        return begun;
      },
      { timeout: 30_000, interval: 500 },
    )
    .toContain("first");
  expect(first.failed).toEqual([]);
});

/** The public half of a key that nobody has. */
const STRANGER = "publickeyv1_EineASopLzibdctRQMQdDf3iQcs4C9W7jr8Sp6DHkguM";

test("a worker that knows the key of its Restate answers it, and nobody else: not another Restate, and not what is sent unsigned", async () => {
  const advanced: SessionId[] = [];
  const { endpoint, schema, summon } = await serve(
    { advance: async (one) => ({ againMs: advanced.push(one) > 0 ? null : 0 }) },
    { identity: [identity] },
  );
  summon(session("signed"));
  await expect.poll(() => advanced).toEqual([session("signed")]);
  const client = connectHttp2(endpoint.url);
  closing.push(() => client.destroy());
  const unsigned = client.request({ ":method": "POST", ":path": `/invoke/orgate-${schema}/advance` });
  unsigned.end();
  const [headers] = await once(unsigned, "response");
  expect([headers[":status"], advanced.length]).toEqual([401, 1]);
  const { failed } = await serve({}, { identity: [STRANGER] });
  expect(String(failed[0])).toMatch(/does not take this worker.*401 Unauthorized/);
});
