/** The agent of the measured project: one tool waits for a person, the other for a file. The offline model answers at once. */
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { type Agent, defineAgent, defineTool } from "orgate";
import * as z from "zod";

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
