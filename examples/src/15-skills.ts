/** Skills: the model sees a name and a description, reads the rest when it needs it, and uses what the skill brings; policies decide both. */
import { createRuntime, defineAgent, defineSkill, defineTool, listDecisions, sha256, tableGate } from "orgate";
import * as z from "zod";
import { temporaryFolder } from "./temporary-folder.ts";

const paid: string[] = [];

const refund = defineTool({
  name: "refund",
  description: "Pay an order back.",
  input: z.strictObject({ order: z.string() }),
  effects: ["spend"],
  resource: ({ order }) => ({ type: "Order", id: order }),
  run: ({ order }) => paid.push(order),
});

const refunds = defineSkill({
  name: "refunds",
  description: "How orders are paid back. Read it before any refund.",
  instructions: "Look the order up. Up to 50 call `refund`; above that, see limits.md first.",
  files: { "limits.md": "Above 50 a person decides." },
  tools: [refund], // they join the agent's tools, and are gated like any other
});

const clerk = defineAgent({
  name: "clerk",
  instructions: "Serve customers.",
  model: "offline/clerk",
  modelOptions: {
    rules: [
      { when: { notCalled: ["load_skill"] }, calls: [{ tool: "load_skill", args: { name: "refunds" } }] },
      { when: { called: ["load_skill"], notCalled: ["refund"] }, calls: [{ tool: "refund", args: { order: "o-1" } }] },
      { when: { called: ["refund"], failed: true }, say: "I know how, and may not." },
      { when: { called: ["refund"] }, say: "Paid back." },
    ],
  },
  skills: [refunds], // or by name: a folder of the project
});

console.log(clerk.instructions); // what the model is shown of the skill before it reads it

async function serve(spending: "allow" | "deny"): Promise<void> {
  const runtime = await createRuntime({
    directory: temporaryFolder(),
    agents: [clerk],
    gate: tableGate(
      [
        { id: "spending", action: "tool:refund", verdict: spending, say: "ask finance" },
        { id: "the-rest", action: "*", verdict: "allow" },
      ],
      sha256,
    ),
    principal: { kind: "user", id: "ada" },
  });
  const { output, events } = await runtime.complete("clerk", "Please pay order o-1 back.");
  const decided = listDecisions(events).flatMap(({ event }) =>
    event.action.kind === "call" ? [`${event.action.tool} ${event.verdict.kind}`] : [],
  );
  console.log([output, ...decided, `paid: ${paid.length}`].join(" | "));
  await runtime.close();
}

await serve("deny");
await serve("allow");
