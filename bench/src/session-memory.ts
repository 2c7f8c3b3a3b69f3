/**
 * What a session costs in memory: idle (its turn has ended, nobody holds it) and active (a call is running). Run with --expose-gc; not timed.
 * node --expose-gc bench/src/session-memory.ts [SESSIONS]
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, defineAgent, defineTool, sha256, tableGate } from "orgate";
import { bytesInUse } from "./measure.ts";

const many = Number(process.argv[2] ?? 1_000);
const folder = mkdtempSync(join(tmpdir(), "orgate-memory-"));
const { promise: letGo, resolve: goOn } = Promise.withResolvers<void>();
let running = 0;
const wait = defineTool({
  name: "wait",
  description: "waits",
  input: { type: "object", properties: {}, additionalProperties: false },
  repeat: "read",
  timeoutMs: 600_000,
  run: async () => {
    running += 1;
    await letGo;
    return "waited";
  },
});
const agent = defineAgent({
  name: "echo",
  instructions: "Repeat.",
  model: "offline/echo",
  tools: [wait],
  modelOptions: {
    rules: [
      { when: { says: "wait", notCalled: ["wait"] }, calls: [{ tool: "wait" }] },
      { when: {}, say: "You said: {{input}}" },
    ],
  },
});
const runtime = await createRuntime({
  directory: folder,
  agents: [agent],
  gate: tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256),
  principal: { kind: "user", id: "bench" },
  powerCut: "lose-last-moments",
});

const each = (bytes: number): number => Math.round(bytes / many);
const turns = (input: string) => Array.from({ length: many }, (_, i) => runtime.run("echo", `${input} ${i}`));

await Promise.all(turns("warm up").map((run) => run.result));
const before = await bytesInUse();
await Promise.all(turns("again").map((run) => run.result));
const idle = (await bytesInUse()) - before;
let active = turns("wait");
while (running < many) await new Promise((turn) => setTimeout(turn, 10));
const busy = (await bytesInUse()) - before;
goOn();
await Promise.all(active.map((run) => run.result));
active = [];
const after = (await bytesInUse()) - before;
console.log(JSON.stringify({ sessions: many, idleBytes: each(idle), activeBytes: each(busy), afterBytes: each(after) }));
await runtime.close();
rmSync(folder, { recursive: true, force: true });
