/** One-line wording of verdicts, outcomes and outputs: the same words in every chat, screen and list. */

import type { Outcome } from "../outcome.ts";
import type { Action, Verdict } from "../verdict.ts";
import { type Json, toCanonicalJson } from "./canonical.ts";

export const outputText = (output: Json): string => (typeof output === "string" ? output : toCanonicalJson(output));

export const unknownText = ({ cause, detail }: Pick<Extract<Outcome, { kind: "unknown" }>, "cause" | "detail">): string =>
  `nobody can tell whether this took effect (${cause}${detail === "" ? "" : `: ${detail}`})`;

/** As a policy names it, without its type. */
export function actionName(action: Action): string {
  switch (action.kind) {
    case "call":
      return `tool:${action.tool}`;
    case "delegate":
    case "model":
    case "respond":
    case "recall":
    case "remember":
      return action.kind;
  }
}

/** In one line, naming the policies that decided. */
export function verdictReason(verdict: Verdict): string {
  const by = verdict.because.join(", ");
  switch (verdict.kind) {
    case "allow":
      return `permitted by ${by}`;
    case "deny": {
      const faults = verdict.faults.map(({ policy, message }) => `${policy ?? "a policy"} erred: ${message}`);
      return [by === "" ? verdict.reason : `${verdict.reason} (${by})`, ...faults].join("; ");
    }
    case "ask":
      return `${by} asks: ${verdict.asks.map(({ question }) => question).join("; ")}`;
    case "defer":
      return `deferred by ${by}`;
    case "modify":
      return `changed by ${by}: ${verdict.edits.map(({ path }) => path.join(".")).join(", ")}`;
  }
}
