/** Policies. */
import * as z from "zod";
import { as, defineOperations, MOST_PAGE, whole } from "../operation.ts";
import * as s from "../shapes.ts";
import { caseView, policyFile, policyFiles, policyHistoryRow, policyView, trouble } from "../views.ts";
import { policyWords } from "../words/policies.ts";

export const policyOperations = defineOperations(policyWords, {
  policies: {
    answers: as(z.strictObject({ digest: s.digestSchema, policies: z.array(policyView).readonly() }).readonly()),
  },
  policyFiles: {
    answers: as(
      z
        .strictObject({
          files: z.array(policyFile).readonly(),
          problems: z.array(trouble).readonly(),
          warnings: z.array(trouble).readonly(),
          cases: z.array(caseView).readonly(),
        })
        .readonly(),
    ),
  },
  checkPolicies: {
    body: z.strictObject({ files: policyFiles }),
    answers: as(
      z
        .strictObject({
          ok: z.boolean(),
          problems: z.array(trouble).readonly(),
          warnings: z.array(trouble).readonly(),
          cases: z.array(caseView).readonly(),
        })
        .readonly(),
    ),
  },
  evaluatePolicies: {
    /** A line of a decision table without its name and verdict: `{agent, action, resource, args, labels, …}`. */
    body: s.jsonObject,
    answers: as(z.strictObject({ verdict: s.jsonObject, read: s.jsonObject }).readonly()),
  },
  applyPolicies: {
    body: z
      .strictObject({ files: policyFiles.exactOptional(), set: s.digestStart.exactOptional(), reason: s.requiredReason })
      .refine(({ files, set }) => (files === undefined) !== (set === undefined), "it takes either `files` or `set`"),
    answers: as(
      z
        .strictObject({
          digest: s.digestSchema,
          changes: z.array(z.strictObject({ path: z.string(), change: z.enum(["added", "changed", "removed"]) }).readonly()).readonly(),
        })
        .readonly(),
    ),
  },
  policyHistory: {
    query: z.strictObject({ before: whole.exactOptional(), limit: z.coerce.number().int().min(1).max(MOST_PAGE).default(50) }),
    answers: as(z.strictObject({ rows: z.array(policyHistoryRow).readonly(), next: s.countSchema.nullable() }).readonly()),
  },
  policySet: {
    params: z.strictObject({ digest: s.digestStart }),
    answers: as(
      z
        .strictObject({
          digest: s.digestSchema.nullable(),
          files: s.digestSchema,
          at: s.countSchema,
          by: z.string(),
          texts: z.array(z.strictObject({ path: z.string(), digest: s.digestSchema, text: z.string() }).readonly()).readonly(),
          /** Files that can be applied again: those below `policies/`. */
          appliable: s.countSchema,
        })
        .readonly(),
    ),
  },
});
