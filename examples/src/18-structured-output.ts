/** An agent that answers with a value: asked for by a schema, checked before it is delivered, typed here. Tools come first, as always. */
import { createRuntime, defineAgent, defineTool, sha256, tableGate } from "orgate";
import * as z from "zod";
import { temporaryFolder } from "./temporary-folder.ts";

const orders = defineTool({
  name: "find_order",
  description: "Finds an order by its number.",
  input: z.strictObject({ order: z.string() }),
  repeat: "read",
  effects: ["read"],
  run: ({ order }) => ({ order, customer: "Ada", cents: 1250 }),
});

const Refund = z.object({
  customer: z.string(),
  cents: z.int().min(1),
  reason: z.enum(["broken", "late", "other"]),
});

const desk = defineAgent({
  name: "desk",
  instructions: "Say what is to be paid back, to whom and why.",
  tools: [orders],
  output: Refund,
  model: "offline/desk",
});

const runtime = await createRuntime({
  directory: temporaryFolder(),
  agents: [desk],
  gate: tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256),
  principal: { kind: "user", id: "ada" },
});

// the agent itself, rather than its name, says which type the value has
const { value, ending } = await runtime.complete(desk, 'Find the order "o-17": it came late.');
if (value !== null) console.log(ending, value.customer, (value.cents / 100).toFixed(2), value.reason);

// a run may want something else than its agent says, for this one turn
const urgent = await runtime.complete(desk, "Is it urgent? I say no.", { output: z.enum(["yes", "no"]) });
console.log(urgent.value);
await runtime.close();
