/** An agent that remembers: what it learns in one session helps in the next, with where it came from, and only as far as the policies let. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cedarPolicies, createRuntime, defineAgent, type Model } from "orgate";
import { temporaryFolder } from "./temporary-folder.ts";

const clerk = defineAgent({
  name: "clerk",
  instructions: "Help with the shop. Remember what will still be true tomorrow.",
  model: "cellar/clerk",
  knowledge: { maxItems: 5, threshold: 0.3, keepLearnings: false }, // `true` is the same: all of these are usual
});

const folder = temporaryFolder();
const policies = join(folder, "policies");
mkdirSync(policies);
writeFileSync(
  join(policies, "clerk.cedar"),
  `permit(principal, action in [Action::"model", Action::"respond"], resource);
permit(principal, action == Action::"recall", resource in Scope::"project");
permit(principal, action == Action::"remember", resource == Scope::"agent");
`,
);

// plays a provider: remembers on request, and answers from recalled items
const model: Model = {
  id: "cellar/clerk",
  ask: async ({ messages, context }) => {
    const last = messages.at(-1);
    const said = last?.role === "user" ? last.text : "";
    const fact = { subject: "ladders", predicate: "are kept", object: "on the second floor" };
    return {
      parts: said.startsWith("remember")
        ? [{ kind: "call", id: "c1", tool: "store_knowledge", text: JSON.stringify(fact), meta: null }]
        : [{ kind: "text", text: context.join("\n").match(/"(ladders.*)"/)?.[1] ?? "noted", meta: null }],
      finish: said.startsWith("remember") ? "calls" : "stop",
      usage: { input: 10, output: 10 },
      model: "cellar/clerk",
      meta: null,
    };
  },
};

const runtime = await createRuntime({
  directory: join(folder, "orgate"),
  agents: [clerk],
  model: () => model,
  gate: cedarPolicies({ directory: policies, agents: [clerk] }),
  principal: { kind: "user", id: "ada" },
});
await runtime.complete("clerk", "remember where the ladders are: on the second floor");
const later = await runtime.complete("clerk", "where are the ladders?"); // another session
const [recalled] = later.events.flatMap(({ event }) => (event.kind === "knowledge.recalled" ? event.items : []));
console.log(later.output, "|", recalled?.kind, recalled?.confidence);
await runtime.close();
