/** A skill prompter: your own text presents an agent's skills to the model, in place of a list of names and descriptions. */
import { createRuntime, defineAgent, defineSkill, type Model, type SkillPrompter, sha256, tableGate } from "orgate";
import { temporaryFolder } from "./temporary-folder.ts";

const skillPrompter: SkillPrompter = (skills, tool) => `Before you answer, call ${tool} for: ${skills.map(({ name }) => name).join(", ")}.`;

/** Shows the line that the model reads. */
const model: Model = {
  id: "own/mirror",
  async ask({ system }) {
    const line = system.split("\n").find((one) => one.startsWith("Before")) ?? "nothing";
    return {
      parts: [{ kind: "text", text: line, meta: null }],
      finish: "stop",
      usage: { input: 1, output: 1 },
      model: "own/mirror",
      meta: null,
    };
  },
};
const refunds = defineSkill({ name: "refunds", description: "How orders are paid back.", instructions: "Up to 50, pay at once." });
const runtime = await createRuntime({
  directory: temporaryFolder(),
  agents: [defineAgent({ name: "clerk", instructions: "Serve customers.", skills: [refunds], skillPrompter })],
  model: () => model,
  gate: tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256),
  principal: { kind: "user", id: "ada" },
});
const { output } = await runtime.complete("clerk", "Pay order o-1 back.");
console.log(output);
await runtime.close();
