/** The journal: the words of their operations. */
import { get, tagged } from "./words.ts";

export const journalWords = tagged("journal", {
  verify: get({
    path: "/journal/verify",
    slash: [{ command: "verify", summary: "prove that nobody changed the journal", notes: ["As `orgate journal verify`."] }],
    act: { kind: "read-journal", on: "project" },
    inCommand: "journal verify",
    summary: "Verify every hash, chain and seal of the journal.",
  }),
  verifying: get({
    path: "/journal/verify/progress",
    act: { kind: "read-journal", on: "project" },
    summary:
      "Verify the journal and report progress as lines of JSON: `progress` with the number of entries checked, then one `result` or `failed`.",
  }),
  journalEntries: get({
    path: "/journal/entries",
    act: { kind: "read-journal", on: "project" },
    summary:
      "Find entries of the whole journal, newest first, by agent, tool, verdict, policy, label, person, kind or webhook, in any combination.",
  }),
  storedEntry: get({
    path: "/sessions/{session}/entries/{seq}",
    act: { kind: "read-journal", on: "session" },
    summary: "Show one entry of a session as it is stored: its text, its hashes, the seal that covers it.",
  }),
  entryPolicies: get({
    path: "/sessions/{session}/entries/{seq}/policies",
    act: { kind: "read-journal", on: "session" },
    summary:
      "Show which policies a session ran under at one of its entries, and the digest of their files at that time: `/policies/sets/{digest}` has the texts of either.",
  }),
  journalEntry: get({
    path: "/journal/entries/{stream}/{seq}",
    act: { kind: "read-journal", on: "project" },
    summary: "Show one entry of any stream as it is stored, also of system streams such as `halt`, `grants` and `policy`.",
  }),
  usage: get({
    path: "/usage",
    act: { kind: "list", on: "listing" },
    summary:
      "Report what the agents that the caller may see did and used, by hour, agent and model; with `days` (the hours at which days begin), by day.",
  }),
  export: get({
    path: "/journal/export",
    act: { kind: "read-journal", on: "project" },
    inCommand: "journal export",
    summary: "Export the journal, or one session with its proof, as lines of JSON.",
  }),
});
