/** Schemas as people bring them, for what a tool takes and gives and for what a turn answers with: checked, described, and never believed. */
import * as z from "zod";
import { copyFrozen, type FaultError, type Json, type JsonObject } from "../../vocab/index.ts";
import { fromJsonSchema } from "./json-schema.ts";
import { jsonErrorText, toJson } from "./plain-json.ts";
import { isStandardSchema, issueLines, type StandardSchema } from "./standard-schema.ts";

/** Zod, any other Standard Schema that can describe itself, or a JSON Schema. */
export type Schema = StandardSchema | JsonObject;
export type Refuse = (detail: string) => FaultError;

export function toStandardSchema(given: Schema, field: string, refuse: Refuse): StandardSchema {
  if (isStandardSchema(given)) return given;
  if (typeof given !== "object" || given === null || Array.isArray(given)) throw refuse(`\`${field}\` must be a schema`);
  const plain = toJson(given);
  if (plain.kind === "not-json") throw refuse(`\`${field}\` is neither a Standard Schema nor JSON: ${plain.detail}`);
  const made = fromJsonSchema(given);
  if (made.kind === "refused") throw refuse(`\`${field}\` cannot be enforced: ${made.detail}`);
  return made.schema;
}

export function toJsonSchema(schema: StandardSchema, field: string, refuse: Refuse): JsonObject {
  const { vendor, jsonSchema } = schema["~standard"];
  try {
    if (jsonSchema !== undefined) return withoutDialect(jsonSchema.input({ target: "draft-2020-12" }));
    if (schema instanceof z.ZodType) return withoutDialect(z.toJSONSchema(schema, { io: "input" }));
  } catch (error) {
    throw refuse(`\`${field}\` cannot be described to a model: ${jsonErrorText(error)}`);
  }
  throw refuse(`\`${field}\` (${vendor}) cannot describe itself as JSON Schema: use a version that can, Zod 4, or a JSON Schema`);
}

/** `$schema` tells a model nothing, and is sent with every request. */
export function withoutDialect(described: Readonly<Record<string, unknown>>): JsonObject {
  const { $schema: _, ...rest } = described;
  return copyFrozen(rest) as JsonObject;
}

export const invalidValue = (issue: string) => ({ kind: "invalid", issues: [issue] }) as const;
/** The schema cannot say, whatever the value. */
const broken = (issue: string) => ({ ...invalidValue(issue), broken: true }) as const;

export type Validated = Readonly<{ kind: "fits"; value: Json } | { kind: "invalid"; issues: readonly string[]; broken?: true }>;

/** Never throws, never waits. */
export function validateValue(value: unknown, schema: StandardSchema): Validated {
  try {
    const result = schema["~standard"].validate(value);
    if ("then" in result) {
      result.then(undefined, () => undefined); // its answer comes too late either way
      return broken(
        "the schema answers asynchronously, and what it says must be known before anything goes on: use a schema that answers at once",
      );
    }
    if (result.issues !== undefined) return { kind: "invalid", issues: issueLines(result.issues) };
    const plain = toJson(result.value);
    return plain.kind === "json" ? { kind: "fits", value: plain.value } : broken(`the schema's result is not plain JSON: ${plain.detail}`);
  } catch (error) {
    return broken(`the schema itself failed: ${jsonErrorText(error)}`);
  }
}
