/**
 * Slash commands that are operations: verbs, arguments, help and call come from the `slash` words of the table. `/call` reaches every operation that
 * returns one value. A renderer turns a result into lines; without one a list is a table of the words' columns. `/call` prints JSON.
 */
import { type Json, readJson } from "@orgate/core/vocab";
import {
  type CallableOperation,
  type OperationInput,
  type OperationName,
  type OperationOutput,
  type SocketOperation,
  toOperationInput,
} from "@orgate/protocol";
import { OPERATION_NAMES, OPERATION_WORDS, readNamedValue, type SlashWords } from "@orgate/protocol/words";
import type { Shell } from "../contract.ts";
import { ageText } from "../terminal/table.ts";
import { visible } from "../terminal/visible.ts";
import { fitTable } from "../ui/tables.ts";
import type { ShellCommand } from "./command.ts";
import { argumentsText, completionOf, listForms, readArguments, type TypedArguments } from "./slash-arguments.ts";

/** Lines for a result. */
export type Renderers = {
  readonly [K in OperationName]?: (value: OperationOutput<K>, shell: Shell, typed: TypedArguments) => readonly string[];
};
/** A verb of a derived command whose arguments no table can describe. */
export type HandWrittenVerb = Readonly<{ usage: string; run(rest: string, shell: Shell): Promise<void> }>;
export type CommandViews = Readonly<{ renderers: Renderers; verbs: Readonly<Record<string, Readonly<Record<string, HandWrittenVerb>>>> }>;

type Derived = Readonly<{ name: OperationName; summary: string; words: SlashWords }>;

/** The verb that is meant where none is written. */
const OTHERWISE = "list";

/** Every command that the table of operations describes. */
export function deriveCommands({ renderers, verbs }: CommandViews): readonly ShellCommand[] {
  const commands = new Map<string, Derived[]>();
  for (const name of OPERATION_NAMES) {
    const { summary, slash = [] } = OPERATION_WORDS[name];
    for (const words of slash) {
      const one = { name, summary: words.summary ?? summary, words };
      commands.set(words.command, [...(commands.get(words.command) ?? []), one]);
    }
  }
  return [...commands].map(([command, derived]) => deriveCommand(command, derived, renderers, verbs[command] ?? {}));
}

function deriveCommand(
  command: string,
  derived: readonly Derived[],
  renderers: Renderers,
  byHand: Readonly<Record<string, HandWrittenVerb>>,
): ShellCommand {
  const main = derived.find(({ words }) => words.verb === undefined || words.verb === OTHERWISE) ?? derived[0];
  if (main === undefined) throw new Error(`no operation has the command ${command}`);
  const hasVerbs = derived.some(({ words }) => words.verb !== undefined);
  const formsOf = ({ words }: Derived): readonly string[] =>
    listForms(words.verb === undefined ? `/${command}` : `/${command} ${words.verb}`, words.args ?? []);
  const names = [...derived.flatMap(({ words }) => words.verb ?? []), ...Object.keys(byHand)];
  const argsOfVerbs = derived.map(({ words }) => words.args ?? []).find((args) => args.length > 0) ?? [];
  const call = async (meant: Derived, rest: string, shell: Shell): Promise<void> => {
    const read = await readArguments(meant.words.args ?? [], rest, shell);
    if (read.kind === "refused") return;
    if (read.kind === "missing") return shell.say(`${quoteForms(formsOf(meant))}: ${meant.summary}`);
    await callAndPrint(meant.name, { ...read, fields: { ...meant.words.fixed, ...read.fields } }, shell, (value, typed) =>
      renderResult(meant, value, shell, { renderers, typed }),
    );
  };
  return {
    name: command,
    byHand: null,
    operations: derived.map(({ name }) => name),
    usage: hasVerbs ? `[${names.join("|")} …]` : argumentsText(main.words.args ?? []),
    summary: main.summary,
    more: [
      ...(main.words.notes ?? []),
      ...(hasVerbs ? derived.map((one) => `${quoteForms(formsOf(one))}: ${OPERATION_WORDS[one.name].summary}`) : []),
      ...Object.values(byHand).map(({ usage }) => `\`${usage}\``),
    ],
    takes: hasVerbs ? [names, ...completionOf(argsOfVerbs)] : completionOf(main.words.args ?? []),
    async run(rest, shell) {
      if (!hasVerbs) return call(main, rest, shell);
      const [, first = "", after = ""] = /^(\S*)\s*([\s\S]*)$/.exec(rest) ?? [];
      const verb = first === "" ? OTHERWISE : first;
      const hand = Object.hasOwn(byHand, verb) ? byHand[verb] : undefined;
      const meant = derived.find(({ words }) => words.verb === verb);
      if (hand !== undefined) return hand.run(after, shell);
      if (meant !== undefined) return call(meant, after, shell);
      shell.say(quoteForms([...derived.flatMap(formsOf), ...Object.values(byHand).map(({ usage }) => usage)]));
    },
  };
}

const quoteForms = (forms: readonly string[]): string => forms.map((form) => `\`${form}\``).join(", ");

type RenderLines = (value: unknown, typed: TypedArguments) => readonly string[];

async function callAndPrint(name: OperationName, typed: TypedArguments, shell: Shell, render: RenderLines): Promise<void> {
  const called = name as SocketOperation & CallableOperation; // a stream has no `slash`, and `/call` refuses it
  const input = toOperationInput(name, typed.fields) as unknown as OperationInput<typeof called>; // checked by the operation's schemas
  const value = await shell.unwrap(goesOverLink(name) ? shell.link.call(called, input) : shell.connection.client.call(called, input));
  if (value !== null) shell.ui.print(render(value, typed));
}

/** Changes of a session go the way of its messages, so that they arrive in the order in which they were typed. */
function goesOverLink(name: OperationName): boolean {
  const { act, idempotencyKey } = OPERATION_WORDS[name];
  return typeof act !== "string" && act.on === "session" && idempotencyKey;
}

function renderResult(
  { name, words }: Derived,
  value: unknown,
  shell: Shell,
  { renderers, typed }: Readonly<{ renderers: Renderers; typed: TypedArguments }>,
): readonly string[] {
  const render = renderers[name] as ((value: unknown, shell: Shell, typed: TypedArguments) => readonly string[]) | undefined;
  if (render !== undefined) return render(value, shell, typed);
  return words.columns === undefined ? jsonLines(value) : columnTable(words.columns, value, shell);
}

/** A table of a list's items; the names of columns are the names of fields. */
function columnTable(columns: readonly string[], value: unknown, shell: Shell): readonly string[] {
  const items: unknown = fieldOf(value, "items");
  if (!Array.isArray(items) || items.length === 0) return ["there are none"];
  const now = Date.now();
  const rows = items.map((item) => columns.map((column) => cellText(column, fieldOf(item, column), now)));
  return fitTable(columns, rows, shell.ui.look());
}

const fieldOf = (value: unknown, field: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, field) ? Reflect.get(value, field) : null;

function cellText(column: string, value: unknown, now: number): string {
  if (value === null || value === undefined || value === "") return "-";
  if (typeof value === "number" && (column === "at" || column.endsWith("At"))) return `${ageText(now - value)} ago`;
  if (typeof value === "number" && column === "until") return `in ${ageText(value - now)}`;
  if (typeof value === "object") return cellText("id", fieldOf(value, "id"), now); // a principal
  return String(value);
}

const jsonLines = (value: unknown): readonly string[] =>
  (typeof value === "string" ? value : JSON.stringify(value, null, 2)).split("\n").map(visible);

const CALLABLE: readonly OperationName[] = OPERATION_NAMES.filter((name) => OPERATION_WORDS[name].onlyConnected === undefined);

async function call(rest: string, shell: Shell): Promise<void> {
  const [, first = "", after = ""] = /^(\S*)\s*([\s\S]*)$/.exec(rest) ?? [];
  const given = splitFields(after);
  const name = CALLABLE.find((one) => one === first);
  if (name === undefined)
    return shell.say(
      first === ""
        ? `\`/call OPERATION NAME=VALUE …\`: ${CALLABLE.join(", ")}`
        : `there is no operation \`${visible(first)}\` to call here`,
    );
  const fields: (readonly [string, Json])[] = [];
  for (const text of given) {
    const field = readNamedValue(text, unquote);
    if (field === null) return shell.say(`\`${visible(text)}\` is not NAME=VALUE: ${OPERATION_WORDS[name].summary}`);
    fields.push(field);
  }
  await callAndPrint(name, { fields: Object.fromEntries(fields), named: null }, shell, jsonLines);
}

/** Fields end at a blank, but not within quotes, nor within JSON that a brace or bracket opens. */
function splitFields(text: string): readonly string[] {
  const fields: string[] = [];
  for (let rest = text.trim(); rest !== ""; ) {
    const end = findFieldEnd(rest);
    fields.push(rest.slice(0, end));
    rest = rest.slice(end).trimStart();
  }
  return fields;
}

function findFieldEnd(text: string): number {
  const blanks = [...text.matchAll(/\s+/g)].map(({ index }) => index);
  const [, opening = ""] = /^\w+=(.)/.exec(text) ?? [];
  const isWhole = (end: number): boolean => {
    const value = text.slice(text.indexOf("=") + 1, end);
    return opening === "'" ? /^'[^']*'$/.test(value) : readJson(value).kind === "json" || (opening === '"' && /^"[^"]*"$/.test(value));
  };
  const ends = [...blanks, text.length];
  const whole = /["'{[]/.test(opening) ? ends.find(isWhole) : undefined;
  return whole ?? ends[0] ?? text.length;
}

const unquote = (written: string): string => /^(["'])([\s\S]*)\1$/.exec(written)?.[2] ?? written;

export const CALL_COMMAND: ShellCommand = {
  name: "call",
  byHand: "it calls any operation, with fields by name",
  usage: "OPERATION [NAME=VALUE …]",
  summary: "call any operation of the server; the result is printed as JSON",
  more: [
    'As `orgate call`. Example: `/call pauseSchedule schedule=nightly reason="a holiday"`. A value that is JSON counts as that, one in quotes as text.',
  ],
  takes: [CALLABLE, "anything"],
  run: call,
};
