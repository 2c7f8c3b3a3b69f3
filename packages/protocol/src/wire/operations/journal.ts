/** The journal. */
import * as z from "zod";
import { as, get, inText, MOST_PAGE, ofSession, whole } from "../operation.ts";
import * as s from "../shapes.ts";
import { foundEntry, storedEntry, usageRow, verified } from "../views.ts";

/** Hours in order, with commas between them. */
const hours = z
  .string()
  .regex(/^\d{1,7}(?:,\d{1,7}){0,399}$/)
  .transform((text) => text.split(",").map(Number))
  .refine((all) => all.every((hour, i) => i === 0 || hour > (all[i - 1] ?? 0)), "are not in order");

export const journalOperations = {
  verify: get({
    path: "/journal/verify",
    answers: as(verified),
    act: { kind: "read-journal", on: "project" },
    tag: "journal",
    summary: "Verify every hash, chain and seal of the journal.",
  }),
  verifying: get({
    path: "/journal/verify/progress",
    answers: inText("application/x-ndjson"),
    act: { kind: "read-journal", on: "project" },
    tag: "journal",
    summary:
      "Verify the journal and report progress as lines of JSON: `progress` with the number of entries checked, then one `result` or `failed`.",
  }),
  journalEntries: get({
    path: "/journal/entries",
    query: z.strictObject({
      agent: s.name.exactOptional(),
      tool: s.name.exactOptional(),
      verdict: z.enum(["allow", "deny", "ask", "defer", "modify"]).exactOptional(),
      policy: z.string().min(1).max(500).exactOptional(),
      label: s.name.exactOptional(),
      person: s.name.exactOptional(),
      kind: s.name.exactOptional(),
      webhook: s.name.exactOptional(),
      /** Older than this position. */
      before: whole.exactOptional(),
      limit: z.coerce.number().int().min(1).max(MOST_PAGE).default(100),
    }),
    answers: as(
      z
        .strictObject({
          items: z.array(foundEntry).readonly(),
          /** Where to ask on from; null when there is nothing older. */
          next: s.countSchema.nullable(),
          /** So many of the newest entries are not looked through yet: ask again. */
          behind: s.countSchema,
        })
        .readonly(),
    ),
    act: { kind: "read-journal", on: "project" },
    tag: "journal",
    summary:
      "Find entries of the whole journal, newest first, by agent, tool, verdict, policy, label, person, kind or webhook, in any combination.",
  }),
  storedEntry: get({
    path: "/sessions/{session}/entries/{seq}",
    params: ofSession.extend({ seq: z.coerce.number().int().min(1) }),
    answers: as(storedEntry),
    act: { kind: "read-journal", on: "session" },
    tag: "journal",
    summary: "Show one entry of a session as it is stored: its text, its hashes, the commit that seals it.",
  }),
  entryPolicies: get({
    path: "/sessions/{session}/entries/{seq}/policies",
    params: ofSession.extend({ seq: z.coerce.number().int().min(1) }),
    answers: as(z.strictObject({ digest: s.digestSchema.nullable(), files: s.digestSchema.nullable() }).readonly()),
    act: { kind: "read-journal", on: "session" },
    tag: "journal",
    summary:
      "Show which policies a session ran under at one of its entries, and the digest of their files at that time: `/policies/sets/{digest}` has the texts of either.",
  }),
  journalEntry: get({
    path: "/journal/entries/{stream}/{seq}",
    params: z.strictObject({ stream: s.streamIdSchema, seq: z.coerce.number().int().min(1) }),
    answers: as(storedEntry),
    act: { kind: "read-journal", on: "project" },
    tag: "journal",
    summary: "Show one entry of any stream as it is stored, also of system streams such as `halt`, `grants` and `policy`.",
  }),
  usage: get({
    path: "/usage",
    /** Hours since 1970; `to` is not among them. */
    query: z.strictObject({ from: whole, to: whole, days: hours.exactOptional(), agent: s.name.exactOptional() }),
    answers: as(
      z
        .strictObject({
          rows: z.array(usageRow).readonly(),
          behind: s.countSchema,
          /** There was more than is added up at once: the sums are too small. */
          cut: z.boolean(),
        })
        .readonly(),
    ),
    act: { kind: "list", on: "listing" },
    tag: "journal",
    summary:
      "Report what the agents that the caller may see did and used, by hour, agent and model; with `days` (the hours at which days begin), by day.",
  }),
  export: get({
    path: "/journal/export",
    query: z.strictObject({ session: s.sessionIdSchema.exactOptional() }),
    answers: inText("application/x-ndjson"),
    act: { kind: "read-journal", on: "project" },
    tag: "journal",
    summary: "Export the journal, or one session with its proof, as lines of JSON.",
  }),
} as const;
