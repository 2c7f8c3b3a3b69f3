/**
 * Taking up a set that was applied by another process: is it in place, and what decides if it does not load.
 * Rule: G-15.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Decision, Digest } from "@orgate/core";
import { cedarGate, type Engine, loadPolicies, type PolicyProblem, type PolicyWorld } from "@orgate/core/gate";
import { sha256 } from "../node/crypto.ts";
import { digestFolder } from "./policy-digests.ts";
import { type PolicyFolderPath, readPolicyFolder } from "./policy-files.ts";
import type { LoadedFolder } from "./policy-load.ts";
import { isSwapPending } from "./policy-swap.ts";

/** As `policy.applied` names them. `before`: what was replaced by it, or by those that led to it. */
export type AppliedSet = Readonly<{ files: Digest; before: readonly Digest[] }>;

/** It is journalled before it is put in place: that takes a few milliseconds, unless the process was killed in between. */
const WAIT_MS = 10;
const TRIES = 300;

/** `other`: the folder of these policies is not the one that was applied to. */
export async function waitForAppliedSet(
  place: PolicyFolderPath,
  { files, before }: AppliedSet,
  mine: Digest,
): Promise<"there" | "missing" | "other"> {
  for (let tries = 1; ; tries += 1) {
    const isPending = isSwapPending(place.folder); // looked at first: once it is over, the folder has what came of it
    const read = readPolicyFolder(place);
    if (read.kind === "folder" && digestFolder(read.folder).filesDigest === files) return "there";
    if (isPending && tries < TRIES) await delay(WAIT_MS);
    else return before.includes(mine) ? "missing" : "other";
  }
}

export const appliedSetMissing = (files: Digest): Readonly<{ kind: "refused"; problems: readonly PolicyProblem[]; files: Digest }> => ({
  kind: "refused",
  problems: [
    {
      file: "policies",
      line: 1,
      column: 1,
      detail: `the set of files ${files.slice(0, 12)} was applied, and is not what lies here`,
      hint: "apply it again with `orgate policy apply --set`, or start this process again to go by what lies here",
    },
  ],
  files,
});

/** The empty set: it permits nothing, and says why. A set like any other: sessions name it, and the journal has it. */
export function denyAllSet(cast: PolicyWorld, problems: readonly PolicyProblem[], engine: Engine): LoadedFolder {
  const load = loadPolicies([], cast, engine);
  if (load.kind === "refused") throw new Error("a set without policies loads");
  const gate = cedarGate(load.set, engine, sha256, { cache: 0 });
  const [first] = problems;
  const why = first === undefined ? "" : `: ${first.file}:${first.line}:${first.column}: ${first.detail}`;
  const reason = `the policies that were applied are not in force here, so nothing is permitted${why}`;
  const told = (decision: Decision): Decision =>
    decision.verdict.kind === "deny" ? { ...decision, verdict: { ...decision.verdict, reason } } : decision;
  const closed: typeof gate = {
    ...gate,
    decide: (action, facts) => told(gate.decide(action, facts)),
    decideFor: (user, act) => told(gate.decideFor(user, act)),
    explain: (action, facts) => {
      const explained = gate.explain(action, facts);
      return { ...explained, decision: told(explained.decision) };
    },
  };
  const { filesDigest, files, sources } = digestFolder({ policies: [], tables: [], warnings: [] });
  return {
    digest: gate.digest,
    filesDigest,
    folderDigest: filesDigest,
    files,
    sources,
    policies: [],
    warnings: [],
    cases: [],
    cast,
    gateFor: () => closed,
    closed: reason,
    lately: gate.lately,
  };
}
