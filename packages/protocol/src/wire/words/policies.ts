/** Policies: the words of their operations. */
import { ask, get, post, tagged } from "./words.ts";

export const policyWords = tagged("policies", {
  policies: get({
    path: "/policies",
    act: { kind: "observe", on: "policies" },
    inCommand: "policy list",
    summary: "List the policies in force.",
  }),
  policyFiles: get({
    path: "/policies/files",
    act: { kind: "observe", on: "policies" },
    summary: "Show the files of `policies/` as they are on disk, with every problem in them; the policies in force may be older.",
  }),
  checkPolicies: ask({
    path: "/policies/check",
    act: { kind: "observe", on: "policies" },
    inCommand: "policy check",
    summary: "Check whether these files would be accepted as the policies, and list every problem in them.",
  }),
  evaluatePolicies: ask({
    path: "/policies/evaluate",
    act: { kind: "observe", on: "policies" },
    inCommand: "policy eval",
    summary: "Evaluate one action: the decision, and the policies that made it. Nothing is done.",
  }),
  applyPolicies: post({
    path: "/policies/apply",
    act: { kind: "edit-policy", on: "policies" },
    inCommand: "policy apply",
    summary: "Apply these files, or an earlier set by its digest, as the policies: all at once, journalled.",
  }),
  policyHistory: get({
    path: "/policies/history",
    act: { kind: "observe", on: "policies" },
    inCommand: "policy history",
    summary: "List the policy sets that were loaded, applied or refused, newest first: since when, by whom, why, and which files changed.",
  }),
  policySet: get({
    path: "/policies/sets/{digest}",
    act: { kind: "observe", on: "policies" },
    inCommand: "policy show",
    summary: "Show the files of one policy set with their texts, as the journal stored them; 6 characters of the digest are enough.",
  }),
});
