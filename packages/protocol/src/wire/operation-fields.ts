/** From flat fields, as a person types them, to the input of an operation. */
import type { JsonObject } from "@orgate/core/vocab";
import * as z from "zod";
import { OPERATIONS, type OperationName } from "./operations.ts";

export type OperationFields = Readonly<{ params: JsonObject; query: JsonObject; body: JsonObject | undefined }>;

/** Names in the path are parameters; other fields are the query of a GET and the body of a POST. */
export function toOperationInput(name: OperationName, fields: JsonObject): OperationFields {
  const { method, path, body } = OPERATIONS[name];
  const inPath = new Set([...path.matchAll(/\{(\w+)\}/g)].map(([, field]) => field));
  const entries = Object.entries(fields);
  const params = Object.fromEntries(entries.filter(([field]) => inPath.has(field)));
  const rest = Object.fromEntries(entries.filter(([field]) => !inPath.has(field)));
  if (method === "GET") return { params, query: rest, body: undefined };
  const hasBody = !(body instanceof z.ZodUndefined) || Object.keys(rest).length > 0;
  return { params, query: {}, body: hasBody ? rest : undefined };
}
