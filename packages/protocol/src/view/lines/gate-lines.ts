/** Lines about decisions and people's word on them: verdicts, approval requests, grants, halts, circuit breakers. */
import {
  type Action,
  type ActionText,
  type Answer,
  escapeHidden,
  grantText,
  principalName,
  toCanonicalJson,
  type Verdict,
} from "@orgate/core/vocab";
import { shorten } from "../text-width.ts";
import type { Tone } from "../tone.ts";
import { type EventOf, type Line, type LineTable, line, live, SHOWN_CHARS } from "./line.ts";

type GateKind =
  | "gate.decided"
  | `approval.${"asked" | "answered" | "expired" | "consumed"}`
  | `grant.${"given" | "used" | "revoked"}`
  | `work.${"halted" | "resumed"}`
  | "breaker.changed";

export const GATE_LINES: LineTable<GateKind> = {
  "gate.decided": (e) => [decisionLine(e)],
  "approval.asked": (e, memory) => [
    live(
      "?",
      "warn",
      `${e.approval}: ${e.asks.map(({ question }) => escapeHidden(question)).join(" · ")}${memory.touchedText(e.action)}${e.subject == null ? "" : `, serving ${escapeHidden(e.subject)}`}`,
    ),
  ],
  "approval.answered": (e) => [live("!", "accent", `${principalName(e.by)} answered ${e.approval}: ${answerText(e.answer)}`)],
  "approval.expired": (e) => [
    live("!", "warn", `nobody answered ${e.approval} in time${e.result === "halt" ? ": the turn is halted" : ""}`),
  ],
  "approval.consumed": (e) => [line("·", "dim", `the answer to ${e.approval} was used for ${e.action}`)],
  "grant.given": (e) => [
    line("!", "accent", `${principalName(e.by)} granted ${escapeHidden(e.tool)} to ${escapeHidden(e.agent)} (${e.grant}): ${grantText(e)}`),
  ],
  "grant.used": (e) => [line("·", "dim", `grant ${e.grant} was used for ${e.action}`)],
  "grant.revoked": (e) => [line("!", "warn", `${principalName(e.by)} revoked ${e.grant}: ${escapeHidden(e.reason)}`)],
  "work.halted": (e) => [line("!", "bad", `${principalName(e.by)} halted ${escapeHidden(e.scope)}: ${escapeHidden(e.reason)}`)],
  "work.resumed": (e) => [line("!", "good", `${principalName(e.by)} let ${escapeHidden(e.scope)} go on`)],
  "breaker.changed": (e) => [
    line("!", e.to === "closed" ? "good" : "warn", `breaker ${escapeHidden(e.breaker)} is ${e.to}: ${escapeHidden(e.reason)}`),
  ],
};

function decisionLine({ action, verdict, id }: EventOf<"gate.decided">): Line {
  const tone: Tone = verdict.kind === "allow" ? "good" : verdict.kind === "deny" ? "bad" : "warn";
  const mark = verdict.kind === "allow" ? "✓" : verdict.kind === "deny" ? "✗" : "?";
  const { word, why } = verdictText(verdict);
  const shown = action.kind === "call" || action.kind === "delegate" || verdict.kind !== "allow";
  return { mark, tone: shown ? tone : "dim", text: `${word}: ${actionLineText(action, id)}${why}`, more: [], live: shown };
}

function actionLineText(action: Action, id: ActionText): string {
  switch (action.kind) {
    case "call":
      return `${escapeHidden(action.tool)} ${id} ${action.args === null ? "" : shorten(escapeHidden(toCanonicalJson(action.args)), SHOWN_CHARS)}`.trimEnd();
    case "delegate":
      return `delegate to ${escapeHidden(action.to)} ${id}`;
    case "model":
      return `model ${action.model}`;
    case "recall":
    case "remember":
      return `${action.kind} ${action.scope}`;
    case "respond":
      return `respond to ${principalName(action.to)}`;
  }
  return newerKindText(action);
}

/** A kind that a newer version added inside an event is named, like an event of an unknown kind. */
const newerKindText = (value: never): string => escapeHidden(String(Object(value).kind));

const DENIED_BY: Readonly<Record<string, string>> = {
  contract: " by its contract",
  person: " by a person",
  expiry: " when its time was up",
  halt: " by a halt",
  breaker: " by its breaker",
  middleware: " by middleware",
};

function verdictText(verdict: Verdict): { readonly word: string; readonly why: string } {
  const by = verdict.because.length === 0 ? "" : ` by ${verdict.because.map((p) => escapeHidden(p)).join(", ")}`;
  switch (verdict.kind) {
    case "allow":
      return {
        word: "allowed",
        why: ` ·${by === "" ? " allowed" : by}${verdict.approval === null ? "" : `, answered in ${verdict.approval}`}`,
      };
    case "deny": {
      const who = DENIED_BY[verdict.by] ?? by;
      return { word: "denied", why: ` ·${who === "" ? "" : `${who}:`} ${escapeHidden(verdict.reason)}` };
    }
    case "ask":
      return { word: "asks", why: ` ·${by}` };
    case "defer":
      return { word: "deferred", why: ` ·${by}: for ${verdict.ms / 1_000} s at most` };
    case "modify":
      return { word: "changed", why: ` ·${by}: ${verdict.edits.map(({ path }) => escapeHidden(path.join("."))).join(", ")}` };
  }
  return { word: newerKindText(verdict), why: ` ·${by}` };
}

function answerText(answer: Answer): string {
  switch (answer.kind) {
    case "approve":
      return "approved";
    case "deny":
      return `denied, ${escapeHidden(answer.reason)}`;
    case "withdraw":
      return `withdrawn, ${escapeHidden(answer.reason)}`;
    case "edit":
      return `approved with other arguments: ${escapeHidden(toCanonicalJson(answer.args))}`;
    case "grant":
      return `approved, and remembered for this ${answer.grant.scope} ${typeof answer.grant.until === "number" ? `until ${new Date(answer.grant.until).toISOString()}` : `for the ${answer.grant.until}`}`;
  }
  return newerKindText(answer);
}
