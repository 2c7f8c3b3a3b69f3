/**
 * Which commands belong together, in the order in which a newcomer needs them. Every command is in one group: a derived one that no list names is in the
 * group of its operation's tag.
 */
import { OPERATION_NAMES, OPERATION_WORDS } from "@orgate/protocol/words";

type Group = Readonly<{ name: string; about: string; commands: readonly string[]; tags?: readonly string[] }>;
const LISTED: readonly Group[] = [
  {
    name: "conversation",
    about: "what is said, to whom, and what the model is shown of it",
    commands: [
      "ask",
      "send",
      "run",
      "steer",
      "stop",
      "new",
      "clear",
      "compact",
      "context",
      "model",
      "cost",
      "tokens",
      "history",
      "sessions",
      "resume",
      "branch",
      "snapshot",
      "export",
    ],
    tags: ["sessions"],
  },
  {
    name: "agents",
    about: "who there is, what each is doing, and whether it may",
    commands: ["agents", "agent", "monitor", "tools", "skills", "pause", "resume-agent", "halt", "resume-work", "cron"],
    tags: ["agents", "work", "schedules", "webhooks"],
  },
  { name: "authoring", about: "agents, policies and tools, described in words", commands: ["spawn", "policy", "tool", "behavior", "init"] },
  { name: "orchestration", about: "several agents under one budget", commands: ["chain", "parallel", "race", "debate"] },
  {
    name: "approvals",
    about: "what waits for a person, and what was remembered",
    commands: ["approvals", "why", "approve", "deny", "withdraw", "resolve", "grants", "revoke"],
    tags: ["approvals", "policies"],
  },
  {
    name: "knowledge",
    about: "what is kept, and what happened",
    commands: ["memory", "knowledge", "logs", "audit", "debug", "verify", "call"],
    tags: ["journal", "knowledge"],
  },
  {
    name: "this shell",
    about: "the shell itself, and the server it is in front of",
    commands: ["help", "status", "doctor", "mcp", "secrets", "attach", "detach", "theme", "quit"],
    tags: ["server"],
  },
];

const listed = new Set(LISTED.flatMap(({ commands }) => commands));
const derivedWith = (tags: readonly string[]): readonly string[] =>
  OPERATION_NAMES.flatMap((name) => {
    const { tag, slash = [] } = OPERATION_WORDS[name];
    return tags.includes(tag) ? slash.map(({ command }) => command).filter((command) => !listed.has(command)) : [];
  });

export const COMMAND_GROUPS: readonly Omit<Group, "tags">[] = LISTED.map(({ name, about, commands, tags = [] }) => ({
  name,
  about,
  commands: [...new Set([...commands, ...derivedWith(tags)])],
}));
