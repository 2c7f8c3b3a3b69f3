/** Manifest tools with a secrets backend and a runner of the program's own: what the contract built is handed over, and nothing else. */
import { join } from "node:path";
import { createRuntime, defineAgent, manifestTools, sha256, tableGate } from "orgate";
import { temporaryFolder } from "./temporary-folder.ts";

const directory = temporaryFolder();
const vault = new Map([["chat_token", "from-the-vault"]]);
const tools = manifestTools({
  root: join(import.meta.dirname, "manifests-24"),
  directory,
  secrets: async (name) => vault.get(name),
  running: {
    async run(invocation) {
      if (invocation.kind !== "process") return { kind: "refused", reason: "only programs run here", hint: "use another tool" };
      console.log("asked to run:", invocation.argv.slice(0, 2).join(" "));
      return { kind: "exited", code: 0, signal: null, stdout: "11 notes.txt", stderr: "", truncated: false, durationMs: 1 };
    },
  },
});

const clerk = defineAgent({
  name: "clerk",
  instructions: "Count words.",
  model: "offline/clerk",
  modelOptions: {
    rules: [{ when: { notCalled: ["count_words"] }, calls: [{ tool: "count_words", args: { file: "notes.txt" } }] }, { say: "Counted." }],
  },
  tools,
});
const runtime = await createRuntime({
  directory,
  agents: [clerk],
  gate: tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256),
  principal: { kind: "user", id: "ada" },
});
const { events, ending } = await runtime.complete("clerk", "How many words are in the notes?");
const outcomes = events.flatMap(({ event }) => (event.kind === "act.ended" ? [event.outcome.kind] : []));
console.log(ending, outcomes.join(" "));
await runtime.close();
