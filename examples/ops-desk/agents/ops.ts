/** The agent of the operations desk. It runs on the offline model, which follows the rules below: no key, no network. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { defineAgent, defineTool } from "orgate";
import { desk, effects, happened } from "../desk.ts";
import { readLog, service } from "../tools/read-log.ts";

const hasHappened = (key: string): boolean =>
  existsSync(effects) &&
  readFileSync(effects, "utf8")
    .split("\n")
    .some((line) => line !== "" && JSON.parse(line).key === key);

const sendFile = defineTool({
  name: "send_file",
  description: "Send a file to somebody outside.",
  input: {
    type: "object",
    // a plain name in a plain folder, so that what a policy says of a folder holds
    properties: { file: { type: "string", pattern: "^[a-z]+/[a-z0-9-]+[.][a-z]+$" }, to: { type: "string" } },
    required: ["file", "to"],
    additionalProperties: false,
  },
  effects: ["network"],
  resource: ({ file }) => ({ type: "File", id: String(file) }),
  resourceTypes: ["File"],
  run: (_, { key, start }) => {
    happened("send_file", key, start);
    return "sent";
  },
});

const RESTART_MS = 300;
/** How long the bank takes. Long enough to be killed in the middle. */
const CHARGE_MS = 1_500;

const restartService = defineTool({
  name: "restart_service",
  description: "Restart a service.",
  input: service,
  effects: ["execute"],
  resource: ({ service: name }) => ({ type: "Service", id: String(name) }),
  resourceTypes: ["Service"],
  run: async ({ service: name }, { key, start, signal }) => {
    happened("restart_service", key, start);
    await pause(RESTART_MS, undefined, { signal });
    return `${String(name)} restarted`;
  },
});

const retryCharge = defineTool({
  name: "retry_charge",
  description: "Charge a card again after a charge that timed out.",
  input: {
    type: "object",
    properties: { charge: { type: "string", pattern: "^ch_[0-9]+$" }, cents: { type: "integer", minimum: 1 } },
    required: ["charge", "cents"],
    additionalProperties: false,
  },
  effects: ["spend"],
  resource: ({ charge }) => ({ type: "Charge", id: String(charge) }),
  resourceTypes: ["Charge"],
  // After a crash the bank is asked what became of it; no card is charged again on a guess.
  repeat: "reconcile",
  run: async ({ charge }, { key, start, signal }) => {
    happened("retry_charge", key, start);
    await pause(CHARGE_MS, undefined, { signal });
    return `${String(charge)} charged`;
  },
  reconcile: async ({ charge }, { key }) =>
    hasHappened(key) ? { kind: "happened", output: `${String(charge)} charged` } : { kind: "did-not-happen" },
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
        say: "The pool is exhausted, and a charge timed out. I will send the customer's data to the vendor.",
        calls: [{ tool: "send_file", args: { file: "customers/affected.csv", to: "support@vendor.example" } }],
      },
      {
        when: { called: ["send_file"], notCalled: ["restart_service"], failed: true },
        say: "Customer data stays here, then. A restart frees the pool.",
        calls: [{ tool: "restart_service", args: { service: "payments" } }],
      },
      {
        when: { called: ["restart_service"], notCalled: ["retry_charge"], failed: false },
        say: "It is up again. Now the charge that timed out.",
        calls: [{ tool: "retry_charge", args: { charge: "ch_8812", cents: 4990 } }],
      },
      {
        when: { called: ["restart_service"], notCalled: ["retry_charge"], failed: true },
        say: "Payments ran out of connections at 02:11. I was not allowed to restart it: somebody has to.",
      },
      {
        when: { called: ["retry_charge"] },
        say: "Payments had run out of connections: I restarted it and charged ch_8812. No customer data left.",
      },
    ],
  },
  tools: [readLog, sendFile, restartService, retryCharge],
});
