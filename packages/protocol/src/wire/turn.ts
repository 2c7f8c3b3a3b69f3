/**
 * One turn, told by signs: what a chat shows of it, whatever form the chat has. A pure fold of the session's entries and previews, from the entry that
 * the wish became (or before it) on; entries of other turns are passed over.
 *
 * W-26 a turn has exactly one last sign, `ended` or `dropped`, on every path, and nothing follows it.
 * W-26 words are told only as they were shown (previews) or as the turn delivered them (`output`): what the gate withheld is in no sign.
 */
import {
  type ApprovalId,
  type Ask,
  actionName,
  type CallId,
  type Digest,
  ENDINGS,
  type Ending,
  type Entry,
  type IntentId,
  isRefusal,
  type JournalEvent,
  type Json,
  outputText,
  type Preview,
  type ProposedCall,
  type SessionId,
  unknownText,
  type Verdict,
  verdictReason,
} from "@orgate/core/vocab";

/** As the loop tells it: `Live`. */
export type LiveEntry = Readonly<{ kind: "entry"; entry: Entry }>;
export type LivePreview = Readonly<{
  kind: "preview";
  session: SessionId;
  iteration: number;
  attempt: number;
  preview: Preview;
}>;
export type LiveSign = LiveEntry | LivePreview;

export type TurnDecision = Verdict["kind"];

export type TurnSign =
  | Readonly<{ kind: "began"; session: SessionId; turn: number }>
  | Readonly<{ kind: "asked"; iteration: number; attempt: number }>
  | Readonly<{ kind: "words"; part: "text" | "thinking"; iteration: number; attempt: number; offset: number; text: string }>
  /** The reply broke off: its words do not count. */
  | Readonly<{ kind: "broke"; iteration: number; attempt: number }>
  /** `shown`: its words were shown while they came, so that the rest of them may be told too. */
  | Readonly<{ kind: "replied"; iteration: number; attempt: number; text: string; shown: boolean }>
  | Readonly<{ kind: "decided"; action: string; call: ProposedCall | null; decision: TurnDecision; reason: string }>
  | Readonly<{ kind: "question"; approval: ApprovalId; digest: Digest; call: ProposedCall | null; asks: readonly Ask[] }>
  | Readonly<{ kind: "answered"; approval: ApprovalId; call: string | null; approved: boolean; reason: string | null }>
  | Readonly<{ kind: "started"; call: ProposedCall }>
  | Readonly<{ kind: "settled"; call: CallId; isError: boolean; text: string; output: Json }>
  | Readonly<{ kind: "ended"; ending: Ending; output: string | null; sentence: string; next: string; detail: string | null }>
  /** It never became a turn. */
  | Readonly<{ kind: "dropped"; reason: string }>;

const NONE: readonly TurnSign[] = [];

export function followTurn(intent: IntentId): (live: LiveSign) => readonly TurnSign[] {
  let phase: "before" | "in" | "after" = "before";
  let turn = 0;
  let isQueued = false; // before that, nothing that is cancelled is this
  /** Of the reply in progress. */
  let shown = false;
  const proposed = new Map<string, ProposedCall>();
  const asked = new Map<ApprovalId, string>(); // the action that each approval request is about
  const open = new Map<CallId, string>(); // started and not settled: how it failed last

  const end = (sign: TurnSign): readonly TurnSign[] => {
    phase = "after";
    const left = [...open].map(([call, error]): TurnSign => settledBy(call, error));
    open.clear();
    return [...left, sign];
  };
  const start = (id: CallId): readonly TurnSign[] => {
    const call = proposed.get(id);
    if (call === undefined || open.has(id)) return NONE; // run again: it was told
    open.set(id, "the turn ended first");
    return [{ kind: "started", call }];
  };
  const settle = (id: CallId, sign: TurnSign): readonly TurnSign[] => (open.delete(id) ? [sign] : NONE);

  function before({ event: e, stream }: Entry): readonly TurnSign[] {
    if (e.kind === "input.queued" && e.intent === intent) isQueued = true;
    if (e.kind === "turn.started" && e.intent === intent) {
      phase = "in";
      turn = e.turn;
      return [{ kind: "began", session: stream as SessionId, turn }]; // only a session's stream has turns
    }
    if (e.kind === "intent.refused" && e.intent === intent) return end({ kind: "dropped", reason: e.reason });
    if (e.kind === "turn.cancel-asked" && e.all && isQueued)
      return end({ kind: "dropped", reason: "what was to follow the turn was cancelled" });
    if (e.kind === "session.closed") return end({ kind: "dropped", reason: "the session is closed" });
    return NONE;
  }

  function within(e: JournalEvent): readonly TurnSign[] {
    switch (e.kind) {
      case "model.asked":
        shown = false;
        return e.purpose === "reply" ? [{ kind: "asked", iteration: e.iteration, attempt: e.attempt }] : NONE;
      case "model.failed":
        return e.purpose === "reply" && shown ? [{ kind: "broke", iteration: e.iteration, attempt: e.attempt }] : NONE;
      case "model.replied": {
        if (e.purpose !== "reply") return NONE;
        for (const part of e.parts) if (part.kind === "call") proposed.set(part.id, part);
        const text = e.parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("");
        return [{ kind: "replied", iteration: e.iteration, attempt: e.attempt, text: shown ? text : "", shown }];
      }
      case "gate.decided":
        return [
          {
            kind: "decided",
            action: actionName(e.action),
            call: proposed.get(e.id) ?? null,
            decision: e.verdict.kind,
            reason: verdictReason(e.verdict),
          },
        ];
      case "approval.asked":
        asked.set(e.approval, e.action);
        return [{ kind: "question", approval: e.approval, digest: e.digest, call: proposed.get(e.action) ?? null, asks: e.asks }];
      case "approval.answered": {
        const reason = isRefusal(e.answer) ? e.answer.reason : null;
        return [{ kind: "answered", approval: e.approval, call: asked.get(e.approval) ?? null, approved: reason === null, reason }];
      }
      case "approval.expired":
        return [
          {
            kind: "answered",
            approval: e.approval,
            call: asked.get(e.approval) ?? null,
            approved: false,
            reason: "nobody answered in time",
          },
        ];
      case "act.started":
        return start(e.call);
      case "child.opened":
        return start(e.call);
      case "act.ended":
        if (e.recovering && e.outcome.kind === "failed") {
          if (open.has(e.call)) open.set(e.call, e.outcome.error);
          return NONE;
        }
        if (e.outcome.kind === "done")
          return settle(e.call, {
            kind: "settled",
            call: e.call,
            isError: false,
            text: outputText(e.outcome.output),
            output: e.outcome.output,
          });
        return settle(e.call, settledBy(e.call, e.outcome.kind === "failed" ? e.outcome.error : unknownText(e.outcome)));
      case "recovery.applied":
        if (e.strategy === "cached")
          return settle(e.call, { kind: "settled", call: e.call, isError: false, text: outputText(e.output), output: e.output });
        return LAST_WORDS.has(e.strategy) ? settle(e.call, settledBy(e.call, open.get(e.call) ?? e.detail)) : NONE;
      case "child.ended": {
        const isError = e.ending !== "completed";
        const text = e.output ?? e.detail ?? ENDINGS[e.ending].sentence;
        return settle(e.call, isError ? settledBy(e.call, text) : { kind: "settled", call: e.call, isError, text, output: text });
      }
      case "turn.ended":
        if (e.turn !== turn) return NONE;
        return end({ kind: "ended", ending: e.ending, output: e.output, ...ENDINGS[e.ending], detail: e.detail });
      default: // the others are for those who read the journal
        return NONE;
    }
  }

  return (live) => {
    if (phase === "after") return NONE;
    if (live.kind === "entry") return phase === "before" ? before(live.entry) : within(live.entry.event);
    const { iteration, attempt, preview } = live;
    if (phase !== "in" || preview.part === "call") return NONE;
    if (preview.part === "text") shown = true;
    return [{ kind: "words", part: preview.part, iteration, attempt, offset: preview.offset, text: preview.text }];
  };
}

/** Strategies after which nothing more is tried: the call stays failed. */
const LAST_WORDS: ReadonlySet<Extract<JournalEvent, { kind: "recovery.applied" }>["strategy"]> = new Set([
  "ask-model",
  "dead-letter",
  "stop",
]);

const settledBy = (call: CallId, error: string): TurnSign => ({ kind: "settled", call, isError: true, text: error, output: null });
