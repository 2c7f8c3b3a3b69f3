/**
 * The table of operations. HTTP routes, typed client, calls over the socket, OpenAPI description and `orgate call` are derived from it, and the
 * permission matrix is checked against it.
 *
 * W-4 a request is decoded strictly by its operation's schemas, and an answer fits its operation's output schema.
 * W-5 a POST that changes something needs an idempotency key: the same key, by the same person, for the same request, is done once and answered alike.
 */
import type * as z from "zod";
import type { Nothing, Operation } from "./operation.ts";
import { agentOperations } from "./operations/agents.ts";
import { approvalOperations } from "./operations/approvals.ts";
import { journalOperations } from "./operations/journal.ts";
import { knowledgeOperations } from "./operations/knowledge.ts";
import { policyOperations } from "./operations/policies.ts";
import { scheduleOperations } from "./operations/schedules.ts";
import { serverOperations } from "./operations/server.ts";
import { sessionOperations } from "./operations/sessions.ts";
import { webhookOperations } from "./operations/webhooks.ts";
import { workOperations } from "./operations/work.ts";
import type { OperationName } from "./words/index.ts";

export { OPERATION_NAMES, type OperationName } from "./words/index.ts";

export const OPERATIONS = {
  ...serverOperations,
  ...agentOperations,
  ...sessionOperations,
  ...approvalOperations,
  ...workOperations,
  ...scheduleOperations,
  ...webhookOperations,
  ...policyOperations,
  ...journalOperations,
  ...knowledgeOperations,
} as const satisfies Readonly<Record<OperationName, Operation>>;

export type Operations = typeof OPERATIONS;

type Field<Key extends string, T> = Record<never, never> extends T ? Readonly<Partial<Record<Key, T>>> : Readonly<Record<Key, T>>;
/** A caller's input before decoding: fields with a default may be left out. */
export type OperationInput<K extends OperationName> = Field<"params", z.input<Operations[K]["params"]>> &
  Field<"query", z.input<Operations[K]["query"]>> &
  (Operations[K]["body"] extends Nothing ? Readonly<{ body?: undefined }> : Readonly<{ body: z.input<Operations[K]["body"]> }>);
/** A handler's input, decoded. */
export type OperationRequest<K extends OperationName> = Readonly<{
  params: z.output<Operations[K]["params"]>;
  query: z.output<Operations[K]["query"]>;
  body: z.output<Operations[K]["body"]>;
}>;
/** The response; streams have none. */
export type OperationOutput<K extends OperationName> =
  Operations[K]["answers"] extends Readonly<{ kind: "json"; schema: infer R extends z.ZodType }> ? z.output<R> : undefined;
