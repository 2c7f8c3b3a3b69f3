/** Every command, as data. Modules are loaded by the one that runs: the others cost nothing. */
import type { CommandSpec, OptionSpec } from "./command.ts";

export const COMMON: Readonly<Record<string, OptionSpec>> = {
  project: { type: "string", value: "DIR", help: "the project's folder (default: the nearest orgate.toml upward)" },
  json: { type: "boolean", help: "one JSON value on stdout, errors as JSON on stderr" },
  help: { type: "boolean", help: "this page" },
};

const AS: OptionSpec = {
  type: "string",
  value: "NAME",
  help: "who you are (default: $ORGATE_USER, else your only key, else one is made for you)",
};
const SESSION = { name: "ID", required: true, help: "a session's id, or enough of its beginning or end" } as const;
const EXITS = "Exits 0 when the turn completed, 3 when it waits for a person, 1 on any other ending or error, 2 on wrong usage.";
const DELIVERY = "It goes to the process that drives the session; when there is none, the session is taken up and driven here, to its end.";

export const COMMANDS: readonly CommandSpec[] = [
  {
    name: "run",
    summary: "run an agent: one turn, to its ending",
    args: [{ name: "AGENT", required: true, help: "its name" }],
    options: {
      input: { type: "string", value: "TEXT", help: "what you say; `-` reads it from stdin" },
      session: { type: "string", value: "ID", help: "go on in this session" },
      as: AS,
    },
    notes: [EXITS, "Ctrl-C cancels the turn, and the journal says so; a second one leaves at once."],
    examples: ['orgate run ops --input "why is checkout slow?"', "git diff | orgate run reviewer --input - --json"],
    load: async () => (await import("../commands/run.ts")).run,
  },
  {
    name: "sessions list",
    summary: "sessions, newest first",
    args: [],
    options: {
      state: {
        type: "string",
        value: "STATE",
        help: "only these: idle, running, waiting or closed",
        choices: ["idle", "running", "waiting", "closed"],
      },
      agent: { type: "string", value: "NAME", help: "only those of this agent" },
      most: { type: "string", value: "N", help: "at most so many (default 50)" },
    },
    notes: ["A running session that nobody holds was interrupted: `orgate sessions resume` takes it up."],
    examples: ["orgate sessions list", "orgate sessions list --state waiting --json"],
    load: async () => (await import("../commands/sessions.ts")).list,
  },
  {
    name: "sessions show",
    summary: "all that happened in a session, and what is open",
    args: [SESSION],
    options: {},
    notes: ["Decisions with their policies, acts with their outcomes, holds, open questions, and outcomes that nobody knows."],
    examples: ["orgate sessions show s_0mh3k2", "orgate sessions show s_0mh3k2 --json"],
    load: async () => (await import("../commands/sessions.ts")).show,
  },
  {
    name: "sessions resume",
    summary: "take a session up where it stands",
    args: [SESSION],
    options: {},
    notes: ["After a crash, or when what it waited for has come. What had run does not run again.", EXITS],
    examples: ["orgate sessions resume s_0mh3k2"],
    load: async () => (await import("../commands/sessions.ts")).resume,
  },
  {
    name: "sessions say",
    summary: "start another turn in a session",
    args: [SESSION, { name: "TEXT", required: true, help: "what you say; `-` reads it from stdin" }],
    options: { as: AS },
    notes: [DELIVERY, EXITS],
    examples: ['orgate sessions say s_0mh3k2 "and yesterday?"'],
    load: async () => (await import("../commands/wishes.ts")).say,
  },
  {
    name: "sessions steer",
    summary: "say something while a turn is in progress",
    args: [SESSION, { name: "TEXT", required: true, help: "what the agent hears next; `-` reads it from stdin" }],
    options: { as: AS },
    notes: [DELIVERY],
    examples: ['orgate sessions steer s_0mh3k2 "leave the database alone"'],
    load: async () => (await import("../commands/wishes.ts")).steer,
  },
  {
    name: "sessions cancel",
    summary: "stop the turn in progress: the model call and the tools, really",
    args: [SESSION],
    options: { reason: { type: "string", value: "TEXT", help: "why; the journal keeps it" }, as: AS },
    notes: [DELIVERY],
    examples: ['orgate sessions cancel s_0mh3k2 --reason "wrong customer"'],
    load: async () => (await import("../commands/wishes.ts")).cancel,
  },
  {
    name: "journal show",
    summary: "the streams of the journal, or the entries of one, as they are stored",
    args: [{ name: "STREAM", required: false, help: "a session's id, `keys` or `erasures`" }],
    options: {},
    notes: ["It shows what is there, proved or not: `orgate journal verify` proves it."],
    examples: ["orgate journal show", "orgate journal show keys --json"],
    load: async () => (await import("../commands/journal.ts")).show,
  },
  {
    name: "journal verify",
    summary: "prove that the journal is what was written, and name the first entry that is not",
    args: [{ name: "FILE", required: false, help: "an exported file in place of the project's journal" }],
    options: {
      head: { type: "string", value: "HEAD", help: "a head kept elsewhere: finds a journal that was rolled back as a whole" },
      key: { type: "string", value: "KEY", help: "the root's public key, `ed25519:…` (default: the project's own)" },
    },
    notes: ["Exits 1 when anything is bad."],
    examples: ["orgate journal verify", "orgate journal verify backup.jsonl --key ed25519:…"],
    load: async () => (await import("../commands/journal-verify.ts")).verify,
  },
  {
    name: "journal export",
    summary: "write the journal, or one session, as a file that proves itself",
    args: [],
    options: {
      session: { type: "string", value: "ID", help: "this session only, with the paths that prove it" },
      out: { type: "string", value: "FILE", help: "where to (default: stdout)" },
    },
    notes: [],
    examples: ["orgate journal export --out journal.jsonl", "orgate journal export --session s_0mh3k2 > case.jsonl"],
    load: async () => (await import("../commands/journal.ts")).exportTo,
  },
  {
    name: "journal erase",
    summary: "remove what a session says, for good; that it was said stays provable",
    args: [],
    options: {
      session: { type: "string", value: "ID", help: "whose content" },
      entries: { type: "string", value: "A-B", help: "only these entries" },
      reason: { type: "string", value: "TEXT", help: "why; the journal keeps it" },
      as: AS,
    },
    notes: ["The erasure is journalled first. A session with erased entries cannot go on."],
    examples: ['orgate journal erase --session s_0mh3k2 --reason "request 4711 of the customer"'],
    load: async () => (await import("../commands/journal-erase.ts")).erase,
  },
  {
    name: "journal rotate-key",
    summary: "replace the project's root key; old and new sign it",
    args: [],
    options: { writer: { type: "boolean", help: "replace this process's writer key instead" } },
    notes: [],
    examples: ["orgate journal rotate-key", "orgate journal rotate-key --writer"],
    load: async () => (await import("../commands/journal.ts")).rotateKey,
  },
  {
    name: "journal head",
    summary: "the last commit of each writer: keep it elsewhere, and a rollback is found",
    args: [],
    options: {},
    notes: [],
    examples: ["orgate journal head > head.txt", 'orgate journal verify --head "$(cat head.txt)"'],
    load: async () => (await import("../commands/journal.ts")).head,
  },
  {
    name: "keys create",
    summary: "make a key for a person, and certify it in this project",
    args: [{ name: "NAME", required: true, help: "a-z, 0-9, _ and -" }],
    options: {},
    notes: ["The private key lies in $ORGATE_HOME/keys (default ~/.orgate/keys) and never leaves it."],
    examples: ["orgate keys create ana"],
    load: async () => (await import("../commands/keys.ts")).create,
  },
  {
    name: "keys list",
    summary: "whose signatures count in this project",
    args: [],
    options: {},
    notes: [],
    examples: ["orgate keys list"],
    load: async () => (await import("../commands/keys.ts")).list,
  },
  {
    name: "keys withdraw",
    summary: "a key that was lost or stolen counts no more",
    args: [{ name: "KEYID", required: true, help: "as `orgate keys list` shows it" }],
    options: { reason: { type: "string", value: "TEXT", help: "why; the journal keeps it" }, as: AS },
    notes: [],
    examples: ['orgate keys withdraw k_3f2a --reason "laptop stolen"'],
    load: async () => (await import("../commands/keys.ts")).withdraw,
  },
  {
    name: "demo",
    summary: "see it work: a denial, a kill -9, a resume, a proof. No key, no network, 15 seconds",
    args: [],
    options: {},
    notes: ["It works in a temporary copy of the example project, and removes it."],
    examples: ["orgate demo", "orgate demo --json"],
    load: async () => (await import("../demo/demo.ts")).demo,
  },
  {
    name: "completion",
    summary: "a completion script for your shell",
    args: [{ name: "SHELL", required: true, help: "bash, zsh or fish", choices: ["bash", "zsh", "fish"] }],
    options: {},
    notes: [],
    examples: ['eval "$(orgate completion bash)"', "orgate completion fish > ~/.config/fish/completions/orgate.fish"],
    load: async () => (await import("./completion.ts")).completion,
  },
];

/** First words, in the order of the table. */
export const groups = (): readonly string[] => [...new Set(COMMANDS.map(({ name }) => name.split(" ")[0] ?? name))];
export const commandsOf = (group: string): readonly CommandSpec[] =>
  COMMANDS.filter(({ name }) => name === group || name.startsWith(`${group} `));
