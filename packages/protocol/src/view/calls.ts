/** Calls as cards: paired by call id, one card from proposal to outcome. */
import {
  argumentsOf,
  type CallId,
  ENDINGS,
  escapeHidden,
  type JournalEvent,
  type Json,
  type JsonObject,
  type Outcome,
  outputText,
  type Part,
  toCallSubject,
  toCanonicalJson,
  toFileEdit,
  unknownText,
  type Verdict,
} from "@orgate/core/vocab";
import { callSummary } from "./call-summary.ts";
import { type DiffLine, diffLines, withContext } from "./diff.ts";
import { type CallItem, type CallStatus, type EditView, MAX_LIVE, shownText, verdictView } from "./items.ts";
import { recoveryText } from "./lines/call-lines.ts";
import { resourceText } from "./lines/line.ts";
import { callItem, closeCall, push, setCall, toPlacement, type ViewBuilder, withOne, without } from "./shared.ts";

type Of<K extends JournalEvent["kind"]> = Extract<JournalEvent, { kind: K }>;
export type CallEvent = Of<
  | "gate.decided"
  | "act.started"
  | "act.ended"
  | "act.late"
  | "recovery.applied"
  | "child.opened"
  | "child.ended"
  | "unknown.resolved"
  | "note"
  | "middleware.applied"
>;

export function foldCall(ground: ViewBuilder, e: CallEvent): void {
  const { view, entry } = ground;
  switch (e.kind) {
    case "gate.decided":
      decided(ground, e);
      return;
    case "act.started": {
      const was = callItem(ground, e.call);
      view.running = withOne(view.running, e.call);
      setCall(ground, e.call, { status: "running", starts: e.start, startedAt: was?.startedAt ?? entry.at, evidence: entry.seq });
      return;
    }
    case "act.ended":
      setCall(ground, e.call, { durationMs: e.evidence.durationMs, evidence: entry.seq, ...editShown(ground, e.call, e.evidence.proof) });
      if (e.recovering && e.outcome.kind === "failed") {
        view.running = without(view.running, e.call);
        setCall(ground, e.call, { status: "recovering", result: shownText(e.outcome.error).text });
        return;
      }
      if (e.outcome.kind === "unknown") view.openUnknowns = withOne(view.openUnknowns, e.call);
      settle(ground, e.call, e.outcome);
      return;
    case "act.late":
      view.openUnknowns = without(view.openUnknowns, e.call);
      settle(ground, e.call, e.outcome);
      return;
    case "unknown.resolved":
      view.openUnknowns = without(view.openUnknowns, e.call);
      setCall(ground, e.call, e.as === "abandon" ? {} : { status: e.as === "happened" ? "done" : "failed" });
      return;
    case "recovery.applied": {
      const recovery = [...(callItem(ground, e.call)?.recovery ?? []), recoveryText(e)];
      setCall(ground, e.call, { recovery });
      if (e.strategy === "cached") {
        settle(ground, e.call, { kind: "done", output: e.output });
        return;
      }
      if (e.strategy === "ask-model" || e.strategy === "dead-letter" || e.strategy === "stop") {
        closeCall(ground, e.call, "failed", {});
        return;
      }
      return;
    }
    case "child.opened":
      view.running = withOne(view.running, e.call);
      {
        setCall(ground, e.call, {
          status: "running",
          starts: 1,
          startedAt: entry.at,
          child: { session: e.child, agent: escapeHidden(e.agent), ending: null, used: null },
        });
        return;
      }
    case "child.ended": {
      const { child, startedAt } = callItem(ground, e.call) ?? { child: null, startedAt: null };
      const shown = shownText(e.output ?? e.detail ?? ENDINGS[e.ending].sentence);
      closeCall(ground, e.call, e.ending === "completed" ? "done" : "failed", {
        result: shown.text,
        cut: shown.cut,
        durationMs: startedAt === null ? null : entry.at - startedAt,
        child:
          child === null
            ? null
            : { ...child, ending: e.ending, used: { tokens: e.used.tokens - e.lost, lost: e.lost, micros: e.used.micros } },
      });
      return;
    }
    case "note":
      noted(ground, e);
      return;
    case "middleware.applied":
      if (e.call !== null && e.change.kind === "arguments") setCall(ground, e.call, argsShown(e.change.args, ""));
  }
}

/** A card for each call of a reply. */
export function foldProposal(ground: ViewBuilder, part: Extract<Part, { kind: "call" }>, turn: number): void {
  const given = argumentsOf(part);
  ground.open.add(part.id);
  push(
    ground,
    toCallItem(
      ground,
      { key: `call:${part.id}`, call: part.id, tool: part.tool, turn },
      given.kind === "json" ? given.value : null,
      part.text,
    ),
  );
}

type Named = Readonly<{ key: string; call: CallId; tool: string; turn: number }>;
export function toCallItem(ground: ViewBuilder, { key, call, tool, turn }: Named, args: Json | null, text: string): CallItem {
  const edit = isRecord(args) ? editView(tool, args, null) : null;
  return {
    kind: "call",
    ...toPlacement(ground, key),
    turn,
    call,
    tool: escapeHidden(tool),
    ...argsShown(args, text),
    status: "proposed",
    verdict: null,
    resource: null,
    approval: null,
    startedAt: null,
    endedAt: null,
    durationMs: null,
    starts: 0,
    live: "",
    result: null,
    cut: 0,
    evidence: null,
    edit,
    child: null,
    labels: [],
    recovery: [],
  };
}

const argsShown = (args: Json | null, text: string): Pick<CallItem, "summary" | "args"> => ({
  summary: callSummary(args, text),
  args: shownText(args === null ? text : JSON.stringify(args, null, 2)).text,
});

const BY_VERDICT: Readonly<Record<Verdict["kind"], CallStatus>> = {
  allow: "allowed",
  deny: "denied",
  ask: "asking",
  defer: "deferred",
  modify: "proposed",
};

function decided(ground: ViewBuilder, { id, action, verdict }: Of<"gate.decided">): void {
  const doing = toCallSubject(action) ?? null; // undefined: a kind of action that only a newer version knows
  if (doing === null) return;
  ground.touched.set(id, doing.resource);
  const verdictShown = verdictView(verdict, ground.entry.seq);
  const edit = doing.args === null ? null : editView(callItem(ground, id)?.tool ?? "", doing.args, null);
  const args = doing.args === null ? {} : { ...argsShown(doing.args, ""), ...(edit === null ? {} : { edit }) }; // as middleware or a person changed them; else as they were proposed
  setCall(ground, id, {
    ...args,
    verdict: verdictShown,
    resource: resourceText(doing.resource),
    status: BY_VERDICT[verdict.kind] ?? "proposed",
  });
  if (verdict.kind === "deny") closeCall(ground, id, "denied", { result: verdictShown.reason });
}

function settle(ground: ViewBuilder, call: CallId, outcome: Outcome): void {
  const shown = shownText(
    outcome.kind === "done" ? outputText(outcome.output) : outcome.kind === "failed" ? outcome.error : unknownText(outcome),
  );
  closeCall(ground, call, outcome.kind, { result: shown.text, cut: shown.cut });
}

/** Its turn ended first. */
export function dropCall(ground: ViewBuilder): void {
  for (const call of ground.open) closeCall(ground, call, "dropped", {});
}

function noted(ground: ViewBuilder, { call, name, value }: Of<"note">): void {
  if (call === null) return;
  const item = callItem(ground, call);
  if (item === null || (item.status !== "running" && item.status !== "recovering")) return;
  const piece = name === "output" && typeof value === "string" ? value : `${name}: ${toCanonicalJson(value)}\n`;
  setCall(ground, call, { live: (item.live + shownText(piece, MAX_LIVE).text).slice(-MAX_LIVE) });
}

const AROUND = 3;
const MOST_LINES = 400;

function editShown(ground: ViewBuilder, call: CallId, proof: JsonObject | null): Partial<Pick<CallItem, "edit">> {
  const item = callItem(ground, call);
  const edit = item === null || proof === null ? null : editView(item.tool, null, proof);
  return edit === null ? {} : { edit: { ...edit, newly: item?.edit?.newly ?? [] } };
}

/** Also before it runs: what its arguments say it would change. */
export function editView(tool: string, args: JsonObject | null, proof: JsonObject | null): EditView | null {
  const edit = toFileEdit({ name: tool, edits: false, server: "" }, args, proof);
  if (edit === null) return null;
  const lines = diffLines(edit.before ?? "", edit.after);
  const of = (kind: DiffLine["kind"]): number => lines.filter((one) => one.kind === kind).length;
  const shown = withContext(lines, AROUND).slice(0, MOST_LINES);
  return {
    path: escapeHidden(edit.path),
    added: of("added"),
    removed: of("removed"),
    whole: edit.whole,
    lines: shown.map((one) => (one === null ? null : { kind: one.kind, text: shownText(one.text, 1_000).text })),
    newly: newlyIn(args),
  };
}

const MOST_NEWLY = 50;
function newlyIn(args: JsonObject | null): readonly string[] {
  const given = args?.["newly"];
  return Array.isArray(given)
    ? given.flatMap((one) => (typeof one === "string" ? [escapeHidden(one.slice(0, 500))] : [])).slice(0, MOST_NEWLY)
    : [];
}

const isRecord = (value: Json | null): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value);
