/** Commands as data: plain table. */
import type { CommandSpec } from "@orgate/shell/terminal";
import { AS, LOG, PASSPHRASES, SERVING } from "./options.ts";

export const initCommands: readonly CommandSpec[] = [
  {
    name: "init",
    summary: "Create a project: policies with their decision tables, agents, tools, settings",
    args: [{ name: "DIR", required: false, help: "where (default: here)" }],
    options: {
      kind: {
        type: "string",
        value: "KIND",
        help: "assistant (default), developer, operations, payments, secretary or support",
        choices: ["assistant", "developer", "operations", "payments", "secretary", "support"],
      },
      profile: {
        type: "string",
        value: "PROFILE",
        help: "how much there is to begin with: minimal, assistant, dev-agent or multi-agent",
        choices: ["minimal", "assistant", "dev-agent", "multi-agent"],
      },
      shell: { type: "boolean", help: "nothing but the shell's agent and its policies, for the project that is here" },
      yes: { type: "boolean", help: "ask nothing" },
      as: AS,
    },
    notes: ["Nothing that is there is overwritten. The model is offline: `orgate run` works at once, without a key."],
    examples: ["orgate init shop --yes", "orgate init shop --kind operations --yes", "orgate init team --profile multi-agent --yes"],
    load: async () => (await import("../commands/project/init.ts")).init,
  },
];

export const secretsCommands: readonly CommandSpec[] = [
  {
    name: "secrets set",
    summary: "Store a secret for `{_secret:NAME}`, encrypted",
    args: [
      { name: "NAME", required: true, help: "1 to 64 of A-Z, a-z, 0-9, _, . and -" },
      { name: "VALUE", required: false, help: "`-`: read it from stdin; it is never an argument", choices: ["-"] },
    ],
    options: {},
    notes: [PASSPHRASES],
    examples: ["orgate secrets set api_token", "pass show api | orgate secrets set api_token -"],
    load: async () => (await import("../commands/project/secrets.ts")).setSecret,
  },
  {
    name: "secrets list",
    summary: "List the names of secrets, where they come from, which tools use them",
    args: [],
    options: {},
    notes: ["Values are never shown.", PASSPHRASES],
    examples: ["orgate secrets list"],
    load: async () => (await import("../commands/project/secrets.ts")).listSecrets,
  },
  {
    name: "secrets remove",
    summary: "Remove a secret",
    args: [{ name: "NAME", required: true, help: "as `orgate secrets list` shows it" }],
    options: {},
    notes: [PASSPHRASES],
    examples: ["orgate secrets remove api_token"],
    load: async () => (await import("../commands/project/secrets.ts")).removeSecret,
  },
];

export const trustCommands: readonly CommandSpec[] = [
  {
    name: "trust list",
    summary: "List what the project brings (AGENTS.md, skills, MCP servers), and whether it is trusted",
    args: [],
    options: {},
    notes: ["Trust is given to a digest: what has changed since is not used."],
    examples: ["orgate trust list"],
    load: async () => (await import("../commands/agents/trust.ts")).listTrust,
  },
  {
    name: "trust add",
    summary: "Trust it as it is now",
    args: [{ name: "WHAT", required: true, help: "as `orgate trust list` names it: AGENTS.md, skills/NAME, mcp:NAME" }],
    options: { digest: { type: "string", value: "DIGEST", help: "only if it is this one (at least 8 characters)" }, as: AS },
    notes: [],
    examples: ["orgate trust add AGENTS.md"],
    load: async () => (await import("../commands/agents/trust.ts")).addTrust,
  },
  {
    name: "trust remove",
    summary: "Withdraw trust",
    args: [{ name: "WHAT", required: true, help: "as `orgate trust list` names it" }],
    options: { reason: { type: "string", value: "TEXT", help: "why; the journal keeps it" }, as: AS },
    notes: [],
    examples: ["orgate trust remove AGENTS.md"],
    load: async () => (await import("../commands/agents/trust.ts")).removeTrust,
  },
];

export const mcpCommands: readonly CommandSpec[] = [
  {
    name: "mcp list",
    summary: "List the MCP servers of the project and your own, and what was accepted of them",
    args: [{ name: "SERVER", required: false, help: "only this one, with its tools" }],
    options: {},
    notes: ["Servers stand in .mcp.json of the project and in mcp.json of $ORGATE_HOME (~/.orgate). Nothing is started."],
    examples: ["orgate mcp list", "orgate mcp list files --json"],
    load: async () => (await import("../commands/agents/mcp.ts")).listServers,
  },
  {
    name: "mcp diff",
    summary: "Compare what a server offers now with what was accepted",
    args: [{ name: "SERVER", required: true, help: "as `orgate mcp list` names it" }],
    options: {},
    notes: ["Starts the server, which must be trusted (`orgate trust add mcp:NAME`). Exits 1 when there is a difference."],
    examples: ["orgate mcp diff files"],
    load: async () => (await import("../commands/agents/mcp.ts")).diffServer,
  },
  {
    name: "mcp login",
    summary: "Sign in at a server that uses OAuth",
    args: [{ name: "SERVER", required: true, help: "as `orgate mcp list` names it" }],
    options: {},
    notes: [
      "Prints an address to open in a browser, and waits for it to come back. Tokens are kept in $ORGATE_HOME (~/.orgate), for you alone.",
    ],
    examples: ["orgate mcp login tickets"],
    load: async () => (await import("../commands/agents/mcp-login.ts")).login,
  },
  {
    name: "mcp logout",
    summary: "Remove your sign-in at a server",
    args: [{ name: "SERVER", required: true, help: "as `orgate mcp list` names it" }],
    options: {},
    notes: [],
    examples: ["orgate mcp logout tickets"],
    load: async () => (await import("../commands/agents/mcp-login.ts")).logout,
  },
  {
    name: "mcp trust",
    summary: "Trust a server as it is configured, and accept what it offers now",
    args: [{ name: "SERVER", required: true, help: "as `orgate mcp list` names it" }],
    options: {
      tools: { type: "string", value: "A,B", help: "only these; the others stay as they were accepted" },
      digest: { type: "string", value: "DIGEST", help: "only if it offers this, as `orgate mcp diff` shows it (at least 8 characters)" },
      as: AS,
    },
    notes: [
      "Starts the server. What it offers later and was not accepted is refused.",
      "`orgate trust remove mcp:NAME` takes it back, `orgate trust remove mcp-tools:NAME` what was accepted.",
    ],
    examples: ["orgate mcp trust files", "orgate mcp trust files --tools read_text_file,list_directory"],
    load: async () => (await import("../commands/agents/mcp.ts")).trust,
  },
];

export const doctorCommands: readonly CommandSpec[] = [
  {
    name: "doctor",
    summary: "Check what works here, and why not: Node, project, models and their keys, journal, sandbox",
    args: [],
    options: {
      online: {
        type: "boolean",
        help: "ask each provider that has a key for its list of models: tells whether the key is good, costs nothing",
      },
    },
    notes: [
      "Keys come from the environment and from the project's .env; none is shown or stored, and none is sent without --online.",
      "Addresses on this machine are knocked on, so that a local server that is down is seen.",
      "Exits 1 when Node, the project, its journal or the model of one of its agents cannot be used.",
    ],
    examples: ["orgate doctor", "orgate doctor --online", "orgate doctor --json"],
    load: async () => (await import("../commands/project/doctor.ts")).doctor,
  },
];

export const upCommands: readonly CommandSpec[] = [
  {
    name: "up",
    summary: "Start the project's server: HTTP and WebSocket on one port",
    args: [],
    options: { ...SERVING, cluster: { type: "boolean", help: "serve only: `orgate worker` processes drive sessions and fire schedules" } },
    notes: [
      "The first line tells where. Until you have signed in once it prints a link to do so, good once; later with --link, or by `orgate keys create NAME --link`.",
      "SIGTERM and Ctrl-C let turns finish for ten seconds, then park them: they go on at the next start. A second one leaves at once, and loses nothing.",
    ],
    examples: ["orgate up", "orgate up --port 8080 --project my-project", "orgate up --json --log info"],
    load: async () => (await import("../commands/project/up.ts")).up,
  },
  {
    name: "worker",
    summary: "Drive sessions and fire schedules of the project, without a server; any number of workers",
    args: [],
    options: {
      alive: {
        type: "boolean",
        help: "drive nothing: exit 0 if the worker of this machine (pod, container) renewed its lease lately, 1 if not",
      },
      log: LOG,
      as: AS,
    },
    notes: [
      "Workers share the project's store: with [cluster] in orgate.toml they run on any number of machines, otherwise on this one. A session is driven by one at a time; when a worker dies, another goes on.",
      "SIGTERM and Ctrl-C let turns finish for ten seconds, then park them for another worker. A second one leaves at once, and loses nothing.",
    ],
    examples: ["orgate worker", "orgate worker --json --log info", "orgate worker --alive"],
    load: async () => (await import("../commands/project/worker.ts")).worker,
  },
];

export const migrateCommands: readonly CommandSpec[] = [
  {
    name: "migrate",
    summary: "Move the project's journal to PostgreSQL, or back into files",
    args: [],
    options: {
      to: {
        type: "string",
        value: "PLACE",
        help: "`postgres://user@host:port/name`, `env:VARIABLE` or `file:PATH` with the whole address in it, or `files`",
      },
      schema: { type: "string", value: "NAME", help: "of this project in the database (default: orgate)" },
      as: AS,
    },
    notes: [
      "Stop servers, workers and runs of the project first. Every row is compared and every seal verified before the old place is closed; orgate.toml changes last.",
      "If it is interrupted, run it again: it goes on. The old file or schema stays, closed, until you delete it.",
    ],
    examples: ["orgate migrate --to env:ORGATE_DATABASE --schema team_a", "orgate migrate --to files"],
    load: async () => (await import("../commands/project/migrate.ts")).migrateJournal,
  },
];

export const devCommands: readonly CommandSpec[] = [
  {
    name: "dev",
    summary: "Start the same server, and restart it when the project changes; policies reload in place",
    args: [],
    options: Object.fromEntries(Object.entries(SERVING).filter(([name]) => name !== "watch" && name !== "check")),
    notes: [
      "It watches orgate.toml, .mcp.json, AGENTS.md, modules beside them, agents, tools and skills. What does not load is said, and the server goes on as it was.",
      "Turns in progress are parked, and go on in the new process.",
    ],
    examples: ["orgate dev"],
    load: async () => (await import("../commands/project/dev.ts")).dev,
  },
];

export const callCommands: readonly CommandSpec[] = [
  {
    name: "call",
    summary: "Call any operation of the API by its name, through the running server or in this process",
    args: [
      { name: "OPERATION", required: true, help: "its name in the API's description, such as agentStatus or usage" },
      { name: "NAME=VALUE", required: false, help: "one field of its input; a value that is JSON counts as that", many: true },
    ],
    options: {
      arg: { type: "string", value: "NAME=VALUE", help: "the same, as an option; may be given several times", many: true },
      input: { type: "string", value: "JSON", help: "its whole input, as a JSON object" },
      key: { type: "string", value: "KEY", help: "an idempotency key: the same call with the same key is done once" },
      as: AS,
    },
    notes: [
      "Decided by the policies like every request. With $ORGATE_API_KEY and a server that runs for this project the server does it, otherwise this process.",
    ],
    examples: ["orgate call agentStatus agent=assistant", "orgate call unknowns limit=5 --json"],
    load: async () => (await import("../commands/project/call.ts")).call,
  },
];

export const shellCommands: readonly CommandSpec[] = [
  {
    name: "shell",
    summary: "Open the interactive shell: talk to agents, watch them and answer them",
    args: [],
    options: {
      resume: { type: "string", value: "ID", help: "go on in this session: its id, your own name of it, or enough of either end" },
      list: { type: "boolean", help: "the sessions that you may see, and nothing else" },
      profile: { type: "string", value: "NAME", help: "with keys, sign-ins and typed lines of its own: $ORGATE_HOME/profiles/NAME" },
      attach: {
        type: "string",
        value: "URL",
        help: "a server's address; $ORGATE_API_KEY says who you are (default: a server of the shell's own)",
      },
      yes: { type: "boolean", help: "grants saving what is authored, for the conversation: `/grants` lists it, `/revoke` takes it back" },
      "allow-shell": { type: "boolean", help: "the shell's agent may propose commands, in a sandbox; each is asked about" },
      plain: { type: "boolean", help: "lines in, lines out: nothing is drawn; also when stdin or stdout is no terminal" },
      theme: { type: "string", value: "THEME", help: "colour (default), contrast or plain", choices: ["colour", "contrast", "plain"] },
      as: AS,
    },
    notes: [
      "`/help` lists the commands; `@agent message` tells one agent; Esc cancels what runs; Ctrl-C twice leaves, and loses nothing.",
      "In lines it exits 3 when something waits for a person.",
    ],
    examples: ["orgate shell", "orgate shell --resume s_0mh3k2", 'echo "@ops why is checkout slow?" | orgate shell --plain'],
    load: async () => (await import("../../local-server/shell-command.ts")).shell,
  },
];

export const demoCommands: readonly CommandSpec[] = [
  {
    name: "demo",
    summary: "Run the demo: a denial, an approval, a kill -9, a resume, a proof. No key, no network, under a minute",
    args: [],
    options: {},
    notes: ["It works in a temporary copy of the example project, and removes it."],
    examples: ["orgate demo", "orgate demo --json"],
    load: async () => (await import("../../demo/demo.ts")).demo,
  },
];

export const completionCommands: readonly CommandSpec[] = [
  {
    name: "completion",
    summary: "Print a completion script for your shell",
    args: [{ name: "SHELL", required: true, help: "bash, zsh or fish", choices: ["bash", "zsh", "fish"] }],
    options: {},
    notes: [],
    examples: ['eval "$(orgate completion bash)"', "orgate completion fish > ~/.config/fish/completions/orgate.fish"],
    load: async () => (await import("../completion.ts")).completion,
  },
];
