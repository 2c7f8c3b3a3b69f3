/** How a conversation is kept within its budget. The journal keeps everything; this is about what the model is shown. */
export type ContextPlan =
  /** The oldest units go first. */
  | Readonly<{ kind: "window" }>
  /** Results of tools older than the newest `keep` units become one line each; then the oldest units go. */
  | Readonly<{ kind: "mask"; keep: number }>
  /** The model summarises everything older than the newest `keep` units; `model` null: the agent's own. */
  | Readonly<{ kind: "summarise"; keep: number; model: string | null }>
  /** The program's plan of this name says which messages go, and how; where it says nothing usable, the oldest units go. */
  | Readonly<{ kind: "own"; plan: string }>;
export const PLAIN_WINDOW: ContextPlan = Object.freeze({ kind: "window" });

/** How many of the newest units stay as they are, unless said. */
export const DEFAULT_KEEP = { mask: 8, summarise: 6 } as const;

/** Names that an agent may ask for. The host has them; what nobody has is estimated. */
export const TOKENIZERS: readonly string[] = Object.freeze(["estimate", "o200k_base", "cl100k_base"]);

/** The one whose counts are the provider's own, where that is known from the model's name. */
export function chooseTokenizer(model: string): string {
  if (/^openai\/(gpt-4o|gpt-4\.[1-9]|gpt-[5-9]|gpt-oss|chatgpt-4o|o[1-9])/.test(model)) return "o200k_base";
  return /^openai\/gpt-(4|3\.5)/.test(model) ? "cl100k_base" : "estimate";
}

/** `own/NAME` is counted by what the runtime brings, and estimated where it brings nothing. */
export const isTokenizer = (name: string): boolean => TOKENIZERS.includes(name) || /^own\/[\w-]{1,64}$/.test(name);
