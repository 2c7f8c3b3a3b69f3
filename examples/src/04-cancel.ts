/** Cancelling really stops what runs, is journalled, and keeps everything so far. */
import { setTimeout as sleep } from "node:timers/promises";
import { createRuntime, defineAgent, defineTool, sha256, tableGate } from "orgate";
import * as z from "zod";
import { temporaryFolder } from "./temporary-folder.ts";

const slow = defineTool({
  name: "slow_read",
  description: "Reads something slowly.",
  input: z.strictObject({}),
  repeat: "read",
  effects: ["read"],
  run: async (_, { signal }) => {
    await sleep(60_000, undefined, { signal });
    return "never";
  },
});

const reader = defineAgent({
  name: "reader",
  instructions: "Read.",
  model: "offline/reader",
  modelOptions: { rules: [{ calls: [{ tool: "slow_read", args: {} }] }] },
  tools: [slow],
});

const runtime = await createRuntime({
  directory: temporaryFolder(),
  agents: [reader],
  gate: tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256),
  principal: { kind: "user", id: "ada" },
});

const stop = new AbortController();
const result = await runtime.complete("reader", "go", {
  signal: stop.signal,
  on: (live) => {
    if (live.kind === "entry" && live.entry.event.kind === "act.started") stop.abort("lunch");
  },
});
console.log(result.ending, result.detail, result.sentence);
await runtime.close();
