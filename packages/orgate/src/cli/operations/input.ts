/** From the words of a command to the input of its operation, and from a problem with that input back to the words. */
import { randomUUID } from "node:crypto";
import { FaultError, isFaultKind, type Json, type JsonObject, lowerFirst } from "@orgate/core";
import { idempotencyKey, type OperationFields, type OperationName, type Problem } from "@orgate/protocol";
import { type CliField, type CliWords, OPERATION_WORDS, readTyped } from "@orgate/protocol/words";
import type { Given } from "@orgate/shell/terminal";
import { isRefusal } from "../../operations/refusal.ts";
import { isDiskFull } from "../../store/disk-full.ts";
import { findSessionByText, positive, withReadOnlyStore } from "../commands/project/read-only.ts";
import { OperationError } from "../operation-error.ts";

/** One argument or option: the field that it fills, its name on the command line, and its text. */
type Word = Readonly<{ field: string; words: CliField; what: string; text: string | null }>;

export async function readFields(words: CliWords, given: Given): Promise<JsonObject> {
  const fields: Record<string, Json> = {};
  for (const { field, words: one, what, text } of listWords(words, given)) {
    if (text !== null) fields[field] = await toValue(one, what, text, given);
    else if (one.required === true)
      throw usage(`${what} is missing`, what === "--reason" ? "say why: the journal keeps it" : `it is ${one.help}`);
  }
  return { ...fields, ...words.fixed };
}

function listWords({ args = [], options = {} }: CliWords, given: Given): readonly Word[] {
  return [
    ...args.map((words, i) => ({
      field: words.field ?? words.value,
      words,
      what: words.value,
      text: given.args[i] ?? words.default ?? null,
    })),
    ...Object.entries(options).map(([option, words]) => {
      const text = words.as === "flag" ? (given.flag(option) ? "true" : null) : given.text(option);
      return { field: words.field ?? option, words, what: `--${option}`, text: text ?? words.default ?? null };
    }),
  ];
}

async function toValue({ as = "text" }: CliField, what: string, text: string, given: Given): Promise<Json> {
  switch (as) {
    case "text":
      return text;
    case "flag":
      return true;
    case "session":
      return (await withReadOnlyStore(given, ({ journal }) => findSessionByText(journal, text))).session;
    case "number":
      return positive(text, what);
    case "time":
    case "duration": {
      const read = readTyped(as, text);
      if (read.kind === "value") return read.value;
      throw usage(`${what} is \`${text}\``, read.hint);
    }
  }
}

/** The idempotency key of the command: the given one, or a new one. */
export function readKey(given: Given): string {
  const key = given.text("key") ?? randomUUID();
  if (idempotencyKey.safeParse(key).success) return key;
  throw usage(`--key is \`${key}\``, "a key has 1 to 128 characters of ASCII, and no blanks");
}

/** How a command fails when its operation does, in this process or at a server: a fault keeps its kind; `usage` is for what only other input mends. */
export function toOperationError({ status, kind, detail, hint, issues }: Problem, { name, fields }: FailedOperation): Error {
  if (status === 401) return new FaultError({ kind: "key-bad", key: "$ORGATE_API_KEY", detail, hint });
  if (status === 403) return new FaultError({ kind: "not-permitted", user: "$ORGATE_API_KEY", what: `call \`${name}\``, reason: detail });
  const [issue, ...more] = issues;
  const words = issue === undefined ? null : wordFor(name, issue.path);
  if (issue !== undefined && words !== null)
    return usage(
      `${valueText(words, issue.path, fields)}: ${lowerFirst(issue.message)}`,
      `\`orgate ${OPERATION_WORDS[name].cli?.command ?? ""} --help\` has every option`,
    );
  if (isFaultKind(kind) ? kind !== "usage" : !OF_INPUT.has(status)) return new OperationError({ kind, detail, hint });
  if (issue === undefined) return usage(detail, hint);
  const others = more.map(({ path, message }) => `; \`${path}\` ${message}`).join("");
  return usage(`${detail}${others}`, "`orgate call describe` prints the schema of every operation");
}

export type FailedOperation = Readonly<{ name: OperationName; fields: OperationFields }>;

/** Bad request, not found, conflict, unprocessable: the same words would fail again. */
const OF_INPUT: ReadonlySet<number> = new Set([400, 404, 409, 422]);

/** The error of an operation that ran in this process, as `toOperationError` has it of one at a server. */
export function fromLocalError(error: unknown, failed: FailedOperation): unknown {
  if (isRefusal(error)) return toOperationError(error.problem, failed);
  if (!isDiskFull(error)) return error;
  const detail = "the disk is full: nothing was written, and nothing was done";
  return new OperationError({ kind: "disk-full", detail, hint: "make room on it and run the command again with the same --key" }, error);
}

/** An argument is quoted back as it was written; an option is named. */
function valueText(words: string, path: string, { params, query, body }: OperationFields): string {
  const given = words.startsWith("--")
    ? undefined
    : Object.entries({ ...params, ...query, ...body }).find(([field]) => field === path)?.[1];
  return typeof given === "string" ? `${words} is \`${given.length > 200 ? `${given.slice(0, 200)}…` : given}\`` : words;
}

/** The argument or option that fills a field; null if none does. */
function wordFor(name: OperationName, path: string): string | null {
  const { cli } = OPERATION_WORDS[name];
  const arg = cli?.args?.find(({ value, field = value }) => field === path);
  if (arg !== undefined) return arg.value;
  const option = Object.entries(cli?.options ?? {}).find(([key, { field = key }]) => field === path);
  return option === undefined ? null : `--${option[0]}`;
}

const usage = (detail: string, hint: string): FaultError => new FaultError({ kind: "usage", detail, hint });
