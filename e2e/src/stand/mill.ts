/**
 * Many sessions in one process, all of them busy and none with an end of its own: some grind (a tool that is a group of processes), some spin
 * (one short call after another), some think (a model call that takes its time). A halt stops them all.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout } from "node:timers/promises";
import { createRuntime, defineAgent, defineTool, type Model, type RunResult, sha256, tableGate } from "orgate";
import * as z from "zod";
import { orders, tell } from "./outlet.ts";
import { PEOPLE_MAY, PERSON } from "./script.ts";

const MILL = "mill";
const WAYS = ["grind", "spin", "think"] as const;
/** Two commits for every so many milliseconds, and of every spinner. */
const SPIN_MS = 10;
const many = Number(process.argv[2]);
const takesUp = process.argv[3] === "and-what-is-left";

/** The group is started, told of, and killed as a whole when the call is stopped. Nothing else ends it. */
async function grind(signal: AbortSignal): Promise<string> {
  const child = spawn("sh", ["-c", "sleep 600 & sleep 600 & wait"], { detached: true, stdio: "ignore" });
  const ended = once(child, "exit");
  await once(child, "spawn");
  const group = child.pid ?? 0;
  signal.addEventListener("abort", () => process.kill(-group, "SIGKILL"), { once: true });
  tell({ kind: "group", group });
  await ended;
  throw new Error("stopped");
}

const input = z.strictObject({ n: z.int() });
const timeoutMs = 300_000;
const tools = [
  defineTool({ name: "grind", description: "grinds", input, repeat: "once", timeoutMs, run: (_, { signal }) => grind(signal) }),
  defineTool({ name: "spin", description: "spins", input, repeat: "read", run: ({ n }) => setTimeout(SPIN_MS, `${n}`) }),
];

const model: Model = {
  id: "mill/endless",
  async ask({ messages }, _preview, signal) {
    const way = messages.flatMap((m) => (m.role === "user" ? [m.text] : [])).at(-1);
    const n = messages.length;
    if (way === "think" && n > 1) await once(signal, "abort");
    const tool = way === "grind" ? "grind" : "spin";
    const usage = { input: 1, output: 1 };
    const part = { kind: "call", id: `c${n}`, tool, text: JSON.stringify({ n }), meta: null } as const;
    return { usage, model: "mill/endless", meta: null, finish: "calls", parts: [part] };
  },
};

const limits = { iterations: 1_000_000, calls: 1_000_000, tokens: 1_000_000_000 };
const gate = tableGate(
  [
    { id: "work", action: "tool:*", verdict: "allow" },
    { id: "think", action: "model", verdict: "allow" },
    { id: "speak", action: "respond", verdict: "allow" },
    ...PEOPLE_MAY,
  ],
  sha256,
);

const runtime = await createRuntime({
  directory: orders.directory,
  agents: [defineAgent({ name: MILL, instructions: "go on", model: model.id, tools, limits })],
  gate,
  principal: { kind: "user", id: PERSON },
  model: () => model,
});
const toDid = ({ session, state, ending, output }: RunResult) => ({ kind: "result", session, state, ending, output }) as const;
const left = takesUp ? await runtime.inspect.sessions({ state: "running", agent: MILL, before: null, most: 100 }) : [];
tell({ kind: "hello", pid: process.pid });
const runs = [
  ...left.map(({ session }) => runtime.resume(session)),
  ...Array.from({ length: many }, (_, i) => runtime.run(MILL, WAYS[i % WAYS.length] ?? "spin")),
];
for (const { result } of runs) void result.then((r) => tell({ kind: "did", job: "run", outcome: toDid(r) }));
await Promise.all(runs.map(({ result }) => result));
await runtime.close();
