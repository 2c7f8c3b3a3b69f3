/** Arguments that fit a schema, for requests that nobody has made. */
import type { Json, JsonObject } from "@orgate/core";

export const record = (value: unknown): Readonly<Record<string, unknown>> | null =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : null;

/** The least that a schema takes; where it wants more, nothing is tried with it. */
export function sampleArguments(schema: JsonObject): JsonObject {
  const properties = record(schema["properties"]) ?? {};
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  return Object.fromEntries(
    required.flatMap((name) => (typeof name === "string" ? [[name, valueFor(record(properties[name]) ?? {})]] : [])),
  );
}

export function valueFor(schema: Readonly<Record<string, unknown>>): Json {
  if ("const" in schema) return schema["const"] as Json;
  if (Array.isArray(schema["enum"])) return schema["enum"][0] as Json;
  const [variant] = [schema["anyOf"], schema["oneOf"]].flatMap((list) => (Array.isArray(list) ? list : []));
  if (variant !== undefined) return valueFor(record(variant) ?? {});
  switch (schema["type"]) {
    case "integer":
    case "number":
      return typeof schema["minimum"] === "number" ? Math.max(1, schema["minimum"]) : 1;
    case "boolean":
      return false;
    case "array":
      return [];
    case "object":
      return sampleArguments(schema as JsonObject);
    default:
      return schema["format"] === "email"
        ? "a@example.org"
        : "a".repeat(typeof schema["minLength"] === "number" ? Math.max(1, schema["minLength"]) : 1);
  }
}
