/** The smallest run: one agent, one policy that permits, no key, no network. */
import { createRuntime, defineAgent, sha256, tableGate } from "orgate";
import { temporaryFolder } from "./temporary-folder.ts";

const greeter = defineAgent({
  name: "greeter",
  instructions: "Greet people briefly.",
  model: "offline/greeter",
  modelOptions: { rules: [{ say: "Hello, {{input}}!" }] },
});

const runtime = await createRuntime({
  directory: temporaryFolder(),
  agents: [greeter],
  gate: tableGate([{ id: "talk", action: "*", verdict: "allow" }], sha256),
  principal: { kind: "user", id: "ada" },
});

const { output, ending, usage } = await runtime.complete("greeter", "Ada");
console.log(output, ending, usage.total > 0);
await runtime.close();
