/** Your own context plan, beside window, mask and summarise: it says what the model is shown once the conversation no longer fits. The journal keeps everything. */
import { createRuntime, defineAgent, type OwnContextPlan, sha256, tableGate } from "orgate";
import { temporaryFolder } from "./temporary-folder.ts";

/** Shows what was asked earlier as a list of headlines, and the newest exchange whole. */
const headlines: OwnContextPlan = ({ messages, replaced }) => {
  const upTo = messages.length - 2;
  const asked = messages.slice(0, upTo).flatMap(({ role, text }) => (role === "user" ? [text.slice(0, 9)] : []));
  return { kind: "replace", upTo, text: [replaced ?? "asked before:", ...asked].join(" ") };
};

const runtime = await createRuntime({
  directory: temporaryFolder(),
  agents: [
    defineAgent({
      name: "echo",
      instructions: "Repeat.",
      model: "offline/echo",
      context: { kind: "own", plan: "headlines" },
      limits: { contextTokens: 600 },
    }),
  ],
  contextPlans: { headlines },
  gate: tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256),
  principal: { kind: "user", id: "ada" },
});
const { session } = await runtime.complete("echo", `chapter 1 ${"and so on ".repeat(60)}`);
for (const n of [2, 3, 4]) await runtime.complete("echo", `chapter ${n} ${"and so on ".repeat(60)}`, { session });

for await (const { event } of runtime.inspect.events(session))
  if (event.kind === "context.compacted") console.log(event.how, event.model, event.after < event.before ? "smaller" : "larger");
const { messages } = await runtime.inspect.state(session);
console.log(`kept in the journal: ${messages.length} messages`);
await runtime.close();
