/** From the words of a line to the fields of an operation, as the `slash` words of the table describe them. */
import type { JsonObject } from "@orgate/core/vocab";
import type { OperationOutput } from "@orgate/protocol";
import { readTyped, type SlashField } from "@orgate/protocol/words";
import type { Shell } from "../contract.ts";
import { visible } from "../terminal/visible.ts";
import type { ArgumentKind } from "../ui/input/complete.ts";
import { findSession } from "./find-session.ts";

/** `named`: how screens call the target, where that is no field. */
export type TypedArguments = Readonly<{ fields: JsonObject; named: string | null }>;
/** `missing`: the usage helps. `refused`: the reason was printed. */
export type ReadArguments = Readonly<({ kind: "read" } & TypedArguments) | { kind: "missing" } | { kind: "refused" }>;
type OneArgument = Readonly<({ kind: "read"; left: string } & TypedArguments) | { kind: "missing" } | { kind: "refused" }>;

const MISSING = { kind: "missing" } as const;
const REFUSED = { kind: "refused" } as const;

/** One word each; the last argument takes the rest of the line. */
export async function readArguments(args: readonly SlashField[], text: string, shell: Shell): Promise<ReadArguments> {
  let fields: JsonObject = {};
  let named: string | null = null;
  let left = text.trim();
  for (const [i, arg] of args.entries()) {
    const one = await readArgument(arg, left, i === args.length - 1, shell);
    if (one.kind !== "read") return one;
    fields = { ...fields, ...one.fields };
    named = one.named ?? named;
    left = one.left;
  }
  return left === "" ? { kind: "read", fields, named } : MISSING;
}

const SCOPE = /^(?:(all)|(agent|tool)[ :](\S+))(?:\s+([\s\S]*))?$/;

async function readArgument(arg: SlashField, left: string, isLast: boolean, shell: Shell): Promise<OneArgument> {
  const { value, field = value, as = "text" } = arg;
  const read = (filled: JsonObject[string], after: string): OneArgument => ({
    kind: "read",
    fields: { [field]: filled },
    named: null,
    left: after,
  });
  if (as === "conversation") {
    const session = currentSession(shell);
    return session === null ? REFUSED : read(session, left);
  }
  if (as === "flag") {
    const [, after = null] = new RegExp(`^${value}(?:\\s+([\\s\\S]*)|$)`).exec(left) ?? [];
    return left === value || after !== null ? read(true, after ?? "") : { kind: "read", fields: {}, named: null, left };
  }
  if (as === "scope") {
    const [, all, kind, name, after = ""] = SCOPE.exec(left) ?? [];
    return all === undefined && kind === undefined ? MISSING : read(all ?? `${kind}:${name}`, after);
  }
  const [, word = "", after = ""] = isLast ? ["", left] : (/^(\S*)\s*([\s\S]*)$/.exec(left) ?? []);
  if (word !== "") return readWord(arg, word, after, shell);
  if (arg.required ?? false) return MISSING;
  if (as === "agent") return shell.addressee() === null ? MISSING : read(shell.addressee(), "");
  if (as === "session") {
    const session = currentSession(shell);
    return session === null ? REFUSED : read(session, "");
  }
  return { kind: "read", fields: {}, named: null, left: after };
}

async function readWord({ value, field = value, as, choices }: SlashField, word: string, left: string, shell: Shell): Promise<OneArgument> {
  const read = (fields: JsonObject, named: string | null = null): OneArgument => ({ kind: "read", fields, named, left });
  if (choices !== undefined && !choices.includes(word)) return MISSING;
  if (as === "number") return Number.isInteger(Number(word)) ? read({ [field]: Number(word) }) : MISSING;
  if (as === "time" || as === "duration") {
    const typed = readTyped(as, word);
    if (typed.kind === "value") return read({ [field]: typed.value });
    shell.say(`${value} is \`${visible(word)}\`: ${typed.hint}`);
    return REFUSED;
  }
  if (as === "agent-scope") return read({ [field]: `agent:${word}` });
  if (as === "session") {
    const found = await findSession(shell, word);
    return found === null ? REFUSED : read({ [field]: found.session });
  }
  if (as === "call") {
    const found = await findUnknownCall(shell, word);
    return found === null ? REFUSED : read({ session: found.session, call: found.call }, found.tool);
  }
  return read({ [field]: word });
}

function currentSession(shell: Shell): string | null {
  const session = shell.current()?.session ?? null;
  if (session === null) shell.say("nothing has been said in this conversation yet");
  return session;
}

type Unknown = OperationOutput<"unknowns">["items"][number];
/** The id of a call counts within its session only, so that a part of the session's id goes with it. */
export const nameUnknownCall = ({ session, call }: Pick<Unknown, "session" | "call">): string => `${session.slice(-6)}:${call}`;

async function findUnknownCall(shell: Shell, word: string): Promise<Unknown | null> {
  const found = await shell.unwrap(shell.connection.client.call("unknowns", { query: { limit: 500 } }));
  const one = found?.items.find((item) => nameUnknownCall(item) === word) ?? null;
  if (found !== null && one === null) shell.say(`nothing is unknown about \`${visible(word)}\``);
  return one;
}

// ── usage and completion ──

const isTyped = ({ as }: SlashField): boolean => as !== "conversation" && as !== "flag";

/** `all | agent NAME REASON`. */
export const argumentsText = (args: readonly SlashField[]): string =>
  args
    .filter(isTyped)
    .map(({ value, required = false }) => (required ? value : `[${value}]`))
    .join(" ");

/** Each form in full: `/halt all REASON`, `/halt agent NAME REASON`. */
export function listForms(before: string, args: readonly SlashField[]): readonly string[] {
  const [first, ...rest] = args.filter(isTyped);
  if (first === undefined) return [before];
  return first.value.split(" | ").map((value) => `${before} ${argumentsText([{ ...first, value }, ...rest])}`);
}

export const completionOf = (args: readonly SlashField[]): readonly ArgumentKind[] =>
  args.filter(isTyped).flatMap(({ as, field, choices }): readonly ArgumentKind[] => {
    if (choices !== undefined) return [choices];
    if (as === "scope") return [["all", "agent", "tool"], "agent"];
    if (as === "agent-scope") return ["agent"];
    return [field === "schedule" || field === "agent" || field === "session" || field === "approval" ? field : "anything"];
  });
