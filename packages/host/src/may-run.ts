/** Whether the policies let a person run an agent: asked by whatever runs one for them. */
import type { Gate } from "@orgate/core";

/** Why not; asked of the policies each time. */
export const mayNotRunOf =
  (gate: Pick<Gate, "decideFor">) =>
  (owner: string, agent: string): string | null => {
    try {
      const { verdict } = gate.decideFor(owner, { kind: "run", agent });
      if (verdict.kind === "allow") return null;
      return verdict.kind === "deny" ? verdict.reason : `the policies answer \`${verdict.kind}\`, which is not allow`;
    } catch (error) {
      return `the policies could not be evaluated: ${error instanceof Error ? error.message : String(error)}`;
    }
  };
