/** `@orgate/protocol/words`: the words of every operation, in the order of the table. No decoder is loaded. */
import { agentWords } from "./agents.ts";
import { approvalWords } from "./approvals.ts";
import { journalWords } from "./journal.ts";
import { knowledgeWords } from "./knowledge.ts";
import { policyWords } from "./policies.ts";
import { scheduleWords } from "./schedules.ts";
import { serverWords } from "./server.ts";
import { sessionWords } from "./sessions.ts";
import { webhookWords } from "./webhooks.ts";
import type { OperationWords } from "./words.ts";
import { workWords } from "./work.ts";

const words = {
  ...serverWords,
  ...agentWords,
  ...sessionWords,
  ...approvalWords,
  ...workWords,
  ...scheduleWords,
  ...webhookWords,
  ...policyWords,
  ...journalWords,
  ...knowledgeWords,
};
export type OperationName = keyof typeof words;
/** Names of operations by the part of the product that they belong to. */
export type OperationGroups = Readonly<{
  server: keyof typeof serverWords;
  agents: keyof typeof agentWords;
  sessions: keyof typeof sessionWords;
  approvals: keyof typeof approvalWords;
  work: keyof typeof workWords;
  schedules: keyof typeof scheduleWords;
  webhooks: keyof typeof webhookWords;
  policies: keyof typeof policyWords;
  journal: keyof typeof journalWords;
  knowledge: keyof typeof knowledgeWords;
}>;
export const OPERATION_WORDS: Readonly<Record<OperationName, OperationWords>> = words;
export const OPERATION_NAMES: readonly OperationName[] = Object.freeze(Object.keys(words) as OperationName[]);

export { type ReadValue, readNamedValue, readTyped } from "./read-value.ts";
export {
  ACT_NAMES,
  type ActName,
  type ActOn,
  type CliField,
  type CliWords,
  type Method,
  type OperationAct,
  type OperationWords,
  type SlashField,
  type SlashWords,
  type ToolField,
  type ToolShown,
  type ToolWords,
} from "./words.ts";
