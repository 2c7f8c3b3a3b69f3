/**
 * One turn as an AI SDK UI message stream, so that `useChat` works against an agent. Pure: signs in, parts out; `uiStreamText` is how a part is sent.
 *
 * W-26 the parts are such that the AI SDK's own reader makes one message of them: steps, words while they come, calls with their input and what became of them.
 * W-27 a call that a person refused, or about which nobody answered in time, is told as the AI SDK's own `output-denied`.
 * W-26 the stream ends with one `finish` on every ending; what is shown in the end is what the turn delivered, also where words were taken back or withheld.
 */
import {
  type ApprovalId,
  approvalId,
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

/** What a stream of these is sent with. */
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
  const signs = followTurn(intent);
  let isOver = false;
  let inStep = false;
  /** Of the step: what was shown of text and thinking, by their block. */
  let text: Block | null = null;
  let thinking: Block | null = null;
  const named = new Set<string>();

  const closed = (): readonly UiPart[] => {
    const ends = [end("reasoning", thinking), end("text", text)].flat();
    thinking = null;
    text = null;
    return ends;
  };
  const stepped = (): readonly UiPart[] => {
    const parts: UiPart[] = [...closed(), ...(inStep ? [{ type: "finish-step" } as const] : [])];
    inStep = false;
    return parts;
  };
  const takenBack = (): readonly UiPart[] => {
    text = null;
    thinking = null;
    return [{ type: "reset-step" }];
  };
  function say(id: string, words: string): readonly UiPart[] {
    text = { id, shown: words };
    return [...start("text", id), { type: "text-delta", id, delta: words }];
  }

  /** The input is told with the first that is told of the call. */
  function name(call: ProposedCall | null): readonly UiPart[] {
    if (call === null || named.has(call.id)) return [];
    named.add(call.id);
    const input = call.args.kind === "json" ? call.args.value : call.text;
    return [{ type: "tool-input-available", toolCallId: call.id, toolName: call.tool, input, dynamic: true }];
  }

  function words({ part, iteration, attempt, offset, text: delta }: Extract<TurnSign, { kind: "words" }>): readonly UiPart[] {
    const kind = part === "text" ? "text" : "reasoning";
    const before = part === "text" ? text : thinking;
    const id = `${kind}-${iteration}-${attempt}`;
    const block = before?.id === id ? before : { id, shown: "" };
    if (offset > block.shown.length) return []; // something is missing: the whole comes with the reply
    const fresh = delta.slice(block.shown.length - offset);
    const after = { id, shown: block.shown + fresh };
    if (part === "text") text = after;
    else thinking = after;
    const opening = before?.id === id ? [] : [...end(kind, before), ...start(kind, id)];
    return fresh === "" ? opening : [...opening, { type: `${kind}-delta`, id, delta: fresh }];
  }

  function replied(sign: Extract<TurnSign, { kind: "replied" }>): readonly UiPart[] {
    if (!sign.shown) return closed();
    const shown = text?.shown ?? "";
    if (!sign.text.startsWith(shown))
      return [...takenBack(), ...say(`text-${sign.iteration}-${sign.attempt}-whole`, sign.text), ...closed()];
    const rest = sign.text.slice(shown.length);
    const id = text?.id ?? `text-${sign.iteration}-${sign.attempt}`;
    return [...(rest === "" ? [] : text === null ? say(id, rest) : [{ type: "text-delta", id, delta: rest } as const]), ...closed()];
  }

  let last = ""; // what the last reply has shown
  let spoke = false; // any of them

  function ended(sign: Extract<TurnSign, { kind: "ended" }>): readonly UiPart[] {
    const { ending, sentence, next, detail } = sign;
    const output = sign.output ?? "";
    const isNew = output !== "" && (ending === "completed" ? output !== last : !spoke);
    const delivered = isNew ? [...(last === "" || !inStep ? [] : takenBack()), ...say("text-delivered", output), ...closed()] : [];
    const said = ending === "completed" ? [] : [...say("text-ending", sentence), ...closed()];
    const data: Json = { ending, sentence, next, detail };
    const parts: readonly UiPart[] = [...delivered, ...said, { type: "data-ending", data }, ...stepped()];
    if (ending === "failed") return [...parts, { type: "error", errorText: detail ?? sentence }, finish(ending)];
    return [...parts, ...(ending === "cancelled" ? [{ type: "abort", reason: detail ?? sentence } as const] : []), finish(ending)];
  }

  function partsOf(sign: TurnSign): readonly UiPart[] {
    switch (sign.kind) {
      case "began":
        return [{ type: "start", messageId: `${sign.session}.${sign.turn}`, messageMetadata: { session: sign.session, turn: sign.turn } }];
      case "asked": {
        if (sign.attempt > 1 && inStep) return closed();
        const parts: readonly UiPart[] = [...stepped(), { type: "start-step" }];
        inStep = true;
        last = "";
        return parts;
      }
      case "words":
        return words(sign);
      case "broke":
        return takenBack();
      case "replied":
        last = sign.text;
        spoke ||= last !== "";
        return replied(sign);
      case "decided": {
        const { call, action, decision, reason } = sign;
        const told: UiPart = { type: "data-decision", data: { action, call: call?.id ?? null, decision, reason }, transient: true };
        if (call === null || decision !== "deny") return [told, ...(decision === "allow" ? name(call) : [])];
        return [told, ...name(call), { type: "tool-output-error", toolCallId: call.id, errorText: `denied: ${reason}`, dynamic: true }];
      }
      case "question": {
        if (sign.call === null) return [];
        const reason = sign.asks.map(({ question }) => question).join("; ");
        const approval = uiApproval(sign.approval, sign.digest);
        return [...name(sign.call), { type: "tool-approval-request", approvalId: approval, toolCallId: sign.call.id, reason }];
      }
      case "started":
        return name(sign.call);
      case "settled":
        return sign.isError
          ? [{ type: "tool-output-error", toolCallId: sign.call, errorText: sign.text, dynamic: true }]
          : [{ type: "tool-output-available", toolCallId: sign.call, output: sign.output, dynamic: true }];
      case "ended":
        return ended(sign);
      case "dropped":
        return [{ type: "error", errorText: sign.reason }, finish("failed")];
      case "answered": // W-27
        return sign.approved || sign.call === null || !named.has(sign.call) ? [] : [{ type: "tool-output-denied", toolCallId: sign.call }];
    }
  }

  return {
    hear: (live) =>
      signs(live).flatMap((sign) => {
        isOver ||= sign.kind === "ended" || sign.kind === "dropped";
        return partsOf(sign);
      }),
    pause() {
      isOver = true;
      return [...stepped(), { type: "finish", finishReason: "tool-calls", messageMetadata: { waiting: true } }];
    },
    isOver: () => isOver,
  };
}

type Block = Readonly<{ id: string; shown: string }>;
const start = (kind: "text" | "reasoning", id: string): readonly UiPart[] => [{ type: `${kind}-start`, id }];
const end = (kind: "text" | "reasoning", block: Block | null): readonly UiPart[] =>
  block === null ? [] : [{ type: `${kind}-end`, id: block.id }];

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
