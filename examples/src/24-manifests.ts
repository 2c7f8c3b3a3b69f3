/** Tools without code: manifests of a folder. One call runs in the sandbox, one is refused by its contract, one waits for a person. */
import { join } from "node:path";
import { createRuntime, defineAgent, manifestTools, sha256, tableGate } from "orgate";
import { temporaryFolder } from "./temporary-folder.ts";

const directory = temporaryFolder();
const tools = manifestTools({ root: join(import.meta.dirname, "manifests-24"), directory });

const clerk = defineAgent({
  name: "clerk",
  instructions: "Count words and tell the team.",
  model: "offline/clerk",
  modelOptions: {
    rules: [
      { when: { notCalled: ["count_words"] }, calls: [{ tool: "count_words", args: { file: "../24-manifests.ts" } }] },
      { when: { called: ["count_words"], failed: true }, calls: [{ tool: "count_words", args: { file: "notes.txt" } }] },
      { when: { called: ["count_words"] }, calls: [{ tool: "notify", args: { text: 'there are 11 words, said "clerk"' } }] },
    ],
  },
  tools,
});

const actions = ["tool:count_words", "tool:notify", "model", "respond"];
const runtime = await createRuntime({
  directory,
  agents: [clerk],
  gate: tableGate(
    actions.map((action) => ({ id: action, action, verdict: "allow" as const })),
    sha256,
  ),
  principal: { kind: "user", id: "ada" },
});
const { events, questions } = await runtime.complete("clerk", "How many words are in the notes?");
for (const { event } of events) {
  if (event.kind === "gate.decided" && event.verdict.kind === "deny") console.log("refused:", event.verdict.reason);
  if (event.kind === "act.ended") console.log("ran:", JSON.stringify(event.evidence.proof?.["exitStatus"]), JSON.stringify(event.outcome));
}
console.log("waiting:", questions[0]?.asks[0]?.question);
await runtime.close();
