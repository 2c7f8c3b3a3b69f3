/** Values as people type them, read alike on the command line and in the shell. */
import { durationWords, readJson } from "@orgate/core/text";
import type { Json } from "@orgate/core/vocab";

/** `bad`: `hint` says how to write it. */
export type ReadValue = Readonly<{ kind: "value"; value: number } | { kind: "bad"; hint: string }>;

/** `2030-01-31T08:00:00Z` in milliseconds since 1970; `10m` in milliseconds. */
export function readTyped(as: "time" | "duration", text: string): ReadValue {
  if (as === "duration") {
    const ms = durationWords(text);
    return ms === null ? { kind: "bad", hint: "write it like 10m or 8h" } : { kind: "value", value: ms };
  }
  const at = Date.parse(text);
  return Number.isSafeInteger(at) && at >= 0
    ? { kind: "value", value: at }
    : { kind: "bad", hint: "write a time like 2030-01-31T08:00:00Z" };
}

/** `NAME=VALUE`: a value that is JSON counts as that, any other is text. `toText` takes off the quotes where the shell of the system has not. */
export function readNamedValue(text: string, toText = (written: string): string => written): readonly [name: string, value: Json] | null {
  const [, name, written] = /^([^=]+)=([\s\S]*)$/.exec(text) ?? [];
  if (name === undefined || written === undefined) return null;
  const read = readJson(written);
  return [name, read.kind === "json" ? read.value : toText(written)];
}
