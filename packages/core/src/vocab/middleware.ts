/** What a middleware changed, as journalled. Each stage may change only its own kind of thing, and none of them a verdict. */
import type { JsonObject } from "./canonical.ts";
import type { Part } from "./proposal.ts";

export type Stage = "user-message" | "before-model" | "after-model" | "before-tool" | "after-tool";

export type Change =
  /** The turn's input, or what was said meanwhile, stands as rewritten; this is what it was. */
  | Readonly<{ kind: "input"; before: string }>
  /** Of this one request: what was set instead. */
  | Readonly<{ kind: "request"; set: JsonObject }>
  /** The reply's parts in place of those received. */
  | Readonly<{ kind: "reply"; parts: readonly Part[] }>
  /** A call's arguments, before it is checked and gated. */
  | Readonly<{ kind: "arguments"; args: JsonObject }>
  | Readonly<{ kind: "block"; reason: string }>
  /** What the model is shown of a result; the outcome itself stands. */
  | Readonly<{ kind: "observation"; text: string }>;
