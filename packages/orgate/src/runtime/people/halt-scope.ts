/** Whether a halt names something that exists. A typing error must not pass for a halt. */

import { type Agent, FaultError, listAgentTools } from "@orgate/core";
import { findNearestWord, HALT_SCOPE } from "@orgate/core/vocab";

const MOST_NAMED = 20;

/**
 * Null if the project has what the scope names, otherwise the refusal.
 * `anyway` is how this surface asks for a halt of a name that is not here yet.
 */
export function refuseUnknownScope(agents: readonly Agent[], scope: string, anyway: string): FaultError | null {
  if (!HALT_SCOPE.test(scope)) return null; // whoever halts says that it is no scope
  const [kind = "", name = ""] = scope.split(/:(.*)/s);
  const known =
    kind === "agent"
      ? agents.map((one) => one.name)
      : kind === "tool"
        ? [...new Set(agents.flatMap(listAgentTools).map((one) => one.name))]
        : null;
  if (known === null || known.includes(name)) return null;
  const near = findNearestWord(name, known);
  const listed = known.length > MOST_NAMED ? `${known.slice(0, MOST_NAMED).join(", ")}, …` : known.join(", ") || "none";
  const meant = near === null ? `it has: ${listed}.` : `did you mean \`${near}\`?`;
  return new FaultError({
    kind: "usage",
    detail: `nothing was halted: this project has no ${kind} \`${name}\``,
    hint: `${meant} To halt a name that is not here yet, or runs elsewhere: ${anyway}`,
  });
}
