/** Calls an operation by its name and input: decodes the input by the operation's schemas, then runs it as the executor runs every request. */
import type { IntentId } from "@orgate/core";
import { OPERATIONS, type Operation, type OperationName, type OperationRequest, unreadable, wireProblem } from "@orgate/protocol";
import type * as z from "zod";
import type { Caller } from "./access.ts";
import type { OperationExecutor } from "./execute.ts";
import { refusal } from "./refusal.ts";

export type OperationParts = Readonly<{ params?: unknown; query?: unknown; body?: unknown }>;
export type OperationOrder = Readonly<{
  name: OperationName;
  input: OperationParts;
  caller: Caller;
  key: string | undefined;
  gone: AbortSignal;
  /** Where the surface derives the id of its intent; otherwise it comes from the key. */
  intent?: IntentId;
}>;

/** Throws refusals and faults. */
export async function callOperation(
  executor: Pick<OperationExecutor, "execute">,
  { input, key, ...order }: OperationOrder,
): Promise<Readonly<{ status: number; value: unknown }>> {
  const { name } = order;
  const { status, result } = await executor.execute({ ...order, request: decodeParts(name, input), idempotencyKey: key });
  switch (result.kind) {
    case "json":
      return { status, value: result.value ?? null };
    case "text":
      return { status, value: result.text };
    case "stream":
      throw refusal(wireProblem("unavailable", `\`${name}\` is a stream`, `read it over HTTP: ${OPERATIONS[name].path}`));
  }
}

export function decodeParts(name: OperationName, { params = {}, query = {}, body }: OperationParts): OperationRequest<OperationName> {
  const operation: Operation = OPERATIONS[name];
  const decoded = {
    params: decodePart(operation.params, params, "the parameters"),
    query: decodePart(operation.query, query, "the query"),
    body: decodePart(operation.body, body, "the body"),
  };
  return decoded as OperationRequest<OperationName>; // the schemas are the operation's own
}

export function decodePart<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  throw refusal(unreadable(what, read.error));
}
