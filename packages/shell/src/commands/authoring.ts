/**
 * Commands that author: they send the shell's agent a request that it and its offline model understand alike. Every save asks for approval.
 * S-20 `/spawn`, `/policy`, `/tool` and `/behavior` are messages to the shell's agent, and nothing without one: it says how a project gets one. `/spawn NAME` starts an agent that is there.
 */

import { AUTHOR, NO_AUTHOR } from "../auto-approve.ts";
import type { Shell } from "../contract.ts";
import { visible } from "../terminal/visible.ts";
import type { ShellCommand } from "./command.ts";
import { startAgent } from "./conversation.ts";

async function author(what: string, rest: string, shell: Shell, example: string): Promise<void> {
  const words = rest.replace(/^["“](.*)["”]$/s, "$1").trim();
  if (words === "") return shell.say(`say what you want: ${example}`);
  if (!shell.agents().some(({ name }) => name === AUTHOR)) return shell.say(NO_AUTHOR);
  shell.address(AUTHOR);
  await shell.send(AUTHOR, `Author ${what}: ${words}`);
}

/** A name that stands alone is an agent's; anything else says what one should do. */
async function spawn(rest: string, shell: Shell): Promise<void> {
  const [, name = "", task = ""] = /^([A-Za-z0-9][\w.-]*)(?:\s+([\s\S]+))?$/.exec(rest) ?? [];
  if (name !== "" && !shell.agents().some((one) => one.name === name)) await shell.refreshAgents();
  if (name !== "" && shell.agents().some((one) => one.name === name)) return started(name, task, shell);
  if (name !== "" && !/^(?:an?|the|one)\s/i.test(rest))
    return shell.say(
      `there is no agent \`${visible(name)}\`; there are: ${shell
        .agents()
        .map((one) => visible(one.name))
        .join(", ")}. \`/spawn "an agent that …"\` authors one`,
    );
  await author("an agent", rest, shell, '/spawn "an agent that reads notes and may not save them"');
}

async function started(name: string, task: string, shell: Shell): Promise<void> {
  await startAgent(name, shell);
  if (task !== "" && shell.addressee() === name) await shell.send(name, task);
}

const PROFILES = ["minimal", "assistant", "dev-agent", "multi-agent"];
async function init(rest: string, shell: Shell): Promise<void> {
  const [first = "", folder = "", more] = rest.split(/\s+/);
  const twin = shell.connection.runCommand;
  if (first === "" || more !== undefined || (PROFILES.includes(first) && folder === ""))
    return rest !== "" && !PROFILES.includes(first) && first !== AUTHOR
      ? author("an agent", rest, shell, "")
      : shell.say(
          `\`/init shell\` gives this project the shell's agent and its policies; \`/init PROFILE FOLDER\` makes a project elsewhere (${PROFILES.join(", ")}); any other words are what an agent should do`,
        );
  if (first !== AUTHOR && !PROFILES.includes(first)) return author("an agent", rest, shell, "");
  if (twin === null) return shell.say("files are written where the project lies: `orgate init` does it there");
  const { code, text } = await twin(first === AUTHOR ? ["init", "--shell"] : ["init", folder, "--profile", first, "--yes"]);
  shell.ui.print(text.trimEnd().split("\n"));
  if (code === 0 && first === AUTHOR) await shell.switchServer(null);
}

export const AUTHOR_COMMANDS: readonly ShellCommand[] = [
  {
    name: "init",
    byHand: "it writes files, or sends a message to the shell's agent",
    usage: "shell | PROFILE FOLDER | WORDS",
    takes: [[AUTHOR, ...PROFILES], "file"],
    summary: "add the shell's own agent to this project, or create a project",
    more: [
      "As `orgate init`. `shell` writes agents/shell.symbi and policies/shell/; nothing that is there is overwritten.",
      `Profiles: ${PROFILES.join(", ")}.`,
    ],
    run: init,
  },
  {
    name: "spawn",
    byHand: "it opens a session, or sends a message to the shell's agent",
    usage: 'NAME [TASK] | "WORDS"',
    takes: ["agent", "anything"],
    summary: "start an agent, or author one",
    more: [
      "A name starts a conversation with that agent. Words say what an agent should do: it is written, validated, shown with what it newly permits, and saved if you say so.",
      "Offline: `an agent NAME that reads notes and asks before it saves notes, but may not send mail`; tools are taken by the words of their names.",
    ],
    run: spawn,
  },
  {
    name: "policy",
    byHand: "it is a message to the shell's agent",
    usage: '"WORDS"',
    takes: ["anything"],
    summary: "author a policy",
    more: [
      "In Cedar, checked with all the others against the tools that there are.",
      "Offline: `AGENT may [not] use TOOL`, `ask before AGENT uses TOOL`.",
    ],
    run: (rest, shell) => author("a policy", rest, shell, '/policy "ask before reader uses save_note"'),
  },
  {
    name: "tool",
    byHand: "it is a message to the shell's agent",
    usage: '"WORDS"',
    takes: ["anything"],
    summary: "author a tool, as a manifest",
    more: [
      "A command in a sandbox, an HTTP call or a tool of an MCP server: `orgate tools init` has templates.",
      "Offline: ``NAME that runs `echo {text}` ``.",
    ],
    run: (rest, shell) => author("a tool", rest, shell, '/tool "say that runs `echo {text}`"'),
  },
  {
    name: "behavior",
    byHand: "it is a message to the shell's agent",
    usage: '"WORDS"',
    takes: ["anything"],
    summary: "author a reusable block: an agent with parameters that others delegate to",
    more: [
      'A behavior is an agent with parameters (and a return type, if it has one); others have it with "agent:NAME" among their capabilities.',
      "Offline: `NAME(text) that sums up a text`.",
    ],
    run: (rest, shell) => author("a behavior", rest, shell, '/behavior "summary(text) that sums up a text"'),
  },
];
