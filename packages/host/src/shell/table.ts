/**
 * The commands of the shell, as data: what they are called, what they take, what they do. What is not in here is not offered, and what is works.
 *
 * S51 a line that begins with `/` and a name is a command or is refused with the nearest one: it is never sent to an agent.
 * S52 every command has help: `/help NAME`, `/NAME help`, `/NAME --help`.
 */
import { nearest } from "../cli/parse.ts";
import { visible } from "../cli/visible.ts";
import type { ShellCommand } from "./command.ts";
import { AUTHOR_COMMANDS } from "./table-author.ts";
import { FLEET_COMMANDS } from "./table-fleet.ts";
import { KEEP_COMMANDS } from "./table-keep.ts";
import { ORCHESTRATE_COMMANDS } from "./table-orchestrate.ts";
import { PEOPLE_COMMANDS } from "./table-people.ts";
import { SESSION_COMMANDS } from "./table-session.ts";
import { TALK_COMMANDS } from "./table-talk.ts";

const HELP: ShellCommand = {
  name: "help",
  usage: "[COMMAND]",
  takes: ["command"],
  summary: "what there is, or one command in full",
  more: [],
  async run(rest, { face }) {
    const one = SHELL_COMMANDS.find(({ name }) => name === rest.replace(/^\//, ""));
    face.print(one === undefined ? overview(face.look().paint) : helpOf(one));
  },
};

export const SHELL_COMMANDS: readonly ShellCommand[] = [
  HELP,
  ...SESSION_COMMANDS,
  ...AUTHOR_COMMANDS,
  ...TALK_COMMANDS,
  ...FLEET_COMMANDS,
  ...ORCHESTRATE_COMMANDS,
  ...PEOPLE_COMMANDS,
  ...KEEP_COMMANDS,
];

export type Read =
  | Readonly<{ kind: "message" }>
  | Readonly<{ kind: "command"; command: ShellCommand; rest: string }>
  | Readonly<{ kind: "unknown"; said: string }>;

export function commandIn(text: string): Read {
  const [, name, rest = ""] = /^\/([a-z][\w-]*)(?:\s+([\s\S]*))?$/i.exec(text.trim()) ?? [];
  if (name === undefined) return { kind: "message" };
  const command = SHELL_COMMANDS.find((one) => one.name === name.toLowerCase());
  if (command === undefined) {
    const near = nearest(
      name,
      SHELL_COMMANDS.map((one) => one.name),
    );
    return {
      kind: "unknown",
      said: `there is no command \`/${visible(name)}\`${near === null ? "" : `; did you mean \`/${near}\`?`} \`/help\` lists them`,
    };
  }
  return /^(help|--help|-h)$/.test(rest.trim())
    ? { kind: "command", command: HELP, rest: command.name }
    : { kind: "command", command, rest: rest.trim() };
}

function overview(paint: (tone: "dim" | "accent", text: string) => string): readonly string[] {
  const wide = Math.max(...SHELL_COMMANDS.map(({ name, usage }) => name.length + usage.length)) + 3;
  return [
    "",
    ...SHELL_COMMANDS.map(({ name, usage, summary }) => {
      const left = `/${name}${usage === "" ? "" : ` ${usage}`}`;
      return `${paint("accent", left)}${" ".repeat(Math.max(1, Math.min(wide, 34) - left.length))}${summary}`;
    }),
    "",
    paint("dim", "@agent message tells one agent · Tab completes · Alt-Enter breaks the line · Esc cancels · Ctrl-C twice leaves"),
  ];
}
const helpOf = ({ name, usage, summary, more }: ShellCommand): readonly string[] => [
  "",
  `/${name}${usage === "" ? "" : ` ${usage}`}`,
  `  ${summary}`,
  ...more.map((line) => `  ${line}`),
];
