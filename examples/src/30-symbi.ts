/** An agent as a file, beside one in code: its own rules decide, and the verdict names the file and the line. */
import { join } from "node:path";
import { cedarPolicies, createRuntime, defineAgent, defineTool, listDecisions, symbiAgents } from "orgate";
import * as z from "zod";
import { temporaryFolder } from "./temporary-folder.ts";

const root = join(import.meta.dirname, "symbi-30");

const readBill = defineTool({
  name: "read_bill",
  description: "Read a bill.",
  input: z.strictObject({ bill: z.string() }),
  effects: ["read"],
  repeat: "read",
  run: ({ bill }) => ({ bill, euros: 20 }),
});
const pay = defineTool({
  name: "pay",
  description: "Pay somebody.",
  input: z.strictObject({ to: z.string(), euros: z.int().min(1) }),
  effects: ["spend"],
  run: ({ to, euros }) => `${euros} euros to ${to}`,
});

const host = defineAgent({ name: "host", instructions: "Greet people.", model: "offline/echo" });
const agents = [host, ...(await symbiAgents({ root, tools: [readBill, pay] }))];

// the project's policies and what the files say, in one set
const gate = cedarPolicies({ directory: join(root, "policies"), agents });
const runtime = await createRuntime({ directory: temporaryFolder(), agents, gate, principal: { kind: "user", id: "ada" } });

const { output, events } = await runtime.complete("payer", "Pay what is due.");
for (const { event } of listDecisions(events)) {
  const { verdict, action, shadow } = event;
  if (action.kind !== "call") continue;
  const why = verdict.kind === "deny" ? verdict.reason : verdict.because.join(", ");
  console.log(`${verdict.kind} ${action.tool}: ${why}${shadow === null ? "" : " (audited)"}`);
}
console.log(output);
await runtime.close();
