/** Every part that a program may replace: journal store, knowledge store, token counters, circuit breakers, tracer, clock and ids. */
import { randomBytes } from "node:crypto";
import { manualClock, memoryKnowledge, memoryStore } from "@orgate/core/testing";
import {
  approvalId,
  createRuntime,
  defineAgent,
  defineTool,
  intentId,
  type OpenOwnStore,
  sessionId,
  sha256,
  type Tracer,
  tableGate,
  writerId,
} from "orgate";
import * as z from "zod";
import { temporaryFolder } from "./temporary-folder.ts";

// A journal in memory: sealed with the project's keys like the one on disk.
const store: OpenOwnStore = ({ keyFor }) => {
  const writer = writerId("w1");
  const salt = () => randomBytes(16).toString("hex");
  return memoryStore({ writer, hash: sha256, salt, ...keyFor(writer) });
};

const kinds = new Map<string, number>();
const tracer: Tracer = { hear: ({ event }) => void kinds.set(event.kind, (kinds.get(event.kind) ?? 0) + 1) };

let counted = 0;
let calls = 0;
const flaky = defineTool({
  name: "flaky",
  description: "Fails.",
  input: z.strictObject({}),
  repeat: "read",
  run: () => {
    calls += 1;
    return Promise.reject(new Error("down"));
  },
});
const agent = defineAgent({
  name: "clerk",
  instructions: "Try it.",
  model: "offline/clerk",
  modelOptions: { rules: [{ when: { notCalled: ["flaky"] }, calls: [{ tool: "flaky", args: {} }] }, { say: "It is down." }] },
  tools: [flaky],
  tokenizer: "own/letters",
});

let next = 0;
const runtime = await createRuntime({
  directory: temporaryFolder(), // the keys
  agents: [agent],
  gate: tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256),
  principal: { kind: "user", id: "ada" },
  store,
  knowledge: memoryKnowledge(),
  counters: (tokenizer) => {
    if (tokenizer !== "own/letters") return null; // one that is built in
    return (text) => {
      counted += 1;
      return text.length;
    };
  },
  breakers: { "tool:flaky": { failures: 1, openMs: 60_000 } },
  tracer,
  clock: manualClock(),
  ids: {
    session: () => sessionId(`s_${String(++next).padStart(26, "0")}`),
    approval: () => approvalId(`a${++next}`),
    intent: () => intentId(`i${++next}`),
  },
});
const { session, ending } = await runtime.complete("clerk", "Go.");
console.log(session, ending, "counted:", counted > 0);
const [breaker] = await runtime.breakers.list();
await runtime.complete("clerk", "Go again."); // the breaker is open: the tool is not called
console.log(`${breaker?.breaker} ${breaker?.state} | calls: ${calls} | turns traced: ${kinds.get("turn.ended")}`);
await runtime.close();
