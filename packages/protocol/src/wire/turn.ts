/**
 * One turn as signs: what a chat shows of it, whatever form the chat has. A pure fold of the session's entries and previews, from the entry that
 * the intent became (or before it) on; entries of other turns are passed over.
 *
 * W-26 a turn has exactly one last sign, `ended` or `dropped`, on every path, and nothing follows it.
 * W-26 text is sent only as it was shown (previews) or as the turn delivered it (`output`): text that the gate withheld is in no sign.
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
  eventsIn,
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
  /** `shown`: its text was shown while it came, so that the rest may be sent too. */
  | Readonly<{ kind: "replied"; iteration: number; attempt: number; text: string; shown: boolean }>
  | Readonly<{ kind: "decided"; action: string; call: ProposedCall | null; decision: TurnDecision; reason: string }>
  | Readonly<{ kind: "question"; approval: ApprovalId; digest: Digest; call: ProposedCall | null; asks: readonly Ask[] }>
  | Readonly<{ kind: "answered"; approval: ApprovalId; call: string | null; approved: boolean; reason: string | null }>
  | Readonly<{ kind: "started"; call: ProposedCall }>
  | Readonly<{ kind: "settled"; call: CallId; isError: boolean; text: string; output: Json }>
  | Readonly<{ kind: "ended"; ending: Ending; output: string | null; sentence: string; next: string; detail: string | null }>
  /** It never became a turn. */
  | Readonly<{ kind: "dropped"; reason: string }>;

type Of<K extends JournalEvent["kind"]> = Extract<JournalEvent, { kind: K }>;

const NONE: readonly TurnSign[] = [];

/** One per turn: the entry that `intent` became starts it. */
export function followTurn(intent: IntentId): (live: LiveSign) => readonly TurnSign[] {
  const turn = new FollowedTurn(intent);
  return (live) => turn.toSigns(live);
}

class FollowedTurn {
  readonly #intent: IntentId;
  readonly #calls = new TurnCalls();
  /** The action that each approval request is about. */
  readonly #asked = new Map<ApprovalId, string>();
  #phase: "before" | "in" | "after" = "before";
  #turn = 0;
  /** Until the input is queued, a cancellation is not about it. */
  #isQueued = false;
  /** Words of the reply in progress were shown. */
  #isShown = false;

  constructor(intent: IntentId) {
    this.#intent = intent;
  }

  toSigns(live: LiveSign): readonly TurnSign[] {
    if (this.#phase === "after") return NONE;
    if (live.kind === "entry")
      return this.#phase === "before" ? this.#before(live.entry) : eventsIn(live.entry.event).flatMap((e) => this.#within(e));
    const { iteration, attempt, preview } = live;
    if (this.#phase !== "in" || preview.part === "call") return NONE;
    if (preview.part === "text") this.#isShown = true;
    return [{ kind: "words", part: preview.part, iteration, attempt, offset: preview.offset, text: preview.text }];
  }

  #end(sign: TurnSign): readonly TurnSign[] {
    this.#phase = "after";
    return [...this.#calls.abandon(), sign];
  }

  #before({ event: e, stream }: Entry): readonly TurnSign[] {
    if (e.kind === "input.queued" && e.intent === this.#intent) this.#isQueued = true;
    if (e.kind === "turn.started" && e.intent === this.#intent) {
      this.#phase = "in";
      this.#turn = e.turn;
      return [{ kind: "began", session: stream as SessionId, turn: e.turn }]; // only a session's stream has turns
    }
    if (e.kind === "intent.refused" && e.intent === this.#intent) return this.#end({ kind: "dropped", reason: e.reason });
    if (e.kind === "turn.cancel-asked" && e.all && this.#isQueued)
      return this.#end({ kind: "dropped", reason: "what was to follow the turn was cancelled" });
    if (e.kind === "session.closed") return this.#end({ kind: "dropped", reason: "the session is closed" });
    return NONE;
  }

  #within(e: JournalEvent): readonly TurnSign[] {
    switch (e.kind) {
      case "model.asked":
        this.#isShown = false;
        return e.purpose === "reply" ? [{ kind: "asked", iteration: e.iteration, attempt: e.attempt }] : NONE;
      case "model.failed":
        return e.purpose === "reply" && this.#isShown ? [{ kind: "broke", iteration: e.iteration, attempt: e.attempt }] : NONE;
      case "model.replied":
        return e.purpose === "reply" ? this.#reply(e) : NONE;
      case "gate.decided": {
        const call = this.#calls.find(e.id);
        return [{ kind: "decided", action: actionName(e.action), call, decision: e.verdict.kind, reason: verdictReason(e.verdict) }];
      }
      case "approval.asked":
        this.#asked.set(e.approval, e.action);
        return [{ kind: "question", approval: e.approval, digest: e.digest, call: this.#calls.find(e.action), asks: e.asks }];
      case "approval.answered":
        return this.#answered(e.approval, isRefusal(e.answer) ? e.answer.reason : null);
      case "approval.expired":
        return this.#answered(e.approval, "nobody answered in time");
      case "act.started":
      case "child.opened":
        return this.#calls.start(e.call);
      case "act.ended":
        return this.#calls.end(e);
      case "recovery.applied":
        return this.#calls.recover(e);
      case "child.ended":
        return this.#calls.endChild(e);
      case "turn.ended":
        if (e.turn !== this.#turn) return NONE;
        return this.#end({ kind: "ended", ending: e.ending, output: e.output, ...ENDINGS[e.ending], detail: e.detail });
      default: // the others are for those who read the journal
        return NONE;
    }
  }

  #reply({ parts, iteration, attempt }: Of<"model.replied">): readonly TurnSign[] {
    for (const part of parts) if (part.kind === "call") this.#calls.propose(part);
    const text = parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("");
    return [{ kind: "replied", iteration, attempt, text: this.#isShown ? text : "", shown: this.#isShown }];
  }

  #answered(approval: ApprovalId, reason: string | null): readonly TurnSign[] {
    return [{ kind: "answered", approval, call: this.#asked.get(approval) ?? null, approved: reason === null, reason }];
  }
}

/** The calls of a turn: however often one runs, it starts once and settles once. */
class TurnCalls {
  readonly #proposed = new Map<string, ProposedCall>();
  /** Started and not settled, with the last error. */
  readonly #open = new Map<CallId, string>();

  propose(call: ProposedCall): void {
    this.#proposed.set(call.id, call);
  }

  find(action: string): ProposedCall | null {
    return this.#proposed.get(action) ?? null;
  }

  start(id: CallId): readonly TurnSign[] {
    const call = this.#proposed.get(id);
    if (call === undefined || this.#open.has(id)) return NONE; // a repeat has no sign of its own
    this.#open.set(id, "the turn ended first");
    return [{ kind: "started", call }];
  }

  end({ call, outcome, recovering }: Of<"act.ended">): readonly TurnSign[] {
    if (outcome.kind === "done") return this.#settle(call, { text: outputText(outcome.output), output: outcome.output });
    const error = outcome.kind === "failed" ? outcome.error : unknownText(outcome);
    if (!recovering || outcome.kind !== "failed") return this.#fail(call, error);
    if (this.#open.has(call)) this.#open.set(call, error);
    return NONE;
  }

  recover({ call, strategy, output, detail }: Of<"recovery.applied">): readonly TurnSign[] {
    if (strategy === "cached") return this.#settle(call, { text: outputText(output), output });
    return LAST_STRATEGIES.has(strategy) ? this.#fail(call, this.#open.get(call) ?? detail) : NONE;
  }

  endChild({ call, ending, output, detail }: Of<"child.ended">): readonly TurnSign[] {
    const text = output ?? detail ?? ENDINGS[ending].sentence;
    return ending === "completed" ? this.#settle(call, { text, output: text }) : this.#fail(call, text);
  }

  /** Settles the calls that the turn did not wait for. */
  abandon(): readonly TurnSign[] {
    return [...this.#open].flatMap(([call, error]) => this.#fail(call, error));
  }

  #settle(call: CallId, result: Readonly<{ text: string; output: Json }>): readonly TurnSign[] {
    return this.#open.delete(call) ? [{ kind: "settled", call, isError: false, ...result }] : NONE;
  }

  #fail(call: CallId, error: string): readonly TurnSign[] {
    return this.#open.delete(call) ? [{ kind: "settled", call, isError: true, text: error, output: null }] : NONE;
  }
}

/** Strategies after which nothing more is tried: the call stays failed. */
const LAST_STRATEGIES: ReadonlySet<Of<"recovery.applied">["strategy"]> = new Set(["ask-model", "dead-letter", "stop"]);
