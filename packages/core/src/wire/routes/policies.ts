/** Policies. */
import * as z from "zod";
import { as, get, post } from "../route.ts";
import * as s from "../shapes.ts";
import { caseView, policyFile, policyFiles, policyView, trouble } from "../views.ts";

export const policyRoutes = {
  policies: get({
    path: "/policies",
    answers: as(z.strictObject({ digest: s.digest, policies: z.array(policyView).readonly() }).readonly()),
    act: { kind: "observe", on: "policies" },
    tag: "policies",
    says: "The policies in force.",
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
    says: "The files of `policies/` as they lie there now, with everything that is wrong with them; what is in force may be older.",
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
    says: "Whether these files would be taken as the policies, with everything that is wrong with them.",
  }),
  evaluatePolicies: post({
    path: "/policies/evaluate",
    /** A line of a decision table without its name and verdict: `{agent, action, resource, args, labels, …}`. */
    body: s.jsonObject,
    asks: true,
    answers: as(z.strictObject({ verdict: s.jsonObject, read: s.jsonObject }).readonly()),
    act: { kind: "observe", on: "policies" },
    tag: "policies",
    says: "What would be decided about one action, and by which policies; nothing is done.",
  }),
  applyPolicies: post({
    path: "/policies/apply",
    body: z.strictObject({ files: policyFiles, reason: s.reason.default("") }),
    answers: as(
      z
        .strictObject({
          digest: s.digest,
          changes: z.array(z.strictObject({ path: z.string(), change: z.enum(["added", "changed", "removed"]) }).readonly()).readonly(),
        })
        .readonly(),
    ),
    act: { kind: "edit-policy", on: "policies" },
    tag: "policies",
    says: "Puts these files in place of the policies, all at once, journalled.",
  }),
} as const;
