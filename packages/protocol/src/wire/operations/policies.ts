/** Policies. */
import * as z from "zod";
import { as, get, MOST_PAGE, post, whole } from "../operation.ts";
import * as s from "../shapes.ts";
import { caseView, policyFile, policyFiles, policyHistoryRow, policyView, trouble } from "../views.ts";

export const policyOperations = {
  policies: get({
    path: "/policies",
    answers: as(z.strictObject({ digest: s.digestSchema, policies: z.array(policyView).readonly() }).readonly()),
    act: { kind: "observe", on: "policies" },
    tag: "policies",
    summary: "List the policies in force.",
  }),
  policyFiles: get({
    path: "/policies/files",
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
    act: { kind: "observe", on: "policies" },
    tag: "policies",
    summary: "Show the files of `policies/` as they are on disk, with every problem in them; the policies in force may be older.",
  }),
  checkPolicies: post({
    path: "/policies/check",
    body: z.strictObject({ files: policyFiles }),
    asks: true,
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
    act: { kind: "observe", on: "policies" },
    tag: "policies",
    summary: "Check whether these files would be accepted as the policies, and list every problem in them.",
  }),
  evaluatePolicies: post({
    path: "/policies/evaluate",
    /** A line of a decision table without its name and verdict: `{agent, action, resource, args, labels, …}`. */
    body: s.jsonObject,
    asks: true,
    answers: as(z.strictObject({ verdict: s.jsonObject, read: s.jsonObject }).readonly()),
    act: { kind: "observe", on: "policies" },
    tag: "policies",
    summary: "Evaluate one action: the decision, and the policies that made it. Nothing is done.",
  }),
  applyPolicies: post({
    path: "/policies/apply",
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
    act: { kind: "edit-policy", on: "policies" },
    tag: "policies",
    summary: "Apply these files, or an earlier set by its digest, as the policies: all at once, journalled.",
  }),
  policyHistory: get({
    path: "/policies/history",
    query: z.strictObject({ before: whole.exactOptional(), limit: z.coerce.number().int().min(1).max(MOST_PAGE).default(50) }),
    answers: as(z.strictObject({ rows: z.array(policyHistoryRow).readonly(), next: s.countSchema.nullable() }).readonly()),
    act: { kind: "observe", on: "policies" },
    tag: "policies",
    summary: "List the policy sets that were loaded, applied or refused, newest first: since when, by whom, why, and which files changed.",
  }),
  policySet: get({
    path: "/policies/sets/{digest}",
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
    act: { kind: "observe", on: "policies" },
    tag: "policies",
    summary: "Show the files of one policy set with their texts, as the journal stored them; 6 characters of the digest are enough.",
  }),
} as const;
