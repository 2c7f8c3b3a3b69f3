/** What the runner, the counter and the victims tell each other. */
import type { Case, Move } from "./cases.ts";

/** What the counter saw, in the order in which it saw it. */
export type Line =
  /** `step` counts from 1; `seen` is what the tools' results were, as the model was shown them. */
  | Readonly<{ kind: "asked"; step: number; seen: readonly string[] }>
  | Readonly<{ kind: "answered"; step: number }>
  | Readonly<{ kind: "effect"; key: string }>
  | Readonly<{ kind: "held"; what: string }>
  /** The request was one that a provider would refuse too. */
  | Readonly<{ kind: "refused"; why: string }>
  /** The victim was dead by then. */
  | Readonly<{ kind: "killed" }>;

export type Order = Readonly<{ kind: "open"; run: string; case: Case; hold: boolean }> | Readonly<{ kind: "killed"; run: string }>;
export type Report = Readonly<{ kind: "listening"; url: string }> | Readonly<{ kind: "line"; run: string; line: Line }>;

/** What a victim gets on its command line. `folder` outlives it, and is all that it leaves to its successor. */
export type Orders = Readonly<{ peer: string; counter: string; folder: string; moves: readonly Move[]; stay: boolean }>;

export type Outcome = Readonly<{ kind: "ended"; text: string }> | Readonly<{ kind: "parked" }> | Readonly<{ kind: "lost"; why: string }>;

/** How a victim's own lines are told from whatever its framework prints. */
export const MARK = "@crash ";
/** The framework is loaded: from here on, what goes wrong is its own. */
export const READY = "@ready";

// What the in-process models of the drivers and the counter say to each other.
export type Context = Readonly<{ calls: readonly string[]; results: readonly Readonly<{ id: string; text: string }>[] }>;
export type ReplyCall = Readonly<{ id: string; tool: string; n: number }>;
export type Reply = Readonly<{ kind: "calls"; calls: readonly ReplyCall[] }> | Readonly<{ kind: "text"; text: string }>;
