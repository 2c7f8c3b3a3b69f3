/** Where an agent of a `.symbi` file comes from. */
import type { AgentDraft, SymbiFile } from "@orgate/symbi";

export type SymbiSource = Readonly<{ symbi: SymbiFile /** Absolute. */; path: string }>;
export type SymbiOrigin = Readonly<{ source: SymbiSource; draft: AgentDraft }>;
