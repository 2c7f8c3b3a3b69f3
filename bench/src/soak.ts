/**
 * `npm run soak`: 1,000 sockets and 100 running turns against one server for ten minutes. It passes when every socket was told every entry of what it follows,
 * once and in order, every turn completed, and the server's memory is where it was.
 * node bench/src/soak.ts [--minutes 10] [--sockets 1000] [--turns 100] [--json]
 */
import { fork } from "node:child_process";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { WebSocket } from "ws";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    sockets: { type: "string", default: "1000" },
    turns: { type: "string", default: "100" },
    json: { type: "boolean", default: false },
  },
});
const [minutes, sockets, turns] = [Number(values.minutes), Number(values.sockets), Number(values.turns)];

type Memory = Readonly<{ rss: number; heapUsed: number; external: number; driving: number; sockets: number }>;
const server = fork(join(import.meta.dirname, "soak-server.ts"), ["100"], {
  execArgv: ["--expose-gc"],
  stdio: ["ignore", "inherit", "inherit", "ipc"],
});
const heard = <T>(kind: string): Promise<T> =>
  new Promise((resolve) => {
    const on = (message: { kind: string }): void => {
      if (message.kind !== kind) return;
      server.off("message", on);
      resolve(message as T);
    };
    server.on("message", on);
  });
const ask = async <T>(kind: string): Promise<T> => {
  const answer = heard<T>(kind);
  server.send({ kind });
  return answer;
};
const { port } = await heard<{ port: number }>("ready");
const base = `http://127.0.0.1:${port}/api/v1`;
let keys = 0;
async function post(path: string, body: object): Promise<{ session: string; ending?: string }> {
  keys += 1;
  const headers = { "content-type": "application/json", "idempotency-key": `soak-${process.pid}-${keys}` };
  const response = await fetch(`${base}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as { session: string };
}

const wrong: string[] = [];
const sessions = await Promise.all(Array.from({ length: turns }, (_, i) => post("/sessions", { agent: "clerk", id: `soak-${i}` })));
/** How far each socket was told. */
const told: number[] = [];
let entries = 0;
let isOver = false; // from then on the server may say that it goes
const open = await Promise.all(
  Array.from({ length: sockets }, async (_, i) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/ws/v1`, { perMessageDeflate: false });
    told[i] = 0;
    socket.on("message", (bytes) => {
      const frame = JSON.parse(String(bytes)) as {
        kind: string;
        after: number;
        to: number;
        items: unknown[];
        problem?: { detail: string };
      };
      if (!isOver && (frame.kind === "error" || frame.kind === "closing")) wrong.push(frame.problem?.detail ?? frame.kind);
      if (frame.kind !== "entries") return;
      if (frame.after !== told[i] || frame.to - frame.after !== frame.items.length)
        wrong.push(`socket ${i}: ${frame.after} after ${told[i]}`);
      told[i] = frame.to;
      entries += frame.items.length;
    });
    await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
    const session = sessions[i % turns]?.session;
    socket.send(
      JSON.stringify({
        kind: "hello",
        version: 1,
        resume: [{ id: "s", to: { kind: "session", session }, after: 0, previews: i % 10 === 0 }],
      }),
    );
    return socket;
  }),
);

const until = performance.now() + minutes * 60_000;
let done = 0;
const talking = sessions.map(async ({ session }) => {
  while (performance.now() < until) {
    const result = await post("/agents/clerk/execute", { input: `round ${done}`, session });
    if (result.ending !== "completed") wrong.push(`a turn ended ${result.ending}`);
    done += 1;
  }
});
const samples: Memory[] = [];
const look = setInterval(() => void ask<Memory>("memory").then((one) => samples.push(one)), Math.max(1_000, (minutes * 60_000) / 120));
await Promise.all(talking);
clearInterval(look);

const last = await Promise.all(
  sessions.map(async ({ session }) => ((await (await fetch(`${base}/sessions/${session}`)).json()) as { seq: number }).seq),
);
const patience = performance.now() + 30_000;
const isBehind = (): boolean => told.some((at, i) => at !== last[i % turns]);
while (isBehind() && performance.now() < patience) await new Promise((resolve) => setTimeout(resolve, 50));
for (const [i, at] of told.entries()) if (at !== last[i % turns]) wrong.push(`socket ${i} was told up to ${at} of ${last[i % turns]}`);
samples.push(await ask<Memory>("memory"));
isOver = true;
for (const socket of open) socket.close();
await ask("end");

const median = (numbers: readonly number[]): number => numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? 0;
const third = Math.max(1, Math.floor(samples.length / 3));
const settled = samples.slice(Math.min(third, samples.length - 1)); // the first third warms up
const half = Math.max(1, settled.length >> 1);
const mb = (bytes: number): number => Math.round(bytes / 1e5) / 10;
const heap = { before: median(settled.slice(0, half).map((s) => s.heapUsed)), after: median(settled.slice(half).map((s) => s.heapUsed)) };
const rss = { before: median(settled.slice(0, half).map((s) => s.rss)), after: median(settled.slice(half).map((s) => s.rss)) };
const growth = heap.after - heap.before;
const isFlat = growth < Math.max(4e6, heap.before * 0.1);
if (!isFlat) wrong.push(`the heap grew from ${mb(heap.before)} to ${mb(heap.after)} MB`);
const report = {
  minutes,
  sockets,
  turns,
  turnsDone: done,
  entriesTold: entries,
  heapMb: { before: mb(heap.before), after: mb(heap.after) },
  rssMb: { before: mb(rss.before), after: mb(rss.after), most: mb(Math.max(...samples.map((s) => s.rss))) },
  samples: samples.length,
  wrong: wrong.slice(0, 20),
};
if (values.json) console.log(JSON.stringify(report, null, 2));
else {
  console.log(`${sockets} sockets, ${turns} running turns, ${minutes} min: ${done} turns, ${entries} entries told, each once and in order`);
  console.log(
    `heap after collection ${report.heapMb.before} → ${report.heapMb.after} MB, RSS ${report.rssMb.before} → ${report.rssMb.after} MB (most ${report.rssMb.most})`,
  );
  for (const one of report.wrong) console.log(`wrong: ${one}`);
}
process.exitCode = wrong.length === 0 ? 0 : 1;
