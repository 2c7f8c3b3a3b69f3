/** Commands about snapshots, exports, logs, knowledge, skills and secrets. */

import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { errorMessage } from "@orgate/core/vocab";
import type { OperationOutput } from "@orgate/protocol";
import { createNarrator } from "@orgate/protocol/view";
import type { Shell } from "../contract.ts";
import { count } from "../terminal/table.ts";
import { visible } from "../terminal/visible.ts";
import { wrapText } from "../ui/screen.ts";
import { fitTable } from "../ui/tables.ts";
import type { ShellCommand } from "./command.ts";
import type { Renderers } from "./operation-command.ts";
import type { TypedArguments } from "./slash-arguments.ts";

const NOBODY = "nothing has been said in this conversation yet";

/** A name is a session of its own that begins with all of this one: a position that can be gone back to, here and from anywhere. */
async function snapshot(rest: string, shell: Shell): Promise<void> {
  const talk = shell.current();
  if (talk === null) return shell.say(NOBODY);
  const at = talk.view.seq;
  if (rest === "") return shell.say(`${talk.session} at entry ${at}: \`/branch ${at}\` goes on from here`);
  if (!/^[\w.-]{1,64}$/.test(rest)) return shell.say("a name has letters, digits, `.`, `_` and `-`, 64 at the most");
  const made = await shell.unwrap(shell.connection.client.call("fork", { params: { session: talk.session }, body: { id: rest } }));
  if (made !== null)
    shell.say(`${visible(rest)} is ${talk.session} at entry ${at}: \`/resume ${visible(rest)}\` goes on from here, at any time`);
}

async function exported(rest: string, shell: Shell): Promise<void> {
  const talk = shell.current();
  if (talk === null) return shell.say(NOBODY);
  const text: unknown = await shell.unwrap(shell.connection.client.call("export", { query: { session: talk.session } }));
  if (typeof text !== "string") return;
  const file = resolve(shell.ui.cwd, rest === "" ? `${talk.session}.jsonl` : rest);
  try {
    writeFileSync(file, text, { flag: "wx", mode: 0o600 });
  } catch (error) {
    return shell.say(`it cannot be written: ${errorMessage(error)}`);
  }
  shell.say(`${count(text.trimEnd().split("\n").length, "line")} in ${visible(file)}: \`orgate journal verify FILE\` proves it anywhere`);
}

const LOGGED = 20;
async function logs(rest: string, shell: Shell): Promise<void> {
  const [agent = "", most = ""] = /^\d+$/.test(rest) ? ["", rest] : rest.split(/\s+/);
  const limit = most === "" ? LOGGED : Number(most);
  if (!Number.isInteger(limit) || limit < 1 || limit > 200) return shell.say("`/logs [AGENT] [N]`, at most 200");
  const found = await shell.unwrap(
    shell.connection.client.call("journalEntries", { query: { limit, ...(agent === "" ? {} : { agent }) } }),
  );
  if (found === null) return;
  const look = shell.ui.look();
  const tell = createNarrator();
  const lines = found.items.toReversed().flatMap((item) => {
    if (item.kind !== "entry") return [];
    const { stream, at } = item.entry;
    const place = `${new Date(at).toISOString().slice(11, 19)} ${stream.slice(-6)} `;
    return tell(item.entry).flatMap((line) =>
      wrapText(
        `${line.mark} ${line.text}`,
        look,
        { first: look.paint("dim", place), rest: " ".repeat(place.length), indent: place.length },
        line.tone,
      ),
    );
  });
  shell.ui.print(lines.length === 0 ? ["nothing has happened yet"] : lines);
}

function knownTable({ items }: OperationOutput<"knowledge">, shell: Shell, { fields }: TypedArguments): readonly string[] {
  const { agent, words } = fields;
  if (items.length === 0)
    return agent === undefined
      ? [words === undefined ? "nothing is known yet" : "nothing is known about that"]
      : [`${visible(String(agent))} has kept nothing${words === undefined ? "" : " about that"}`];
  const rows = items.map(({ id, kind, scope, agent: by, text, labels, relevance }) => [
    id,
    kind,
    relevance === null ? "" : relevance.toFixed(2),
    scope === "agent" ? `agent ${by ?? ""}` : scope,
    labels.join(" "),
    visible(text.replace(/\s+/g, " ")),
  ]);
  return fitTable(["id", "kind", "fits", "scope", "labels", "text"], rows, shell.ui.look());
}
export const RECORD_RENDERERS: Renderers = { knowledge: knownTable };

async function skills(rest: string, shell: Shell): Promise<void> {
  const names = rest === "" ? shell.agents().map(({ name }) => name) : [rest];
  const found = await Promise.all(names.map((agent) => shell.unwrap(shell.connection.client.call("agent", { params: { agent } }))));
  const rows = found.flatMap((one) => (one === null ? [] : one.skills.map((skill) => [one.name, skill.name, skill.description])));
  shell.ui.print(rows.length === 0 ? ["no agent has a skill"] : fitTable(["agent", "skill", "what it is for"], rows, shell.ui.look()));
}

// ── commands of the local machine ──

/** Runs the command of the command line beside the local server and prints its output. */
async function twin(argv: readonly string[], shell: Shell, elsewhere: string): Promise<void> {
  if (shell.connection.runCommand === null) return shell.say(elsewhere);
  const { text } = await shell.connection.runCommand(argv);
  shell.ui.print(text.trimEnd().split("\n"));
}
async function secrets(rest: string, shell: Shell): Promise<void> {
  const [verb = "", name = "", ...more] = rest.split(/\s+/);
  const elsewhere = "secrets are kept where the server is: `orgate secrets set` there";
  if (rest === "" || rest === "list") return twin(["secrets", "list"], shell, elsewhere);
  if (!["set", "remove"].includes(verb) || name === "" || more.length > 0)
    return shell.say("`/secrets`, `/secrets set NAME` (the value is asked for, hidden), `/secrets remove NAME`");
  return twin(["secrets", verb, name], shell, elsewhere);
}

export const RECORD_COMMANDS: readonly ShellCommand[] = [
  {
    name: "snapshot",
    byHand: "it names the entry that this shell shows last",
    usage: "[NAME]",
    summary: "name this point of the conversation",
    more: [
      "The journal keeps all of it anyway: without a name, where that is. `/resume NAME` goes on from there; this one goes on as it is.",
    ],
    run: snapshot,
  },
  {
    name: "export",
    byHand: "it writes a file",
    usage: "[FILE]",
    summary: "write this conversation with its proof to a file",
    more: ["Lines of JSON, in a file that is not there yet. As `orgate journal export --session`."],
    takes: ["file"],
    run: exported,
  },
  {
    name: "logs",
    byHand: "it takes an agent, a number, or both",
    usage: "[AGENT] [N]",
    summary: "print what happened last, in all sessions",
    more: ["Time and session first. `/audit` is about this conversation alone."],
    takes: ["agent", "anything"],
    run: logs,
  },
  {
    name: "skills",
    byHand: "it calls one operation for each agent",
    usage: "[AGENT]",
    summary: "list the skills of agents",
    more: ["As `orgate skills list`."],
    takes: ["agent"],
    run: skills,
  },
  {
    name: "secrets",
    byHand: "it runs the command line beside the server",
    usage: "[set|remove NAME]",
    summary: "list secrets by name, set or remove one; values are typed hidden",
    more: [
      "Of a server of your own only. As `orgate secrets set|list|remove`. No value is ever shown, or kept among the lines that you typed.",
    ],
    takes: [["list", "set", "remove"], "anything"],
    run: secrets,
  },
  {
    name: "mcp",
    byHand: "it runs the command line beside the server",
    usage: "[SERVER]",
    summary: "list MCP servers, and what was accepted of them",
    more: ["Of a server of your own only. As `orgate mcp list`: nothing is started."],
    run: (rest, shell) =>
      twin(["mcp", "list", ...(rest === "" ? [] : [rest])], shell, "MCP servers are set up where the server is: `orgate mcp list` there"),
  },
  {
    name: "doctor",
    byHand: "it runs the command line beside the server",
    usage: "",
    summary: "check what is usable here, and why not",
    more: ["As `orgate doctor`; of a server elsewhere, `/status`."],
    run: (_, shell) => twin(["doctor"], shell, "the server is elsewhere: `/status` says how it is, `orgate doctor` there says more"),
  },
];
