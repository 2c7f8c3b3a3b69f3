/** Approvals, grants, unknown outcomes and dead letters: the words of their operations. */
import { get, post, tagged } from "./words.ts";

export const approvalWords = tagged("approvals", {
  approvals: get({
    path: "/approvals",
    act: { kind: "list", on: "listing" },
    inCommand: "approvals list",
    summary: "List approval requests that wait for a person, oldest first.",
  }),
  approval: get({
    path: "/approvals/{approval}",
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
    act: { kind: "approve", on: "grant" },
    inCommand: "approvals revoke",
    summary: "Revoke a grant: actions that it covered ask for approval again.",
  }),
  unknowns: get({
    path: "/unknowns",
    act: { kind: "list", on: "listing" },
    summary: "List calls whose outcome is unknown.",
  }),
  resolve: post({
    path: "/sessions/{session}/unknowns/{call}/resolve",
    status: 202,
    act: { kind: "resolve", on: "call" },
    inCommand: "sessions resolve",
    summary: "Resolve a call whose outcome is unknown, or have its tool asked.",
  }),
  deadLetters: get({
    path: "/dead-letters",
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
