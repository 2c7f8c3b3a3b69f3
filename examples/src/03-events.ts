/** A run as it happens: an async iterator of entries (once they are durable) and previews (while words arrive). */
import { createRuntime, defineAgent, sha256, tableGate } from "orgate";
import { temporaryFolder } from "./temporary-folder.ts";

const poet = defineAgent({
  name: "poet",
  instructions: "Write one line.",
  model: "offline/poet",
  modelOptions: { rules: [{ say: "The gate is shut, the ledger knows, and nothing passes that nobody chose." }] },
});

const runtime = await createRuntime({
  directory: temporaryFolder(),
  agents: [poet],
  gate: tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256),
  principal: { kind: "user", id: "ada" },
});

const run = runtime.run("poet", "a line, please");
let words = "";
for await (const live of run) {
  if (live.kind === "preview") words += live.preview.text;
  else console.log(live.entry.seq, live.entry.event.kind);
}
const { output } = await run.result;
console.log(words === output ? "the previews were the answer" : "they were not");
await runtime.close();
