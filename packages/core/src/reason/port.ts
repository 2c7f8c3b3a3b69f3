/** 1. Reason: a context in, a reply out. The only room that talks to a model, and nothing it brings back is trusted. */
import type { AnswerForm, Attachment, Finish, Json, Part, Preview, ReplyPart, Seq, ToolSpec, Usage } from "../vocab/index.ts";

export type { Preview } from "../vocab/index.ts";

/** One message of the conversation. Immutable; `tokens` is counted once, when it is made, and `entry` is the journal's entry that it comes from. */
export type Message = Words & Readonly<{ tokens: number; entry: Seq }>;

export type Words =
  /** Left out without files: such a request has the digest it always had. */
  | Readonly<{ role: "user"; text: string; files?: readonly Attachment[] }>
  | Readonly<{ role: "assistant"; parts: readonly Part[] }>
  | Readonly<{ role: "tool"; wireId: string; tool: string; text: string; isError: boolean }>
  /** The runtime's own word to the model (an answer that was refused, an unknown that was settled). Sent as a user message, marked. */
  | Readonly<{ role: "note"; text: string }>;

export type ModelRequest = Readonly<{
  system: string;
  /** Texts beside the instructions, for this request: what was looked up, what is pinned. After the instructions, and apart from them where the provider can. */
  context: readonly string[];
  /** A view into the session's history: never copied, never changed. */
  messages: readonly Message[];
  tools: readonly ToolSpec[];
  /** How the answer is to be given; null: any text. */
  answer: AnswerForm | null;
  temperature: number;
  maxOutputTokens: number;
  attempt: number;
}>;

export type ModelReply = Readonly<{
  parts: readonly ReplyPart[];
  finish: Finish;
  usage: Counted;
  model: string;
  meta: Json;
  /** Calls in the text are malformed: none of them is run, and the model gets this text. */
  misread?: string | null;
}>;
/** As its adapter counted it; what it does not say of the parts is 0. `cacheWrite` is what of the input was put into the provider's cache: it has a price of its own. */
export type Counted = Pick<Usage, "input" | "output"> & Partial<Usage> & Readonly<{ cacheWrite?: number }>;

export type Model = Readonly<{
  /** `provider/name`. */
  id: string;
  /** Short digest of the address and key it is asked with: failures of one setting do not count against another. Absent: it has no such setting. */
  setting?: string;
  /** Rejects with a `model-failed` fault; stops promptly when the signal fires. What `preview` returns is waited for: a slow reader slows the stream down. */
  ask(request: ModelRequest, preview: (preview: Preview) => unknown, signal: AbortSignal): Promise<ModelReply>;
}>;

/** For a model that wraps another. */
export const toModelIdentity = ({ id, setting }: Model): Pick<Model, "id" | "setting"> =>
  setting === undefined ? { id } : { id, setting };
