/** Reads edited arguments: one JSON object, or null. */
import type { JsonObject } from "@orgate/core/vocab";

export function parseArguments(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
const isObject = (value: unknown): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value);
