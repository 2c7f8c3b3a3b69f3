/**
 * One turn as an AI SDK UI message stream, so that `useChat` works against an agent. Pure: signs in, parts out; `uiStreamText` is how a part is sent.
 *
 * W-26 the parts are such that the AI SDK's own reader makes one message of them: steps, text while it comes, calls with their input and outcome.
 * W-27 a call that a person refused, or about which nobody answered in time, is sent as the AI SDK's own `output-denied`.
 * W-26 the stream ends with one `finish` on every ending; what is shown in the end is what the turn delivered, also where words were taken back or withheld.
 */
import {
  type ApprovalId,
  approvalId,
  argumentsOf,
  type Digest,
  digest,
  type Ending,
  type IntentId,
  type Json,
  type ProposedCall,
} from "@orgate/core/vocab";
import { followTurn, type LiveSign, type TurnSign } from "./turn.ts";

export type UiPart =
  | Readonly<{ type: "start"; messageId: string; messageMetadata: Json }>
  | Readonly<{ type: "start-step" | "finish-step" | "reset-step" }>
  | Readonly<{ type: "text-start" | "text-end" | "reasoning-start" | "reasoning-end"; id: string }>
  | Readonly<{ type: "text-delta" | "reasoning-delta"; id: string; delta: string }>
  | Readonly<{ type: "tool-input-available"; toolCallId: string; toolName: string; input: Json; dynamic: true }>
  | Readonly<{ type: "tool-approval-request"; approvalId: string; toolCallId: string; reason: string }>
  | Readonly<{ type: "tool-output-available"; toolCallId: string; output: Json; dynamic: true }>
  | Readonly<{ type: "tool-output-denied"; toolCallId: string }>
  | Readonly<{ type: "tool-output-error"; toolCallId: string; errorText: string; dynamic: true }>
  | Readonly<{ type: "data-ending"; data: Json }>
  | Readonly<{ type: "data-decision"; data: Json; transient: true }>
  | Readonly<{ type: "error"; errorText: string }>
  | Readonly<{ type: "abort"; reason: string }>
  | Readonly<{ type: "finish"; finishReason: string; messageMetadata: Json }>;

/** HTTP headers of such a stream. */
export const UI_STREAM_HEADERS: Readonly<Record<string, string>> = Object.freeze({
  "content-type": "text/event-stream",
  "cache-control": "no-cache",
  "x-vercel-ai-ui-message-stream": "v1",
  "x-accel-buffering": "no",
});
export const uiStreamText = (part: UiPart): string => `data: ${JSON.stringify(part)}\n\n`;
export const UI_STREAM_END = "data: [DONE]\n\n";

/** A question's name in the stream: an answer is bound to the digest that was shown. */
export const uiApproval = (approval: ApprovalId, shown: Digest): string => `${approval}@${shown}`;
export function readUiApproval(text: string): Readonly<{ approval: ApprovalId; digest: Digest }> | null {
  const [, id, shown] = /^(.{1,200})@([0-9a-f]{64})$/.exec(text) ?? [];
  return id === undefined || shown === undefined ? null : { approval: approvalId(id), digest: digest(shown) };
}

export type UiTurn = Readonly<{
  hear(live: LiveSign): readonly UiPart[];
  /** The turn waits for a person: the stream ends here, and another takes up what comes after the answer. */
  pause(): readonly UiPart[];
  isOver(): boolean;
}>;

export function uiTurn(intent: IntentId): UiTurn {
  const message = new UiMessage(intent);
  return { hear: (live) => message.hear(live), pause: () => message.pause(), isOver: () => message.isOver };
}

/** The turn's one message: its steps, and in each step the text, the thinking and the calls. */
class UiMessage {
  readonly #signs: (live: LiveSign) => readonly TurnSign[];
  readonly #step = new UiStep();
  /** Calls whose input was sent. */
  readonly #named = new Set<string>();
  /** Text that the last reply has shown. */
  #last = "";
  /** Any reply has shown text. */
  #hasSpoken = false;
  #isOver = false;

  constructor(intent: IntentId) {
    this.#signs = followTurn(intent);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  hear(live: LiveSign): readonly UiPart[] {
    return this.#signs(live).flatMap((sign) => {
      this.#isOver ||= sign.kind === "ended" || sign.kind === "dropped";
      return this.#partsFor(sign);
    });
  }

  pause(): readonly UiPart[] {
    this.#isOver = true;
    return [...this.#step.finish(), { type: "finish", finishReason: "tool-calls", messageMetadata: { waiting: true } }];
  }

  #partsFor(sign: TurnSign): readonly UiPart[] {
    switch (sign.kind) {
      case "began":
        return [{ type: "start", messageId: `${sign.session}.${sign.turn}`, messageMetadata: { session: sign.session, turn: sign.turn } }];
      case "asked":
        if (sign.attempt > 1 && this.#step.isOpen) return this.#step.close();
        this.#last = "";
        return this.#step.begin();
      case "words":
        return this.#step.stream(sign);
      case "broke":
        return this.#step.takeBack();
      case "replied":
        this.#last = sign.text;
        this.#hasSpoken ||= sign.text !== "";
        return this.#step.complete(sign);
      case "decided":
        return this.#decided(sign);
      case "question":
        return sign.call === null ? [] : [...this.#name(sign.call), questionPart(sign, sign.call)];
      case "started":
        return this.#name(sign.call);
      case "settled":
        return sign.isError
          ? [{ type: "tool-output-error", toolCallId: sign.call, errorText: sign.text, dynamic: true }]
          : [{ type: "tool-output-available", toolCallId: sign.call, output: sign.output, dynamic: true }];
      case "ended":
        return this.#ended(sign);
      case "dropped":
        return [{ type: "error", errorText: sign.reason }, finish("failed")];
      case "answered": // W-27
        return sign.approved || sign.call === null || !this.#named.has(sign.call)
          ? []
          : [{ type: "tool-output-denied", toolCallId: sign.call }];
    }
  }

  /** A call's input goes ahead of the first other part about it. */
  #name(call: ProposedCall | null): readonly UiPart[] {
    if (call === null || this.#named.has(call.id)) return [];
    this.#named.add(call.id);
    const args = argumentsOf(call);
    const input = args.kind === "json" ? args.value : call.text;
    return [{ type: "tool-input-available", toolCallId: call.id, toolName: call.tool, input, dynamic: true }];
  }

  #decided({ call, action, decision, reason }: SignOf<"decided">): readonly UiPart[] {
    const told: UiPart = { type: "data-decision", data: { action, call: call?.id ?? null, decision, reason }, transient: true };
    if (call === null || decision !== "deny") return [told, ...(decision === "allow" ? this.#name(call) : [])];
    return [told, ...this.#name(call), { type: "tool-output-error", toolCallId: call.id, errorText: `denied: ${reason}`, dynamic: true }];
  }

  #ended({ ending, sentence, next, detail, output: delivered }: SignOf<"ended">): readonly UiPart[] {
    const step = this.#step;
    const output = delivered ?? "";
    const isNew = output !== "" && (ending === "completed" ? output !== this.#last : !this.#hasSpoken);
    const reset = isNew && this.#last !== "" && step.isOpen ? step.takeBack() : [];
    const parts: readonly UiPart[] = [
      ...reset,
      ...(isNew ? step.say("text-delivered", output) : []),
      ...(ending === "completed" ? [] : step.say("text-ending", sentence)),
      { type: "data-ending", data: { ending, sentence, next, detail } },
      ...step.finish(),
    ];
    if (ending === "failed") return [...parts, { type: "error", errorText: detail ?? sentence }, finish(ending)];
    return [...parts, ...(ending === "cancelled" ? [{ type: "abort", reason: detail ?? sentence } as const] : []), finish(ending)];
  }
}

/** One step of the message: a block of text and one of thinking, that grow while words come. */
class UiStep {
  #text: Block | null = null;
  #thinking: Block | null = null;
  #isOpen = false;

  get isOpen(): boolean {
    return this.#isOpen;
  }

  begin(): readonly UiPart[] {
    const parts: readonly UiPart[] = [...this.finish(), { type: "start-step" }];
    this.#isOpen = true;
    return parts;
  }

  /** Ends the open blocks; the step itself goes on. */
  close(): readonly UiPart[] {
    const ends = [...end("reasoning", this.#thinking), ...end("text", this.#text)];
    this.#thinking = null;
    this.#text = null;
    return ends;
  }

  finish(): readonly UiPart[] {
    const parts: readonly UiPart[] = [...this.close(), ...(this.#isOpen ? [{ type: "finish-step" } as const] : [])];
    this.#isOpen = false;
    return parts;
  }

  takeBack(): readonly UiPart[] {
    this.#text = null;
    this.#thinking = null;
    return [{ type: "reset-step" }];
  }

  /** A block of its own, whole. */
  say(id: string, words: string): readonly UiPart[] {
    this.#text = { id, shown: words };
    return [...start("text", id), { type: "text-delta", id, delta: words }, ...this.close()];
  }

  stream({ part, iteration, attempt, offset, text }: SignOf<"words">): readonly UiPart[] {
    const kind = part === "text" ? "text" : "reasoning";
    const before = part === "text" ? this.#text : this.#thinking;
    const id = `${kind}-${iteration}-${attempt}`;
    const shown = before?.id === id ? before.shown : "";
    if (offset > shown.length) return []; // something is missing: the whole comes with the reply
    const delta = text.slice(shown.length - offset);
    const after = { id, shown: shown + delta };
    if (part === "text") this.#text = after;
    else this.#thinking = after;
    const opening = before?.id === id ? [] : [...end(kind, before), ...start(kind, id)];
    return delta === "" ? opening : [...opening, { type: `${kind}-delta`, id, delta }];
  }

  /** The reply as it was recorded: the rest of its text, or all of it where other words were shown. */
  complete({ iteration, attempt, text, shown: isShown }: SignOf<"replied">): readonly UiPart[] {
    if (!isShown) return this.close();
    const shown = this.#text?.shown ?? "";
    if (!text.startsWith(shown)) return [...this.takeBack(), ...this.say(`text-${iteration}-${attempt}-whole`, text)];
    const delta = text.slice(shown.length);
    if (delta === "") return this.close();
    if (this.#text === null) return this.say(`text-${iteration}-${attempt}`, delta);
    return [{ type: "text-delta", id: this.#text.id, delta }, ...this.close()];
  }
}

type SignOf<K extends TurnSign["kind"]> = Extract<TurnSign, { kind: K }>;
type Block = Readonly<{ id: string; shown: string }>;
const start = (kind: "text" | "reasoning", id: string): readonly UiPart[] => [{ type: `${kind}-start`, id }];
const end = (kind: "text" | "reasoning", block: Block | null): readonly UiPart[] =>
  block === null ? [] : [{ type: `${kind}-end`, id: block.id }];

const questionPart = ({ approval, digest, asks }: SignOf<"question">, call: ProposedCall): UiPart => ({
  type: "tool-approval-request",
  approvalId: uiApproval(approval, digest),
  toolCallId: call.id,
  reason: asks.map(({ question }) => question).join("; "),
});

const FINISH: Readonly<Record<Ending, string>> = {
  completed: "stop",
  denied: "other",
  refused: "content-filter",
  filtered: "content-filter",
  cancelled: "other",
  halted: "other",
  "timed-out": "length",
  "out-of-iterations": "length",
  "out-of-tokens": "length",
  "out-of-money": "length",
  "out-of-calls": "length",
  failed: "error",
};
const finish = (ending: Ending): UiPart => ({ type: "finish", finishReason: FINISH[ending], messageMetadata: { ending } });
