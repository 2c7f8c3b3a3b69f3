/** The journal. */
import * as z from "zod";
import { as, defineOperations, inText, MOST_PAGE, ofSession, whole } from "../operation.ts";
import * as s from "../shapes.ts";
import { foundEntry, storedEntry, usageRow, verified } from "../views.ts";
import { journalWords } from "../words/journal.ts";

/** Hours in order, with commas between them. */
const hours = z
  .string()
  .regex(/^\d{1,7}(?:,\d{1,7}){0,399}$/)
  .transform((text) => text.split(",").map(Number))
  .refine((all) => all.every((hour, i) => i === 0 || hour > (all[i - 1] ?? 0)), "are not in order");

export const journalOperations = defineOperations(journalWords, {
  verify: { answers: as(verified) },
  verifying: { answers: inText("application/x-ndjson") },
  journalEntries: {
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
          /** Number of the newest entries that are not searched yet: ask again. */
          behind: s.countSchema,
        })
        .readonly(),
    ),
  },
  storedEntry: { params: ofSession.extend({ seq: z.coerce.number().int().min(1) }), answers: as(storedEntry) },
  entryPolicies: {
    params: ofSession.extend({ seq: z.coerce.number().int().min(1) }),
    answers: as(z.strictObject({ digest: s.digestSchema.nullable(), files: s.digestSchema.nullable() }).readonly()),
  },
  journalEntry: {
    params: z.strictObject({ stream: s.streamIdSchema, seq: z.coerce.number().int().min(1) }),
    answers: as(storedEntry),
  },
  usage: {
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
  },
  export: {
    query: z.strictObject({ session: s.sessionIdSchema.exactOptional() }),
    answers: inText("application/x-ndjson"),
  },
});
