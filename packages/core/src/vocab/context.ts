/** How a conversation is kept within its budget. The journal keeps everything; this is about what the model is shown. */
export type ContextPlan =
  /** The oldest units go first. */
  | Readonly<{ kind: "window" }>
  /** Results of tools older than the newest `keep` units become one line each; then the oldest units go. */
  | Readonly<{ kind: "mask"; keep: number }>
  /** What is older than the newest `keep` units is summed up by the model; `model` null: the agent's own. */
  | Readonly<{ kind: "summarise"; keep: number; model: string | null }>;
export const PLAIN_WINDOW: ContextPlan = Object.freeze({ kind: "window" });
