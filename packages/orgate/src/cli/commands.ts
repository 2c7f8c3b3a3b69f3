/** Every command, as data, in the order of help. Modules are loaded by the command that runs: the others cost nothing. */
import type { CommandSpec } from "@orgate/shell/terminal";
import { orchestrations } from "./commands-orchestrate.ts";
import { agentsCommands, skillsCommands, toolsCommands } from "./table/agents.ts";
import {
  approvalsCommands,
  breakersCommands,
  deadLettersCommands,
  haltCommands,
  haltsCommands,
  knownCommands,
  resumeWorkCommands,
} from "./table/approvals.ts";
import { journalCommands } from "./table/journal.ts";
import { keysCommands } from "./table/keys.ts";
import { knowledgeCommands } from "./table/knowledge.ts";
import { AS } from "./table/options.ts";
import { policyCommands } from "./table/policies.ts";
import {
  callCommands,
  completionCommands,
  demoCommands,
  devCommands,
  doctorCommands,
  initCommands,
  mcpCommands,
  migrateCommands,
  secretsCommands,
  shellCommands,
  trustCommands,
  upCommands,
} from "./table/project.ts";
import { schedulesCommands } from "./table/schedules.ts";
import { runCommands, sessionsCommands } from "./table/sessions.ts";

export const COMMANDS: readonly CommandSpec[] = [
  ...runCommands,
  ...orchestrations(AS),
  ...sessionsCommands,
  ...journalCommands,
  ...keysCommands,
  ...initCommands,
  ...agentsCommands,
  ...policyCommands,
  ...toolsCommands,
  ...secretsCommands,
  ...skillsCommands,
  ...trustCommands,
  ...mcpCommands,
  ...approvalsCommands,
  ...haltCommands,
  ...resumeWorkCommands,
  ...haltsCommands,
  ...doctorCommands,
  ...knownCommands,
  ...schedulesCommands,
  ...knowledgeCommands,
  ...breakersCommands,
  ...deadLettersCommands,
  ...upCommands,
  ...migrateCommands,
  ...devCommands,
  ...callCommands,
  ...shellCommands,
  ...demoCommands,
  ...completionCommands,
];

/** First words, in the order of the table. */
export const groups = (): readonly string[] => [...new Set(COMMANDS.map(({ name }) => name.split(" ")[0] ?? name))];
export const listCommandsIn = (group: string): readonly CommandSpec[] =>
  COMMANDS.filter(({ name }) => name === group || name.startsWith(`${group} `));
