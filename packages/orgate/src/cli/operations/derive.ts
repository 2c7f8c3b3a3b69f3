/** Derives the command of an operation from its words. Nothing but words is loaded before the command runs. */
import { type ActOn, type CliField, type CliWords, OPERATION_WORDS, type OperationName, type OperationWords } from "@orgate/protocol/words";
import type { ArgSpec, CommandSpec, OptionSpec } from "@orgate/shell/terminal";
import { AS } from "../table/options.ts";
import type { OperationView } from "./run.ts";

/** `load` gives the view of the result: the lines that people read. `command` chooses among several commands of one operation. */
export function operationCommand<K extends OperationName, V>(
  name: K,
  load: () => Promise<OperationView<K, V>>,
  command?: string,
): CommandSpec {
  const words = OPERATION_WORDS[name];
  const cli = [words.cli, ...(words.alsoCli ?? [])].find((one) => command === undefined || one?.command === command);
  if (cli === undefined) throw new Error(`operation \`${name}\` has no command ${command ?? ""}`);
  return {
    name: cli.command,
    summary: (cli.summary ?? words.summary).replace(/\.$/, ""),
    args: (cli.args ?? []).map(toArg),
    options: {
      ...Object.fromEntries(Object.entries(cli.options ?? {}).map(([option, field]) => [option, toOption(field)])),
      ...(words.idempotencyKey ? { key: KEY } : {}),
      as: AS,
    },
    notes: [...(cli.notes ?? []), ...decidedBy(words, cli)],
    examples: cli.examples,
    load: async () => {
      const [{ runOperation }, view] = await Promise.all([import("./run.ts"), load()]);
      return runOperation(name, cli, view);
    },
  };
}

const KEY: OptionSpec = { type: "string", value: "KEY", help: "an idempotency key: a repetition with the same key does nothing more" };

const toArg = ({ value, help, required = false, choices }: CliField): ArgSpec => ({
  name: value,
  required,
  help,
  ...(choices === undefined ? {} : { choices }),
});

const toOption = ({ value, help, as, required = false, choices }: CliField): OptionSpec =>
  as === "flag"
    ? { type: "boolean", help }
    : { type: "string", value, help, ...(choices === undefined ? {} : { choices }), ...(required ? { required: true } : {}) };

/** The entity of a policy that an act is about. */
const ENTITIES: Readonly<Partial<Record<ActOn, string>>> = {
  agent: "Agent",
  session: "Session",
  approval: "Approval",
  grant: "Approval",
  call: "Call",
  breaker: "Breaker",
  work: "Work",
  schedule: "Schedule",
};

function decidedBy({ act, idempotencyKey }: OperationWords, { args }: CliWords): readonly string[] {
  const entity = typeof act === "string" ? undefined : ENTITIES[act.on];
  if (typeof act === "string" || entity === undefined || !idempotencyKey) return [];
  return [`Journalled. Decided by policy as Action::"${act.kind}" on ${entity}::"${args?.[0]?.value ?? "…"}".`];
}
