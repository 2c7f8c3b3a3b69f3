/** Whether the policies let a person run an agent: asked by whatever runs one for them. */
import type { Gate } from "@orgate/core";
import { refusalFor } from "@orgate/core/gate";

/** Why not; asked of the policies each time. */
export const createRunCheck =
  (gate: Pick<Gate, "decideFor">) =>
  (owner: string, agent: string): string | null =>
    refusalFor(gate, owner, { kind: "run", agent });
