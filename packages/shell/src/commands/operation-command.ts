/**
 * Slash commands that are operations: verbs, arguments, help and call come from the `slash` words of the table. `/call` reaches every operation that
 * returns one value. What a result looks like is a renderer; without one it is printed as JSON.
 */
import { type JsonObject, readJson } from "@orgate/core/vocab";
import { type CallableOperation, type OperationInput, type OperationName, type OperationOutput, toOperationInput } from "@orgate/protocol";
import { type CliField, OPERATION_NAMES, OPERATION_WORDS, type SlashWords } from "@orgate/protocol/words";
import type { Shell } from "../contract.ts";
import { visible } from "../terminal/visible.ts";
import type { ArgumentKind } from "../ui/input/complete.ts";
import type { ShellCommand } from "./command.ts";

/** Lines for a result; `fields` is what was typed. */
export type Renderers = {
  readonly [K in OperationName]?: (value: OperationOutput<K>, shell: Shell, fields: JsonObject) => readonly string[];
};
export type HandWritten = Readonly<{ usage: string; run(rest: string, shell: Shell): Promise<void> }>;
type Verb = Readonly<{ name: OperationName; verb: string | null; args: readonly CliField[]; summary: string }>;

/** `byHand`: verbs of the same command whose arguments no table can describe. */
export type OperationCommand = Readonly<{
  command: string;
  summary: string;
  more: readonly string[];
  renderers: Renderers;
  /** The verb that is meant when none is written. */
  otherwise?: string;
  byHand?: Readonly<Record<string, HandWritten>>;
}>;

export function deriveCommand({ command, summary, more, renderers, otherwise, byHand = {} }: OperationCommand): ShellCommand {
  const verbs = verbsOf(command);
  const names = [...verbs.map(({ verb }) => verb), ...Object.keys(byHand)].filter((verb) => verb !== null);
  const isPlain = names.length === 0;
  const [only] = verbs;
  return {
    name: command,
    usage: isPlain ? argsText(only?.args ?? []) : `[${names.join("|")} …]`,
    summary,
    more: [...more, ...(isPlain ? [] : verbs.map((one) => `\`${usageOf(command, one)}\`: ${one.summary}`))],
    takes: isPlain ? (only?.args ?? []).map(kindOf) : [names, "schedule"],
    async run(rest, shell) {
      const [, first = "", after = ""] = isPlain ? [] : (/^(\S*)\s*([\s\S]*)$/.exec(rest) ?? []);
      const verb = first === "" ? otherwise : first;
      const hand = verb === undefined || !Object.hasOwn(byHand, verb) ? undefined : byHand[verb];
      if (hand !== undefined) return hand.run(after, shell);
      const meant = isPlain ? only : verbs.find((one) => one.verb === verb);
      if (meant === undefined)
        return shell.say(
          [...verbs.map((one) => `\`${usageOf(command, one)}\``), ...Object.values(byHand).map(({ usage }) => `\`${usage}\``)].join(", "),
        );
      const fields = readArgs(meant.args, isPlain ? rest : after);
      if (fields === null) return shell.say(`\`${usageOf(command, meant)}\`: ${meant.summary}`);
      await callAndPrint(meant.name, fields, shell, renderers);
    },
  };
}

function verbsOf(command: string): readonly Verb[] {
  return OPERATION_NAMES.flatMap((name) => {
    const words: Readonly<{ slash?: SlashWords; summary: string }> = OPERATION_WORDS[name];
    const { slash, summary } = words;
    return slash?.command === command ? [{ name, verb: slash.verb ?? null, args: slash.args ?? [], summary }] : [];
  });
}

const argsText = (args: readonly CliField[]): string =>
  args.map(({ value, required = false }) => (required ? value : `[${value}]`)).join(" ");
const usageOf = (command: string, { verb, args }: Verb): string =>
  [`/${command}`, ...(verb === null ? [] : [verb]), argsText(args)].filter((part) => part !== "").join(" ");
const kindOf = ({ field, choices }: CliField): ArgumentKind =>
  choices ?? (field === "schedule" || field === "agent" || field === "session" ? field : "anything");

/** One word each, the last one takes the rest of the line. Null if a required one is missing. */
function readArgs(args: readonly CliField[], rest: string): JsonObject | null {
  const fields: [string, string][] = [];
  let left = rest.trim();
  for (const [i, { value, field = value, required = false }] of args.entries()) {
    const [, word = "", after = ""] = i === args.length - 1 ? ["", left] : (/^(\S*)\s*([\s\S]*)$/.exec(left) ?? []);
    if (word === "" && required) return null;
    if (word !== "") fields.push([field, word]);
    left = after;
  }
  return left === "" ? Object.fromEntries(fields) : null;
}

async function callAndPrint(name: OperationName, fields: JsonObject, shell: Shell, renderers: Renderers): Promise<void> {
  const called = name as CallableOperation; // a stream has no `slash`, and `/call` refuses it
  const input = toOperationInput(name, fields) as unknown as OperationInput<CallableOperation>; // the client checks it by the operation's schemas
  const value = await shell.unwrap(shell.connection.client.call(called, input));
  if (value === null) return;
  const render = renderers[name] as ((value: unknown, shell: Shell, fields: JsonObject) => readonly string[]) | undefined;
  shell.ui.print(render === undefined ? jsonLines(value) : render(value, shell, fields));
}

const jsonLines = (value: unknown): readonly string[] =>
  (typeof value === "string" ? value : JSON.stringify(value, null, 2)).split("\n").map(visible);

const CALLABLE: readonly OperationName[] = OPERATION_NAMES.filter((name) => {
  const words: Readonly<{ onlyConnected?: string }> = OPERATION_WORDS[name];
  return words.onlyConnected === undefined;
});

async function call(rest: string, shell: Shell): Promise<void> {
  const [first = "", ...given] = rest.match(/(?:[^\s"]|"[^"]*")+/g) ?? [];
  const name = CALLABLE.find((one) => one === first);
  if (name === undefined)
    return shell.say(
      first === ""
        ? `\`/call OPERATION NAME=VALUE …\`: ${CALLABLE.join(", ")}`
        : `there is no operation \`${visible(first)}\` to call here`,
    );
  const fields: [string, JsonObject[string]][] = [];
  for (const text of given) {
    const [, field, written] = /^(\w+)=([\s\S]*)$/.exec(text) ?? [];
    if (field === undefined || written === undefined)
      return shell.say(`\`${visible(text)}\` is not NAME=VALUE: ${OPERATION_WORDS[name].summary}`);
    const bare = written.replace(/^"([\s\S]*)"$/, "$1");
    const read = readJson(bare);
    fields.push([field, read.kind === "json" ? read.value : bare]);
  }
  await callAndPrint(name, Object.fromEntries(fields), shell, {});
}

export const CALL_COMMAND: ShellCommand = {
  name: "call",
  usage: "OPERATION [NAME=VALUE …]",
  summary: "call any operation of the server; the result is printed as JSON",
  more: ['As `orgate call`. Example: `/call pauseSchedule schedule=nightly reason="a holiday"`. A value that is JSON counts as that.'],
  takes: [CALLABLE, "anything"],
  run: call,
};
