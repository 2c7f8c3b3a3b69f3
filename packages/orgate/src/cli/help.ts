/** Help, from the table of commands alone. */
import type { CommandSpec, Paint } from "@orgate/shell/terminal";
import { COMMANDS, listCommandsIn } from "./commands.ts";
import { COMMON } from "./table/options.ts";

export function helpText(group: string | null, command: CommandSpec | null, paint: Paint): string {
  if (command !== null) return commandHelp(command, paint);
  const commands = group === null ? COMMANDS : listCommandsIn(group);
  const longest = Math.max(...commands.map(({ name }) => name.length));
  const lines = commands.map(({ name, summary }) => `  ${paint("strong", name)}${" ".repeat(longest - name.length + 2)}${summary}`);
  const about = group === null ? ["Orgate runs AI agents under policy: an agent proposes, a policy permits, the journal proves.", ""] : [];
  return [
    ...about,
    `usage: orgate ${group ?? "COMMAND"} …`,
    "",
    ...lines,
    "",
    "`orgate COMMAND --help` shows more; every command takes --json and --project DIR.",
    ...(group === null ? ["Start with `orgate demo`."] : []),
  ].join("\n");
}

function commandHelp(command: CommandSpec, paint: Paint): string {
  const args = command.args.map(({ name, help }) => [name, help] as const);
  const options = Object.entries({ ...command.options, ...COMMON }).map(
    ([name, o]) => [`--${name}${o.type === "string" ? ` ${o.value}` : ""}`, o.help] as const,
  );
  const rows = [...args, ...options];
  const longest = Math.max(...rows.map(([name]) => name.length));
  const row = ([name, help]: readonly [string, string]) => `  ${paint("strong", name)}${" ".repeat(longest - name.length + 2)}${help}`;
  return [
    `usage: ${usageLine(command)}`,
    "",
    command.summary,
    ...command.notes,
    "",
    ...rows.map(row),
    "",
    "examples:",
    ...command.examples.map((example) => `  ${example}`),
  ].join("\n");
}

/** Required options stand without brackets, before the others. */
export function usageLine({ name, args, options }: CommandSpec): string {
  const words = args.map((arg) => `${arg.required ? arg.name : `[${arg.name}]`}${arg.many === true ? "…" : ""}`);
  const all = Object.entries(options).map(([option, spec]) => {
    const isRequired = spec.type === "string" && spec.required === true;
    const flag = `--${option}${spec.type === "string" ? ` ${spec.value}` : ""}`;
    return { isRequired, text: `${isRequired ? flag : `[${flag}]`}${spec.type === "string" && spec.many === true ? "…" : ""}` };
  });
  const flags = [...all.filter(({ isRequired }) => isRequired), ...all.filter(({ isRequired }) => !isRequired)].map(({ text }) => text);
  return ["orgate", name, ...words, ...flags].join(" ");
}
