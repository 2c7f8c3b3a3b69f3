/** Approvals, grants, unknown outcomes and dead letters: the words of their operations. */
import { get, post, type SlashField, tagged } from "./words.ts";

const REASON = { value: "REASON", field: "reason", help: "why; the journal keeps it", required: true } as const satisfies SlashField;

export const approvalWords = tagged("approvals", {
  approvals: get({
    path: "/approvals",
    tool: {
      name: "list_approvals",
      about: "Approval requests that wait for a person, oldest first, and whether this operator may answer them.",
      fields: { most: { kind: "count", most: 50, default: 20, field: "limit" } },
    },
    act: { kind: "list", on: "listing" },
    summary: "List approval requests that wait for a person, oldest first.",
    cli: {
      command: "approvals list",
      summary: "List approval requests that wait for a person.",
      options: { limit: { value: "N", as: "number", help: "maximum number to list (default 100)", default: "100" } },
      notes: ["In the order in which they were asked. An expired request is shown as expired."],
      examples: ["orgate approvals list", "orgate approvals list --json"],
    },
  }),
  approval: get({
    path: "/approvals/{approval}",
    slash: [
      {
        command: "why",
        summary: "show all of one approval request: arguments, policies, who may answer",
        notes: ["As `orgate approvals show`. `/approvals` lists the requests."],
        args: [{ value: "ID", field: "approval", help: "the request's id", required: true }],
      },
    ],
    act: { kind: "observe", on: "approval" },
    inCommand: "approvals show",
    summary: "Show one approval request: what will be done, why a person is asked, who may answer.",
  }),
  answer: post({
    path: "/approvals/{approval}/answer",
    status: 202,
    act: { kind: "approve", on: "approval" },
    inCommand: "approvals approve",
    summary: "Answer an approval request, bound to the digest that was shown.",
  }),
  grants: get({
    path: "/grants",
    slash: [
      {
        command: "grants",
        summary: "list grants (remembered approvals) in force",
        notes: ["As `orgate approvals grants`; `/revoke ID REASON` revokes one."],
        fixed: { limit: 100 },
      },
    ],
    act: { kind: "list", on: "listing" },
    summary: "List grants (remembered approvals) in force.",
    cli: {
      command: "approvals grants",
      summary: "List grants (remembered approvals), and until when they last.",
      examples: ["orgate approvals grants", "orgate approvals grants --json"],
    },
  }),
  revoke: post({
    path: "/grants/{grant}/revoke",
    slash: [
      {
        command: "revoke",
        summary: "revoke a grant: its actions ask for approval again",
        notes: ["As `orgate approvals revoke`."],
        args: [{ value: "ID", field: "grant", help: "the grant's id", required: true }, REASON],
      },
    ],
    act: { kind: "approve", on: "grant" },
    cli: {
      command: "approvals revoke",
      summary: "Revoke a grant.",
      args: [{ value: "GRANT", field: "grant", help: "as `orgate approvals grants` shows it", required: true }],
      options: { reason: { value: "TEXT", help: "why; the journal keeps it", required: true } },
      notes: ["The person who gave a grant may revoke it, and so may everybody who may approve such a request."],
      examples: ['orgate approvals revoke g_0mh3k2_a_77 --reason "the incident is over"'],
    },
    summary: "Revoke a grant: actions that it covered ask for approval again.",
  }),
  unknowns: get({
    path: "/unknowns",
    act: { kind: "list", on: "listing" },
    summary: "List calls whose outcome is unknown.",
  }),
  resolve: post({
    path: "/sessions/{session}/unknowns/{call}/resolve",
    slash: [
      {
        command: "resolve",
        summary: "resolve a call whose outcome is unknown",
        notes: ["As `orgate sessions resolve`. `reconcile` asks its tool. `/approvals` lists the calls."],
        args: [
          { value: "CALL", as: "call", help: "as `/approvals` names it", required: true },
          {
            value: "happened|did-not-happen|abandon|reconcile",
            field: "as",
            help: "the outcome",
            choices: ["happened", "did-not-happen", "abandon", "reconcile"],
            required: true,
          },
          { value: "NOTE", field: "note", help: "how you know; the journal keeps it" },
        ],
      },
    ],
    status: 202,
    act: { kind: "resolve", on: "call" },
    inCommand: "sessions resolve",
    summary: "Resolve a call whose outcome is unknown, or have its tool asked.",
  }),
  deadLetters: get({
    path: "/dead-letters",
    slash: [
      {
        command: "dead-letters",
        summary: "list calls that failed and wait for an operator",
        notes: ["As `orgate dead-letters`."],
        fixed: { limit: 100 },
        columns: ["session", "call", "agent", "tool", "error", "at"],
      },
    ],
    act: { kind: "list", on: "listing" },
    summary: "List dead letters: calls that failed and wait for an operator.",
    cli: {
      command: "dead-letters list",
      options: { limit: { value: "N", as: "number", help: "maximum number to list (default 100)", default: "100" } },
      notes: ["In the order in which the calls failed."],
      examples: ["orgate dead-letters list", "orgate dead-letters list --json"],
    },
  }),
  dismiss: post({
    path: "/sessions/{session}/dead-letters/{call}/dismiss",
    status: 202,
    act: { kind: "resolve", on: "call" },
    inCommand: "dead-letters dismiss",
    summary: "Dismiss a dead letter that has been dealt with.",
  }),
});
