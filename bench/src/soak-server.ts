/** The server of soak and benchmark, in a process of its own: a coordinator on a journal in a temporary folder, and beside it bare servers as floors. */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPerson, createRuntime, defineAgent, ed25519, sha256, tableGate } from "orgate";
import { openSockets } from "orgate/server";
import { WebSocketServer } from "ws";
import { coordinate } from "./coordinator.ts";

const delayMs = Number(process.argv[2] ?? 0);
const folder = mkdtempSync(join(tmpdir(), "orgate-soak-"));
const directory = join(folder, ".orgate");
const clerk = defineAgent({
  name: "clerk",
  instructions: "Repeat what is said.",
  model: "offline/echo",
  modelOptions: { delayMs, rules: [{ when: {}, say: "You said {{input}}, and this is the answer to it, in some twenty words or so." }] },
});
const runtime = await createRuntime({
  directory,
  agents: [clerk],
  gate: tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256),
  principal: { kind: "user", id: "ann" },
  surface: "api",
  thread: "worker",
});
const ann = createPerson(join(folder, "home"), "ann", ed25519);
await runtime.place.keyring.certifyPerson(ann.name, ann.key.publicKey);
const at = await coordinate({ runtime, ann }, (access) => (front, operations) => ({
  talks: openSockets(front, operations, access, () => {}).talks,
}));

const bareHttp = createServer((_, response) => {
  response.setHeader("content-type", "application/json");
  response.end(BODY);
});
const bareSockets = new WebSocketServer({ server: bareHttp, perMessageDeflate: false });
bareSockets.on("connection", (socket) => socket.on("message", (text) => socket.send(String(text))));
await new Promise<void>((resolve) => bareHttp.listen(0, "127.0.0.1", resolve));
const bare = (bareHttp.address() as AddressInfo).port;
let BODY = "{}";

type Order =
  | Readonly<{ kind: "memory" }>
  | Readonly<{ kind: "open"; count: number; perSecond: number }>
  | Readonly<{ kind: "shout"; count: number; perSecond: number; bytes: number }>
  | Readonly<{ kind: "body"; text: string }>
  | Readonly<{ kind: "end" }>;

/** So many a second, by the clock: what is late is made up for. */
async function paced(count: number, perSecond: number, work: (i: number) => Promise<void> | void): Promise<void> {
  const began = performance.now();
  for (let i = 0; i < count; ) {
    const due = Math.min(count, Math.ceil(((performance.now() - began) / 1_000) * perSecond));
    for (; i < due; i += 1) await work(i);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

process.on("message", (order: Order) => void obey(order).then((said) => process.send?.({ kind: order.kind, ...said })));

async function obey(order: Order): Promise<object> {
  switch (order.kind) {
    case "memory": {
      globalThis.gc?.();
      const { rss, heapUsed, external } = process.memoryUsage();
      return { rss, heapUsed, external, driving: at.sessionDriver.driving(), sockets: at.sockets() };
    }
    case "open": {
      const stamp = Date.now();
      const open = async (i: number): Promise<void> => void (await runtime.sessions.create({ agent: "clerk", id: `bench-${stamp}-${i}` }));
      if (order.perSecond < 1e6) await paced(order.count, order.perSecond, open);
      else await Promise.all(Array.from({ length: order.count }, (_, i) => open(i)));
      return {};
    }
    case "shout":
      await paced(order.count, order.perSecond, (i) => {
        const text = JSON.stringify({ at: Date.now(), i, fill: "x".repeat(order.bytes) });
        for (const socket of bareSockets.clients) socket.send(text);
      });
      return {};
    case "body":
      BODY = order.text;
      return {};
    case "end":
      await at.leave({ finishMs: 0, landMs: 5_000, answersMs: 500 });
      await runtime.close();
      rmSync(folder, { recursive: true, force: true });
      setImmediate(() => process.exit(0));
      return {};
  }
}
process.send?.({ kind: "ready", port: at.port, bare });
