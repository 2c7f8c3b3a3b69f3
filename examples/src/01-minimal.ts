/** The smallest run: one agent, one policy that permits, no key, no network. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, defineAgent, sha256, tableGate } from "orgate";

const greeter = defineAgent({
  name: "greeter",
  instructions: "Greet people briefly.",
  model: "offline/greeter",
  modelOptions: { rules: [{ say: "Hello, {{input}}!" }] },
});

const runtime = await createRuntime({
  directory: mkdtempSync(join(tmpdir(), "orgate-")),
  agents: [greeter],
  gate: tableGate([{ id: "talk", action: "*", verdict: "allow" }], sha256),
  principal: { kind: "user", id: "ada" },
});

const { output, ending, usage } = await runtime.complete("greeter", "Ada");
console.log(output, ending, usage.total > 0);
await runtime.close();
