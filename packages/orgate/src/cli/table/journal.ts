/** Commands as data: plain table. */
import type { CommandSpec } from "@orgate/shell/terminal";
import { AS } from "./options.ts";

export const journalCommands: readonly CommandSpec[] = [
  {
    name: "journal show",
    summary: "Show the streams of the journal, or the stored entries of one",
    args: [{ name: "STREAM", required: false, help: "a session's id, `keys` or `erasures`" }],
    options: {},
    notes: ["It shows what is there, proved or not: `orgate journal verify` proves it."],
    examples: ["orgate journal show", "orgate journal show keys --json"],
    load: async () => (await import("../commands/sessions/journal.ts")).showJournal,
  },
  {
    name: "journal verify",
    summary: "Verify that the journal is what was written, and name the first entry that is not",
    args: [{ name: "FILE", required: false, help: "an exported file in place of the project's journal" }],
    options: {
      head: { type: "string", value: "HEAD", help: "a head kept elsewhere: finds a journal that was rolled back as a whole" },
      key: { type: "string", value: "KEY", help: "the root's public key, `ed25519:…` (default: the project's own)" },
    },
    notes: ["Exits 1 when anything is bad."],
    examples: ["orgate journal verify", "orgate journal verify backup.jsonl --key ed25519:…"],
    load: async () => (await import("../commands/sessions/journal-verify.ts")).verify,
  },
  {
    name: "journal acknowledge",
    summary: "Acknowledge an alarm about the journal, with a reason, so that work continues",
    args: [],
    options: {
      reason: { type: "string", required: true, value: "TEXT", help: "what you found and did; kept in alarms.jsonl beside the journal" },
      "as-is": { type: "boolean", help: "although the journal still does not verify: what is bad stays refused, the rest goes on" },
      as: AS,
    },
    notes: [
      "An entry without a genuine seal turns the project read-only, in every process. Verify the journal, restore one that you trust, then acknowledge.",
      "Exits 1, and nothing is acknowledged, while the journal does not verify, unless --as-is is given.",
    ],
    examples: ['orgate journal acknowledge --reason "restored the copy of Monday, head compared"'],
    load: async () => (await import("../commands/sessions/journal-acknowledge.ts")).acknowledge,
  },
  {
    name: "journal export",
    summary: "Export the journal, or one session, as a file that proves itself",
    args: [],
    options: {
      session: { type: "string", value: "ID", help: "this session only, with the paths that prove it" },
      out: { type: "string", value: "FILE", help: "where to (default: stdout)" },
    },
    notes: [],
    examples: ["orgate journal export --out journal.jsonl", "orgate journal export --session s_0mh3k2 > case.jsonl"],
    load: async () => (await import("../commands/sessions/journal.ts")).exportTo,
  },
  {
    name: "journal evidence",
    summary: "Show the evidence of one call: what it ran, what it returned, who decided",
    args: [{ name: "CALL", required: true, help: "SESSION/CALL, as `orgate sessions show` has them" }],
    options: {},
    notes: ["Tool and version, parameters, the invocation as built with secrets masked, times, exit status, digests, policies, identity."],
    examples: ["orgate journal evidence s_0mh3k2/1.0", "orgate journal evidence s_0mh3k2/1.0 --json"],
    load: async () => (await import("../commands/sessions/journal-evidence.ts")).evidence,
  },
  {
    name: "journal erase",
    summary: "Erase the content of a session for good; that it existed stays provable",
    args: [],
    options: {
      session: { type: "string", required: true, value: "ID", help: "whose content" },
      entries: { type: "string", value: "A-B", help: "only these entries" },
      reason: { type: "string", required: true, value: "TEXT", help: "why; the journal keeps it" },
      anyway: { type: "boolean", help: "also while an approval request in it is open: the request goes with it" },
      as: AS,
    },
    notes: ["The erasure is journalled first. A session with erased entries cannot go on, and is closed."],
    examples: ['orgate journal erase --session s_0mh3k2 --reason "request 4711 of the customer"'],
    load: async () => (await import("../commands/sessions/journal-erase.ts")).erase,
  },
  {
    name: "journal rotate-key",
    summary: "Rotate the project's root key: old and new sign the change",
    args: [],
    options: { writer: { type: "boolean", help: "replace this process's writer key instead" }, as: AS },
    notes: [],
    examples: ["orgate journal rotate-key", "orgate journal rotate-key --writer"],
    load: async () => (await import("../commands/sessions/journal.ts")).rotateKey,
  },
  {
    name: "journal head",
    summary: "Print the last seal of each writer: keep it elsewhere to detect a rollback",
    args: [],
    options: {},
    notes: [],
    examples: ["orgate journal head > head.txt", 'orgate journal verify --head "$(cat head.txt)"'],
    load: async () => (await import("../commands/sessions/journal.ts")).head,
  },
];
