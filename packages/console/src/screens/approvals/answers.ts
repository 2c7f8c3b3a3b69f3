/** Possible answers to an approval request, and their texts. Pure. */
import {
  type Answer,
  coverageText,
  coversOnlyExactCall,
  escapeHidden,
  findHidden,
  type GrantRequest,
  type JsonObject,
  millis,
  type PolicyId,
} from "@orgate/core/vocab";
import type { OperationOutput } from "@orgate/protocol";
import { formatDuration } from "../../parts/time/time.ts";

export type ApprovalRequest = OperationOutput<"approval">;
export type WidestGrant = NonNullable<ApprovalRequest["widest"]>;
type Lifetime = WidestGrant["lifetime"];

const SCOPES: readonly GrantRequest["scope"][] = ["digest", "resource", "tool"];
/** `resource` is not offered where it would cover only this exact call. */
export const offeredScopes = (question: Pick<ApprovalRequest, "shown">, widest: WidestGrant): readonly GrantRequest["scope"][] =>
  scopesWithin(widest).filter((scope) => scope !== "resource" || (question.shown !== null && !coversOnlyExactCall(question.shown)));

const SCOPE_TEXT: Readonly<Record<GrantRequest["scope"], string>> = {
  digest: "exactly this call",
  resource: "this resource",
  tool: "this tool, with any arguments",
};
export const scopeText = (scope: GrantRequest["scope"]): string => SCOPE_TEXT[scope];

/** Describes what a grant would cover, before it is given. */
export const describeCoverage = ({ shown }: Pick<ApprovalRequest, "shown">, answer: Answer): string | null =>
  shown === null || answer.kind !== "grant" ? null : coverageText(shown, answer.grant);

/** O-4 an offered grant is no wider and no longer than the policy allows. */
export const scopesWithin = ({ scope }: WidestGrant): readonly GrantRequest["scope"][] => SCOPES.slice(0, SCOPES.indexOf(scope) + 1);

export type Until = "turn" | "session" | "hour" | "longest";
export function untilsWithin({ lifetime }: WidestGrant): readonly Until[] {
  if (lifetime === "turn") return ["turn"];
  if (lifetime === "session") return ["turn", "session"];
  return lifetime.ms > 3_600_000 ? ["turn", "hour", "longest"] : ["turn", "longest"];
}
export const untilText = (until: Until, lifetime: Lifetime): string => {
  switch (until) {
    case "turn":
      return "for this turn";
    case "session":
      return "for this session";
    case "hour":
      return "for an hour";
    case "longest":
      return typeof lifetime === "object" ? `for ${formatDuration(lifetime.ms)}, the maximum` : "";
  }
};

/** The server's clock decides, so the longest grant ends a little before the limit. */
const SPARE_MS = 5_000;
export function grantFor(scope: GrantRequest["scope"], until: Until, { lifetime }: WidestGrant, now: number): Answer {
  const ms = until === "hour" ? 3_600_000 : typeof lifetime === "object" ? lifetime.ms - SPARE_MS : 0;
  return { kind: "grant", grant: { scope, until: until === "turn" || until === "session" ? until : millis(Math.round(now + ms)) } };
}

export type EditedArguments = Readonly<{ kind: "args"; args: JsonObject } | { kind: "wrong"; why: string }>;
export function parseEdited(text: string): EditedArguments {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return { kind: "wrong", why: "arguments are a JSON object" };
    return { kind: "args", args: value as JsonObject }; // JSON.parse returns only JSON
  } catch (error) {
    return { kind: "wrong", why: error instanceof Error ? error.message : String(error) };
  }
}

/**
 * V-1 text to be edited shows hidden characters as JSON escapes: parsed again, it equals the proposal.
 */
export function toEditableJson(args: JsonObject): string {
  const text = JSON.stringify(args, null, 2);
  return findHidden(text) === null ? text : text.replace(/[^\n -~]/gu, (c) => (findHidden(c) === null ? c : asUnits(c)));
}
const asUnits = (c: string): string =>
  c
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");

/** Who approved for one policy, each person once. */
export const approvedBy = ({ votes }: Pick<ApprovalRequest, "votes">, policy: PolicyId): readonly string[] => [
  ...new Set(votes.filter(({ counts }) => counts.includes(policy)).map(({ by }) => escapeHidden(by.replace(/^user:/, "")))),
];

const DONE: Readonly<Record<Answer["kind"], string>> = {
  approve: "Approved once",
  deny: "Denied",
  withdraw: "Withdrawn",
  edit: "Approved as edited",
  grant: "Approved and remembered",
};

/** O-4 an approval that is not sufficient by itself is not shown as approved. */
export function describeAnswer({ kind }: Answer, question: ApprovalRequest): Readonly<{ title: string; detail: string }> {
  const about = `\`${question.tool}\` of \`${question.agent}\``;
  const missing = Math.max(...question.asks.map(({ policy, terms }) => terms.quorum - approvedBy(question, policy).length)) - 1;
  if (kind === "deny" || kind === "withdraw" || missing <= 0) return { title: DONE[kind], detail: about };
  return { title: "Your approval is counted", detail: `${about}: ${missing} more ${missing === 1 ? "approval" : "approvals"} needed` };
}
