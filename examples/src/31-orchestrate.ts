/** Several agents at one task: in a chain, at once, or racing. A plan is one line; who conducts is an agent whose model is that plan. */
import { join } from "node:path";
import { createRuntime, defineAgent, ORCHESTRATOR, ORCHESTRATOR_MODEL, orchestrationText, sha256, tableGate } from "orgate";
import { temporaryFolder } from "./temporary-folder.ts";

const saying = (name: string, say: string) =>
  defineAgent({ name, instructions: "Be brief.", model: `offline/${name}`, modelOptions: { rules: [{ say }] } });

const conductor = defineAgent({
  name: ORCHESTRATOR,
  instructions: "You have other agents work on one task, as the plan says.",
  model: ORCHESTRATOR_MODEL,
  delegates: ["researcher", "writer"],
});

const runtime = await createRuntime({
  directory: join(temporaryFolder(), ".orgate"),
  agents: [conductor, saying("researcher", "It delivers on Mondays."), saying("writer", "In short: {{input}}")],
  gate: tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256), // in a project: policies/conductor.cedar
  principal: { kind: "user", id: "ana" },
});

const plan = {
  kind: "chain",
  members: ["researcher", "writer"],
  task: "When does ACME deliver?",
  rounds: 1,
  budget: { tokens: 20_000 },
} as const;
const chain = await runtime.complete(ORCHESTRATOR, orchestrationText(plan));
console.log(chain.output); // the writer's answer, who was given the researcher's

const race = await runtime.complete(ORCHESTRATOR, '/race researcher writer "When does ACME deliver?"');
console.log(race.output?.split("\n")[0]); // who was first; the other's session has ended `cancelled`

await runtime.close();
