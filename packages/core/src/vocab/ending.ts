/** How a turn ends: one closed list, one table. CLI, shell, console and wire all use it. */
export type Ending =
  | "completed"
  | "denied"
  | "refused"
  | "filtered"
  | "cancelled"
  | "halted"
  | "timed-out"
  | "out-of-iterations"
  | "out-of-tokens"
  | "out-of-money"
  | "out-of-calls"
  | "failed";

export const ENDINGS: Readonly<Record<Ending, { readonly sentence: string; readonly next: string }>> = Object.freeze({
  completed: { sentence: "The agent answered.", next: "Nothing to do." },
  denied: {
    sentence: "Policy refused what the agent wanted to do.",
    next: "Read the reasons with `orgate sessions show`, then change the request or the policy.",
  },
  refused: { sentence: "The model declined to answer.", next: "Rephrase the request, or use another model." },
  filtered: { sentence: "The provider's filter stopped the answer.", next: "Rephrase the request, or use another provider." },
  cancelled: { sentence: "The turn was cancelled.", next: "Send another message to go on from here." },
  halted: {
    sentence: "Work was halted by an operator or a policy.",
    next: 'See which halt it was with `orgate halts`; `orgate resume-work agent NAME --reason "…"` (or `tool NAME`, or neither for a halt of all work) lifts it.',
  },
  "timed-out": { sentence: "The turn used up its time.", next: "Send another message to go on from here, or raise `turnMs`." },
  "out-of-iterations": {
    sentence: "The turn used up its model calls.",
    next: "Send another message to go on from here, or raise `iterations`.",
  },
  "out-of-tokens": { sentence: "The turn used up its tokens.", next: "Send another message to go on from here, or raise `tokens`." },
  "out-of-money": { sentence: "The turn used up its money.", next: "Raise the budget, then send another message." },
  "out-of-calls": { sentence: "The turn used up its tool calls.", next: "Send another message to go on from here, or raise `calls`." },
  failed: {
    sentence: "The turn failed.",
    next: "Read the cause with `orgate sessions show`; what was done is kept, and another message goes on from here.",
  },
});
