/** Circuit breakers and halts: the words of their operations. */
import { type CliField, get, post, tagged } from "./words.ts";

const BREAKER = {
  value: "BREAKER",
  field: "breaker",
  help: "tool:NAME, model:PROVIDER/NAME or mcp:SERVER",
  required: true,
} as const satisfies CliField;
const REASON = { value: "TEXT", help: "why", required: true } as const satisfies CliField;
const ANYWAY = { value: "", as: "flag", help: "also for a name that this project does not have (yet)" } as const satisfies CliField;

export const workWords = tagged("work", {
  breakers: get({
    path: "/breakers",
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
        reason: REASON,
        anyway: ANYWAY,
      },
      examples: ['orgate breakers set tool:search open --for 10m --reason "maintenance"'],
    },
    alsoCli: [
      {
        command: "breakers reset",
        summary: "Close a circuit breaker, and reset its counts.",
        args: [BREAKER],
        options: { reason: REASON, anyway: ANYWAY },
        fixed: { to: "closed" },
        examples: ['orgate breakers reset tool:search --reason "mended"'],
      },
    ],
  }),
  halts: get({
    path: "/halts",
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
    act: { kind: "halt", on: "work" },
    inCommand: "halt",
    summary:
      "Halt `all`, `agent:NAME` or `tool:NAME`: nothing new begins, and running work is stopped. A name that the project does not have is refused, unless `anyway` is true.",
  }),
  resumeWork: post({
    path: "/resume-work",
    act: { kind: "halt", on: "work" },
    inCommand: "resume-work",
    summary: "Lift a halt; returns the halts that remain.",
  }),
});
