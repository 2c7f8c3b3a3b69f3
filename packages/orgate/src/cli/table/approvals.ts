/** Commands as data: plain table. */
import type { CommandSpec } from "@orgate/shell/terminal";
import { operationCommand } from "../operations/derive.ts";
import { APPROVAL, AS, DELIVERY, DIGEST, LETTER, SCOPE } from "./options.ts";

export const approvalsCommands: readonly CommandSpec[] = [
  operationCommand("approvals", async () => (await import("../commands/people/approvals-list.ts")).listApprovals),
  {
    name: "approvals show",
    summary: "Show one approval request: what would be done, why it asks, who may answer, until when",
    args: [APPROVAL],
    options: { as: AS },
    notes: [
      "Of one that is not open any more it shows who answered it, when, and what the call came to.",
      "Hidden and control characters are shown escaped; long values are folded (↪), and nothing is left out.",
    ],
    examples: ["orgate approvals show a_0mh3k2", "orgate approvals show a_0mh3k2 --json"],
    load: async () => (await import("../commands/people/approvals.ts")).showApproval,
  },
  {
    name: "approvals approve",
    summary: "Approve one request, for exactly what it shows",
    args: [APPROVAL],
    options: {
      digest: DIGEST,
      grant: {
        type: "string",
        value: "SCOPE",
        help: "remember it: digest (this very action), resource (this tool on it) or tool",
        choices: ["digest", "resource", "tool"],
      },
      for: { type: "string", value: "TIME", help: "how long: turn (default), session, or a time such as 8h" },
      as: AS,
    },
    notes: ["A grant is never wider than the policy's @grant; a refusal says what is allowed.", DELIVERY],
    examples: ["orgate approvals approve a_0mh3k2", "orgate approvals approve a_0mh3k2 --grant resource --for session"],
    load: async () => (await import("../commands/people/approvals-answer.ts")).approve,
  },
  {
    name: "approvals deny",
    summary: "Deny a request with a reason; the agent is told",
    args: [APPROVAL],
    options: { reason: { type: "string", required: true, value: "TEXT", help: "why" }, digest: DIGEST, as: AS },
    notes: [DELIVERY],
    examples: ['orgate approvals deny a_0mh3k2 --reason "not on a Friday"'],
    load: async () => (await import("../commands/people/approvals-answer.ts")).deny,
  },
  {
    name: "approvals withdraw",
    summary: "Withdraw a request that was made on your behalf, with a reason; the agent is told",
    args: [APPROVAL],
    options: { reason: { type: "string", required: true, value: "TEXT", help: "why" }, digest: DIGEST, as: AS },
    notes: ['For whoever asked for it, where the policies permit Action::"withdraw"; anybody else denies it.', DELIVERY],
    examples: ['orgate approvals withdraw a_0mh3k2 --reason "I have done it myself"'],
    load: async () => (await import("../commands/people/approvals-answer.ts")).withdrawVote,
  },
  {
    name: "approvals edit",
    summary: "Approve with other arguments; they are checked and decided again",
    args: [APPROVAL],
    options: {
      args: { type: "string", required: true, value: "JSON", help: "all the arguments, as they are to be" },
      digest: DIGEST,
      as: AS,
    },
    notes: ["Where several people have to say yes, those who said so before said it to something else: they are asked again.", DELIVERY],
    examples: [`orgate approvals edit a_0mh3k2 --args '{"service":"checkout"}'`],
    load: async () => (await import("../commands/people/approvals-answer.ts")).editAndApprove,
  },
  operationCommand("grants", async () => (await import("../commands/people/approvals-grants.ts")).grants),
  operationCommand("revoke", async () => (await import("../commands/people/approvals-grants.ts")).viewRevoked),
  {
    name: "approvals watch",
    summary: "Print approval requests that wait, and each new one, until Ctrl-C",
    args: [],
    options: {},
    notes: ["Rings the terminal's bell for each new one. With --json, one object per line."],
    examples: ["orgate approvals watch", "orgate approvals watch --json"],
    load: async () => (await import("../commands/people/approvals.ts")).watch,
  },
];

export const haltCommands: readonly CommandSpec[] = [
  {
    name: "halt",
    summary: "Halt all work, an agent, or a tool, in every process (the kill switch)",
    args: SCOPE,
    options: {
      reason: { type: "string", required: true, value: "TEXT", help: "why" },
      anyway: { type: "boolean", help: "halt a name that this project does not have (yet)" },
      as: AS,
    },
    notes: [
      'Journalled, and in force until `orgate resume-work --reason TEXT`, over restarts too. Decided by policy as Action::"halt" on Work::"all".',
    ],
    examples: ['orgate halt --reason "it mails everybody"', 'orgate halt tool send_mail --reason "wrong template"'],
    load: async () => (await import("../commands/people/halt.ts")).halt,
  },
];

export const resumeWorkCommands: readonly CommandSpec[] = [
  {
    name: "resume-work",
    summary: "Lift a halt",
    args: SCOPE,
    options: { reason: { type: "string", required: true, value: "TEXT", help: "why" }, as: AS },
    notes: ["`all` lifts every halt. Turns that were halted stay ended."],
    examples: ['orgate resume-work --reason "mended"', 'orgate resume-work tool send_mail --reason "mended"'],
    load: async () => (await import("../commands/people/halt.ts")).liftHalt,
  },
];

export const haltsCommands: readonly CommandSpec[] = [
  operationCommand("halts", async () => (await import("../commands/people/halt.ts")).listHalts),
];

export const knownCommands: readonly CommandSpec[] = [
  {
    name: "known list",
    summary: "List trusted values: payees, people, domains, and what tools have learnt",
    args: [{ name: "SET", required: false, help: "only this one" }],
    options: {},
    notes: ["A target that is in one of the sets its tool names is `known` to policies."],
    examples: ["orgate known list", "orgate known list payees --json"],
    load: async () => (await import("../commands/people/trusted-values.ts")).listTrustedValues,
  },
  {
    name: "known add",
    summary: "Add a trusted value: a payee, a person, a domain",
    args: [
      { name: "SET", required: true, help: "payees, people, domains, paths, or one that a tool names" },
      { name: "VALUE", required: true, help: "as a call would name it; in domains `*.example.org` stands for all below it" },
    ],
    options: { why: { type: "string", required: true, value: "TEXT", help: "why" }, as: AS },
    notes: ['Journalled. Decided by policy as Action::"edit-known" on KnownSet::"SET".'],
    examples: ['orgate known add domains example.org --why "our own"'],
    load: async () => (await import("../commands/people/trusted-values.ts")).addTrustedValue,
  },
  {
    name: "known remove",
    summary: "Remove a trusted value",
    args: [
      { name: "SET", required: true, help: "as `orgate known list` shows it" },
      { name: "VALUE", required: true, help: "as `orgate known list` shows it" },
    ],
    options: { why: { type: "string", required: true, value: "TEXT", help: "why" }, as: AS },
    notes: ['Journalled. Decided by policy as Action::"edit-known" on KnownSet::"SET".'],
    examples: ['orgate known remove payees DE89370400440532013000 --why "moved out"'],
    load: async () => (await import("../commands/people/trusted-values.ts")).removeTrustedValue,
  },
];

export const breakersCommands: readonly CommandSpec[] = [
  operationCommand("breakers", async () => (await import("../commands/people/breakers.ts")).listBreakers),
  operationCommand("setBreaker", async () => (await import("../commands/people/breakers.ts")).viewBreaker),
  operationCommand("setBreaker", async () => (await import("../commands/people/breakers.ts")).viewBreaker, "breakers reset"),
];

export const deadLettersCommands: readonly CommandSpec[] = [
  operationCommand("deadLetters", async () => (await import("../commands/people/dead-letters.ts")).listDeadLetters),
  {
    name: "dead-letters show",
    summary: "Show one dead letter: what was tried, with which arguments, and how it failed",
    args: [LETTER],
    options: {},
    notes: [],
    examples: ["orgate dead-letters show s_0mh3k2/3.0"],
    load: async () => (await import("../commands/people/dead-letters.ts")).showDeadLetter,
  },
  {
    name: "dead-letters dismiss",
    summary: "Dismiss a dead letter that has been dealt with",
    args: [LETTER],
    options: { note: { type: "string", value: "TEXT", help: "what was done; the journal keeps it" }, as: AS },
    notes: [DELIVERY],
    examples: ['orgate dead-letters dismiss s_0mh3k2/3.0 --note "sent by hand"'],
    load: async () => (await import("../commands/people/dead-letters.ts")).dismiss,
  },
];
