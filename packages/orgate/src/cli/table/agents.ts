/** Commands as data: plain table. */
import type { CommandSpec } from "@orgate/shell/terminal";
import { AGENT, ARG, ARGS, AS, EXITS, MANIFESTS_ONLY, TOOL } from "./options.ts";

export const agentsCommands: readonly CommandSpec[] = [
  {
    name: "agents list",
    summary: "List the agents of the project: model, tools, own policies, and file",
    args: [],
    options: {},
    notes: [],
    examples: ["orgate agents list", "orgate agents list --json"],
    load: async () => (await import("../commands/agents/agents.ts")).listAgents,
  },
  {
    name: "agents show",
    summary: "Show one agent: instructions, limits, tools, input and output",
    args: [AGENT],
    options: {},
    notes: [],
    examples: ["orgate agents show payer"],
    load: async () => (await import("../commands/agents/agents.ts")).showAgent,
  },
  {
    name: "agents validate",
    summary: "Validate the agents: list every problem with its file and line",
    args: [{ name: "FILE", required: false, help: "only what is wrong with this file" }],
    options: {},
    notes: [
      "Files, tools and policies. Exits 0 only when nothing is wrong.",
      "Where a part of a file cannot be read, what rests on it is not checked, and that is said (`complete` with --json).",
    ],
    examples: ["orgate agents validate", "orgate agents validate agents/payer.symbi --json"],
    load: async () => (await import("../commands/agents/agents.ts")).validateAgents,
  },
  {
    name: "agents explain",
    summary: "Explain the rules of an agent's .symbi file: each as Cedar, with its line",
    args: [AGENT],
    options: {},
    notes: ["A verdict names the same file and line. `orgate policy explain` tells why one action was decided as it was."],
    examples: ["orgate agents explain payer", "orgate agents explain payer --json"],
    load: async () => (await import("../commands/agents/agents-explain.ts")).explainAgent,
  },
  {
    name: "agents fmt",
    summary: "Format .symbi files",
    args: [{ name: "FILE", required: false, help: "only this one (default: all of the project's)" }],
    options: {
      check: { type: "boolean", help: "change nothing; exit 1 when something would change" },
      stdin: { type: "boolean", help: "read a file from stdin, write it to stdout" },
    },
    notes: ["Comments stay where they are. A file that cannot be read is not touched."],
    examples: ["orgate agents fmt", "orgate agents fmt --check", "orgate agents fmt --stdin < agents/payer.symbi"],
    load: async () => (await import("../commands/agents/agents-fmt.ts")).fmt,
  },
  {
    name: "agents diff",
    summary: "Compare this project with another version: what is newly permitted, forbidden and asked",
    args: [
      { name: "DIR", required: true, help: "the other version: a folder with its orgate.toml" },
      { name: "AGENT", required: false, help: "only this one" },
    ],
    options: {},
    notes: [
      "Decided by both: the cases of both decision tables, requests at the values where a condition turns, and the latest decisions of the journal.",
      "A changed rule or setting is listed even where every tried request is decided as before. Exits 0 only when nothing changed.",
    ],
    examples: ["git worktree add ../before main && orgate agents diff ../before", "orgate agents diff ../before payer --json"],
    load: async () => (await import("../commands/agents/agents-diff.ts")).diffAgents,
  },
];

export const toolsCommands: readonly CommandSpec[] = [
  {
    name: "tools list",
    summary: "List the tools of the project: where they come from, which agents use them",
    args: [],
    options: {},
    notes: [],
    examples: ["orgate tools list", "orgate tools list --json"],
    load: async () => (await import("../commands/agents/tools.ts")).listTools,
  },
  {
    name: "tools show",
    summary: "Show the tool of a manifest: what it runs, its arguments, what it needs",
    args: [TOOL],
    options: {},
    notes: [MANIFESTS_ONLY],
    examples: ["orgate tools show whois"],
    load: async () => (await import("../commands/agents/tools.ts")).showTool,
  },
  {
    name: "tools schema",
    summary: "Print what the model sees of a tool, as JSON",
    args: [TOOL],
    options: {},
    notes: [MANIFESTS_ONLY],
    examples: ["orgate tools schema whois"],
    load: async () => (await import("../commands/agents/tools.ts")).schema,
  },
  {
    name: "tools validate",
    summary: "Validate the manifests: list every problem with its file and line",
    args: [{ name: "FILE", required: false, help: "only this manifest" }],
    options: {},
    notes: [
      "Exits 1 when anything is wrong, or when a program or an MCP server that a manifest needs is not on this machine.",
      "toolclad.toml and scope/scope.toml are checked too.",
    ],
    examples: ["orgate tools validate", "orgate tools validate tools/whois.clad.toml --json"],
    load: async () => (await import("../commands/agents/tools.ts")).validateTools,
  },
  {
    name: "tools test",
    summary: "Print what a call would run, as JSON; nothing runs, no secret is read",
    args: [TOOL],
    options: { arg: ARG, args: ARGS },
    notes: [MANIFESTS_ONLY],
    examples: [
      "orgate tools test whois --arg target=example.com",
      `orgate tools test scan --args '{"target": "10.0.0.2", "port": 22}' --json`,
    ],
    load: async () => (await import("../commands/agents/tools.ts")).test,
  },
  {
    name: "tools run",
    summary: "Run one call by hand in an agent's place: decided and journalled like any other",
    args: [TOOL],
    options: {
      arg: ARG,
      args: ARGS,
      agent: { type: "string", value: "NAME", help: "as which agent, where several have the tool" },
      as: AS,
    },
    notes: [MANIFESTS_ONLY, EXITS],
    examples: ["orgate tools run whois --arg target=example.com"],
    load: async () => (await import("../commands/agents/tools.ts")).runTool,
  },
  {
    name: "tools suggest",
    summary: "Propose what a tool should declare: effects, targets, outgoing text, labels, records",
    args: [{ name: "TOOL", required: false, help: "the name of a tool; needed without --all" }],
    options: { all: { type: "boolean", help: "every tool of the project's agents" } },
    notes: ["It goes by names, descriptions and schemas alone, and says how sure it is. It writes nothing: paste what is right."],
    examples: ["orgate tools suggest send_mail", "orgate tools suggest --all --json"],
    load: async () => (await import("../commands/agents/tools-suggest.ts")).suggestTools,
  },
  {
    name: "tools init",
    summary: "Write a manifest to start from",
    args: [{ name: "NAME", required: true, help: "of the tool; the file is tools/NAME.clad.toml" }],
    options: { kind: { type: "string", value: "KIND", help: "command (default), http or mcp", choices: ["command", "http", "mcp"] } },
    notes: ["It overwrites nothing."],
    examples: ["orgate tools init my_tool", "orgate tools init notify --kind http"],
    load: async () => (await import("../commands/agents/tools.ts")).initTool,
  },
];

export const skillsCommands: readonly CommandSpec[] = [
  {
    name: "skills list",
    summary: "List the skills of the project: which can be used, by whom, and why not",
    args: [],
    options: {},
    notes: [
      "Found in skills/ and .agents/skills/, in ~/.agents/skills where orgate.toml says so, and in what the modules of tools/ export.",
    ],
    examples: ["orgate skills list", "orgate skills list --json"],
    load: async () => (await import("../commands/agents/skills.ts")).listSkills,
  },
  {
    name: "skills show",
    summary: "Show one skill as an agent reads it",
    args: [{ name: "NAME", required: true, help: "its name" }],
    options: {},
    notes: ["Hidden and control characters are shown escaped. Shown whether it is trusted or not: read it, then `orgate trust add`."],
    examples: ["orgate skills show refunds"],
    load: async () => (await import("../commands/agents/skills.ts")).showSkill,
  },
];
