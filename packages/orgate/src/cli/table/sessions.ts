/** Commands as data: plain table. */
import type { CommandSpec } from "@orgate/shell/terminal";
import { operationCommand } from "../operations/derive.ts";
import { AS, DELIVERY, EXITS, FILE, SESSION } from "./options.ts";

export const runCommands: readonly CommandSpec[] = [
  {
    name: "run",
    summary: "Run an agent for one turn, to its ending",
    args: [{ name: "AGENT", required: true, help: "its name" }],
    options: {
      input: { type: "string", required: true, value: "TEXT", help: "what you say; `-` reads it from stdin" },
      file: FILE,
      session: { type: "string", value: "ID", help: "go on in this session" },
      id: { type: "string", value: "NAME", help: "go on in the session of this id of your own, or open one under it" },
      model: {
        type: "string",
        value: "PROVIDER/NAME",
        help: "run this session on another model from now on, whatever the agent names; policies decide on it like on any",
      },
      subject: { type: "string", value: "ID|JSON", help: `whom a new session serves: C-7, or '{"id":"C-7","tier":"gold"}'` },
      watch: { type: "boolean", help: "reload the policies when their files change; a set that does not load changes nothing" },
      as: AS,
    },
    notes: [EXITS, "Ctrl-C cancels the turn, and the journal says so; a second one leaves at once."],
    examples: [
      'orgate run ops --input "why is checkout slow?"',
      "git diff | orgate run reviewer --input - --json",
      'orgate run clerk --input "what does it say?" --file bill.pdf',
      'orgate run ops --input "why is checkout slow?" --model anthropic/claude-sonnet-5',
    ],
    load: async () => (await import("../commands/sessions/run.ts")).run,
  },
];

export const sessionsCommands: readonly CommandSpec[] = [
  {
    name: "sessions list",
    summary: "List sessions, newest first",
    args: [],
    options: {
      state: {
        type: "string",
        value: "STATE",
        help: "only these: idle, running, waiting, interrupted, halted or closed",
        choices: ["idle", "running", "waiting", "interrupted", "halted", "closed"],
      },
      agent: { type: "string", value: "NAME", help: "only those of this agent" },
      limit: { type: "string", value: "N", help: "maximum number to list (default 50)" },
    },
    notes: ["A running session that nobody holds was interrupted: `orgate sessions resume` takes it up."],
    examples: ["orgate sessions list", "orgate sessions list --state waiting --json"],
    load: async () => (await import("../commands/sessions/sessions-list.ts")).listSessions,
  },
  {
    name: "sessions show",
    summary: "Show everything that happened in a session, and what is open",
    args: [SESSION],
    options: {},
    notes: ["Decisions with their policies, calls with their outcomes, the holder, open approval requests, and unknown outcomes."],
    examples: ["orgate sessions show s_0mh3k2", "orgate sessions show s_0mh3k2 --json"],
    load: async () => (await import("../commands/sessions/sessions.ts")).showSession,
  },
  operationCommand("fork", async () => (await import("../commands/sessions/session-views.ts")).viewFork),
  {
    name: "sessions import",
    summary: "Open a session with a conversation from a file",
    args: [{ name: "FILE", required: true, help: "an export of one session, or a JSON list of messages" }],
    options: {
      agent: { type: "string", required: true, value: "NAME", help: "the agent that goes on with it" },
      label: { type: "string", many: true, value: "LABEL", help: "a label for the new session; may be given several times" },
      id: { type: "string", value: "NAME", help: "an id of your own for it" },
      as: AS,
    },
    notes: [
      "The labels of an exported session come along, and a conversation in which tools speak is `untrusted`; no tool is run, no model is asked.",
      "A file that was changed after it was exported is refused, and so is a list in which a call has no result.",
    ],
    examples: [
      "orgate sessions import case.jsonl --agent support",
      "orgate sessions import chat.json --agent support --id ticket-17 --label internal --json",
    ],
    load: async () => (await import("../commands/sessions/sessions-import.ts")).importFile,
  },
  operationCommand("close", async () => (await import("../commands/sessions/session-views.ts")).viewClosed),
  {
    name: "sessions resume",
    summary: "Resume a session where it stopped",
    args: [SESSION],
    options: {},
    notes: ["After a crash, or when what it waited for has come. What had run does not run again.", EXITS],
    examples: ["orgate sessions resume s_0mh3k2"],
    load: async () => (await import("../commands/sessions/sessions.ts")).resumeSession,
  },
  {
    name: "sessions say",
    summary: "Start another turn in a session",
    args: [SESSION, { name: "TEXT", required: true, help: "what you say; `-` reads it from stdin" }],
    options: { after: { type: "boolean", help: "when the turn in progress has ended; several wait in order" }, file: FILE, as: AS },
    notes: [DELIVERY, EXITS],
    examples: ['orgate sessions say s_0mh3k2 "and yesterday?"', 'orgate sessions say s_0mh3k2 "then write it down" --after'],
    load: async () => (await import("../commands/people/intents.ts")).say,
  },
  {
    name: "sessions steer",
    summary: "Steer the turn in progress: the agent reads the text next",
    args: [SESSION, { name: "TEXT", required: true, help: "what the agent hears next; `-` reads it from stdin" }],
    options: { file: FILE, as: AS },
    notes: [DELIVERY],
    examples: ['orgate sessions steer s_0mh3k2 "leave the database alone"'],
    load: async () => (await import("../commands/people/intents.ts")).steer,
  },
  {
    name: "sessions cancel",
    summary: "Cancel the turn in progress, its model call and its tools",
    args: [SESSION],
    options: {
      reason: { type: "string", value: "TEXT", help: "why; the journal keeps it" },
      all: { type: "boolean", help: "what was said to follow the turn is dropped too" },
      as: AS,
    },
    notes: [DELIVERY],
    examples: ['orgate sessions cancel s_0mh3k2 --reason "wrong customer"'],
    load: async () => (await import("../commands/people/intents.ts")).cancel,
  },
  {
    name: "sessions clear",
    summary: "Clear the conversation: the model no longer sees what was said before",
    args: [SESSION],
    options: { as: AS },
    notes: [
      "The model is shown nothing of what was said before; instructions, labels, grants and the journal are as they were. Not while a turn is in progress.",
      DELIVERY,
    ],
    examples: ["orgate sessions clear s_0mh3k2"],
    load: async () => (await import("../commands/people/intents.ts")).clear,
  },
  {
    name: "sessions compact",
    summary: "Compact the conversation: show the model less of it",
    args: [SESSION],
    options: {
      tokens: { type: "string", value: "N", help: "maximum number of tokens shown (default: half of the limit)" },
      as: AS,
    },
    notes: [
      "By the agent's own plan: the oldest go, old results become a line, or a summary is made before the next request. Not while a turn is in progress.",
      DELIVERY,
    ],
    examples: ["orgate sessions compact s_0mh3k2 --tokens 8000"],
    load: async () => (await import("../commands/people/intents.ts")).compact,
  },
  {
    name: "sessions model",
    summary: "Choose another of the agent's models, from the next turn on",
    args: [SESSION, { name: "MODEL", required: true, help: "its model, or one of its fallbacks" }],
    options: { as: AS },
    notes: [DELIVERY],
    examples: ["orgate sessions model s_0mh3k2 anthropic/claude-sonnet-5"],
    load: async () => (await import("../commands/people/intents.ts")).model,
  },
  {
    name: "sessions labels",
    summary: "List the labels of a session, or remove some with --remove",
    args: [SESSION],
    options: {
      remove: { type: "string", value: "LABELS", help: "these, separated by commas: what it has seen does not count as them any more" },
      why: { type: "string", value: "TEXT", help: "why (required with --remove); the journal keeps it" },
      as: AS,
    },
    notes: ['Decided by policy as Action::"remove-label" on Label::"NAME". What comes in afterwards labels it again.', DELIVERY],
    examples: ["orgate sessions labels s_0mh3k2", 'orgate sessions labels s_0mh3k2 --remove untrusted --why "I have read the page"'],
    load: async () => (await import("../commands/people/labels.ts")).labels,
  },
  {
    name: "sessions resolve",
    summary: "Resolve a call whose outcome is unknown",
    args: [
      { name: "CALL", required: true, help: "SESSION/CALL, or the call's id as `orgate sessions show` lists it" },
      { name: "WHAT", required: true, help: "its outcome", choices: ["happened", "did-not-happen", "reconcile", "abandon"] },
    ],
    options: {
      session: { type: "string", value: "ID", help: "session of the call" },
      note: { type: "string", value: "TEXT", help: "your evidence; goes to the agent and into the journal" },
      as: AS,
    },
    notes: [
      "`reconcile` asks the tool; `abandon` leaves it unknown and asks no more. While it is open, calls like it ask first.",
      DELIVERY,
    ],
    examples: ['orgate sessions resolve s_0mh3k2/1.0 happened --note "the bank shows it"', "orgate sessions resolve 1.0 reconcile"],
    load: async () => (await import("../commands/people/resolve.ts")).resolve,
  },
];
