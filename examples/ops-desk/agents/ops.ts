/** The agent of the operations desk. It runs on the offline model, which follows the rules below: no key, no network. */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { defineAgent, defineTool } from "orgate";

const desk = dirname(import.meta.dirname);
/** What the tools did to the world, kept by the world and not by the runtime: an honest count of effects. */
const effects = join(desk, "effects.jsonl");

type Effect = { readonly tool: string; readonly key: string; readonly start: number; readonly pid: number };
const happened = (tool: string, key: string, start: number): void => {
  const effect: Effect = { tool, key, start, pid: process.pid };
  appendFileSync(effects, `${JSON.stringify(effect)}\n`);
};
const hasHappened = (key: string): boolean =>
  existsSync(effects) &&
  readFileSync(effects, "utf8")
    .split("\n")
    .some((line) => line !== "" && JSON.parse(line).key === key);

const service = {
  type: "object",
  properties: { service: { enum: ["payments"] } },
  required: ["service"],
  additionalProperties: false,
} as const;

const readLog = defineTool({
  name: "read_log",
  description: "Read the log of a service.",
  input: service,
  effects: ["read"],
  repeat: "read",
  run: ({ service: name }, { key, start }) => {
    happened("read_log", key, start);
    return readFileSync(join(desk, "logs", `${String(name)}.txt`), "utf8");
  },
});

const sendFile = defineTool({
  name: "send_file",
  description: "Send a file to somebody outside.",
  input: {
    type: "object",
    properties: { file: { type: "string" }, to: { type: "string" } },
    required: ["file", "to"],
    additionalProperties: false,
  },
  effects: ["network"],
  run: (_, { key, start }) => {
    happened("send_file", key, start);
    return "sent";
  },
});

/** How long a restart takes. Long enough to be killed in the middle. */
const RESTART_MS = 1_500;

const restartService = defineTool({
  name: "restart_service",
  description: "Restart a service.",
  input: service,
  effects: ["execute"],
  resource: ({ service: name }) => ({ type: "Service", id: String(name) }),
  // After a crash it is asked what became of a restart; it is not run again on a guess.
  repeat: "reconcile",
  run: async ({ service: name }, { key, start, signal }) => {
    happened("restart_service", key, start);
    await pause(RESTART_MS, undefined, { signal });
    return `${String(name)} restarted`;
  },
  reconcile: async ({ service: name }, { key }) =>
    hasHappened(key) ? { kind: "happened", output: `${String(name)} restarted` } : { kind: "did-not-happen" },
});

export const ops = defineAgent({
  name: "ops",
  instructions: "You keep the services of a small shop running. Look before you act, and say what you did.",
  model: "offline/ops",
  modelOptions: {
    delayMs: 12,
    log: join(desk, "model-calls.jsonl"),
    rules: [
      {
        when: { says: "payments" },
        say: "I will look at the log of payments first.",
        calls: [{ tool: "read_log", args: { service: "payments" } }],
      },
      {
        when: { called: ["read_log"], notCalled: ["send_file"] },
        say: "The pool is exhausted and two charges timed out. I will send the affected customers to the vendor.",
        calls: [{ tool: "send_file", args: { file: "customers/affected.csv", to: "support@vendor.example" } }],
      },
      {
        when: { called: ["send_file"], notCalled: ["restart_service"], failed: true },
        say: "Customer data stays here, then. A restart frees the pool.",
        calls: [{ tool: "restart_service", args: { service: "payments" } }],
      },
      {
        when: { called: ["restart_service"] },
        say: "Payments ran out of connections at 02:11 and two charges timed out. I restarted it; no customer data left the desk.",
      },
    ],
  },
  tools: [readLog, sendFile, restartService],
});
