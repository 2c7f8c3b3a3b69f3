/**
 * All slash commands as data, their help, and the parser of a line.
 *
 * S-20 every command has help: `/help NAME`, `/NAME help`, `/NAME --help`.
 * `/help` lists all commands by group, on one screen; `/help GROUP` and `/help all` say what each is for.
 * Rule: S-13.
 */
import { findNearestWord } from "@orgate/core/vocab";
import { visible } from "../terminal/visible.ts";
import type { ScreenLook } from "../ui/look.ts";
import { wrapText } from "../ui/screen.ts";
import { APPROVAL_COMMANDS, APPROVAL_RENDERERS } from "./approvals.ts";
import { AUTHOR_COMMANDS } from "./authoring.ts";
import type { ShellCommand } from "./command.ts";
import { CONVERSATION_COMMANDS } from "./conversation.ts";
import { FLEET_COMMANDS, WORK_RENDERERS } from "./fleet.ts";
import { COMMAND_GROUPS } from "./groups.ts";
import { CALL_COMMAND, deriveCommands, type Renderers } from "./operation-command.ts";
import { ORCHESTRATE_COMMANDS } from "./orchestrate.ts";
import { RECORD_COMMANDS, RECORD_RENDERERS } from "./records.ts";
import { CRON_ADD, SCHEDULE_RENDERERS } from "./schedules.ts";
import { SESSION_COMMANDS, SESSION_RENDERERS } from "./session.ts";

const HELP: ShellCommand = {
  name: "help",
  byHand: "it prints the help of this shell",
  usage: "[COMMAND | GROUP | all]",
  takes: ["command"],
  summary: "list commands, or explain one in full",
  more: [`Groups: ${COMMAND_GROUPS.map(({ name }) => name).join(", ")}.`],
  async run(rest, { ui, say }) {
    const asked = rest.replace(/^\//, "").toLowerCase();
    const command = SHELL_COMMANDS.find(({ name }) => name === asked);
    const groups = asked === "all" ? COMMAND_GROUPS : COMMAND_GROUPS.filter(({ name }) => isMeant(name, asked));
    if (asked === "") ui.print(overview(ui.look()));
    else if (command !== undefined || groups.length > 0)
      ui.print([...(command === undefined ? [] : helpOf(command, ui.look())), ...groups.flatMap((group) => helpOfGroup(group, ui.look()))]);
    else say(`there is no command and no group \`${visible(rest)}\`: \`/help\` lists them`);
  },
};
const isMeant = (group: string, asked: string): boolean => group === asked || group.endsWith(` ${asked}`);

/** Commands that the table of operations describes. */
export const RENDERERS: Renderers = {
  ...SESSION_RENDERERS,
  ...WORK_RENDERERS,
  ...APPROVAL_RENDERERS,
  ...SCHEDULE_RENDERERS,
  ...RECORD_RENDERERS,
};
export const OPERATION_COMMANDS: readonly ShellCommand[] = deriveCommands({
  renderers: RENDERERS,
  verbs: { cron: { add: CRON_ADD } },
});

export const SHELL_COMMANDS: readonly ShellCommand[] = [
  HELP,
  ...SESSION_COMMANDS,
  ...AUTHOR_COMMANDS,
  ...CONVERSATION_COMMANDS,
  ...FLEET_COMMANDS,
  ...ORCHESTRATE_COMMANDS,
  ...APPROVAL_COMMANDS,
  ...RECORD_COMMANDS,
  ...OPERATION_COMMANDS,
  CALL_COMMAND,
];

export type ParsedLine =
  | Readonly<{ kind: "message" }>
  | Readonly<{ kind: "command"; command: ShellCommand; rest: string }>
  | Readonly<{ kind: "unknown"; said: string }>;

/** Aliases known from other programs. */
const ELSEWHERE: ReadonlyMap<string, string> = new Map([
  ["exit", "quit"],
  ["q", "quit"],
]);

export function parseLine(text: string): ParsedLine {
  const [, name, rest = ""] = /^\/([a-z][\w-]*)(?:\s+([\s\S]*))?$/i.exec(text.trim()) ?? [];
  if (name === undefined) return { kind: "message" };
  const meant = ELSEWHERE.get(name.toLowerCase()) ?? name.toLowerCase();
  const command = SHELL_COMMANDS.find((one) => one.name === meant);
  if (command === undefined) {
    const near = findNearestWord(
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

type Group = (typeof COMMAND_GROUPS)[number];
const LEFT = 16;
function overview(look: ScreenLook): readonly string[] {
  const rest = " ".repeat(LEFT);
  return [
    "",
    ...COMMAND_GROUPS.flatMap(({ name, commands }) =>
      wrapText(commands.map((one) => `/${one}`).join(" "), look, {
        first: look.paint("accent", name.padEnd(LEFT)),
        rest,
        indent: LEFT,
      }),
    ),
    "",
    ...[
      "`/help COMMAND` says all of one, `/help GROUP` what each of a group is for, `/help all` of all",
      "@agent message tells one agent · Tab completes · Alt-Enter breaks the line · Ctrl-R searches · Esc cancels · Ctrl-C twice leaves",
    ].flatMap((line) => wrapText(line, look, undefined, "dim")),
  ];
}

const NARROW = 70;
function helpOfGroup({ name: group, about, commands }: Group, look: ScreenLook): readonly string[] {
  const { paint, columns } = look;
  const indent = columns < NARROW ? 4 : 34;
  return [
    "",
    ...wrapText(`${group}: ${about}`, look, undefined, "strong"),
    ...SHELL_COMMANDS.filter(({ name }) => commands.includes(name)).flatMap(({ name, usage, summary }) => {
      const left = `/${name}${usage === "" ? "" : ` ${usage}`}`;
      const rest = " ".repeat(indent);
      if (left.length < indent) return wrapText(summary, look, { first: paint("accent", left.padEnd(indent)), rest, indent });
      return [...wrapText(left, look, undefined, "accent"), ...wrapText(summary, look, { first: rest, rest, indent })];
    }),
  ];
}
const helpOf = ({ name, usage, summary, more }: ShellCommand, look: ScreenLook): readonly string[] => [
  "",
  ...wrapText(`/${name}${usage === "" ? "" : ` ${usage}`}`, look),
  ...[summary, ...more].flatMap((line) => wrapText(line, look, { first: "  ", rest: "  ", indent: 2 })),
];
