/** A gate that asks a service before a call is begun. The policies decide first; no answer in time is a no. */
import { createRuntime, defineAgent, defineTool, lateGate, listDecisions, sha256, tableGate } from "orgate";
import * as z from "zod";
import { temporaryFolder } from "./temporary-folder.ts";

const sent: string[] = [];
const send = defineTool({
  name: "send",
  description: "Sends a mail.",
  input: z.strictObject({ to: z.string() }),
  run: async ({ to }) => {
    sent.push(to);
    return "sent";
  },
});
const script = (to: string) => ({ rules: [{ when: { notCalled: ["send"] }, calls: [{ tool: "send", args: { to } }] }, { say: "Done." }] });
const agentFor = (name: string, to: string) =>
  defineAgent({ name, instructions: "Send the mail.", model: "offline/sender", modelOptions: script(to), tools: [send] });

const policies = tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256);
const gate = lateGate({
  name: "mail-desk",
  gate: policies,
  timeoutMs: 200,
  async answer(action, facts) {
    if (action.kind !== "call") return { kind: "allow" };
    const to = String(action.args?.to);
    if (to === "nobody@example.org") return new Promise(() => {}); // a service that hangs
    return to.endsWith("@example.org") ? { kind: "allow" } : { kind: "deny", reason: `${facts.agent} writes to example.org only` };
  },
});

const runtime = await createRuntime({
  directory: temporaryFolder(),
  gate,
  principal: { kind: "user", id: "ada" },
  agents: [agentFor("ok", "ben@example.org"), agentFor("other", "eve@example.com"), agentFor("slow", "nobody@example.org")],
});
for (const name of ["ok", "other", "slow"]) {
  const { events } = await runtime.complete(name, "Send it.");
  for (const { event } of listDecisions(events))
    if (event.action.kind === "call") console.log(name, event.verdict.kind, event.verdict.kind === "deny" ? event.verdict.reason : "");
}
await runtime.close();
console.log(`sent: ${sent.join(" ")}`);
