/** The agents of the measured project, whose offline model answers at once. The clerk's tools wait for a person and for a file; the counter's turn is as long as its input says. */
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { type Agent, defineAgent, defineTool } from "orgate";
import * as z from "zod";
import { LIMITS, RESULT_CHARS } from "../workload.ts";

const none = z.strictObject({});
const wire = defineTool({ name: "wire", description: "wires it", input: none, repeat: "read", run: () => "wired" });
const hold = defineTool({
  name: "hold",
  description: "runs until the file is there",
  input: none,
  repeat: "read",
  run: async (_, { signal }) => {
    while (!existsSync(process.env.ORGATE_BENCH_GO ?? "")) await sleep(20, undefined, { signal });
    return "held";
  },
});

const clerk: Agent = defineAgent({
  name: "clerk",
  instructions: "Do as you are told.",
  model: "offline/clerk",
  tools: [wire, hold],
  modelOptions: {
    rules: [
      { when: { says: "wire" }, calls: [{ tool: "wire" }] },
      { when: { says: "hold" }, calls: [{ tool: "hold" }] },
      { when: {}, say: "Done." },
    ],
  },
});
export default clerk;

const step = defineTool({
  name: "step",
  description: "goes a step down",
  input: z.strictObject({ from: z.union([z.int(), z.string()]), note: z.string() }),
  repeat: "read",
  run: ({ from }) => ({ left: Number(from) - 1, pad: "r".repeat(RESULT_CHARS) }),
});
const note = "x".repeat(150);

/** "count N": N iterations with a call, and one that answers. */
export const counter: Agent = defineAgent({
  name: "counter",
  instructions: "Count down.",
  model: "offline/counter",
  tools: [step],
  limits: LIMITS,
  modelOptions: {
    rules: [
      { when: { result: '"left":0\\b' }, say: "Done." },
      { when: { called: ["step"] }, calls: [{ tool: "step", args: { from: "{{results.step.left}}", note } }] },
      { when: { says: "count (\\d+)" }, calls: [{ tool: "step", args: { from: "{{1}}", note } }] },
    ],
  },
});
