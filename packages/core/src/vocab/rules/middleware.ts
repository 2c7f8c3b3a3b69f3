/** The developer's own code around the loop: what it is shown at each stage, what it may change there, and what it changed, as journalled. None of them reaches a verdict. */
import type { Attachment } from "../attachment.ts";
import type { CallId, Label, SessionId } from "../ids.ts";
import type { Outcome } from "../outcome.ts";
import type { Finish, Part } from "../proposal.ts";
import type { Json, JsonObject } from "../text/canonical.ts";
import type { ToolSpec } from "../tool.ts";

export type Stage = "user-message" | "before-model" | "after-model" | "before-tool" | "after-tool";

export type Change =
  /** The turn's input, or what was said meanwhile, stands as rewritten; this is what it was, and the files that were withheld with it. */
  | Readonly<{ kind: "input"; before: string; files: readonly Attachment[] }>
  /** Of this one request: what was set instead. `messages` names those kept by place, `[from, to)`, and holds the others whole. */
  | Readonly<{ kind: "request"; set: JsonObject }>
  /** The reply's parts in place of those received. */
  | Readonly<{ kind: "reply"; parts: readonly Part[] }>
  /** A call's arguments, before it is checked and gated. */
  | Readonly<{ kind: "arguments"; args: JsonObject }>
  | Readonly<{ kind: "block"; reason: string }>
  /** Changes only the text that the model sees of a result; the outcome itself stands. */
  | Readonly<{ kind: "observation"; text: string }>;

/** Read-only: where the session stands. */
export type MiddlewareContext = Readonly<{
  session: SessionId;
  agent: string;
  turn: number;
  /** Model calls of this turn, the one in question included; 0 before the first. */
  iteration: number;
  labels: readonly Label[];
  /** Fires when the turn is cancelled, halted or out of time: nobody waits for the hook after that. */
  signal: AbortSignal;
  /** Journalled as a note of this middleware. */
  note(name: string, value: Json): void;
}>;

/** A message of a request; its sender counts its tokens. */
export type RequestMessage =
  | Readonly<{ role: "user"; text: string; files?: readonly Attachment[] }>
  | Readonly<{ role: "note"; text: string }>
  | Readonly<{ role: "assistant"; parts: readonly Part[] }>
  | Readonly<{ role: "tool"; wireId: string; tool: string; text: string; isError: boolean }>;

export type RequestView = Readonly<{
  system: string;
  /** Texts beside the instructions, in order. */
  context: readonly string[];
  messages: readonly RequestMessage[];
  tools: readonly ToolSpec[];
  temperature: number;
  maxOutputTokens: number;
}>;

/** For this one call. Tools can be left out, never added; the temperature and the room for the reply can be lowered. */
export type RequestChange = Readonly<{
  system?: string;
  /** In place of those shown: what was looked up, what is pinned. Every provider is sent them, after the instructions. */
  context?: readonly string[];
  /** In place of those shown: the first a person's, every call followed by its results. */
  messages?: readonly RequestMessage[];
  dropTools?: readonly string[];
  temperature?: number;
  maxOutputTokens?: number;
}>;

/** `args` is null where the model wrote no JSON. */
export type CallView = Readonly<{ id: CallId; tool: string; args: Json }>;
export type ReplyView = Readonly<{ text: string; calls: readonly CallView[]; finish: Finish }>;
/** Calls can be left out, or their arguments rewritten, by id; never added. */
export type ReplyChange = Readonly<{
  text?: string;
  dropCalls?: readonly CallId[];
  args?: Readonly<Record<CallId, JsonObject>>;
}>;

/** Other arguments, which are checked and gated like the model's own; or a refusal, which the model sees. */
export type ToolChange = Extract<Change, { kind: "arguments" | "block" }>;

/** `text` is what the model would be shown. */
export type ResultView = Readonly<{ call: CallView; outcome: Exclude<Outcome, { kind: "unknown" }>; text: string }>;

/** Undefined: nothing is changed. */
export type HookResult<T> = T | undefined | Promise<T | undefined>;

/** One hook per stage; null: none. Where a session has several, they are called in order, each with what the one before it made of it. */
export type Middleware = Readonly<{
  name: string;
  /** Runs on a person's text: a run's input, a message, steering, a follow-up. */
  userMessage: ((text: string, context: MiddlewareContext) => HookResult<string>) | null;
  beforeModel: ((request: RequestView, context: MiddlewareContext) => HookResult<RequestChange>) | null;
  afterModel: ((reply: ReplyView, context: MiddlewareContext) => HookResult<ReplyChange>) | null;
  beforeTool: ((call: CallView, context: MiddlewareContext) => HookResult<ToolChange>) | null;
  /** Changes the text that the model sees of a known result; outcome, evidence and labels stand. */
  afterTool: ((result: ResultView, context: MiddlewareContext) => HookResult<string>) | null;
}>;
