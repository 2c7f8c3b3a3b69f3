/**
 * `/ws/chat`, for clients that speak the older protocol: `type` in PascalCase, all fields text except the two booleans. This is the one file that
 * knows it; what it tells is a translation of a turn's signs.
 *
 * W-26 the messages are those of the protocol, with exactly its fields; any other message of a client is a `PARSE_ERROR`.
 * W-26 `ToolCallStarted` when a call starts, with the model's own text as `arguments`; a denied call has only its `PolicyDecision`.
 * W-26 one `PolicyDecision` for each decision about each action, with the gate's own word and the policies by name.
 * W-26 exactly one `ChatChunk` with `done: true` per request on every ending, after all its other messages, with the whole text; after a failure then `Error` with `LOOP_ERROR`.
 */

import { type IntentId, readJson } from "@orgate/core/vocab";
import * as z from "zod";
import { unreadable } from "./problem.ts";
import { followTurn, type LiveSign, type TurnDecision, type TurnSign } from "./turn.ts";
import { MOST_VALUES } from "./v1.ts";

const chatSend = z.strictObject({ type: z.literal("ChatSend"), id: z.string().max(200), content: z.string().min(1).max(1_000_000) });
const ping = z.strictObject({ type: z.literal("Ping") });
export const chatClientMessage = z.discriminatedUnion("type", [chatSend, ping]);
export type ChatClientMessage = z.infer<typeof chatClientMessage>;

export const chatServerMessage = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("ChatChunk"), request_id: z.string(), content: z.string(), done: z.boolean() }),
  z.strictObject({
    type: z.literal("ToolCallStarted"),
    request_id: z.string(),
    call_id: z.string(),
    tool_name: z.string(),
    arguments: z.string(),
  }),
  z.strictObject({
    type: z.literal("ToolCallResult"),
    request_id: z.string(),
    call_id: z.string(),
    result: z.string(),
    is_error: z.boolean(),
  }),
  z.strictObject({
    type: z.literal("PolicyDecision"),
    request_id: z.string(),
    action: z.string(),
    decision: z.enum(["allow", "deny", "modify", "ask", "defer"] satisfies readonly TurnDecision[]),
    reason: z.string(),
  }),
  z.strictObject({ type: z.literal("Error"), request_id: z.string().nullable(), code: z.string(), message: z.string() }),
  z.strictObject({ type: z.literal("Pong") }),
]);
export type ChatServerMessage = z.infer<typeof chatServerMessage>;

export type ReadChat = Readonly<{ kind: "message"; message: ChatClientMessage } | { kind: "refused"; error: ChatServerMessage }>;

export function readChatMessage(text: string): ReadChat {
  const refused = (message: string): ReadChat => ({ kind: "refused", error: chatError(null, "PARSE_ERROR", message) });
  const json = readJson(text, MOST_VALUES);
  if (json.kind === "not-json") return refused(`the message is not JSON: ${json.detail}`);
  const read = chatClientMessage.safeParse(json.value);
  if (read.success) return { kind: "message", message: read.data };
  return refused(unreadable("not a message", read.error).detail);
}

export const chatError = (request: string | null, code: string, message: string): ChatServerMessage => ({
  type: "Error",
  request_id: request,
  code,
  message,
});

export type ChatTurn = Readonly<{
  hear(live: LiveSign): readonly ChatServerMessage[];
  isOver(): boolean;
}>;

/** The messages of the one turn that this wish begins, all tagged with its `request_id`. */
export function chatTurn(intent: IntentId, request: string): ChatTurn {
  const signs = followTurn(intent);
  let over = false;
  return {
    hear: (live) =>
      signs(live).flatMap((sign) => {
        over ||= sign.kind === "ended" || sign.kind === "dropped";
        return messagesOf(sign, request);
      }),
    isOver: () => over,
  };
}

/** The reply to a request that was dropped. */
export const chatDropped = (request: string, reason: string): readonly ChatServerMessage[] =>
  messagesOf({ kind: "dropped", reason }, request);

function messagesOf(sign: TurnSign, request: string): readonly ChatServerMessage[] {
  const tag = { request_id: request };
  switch (sign.kind) {
    case "started": {
      const { id, tool, text } = sign.call;
      return [{ type: "ToolCallStarted", ...tag, call_id: id, tool_name: tool, arguments: text }];
    }
    case "settled":
      return [{ type: "ToolCallResult", ...tag, call_id: sign.call, result: sign.text, is_error: sign.isError }];
    case "decided":
      return [{ type: "PolicyDecision", ...tag, action: sign.action, decision: sign.decision, reason: sign.reason }];
    case "ended": {
      const text =
        sign.ending === "completed" ? (sign.output ?? "") : [sign.output ?? "", sign.sentence].filter((t) => t !== "").join("\n\n");
      const last: ChatServerMessage = { type: "ChatChunk", ...tag, content: text, done: true };
      return sign.ending === "failed" ? [last, chatError(request, "LOOP_ERROR", sign.detail ?? sign.sentence)] : [last];
    }
    case "dropped":
      return [
        { type: "ChatChunk", ...tag, content: `Nothing was done: ${sign.reason}.`, done: true },
        chatError(request, "LOOP_ERROR", sign.reason),
      ];
    case "began":
    case "asked":
    case "words": // words in progress are told over `/ws/v1`: a client of this one takes every chunk for text of its own
    case "broke":
    case "replied":
    case "question":
    case "answered":
      return [];
  }
}
