/** Circuit breakers and halts: the words of their operations. */
import { type CliField, get, post, type SlashField, tagged } from "./words.ts";

const SCOPE = {
  value: "all | agent NAME | tool NAME",
  field: "scope",
  as: "scope",
  help: "everything, one agent or one tool",
  required: true,
} as const satisfies SlashField;
const AGENT = { value: "AGENT", field: "scope", as: "agent-scope", help: "which agent", required: true } as const satisfies SlashField;
const ANYWAY = {
  value: "--anyway",
  field: "anyway",
  as: "flag",
  help: "also a name that the project does not have",
} as const satisfies SlashField;
const REASON = { value: "REASON", field: "reason", help: "why; the journal keeps it", required: true } as const satisfies SlashField;
const BREAKER = {
  value: "BREAKER",
  field: "breaker",
  help: "`tool:NAME`, `model:PROVIDER/NAME` or `mcp:SERVER`",
  required: true,
} as const satisfies SlashField;
const WHY = { value: "TEXT", help: "why", required: true } as const satisfies CliField;
const ALSO_UNKNOWN = { value: "", as: "flag", help: "also for a name that this project does not have (yet)" } as const satisfies CliField;

export const workWords = tagged("work", {
  breakers: get({
    path: "/breakers",
    slash: [
      {
        command: "breakers",
        verb: "list",
        summary: "list circuit breakers, open one or close one",
        notes: ["As `orgate breakers`. While a breaker is open, nothing calls its tool, model or MCP server."],
        fixed: { limit: 100 },
        columns: ["breaker", "state", "failures", "until", "by", "reason"],
      },
    ],
    tool: {
      name: "list_breakers",
      about: "Circuit breakers that were ever changed: state, failures, until when, set by whom and why.",
      fields: { most: { kind: "count", most: 50, default: 20, field: "limit" } },
      shows: {
        list: "breakers",
        fields: {
          breaker: "breaker",
          state: "state",
          failures: "failures",
          until: { from: "until", as: "time" },
          by: "by.id",
          reason: "reason",
          ago: { from: "at", as: "ago" },
        },
      },
    },
    act: { kind: "list", on: "listing" },
    summary: "List the circuit breakers that were ever changed, with their present state.",
    cli: {
      command: "breakers list",
      summary: "List circuit breakers: which are open, since when, and when they are tried again.",
      notes: ["A breaker that is not listed has never opened."],
      examples: ["orgate breakers list", "orgate breakers list --json"],
    },
  }),
  setBreaker: post({
    path: "/breakers",
    slash: [
      { command: "breakers", verb: "open", args: [BREAKER, ANYWAY, REASON], fixed: { to: "open" } },
      { command: "breakers", verb: "close", args: [BREAKER, ANYWAY, REASON], fixed: { to: "closed" } },
    ],
    tool: {
      name: "set_breaker",
      about:
        "Opens or closes the breaker of a tool, model or MCP server (tool:NAME, model:PROVIDER/NAME, mcp:SERVER): while it is open, nothing calls it.",
      fields: {
        breaker: { kind: "name", longest: 200 },
        to: { kind: "choice", choices: ["open", "closed"] },
        minutes: {
          kind: "count",
          most: 10_080,
          isOptional: true,
          field: "forMs",
          times: 60_000,
          about: "How long it stays open; until it is closed unless given",
        },
        reason: { kind: "text", longest: 500, default: "no reason was given in the conversation" },
      },
      resource: { type: "Breaker", field: "breaker" },
      isOwnWords: true,
    },
    act: { kind: "set-breaker", on: "breaker" },
    summary:
      "Set a circuit breaker (`tool:NAME`, `model:PROVIDER/NAME`, `mcp:SERVER`). A name that the project does not have is refused, unless `anyway` is true.",
    cli: {
      command: "breakers set",
      summary: "Set a circuit breaker by hand, in every process.",
      args: [
        BREAKER,
        { value: "STATE", field: "to", help: "open, half-open or closed", required: true, choices: ["open", "half-open", "closed"] },
      ],
      options: {
        for: { value: "TIME", field: "forMs", as: "duration", help: "how long it stays open, such as 10m (default: until it is closed)" },
        reason: WHY,
        anyway: ALSO_UNKNOWN,
      },
      examples: ['orgate breakers set tool:search open --for 10m --reason "maintenance"'],
    },
    alsoCli: [
      {
        command: "breakers reset",
        summary: "Close a circuit breaker, and reset its counts.",
        args: [BREAKER],
        options: { reason: WHY, anyway: ALSO_UNKNOWN },
        fixed: { to: "closed" },
        examples: ['orgate breakers reset tool:search --reason "mended"'],
      },
    ],
  }),
  halts: get({
    path: "/halts",
    slash: [
      {
        command: "halts",
        summary: "list what is halted, by whom and why",
        notes: ["`/halt` halts, `/resume-work` lifts a halt."],
        fixed: { limit: 100 },
        columns: ["scope", "by", "reason", "at"],
      },
    ],
    tool: {
      name: "list_halts",
      about: "Halts in force: what is halted, by whom, why and since when.",
      fields: { most: { kind: "count", most: 50, default: 20, field: "limit" } },
      shows: { list: "halts", fields: { scope: "scope", by: "by.id", reason: "reason", ago: { from: "at", as: "ago" } } },
    },
    act: { kind: "list", on: "listing" },
    summary: "List halts in force: what is halted, by whom and why.",
    cli: {
      command: "halts",
      summary: "List halts in force: since when, by whom and why.",
      examples: ["orgate halts", "orgate halts --json"],
    },
  }),
  halt: post({
    path: "/halt",
    slash: [
      {
        command: "halt",
        summary: "pull the kill switch: nothing new begins, running work is stopped",
        notes: ["As `orgate halt`. `/halt agent NAME --anyway REASON` halts a name that is not here yet."],
        args: [SCOPE, ANYWAY, REASON],
      },
      {
        command: "pause",
        summary: "halt one agent",
        notes: ["As `orgate halt agent NAME`."],
        args: [AGENT, ANYWAY, REASON],
      },
    ],
    act: { kind: "halt", on: "work" },
    inCommand: "halt",
    summary:
      "Halt `all`, `agent:NAME` or `tool:NAME`: nothing new begins, and running work is stopped. A name that the project does not have is refused, unless `anyway` is true.",
  }),
  resumeWork: post({
    path: "/resume-work",
    slash: [
      {
        command: "resume-work",
        summary: "lift a halt",
        notes: ["As `orgate resume-work`."],
        args: [SCOPE, REASON],
      },
      {
        command: "resume-agent",
        summary: "lift the halt of one agent; messages from meanwhile start then",
        notes: ["As `orgate resume-work agent NAME`."],
        args: [AGENT, REASON],
      },
    ],
    act: { kind: "halt", on: "work" },
    inCommand: "resume-work",
    summary: "Lift a halt; returns the halts that remain.",
  }),
});
