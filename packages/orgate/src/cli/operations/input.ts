/** From the words of a command to the input of its operation, and from a problem with that input back to the words. */
import { durationWords, FaultError, type Json, type JsonObject, lowerFirst } from "@orgate/core";
import type { OperationName, Problem } from "@orgate/protocol";
import { type CliField, type CliWords, OPERATION_WORDS } from "@orgate/protocol/words";
import type { Given } from "@orgate/shell/terminal";
import { findSessionByText, positive, withReadOnlyStore } from "../commands/project/read-only.ts";

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
    case "time": {
      const at = Date.parse(text);
      if (Number.isSafeInteger(at) && at >= 0) return at;
      throw usage(`${what} is \`${text}\``, "write a time like 2030-01-31T08:00:00Z");
    }
    case "duration": {
      const ms = durationWords(text);
      if (ms !== null) return ms;
      throw usage(`${what} is \`${text}\``, "write it like 10m or 8h");
    }
  }
}

export function toOperationFault({ status, detail, hint, issues }: Problem, name: OperationName): FaultError {
  if (status === 401) return new FaultError({ kind: "key-bad", key: "$ORGATE_API_KEY", detail, hint });
  if (status === 403) return new FaultError({ kind: "not-permitted", user: "$ORGATE_API_KEY", what: `call \`${name}\``, reason: detail });
  const [issue, ...more] = issues;
  const words = issue === undefined ? null : wordFor(name, issue.path);
  if (issue !== undefined && words !== null)
    return usage(
      `${words}: ${lowerFirst(issue.message)}`,
      `\`orgate ${OPERATION_WORDS[name].cli?.command ?? ""} --help\` has every option`,
    );
  if (issue === undefined) return usage(detail, hint);
  const others = more.map(({ path, message }) => `; \`${path}\` ${message}`).join("");
  return usage(`${detail}${others}`, "`orgate call describe` prints the schema of every operation");
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
