/**
 * Several agents on one task. The line goes to the orchestrator in its own session; the addressed agent stays the same.
 * S-20 what is typed becomes the same plan as the command's CLI twin says; what cannot be is said with the reason, and nothing is begun.
 */
import { ORCHESTRATOR, type OrchestrationKind, orchestrationText, readOrchestration } from "@orgate/core/vocab";
import type { Shell } from "../contract.ts";
import { visible } from "../terminal/visible.ts";
import type { ShellCommand } from "./command.ts";

const orchestrate =
  (kind: OrchestrationKind) =>
  async (rest: string, shell: Shell): Promise<void> => {
    const read = readOrchestration(`/${kind} ${rest}`, "typed");
    if (read.kind !== "plan")
      return shell.say(read.kind === "wrong" ? `${visible(read.detail)}; \`/${kind} help\` shows how` : `\`/${kind} help\` shows how`);
    await shell.refreshAgents();
    const why = whyNot(shell, read.plan.members);
    if (why !== null) return shell.say(why);
    await shell.runInNewSession(ORCHESTRATOR, orchestrationText(read.plan));
  };

function whyNot(shell: Shell, members: readonly string[]): string | null {
  const conductor = shell.agents().find(({ name }) => name === ORCHESTRATOR);
  if (conductor === undefined)
    return `this project has no agent \`${ORCHESTRATOR}\`: a new project of \`orgate init\` has agents/conductor.toml and policies/conductor.cedar to copy`;
  const unknown = members.find((one) => !conductor.delegates.includes(one));
  if (unknown === undefined) return null;
  return `\`${visible(unknown)}\` is not among those that the conductor may have work; there are: ${conductor.delegates.map(visible).join(", ") || "none"}`;
}

const BUDGET =
  "`--budget 20000` (tokens; or tokens=…,iterations=…,calls=…,cents=…) is for all of them together. Each member works in a session of its own.";
const USAGE = 'A B … [--budget N] "TASK"';

export const ORCHESTRATE_COMMANDS: readonly ShellCommand[] = [
  {
    name: "chain",
    byHand: "it is a message to the orchestrator",
    usage: USAGE,
    summary: "run agents one after the other, each with the answer of the one before",
    more: [BUDGET, "A member that does not complete ends it. As `orgate chain`."],
    takes: ["agent"],
    run: orchestrate("chain"),
  },
  {
    name: "parallel",
    byHand: "it is a message to the orchestrator",
    usage: USAGE,
    summary: "run agents on the same task, all at once",
    more: [BUDGET, "Who did not complete is named beside the answers of those who did. As `orgate parallel`."],
    takes: ["agent"],
    run: orchestrate("parallel"),
  },
  {
    name: "race",
    byHand: "it is a message to the orchestrator",
    usage: USAGE,
    summary: "run agents all at once; the first that completes is enough",
    more: [BUDGET, "The others are cancelled, their tools included. As `orgate race`."],
    takes: ["agent"],
    run: orchestrate("race"),
  },
  {
    name: "debate",
    byHand: "it is a message to the orchestrator",
    usage: 'A B [ROUNDS] [--budget N] "TOPIC"',
    summary: "run two agents by turns, each with what the other said last",
    more: [BUDGET, "Two rounds unless you say otherwise. As `orgate debate`."],
    takes: ["agent"],
    run: orchestrate("debate"),
  },
];
