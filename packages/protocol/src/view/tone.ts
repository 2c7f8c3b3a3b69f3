/** How a line is meant, for surfaces that have colours. */
export type Tone = "plain" | "strong" | "dim" | "good" | "bad" | "warn" | "accent";
