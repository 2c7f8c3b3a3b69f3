/** `@orgate/core/wire/words`: the words of every operation, in the order of the table. No decoder is loaded. */
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
export const OPERATION_WORDS: Readonly<Record<OperationName, OperationWords>> = words;
export const OPERATION_NAMES: readonly OperationName[] = Object.freeze(Object.keys(words) as OperationName[]);

export {
  ACT_NAMES,
  type ActName,
  type ActOn,
  type CliField,
  type CliWords,
  type Method,
  type OperationAct,
  type OperationWords,
  type SlashWords,
  type ToolWords,
} from "./words.ts";
