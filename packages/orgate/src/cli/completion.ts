/** Completion scripts, generated from the table of commands: they cannot fall behind it. */
import { EXIT, type RunCommand } from "@orgate/shell/terminal";
import { COMMANDS, groups, listCommandsIn } from "./commands.ts";
import { COMMON } from "./table/options.ts";

export const completion: RunCommand = async (given, screen) => {
  const [shell] = given.args;
  const script = shell === "fish" ? fish() : shell === "zsh" ? zsh() : bash();
  if (given.json) screen.line(JSON.stringify({ shell, script }));
  else screen.write(script);
  return EXIT.success;
};

const verbsOf = (group: string): readonly string[] =>
  listCommandsIn(group).flatMap(({ name }) => (name === group ? [] : [name.slice(group.length + 1)]));
const optionsOf = (name: string): readonly string[] =>
  Object.keys({ ...COMMANDS.find((c) => c.name === name)?.options, ...COMMON }).map((option) => `--${option}`);
type Known = Readonly<{ choices?: readonly string[]; words?: readonly string[] }>;
const valuesOf = ({ choices = [], words = [] }: Known): readonly string[] => [...choices, ...words];
/** Words that may follow a command: its options, and known values of its first argument. */
const wordsAfter = (name: string): string => {
  const [first] = COMMANDS.find((c) => c.name === name)?.args ?? [];
  return [...(first === undefined ? [] : valuesOf(first)), ...optionsOf(name)].join(" ");
};
/** Options of which some values are known, by command. */
const knownValues = (): readonly Readonly<{ command: string; option: string; values: string }>[] =>
  COMMANDS.flatMap(({ name, options }) =>
    Object.entries(options).flatMap(([option, spec]) => {
      const values = spec.type === "string" ? valuesOf(spec) : [];
      return values.length === 0 ? [] : [{ command: name, option, values: values.join(" ") }];
    }),
  );

export function bash(): string {
  const withVerbs = groups().filter((group) => verbsOf(group).length > 0);
  return `# bash completion of orgate: eval "$(orgate completion bash)"
_orgate() {
  local current=\${COMP_WORDS[COMP_CWORD]} command="\${COMP_WORDS[1]-}" words="" before=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="${[...groups(), "help"].join(" ")} --help --version"
  else
    case "$command" in
${withVerbs.map((group) => `      ${group}) [ "$COMP_CWORD" -eq 2 ] && words="${verbsOf(group).join(" ")}" || command="$command \${COMP_WORDS[2]}" ;;`).join("\n")}
      help) words="${groups().join(" ")}" ;;
    esac
    [ "$COMP_CWORD" -lt 3 ] || before=\${COMP_WORDS[COMP_CWORD-1]}
    [ -n "$words" ] || case "$command $before" in
${knownValues()
  .map(({ command, option, values }) => `      "${command} --${option}") words="${values}" ;;`)
  .join("\n")}
    esac
    [ -n "$words" ] || case "$command" in
${COMMANDS.map(({ name }) => `      "${name}") words="${wordsAfter(name)}" ;;`).join("\n")}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _orgate orgate
`;
}

export function zsh(): string {
  return `#compdef orgate
# zsh completion of orgate: eval "$(orgate completion zsh)"
autoload -U +X bashcompinit && bashcompinit
${bash()}`;
}

const quoted = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

const offered = (known: Known): string => (valuesOf(known).length === 0 ? "" : ` -a ${quoted(valuesOf(known).join(" "))}`);

export function fish(): string {
  const first = groups().map((group) => {
    const [only] = listCommandsIn(group);
    const help = verbsOf(group).length === 0 ? (only?.summary ?? "") : verbsOf(group).join(", ");
    return `complete -c orgate -f -n __fish_use_subcommand -a ${group} -d ${quoted(help)}`;
  });
  const verbs = COMMANDS.flatMap(({ name, summary }) => {
    const [group = "", verb] = name.split(" ");
    if (verb === undefined) return [];
    const others = verbsOf(group).join(" ");
    const when = quoted(`__fish_seen_subcommand_from ${group}; and not __fish_seen_subcommand_from ${others}`);
    return [`complete -c orgate -f -n ${when} -a ${verb} -d ${quoted(summary)}`];
  });
  const options = COMMANDS.flatMap((command) => {
    const seen = command.name
      .split(" ")
      .map((word) => `__fish_seen_subcommand_from ${word}`)
      .join("; and ");
    return Object.entries({ ...command.options, ...COMMON }).map(
      ([name, o]) =>
        `complete -c orgate -n ${quoted(seen)} -l ${name}${o.type === "string" ? ` -r${offered(o)}` : ""} -d ${quoted(o.help)}`,
    );
  });
  return `${["# fish completion of orgate", ...first, ...verbs, ...options].join("\n")}\n`;
}
