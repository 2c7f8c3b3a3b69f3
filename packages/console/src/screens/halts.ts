/** Describes halts, and lists what can be halted: everything, an agent or a tool. */
import { escapeHidden } from "@orgate/core/vocab";
import type { OperationOutput } from "@orgate/protocol";

export type Halt = OperationOutput<"halts">["items"][number];

type Choice = Readonly<{ value: string; text: string }>;

export function haltChoices(
  agents: readonly Readonly<{ name: string; tools: readonly string[] }>[],
): readonly Readonly<{ label: string; choices: readonly Choice[] }>[] {
  const named = (kind: "agent" | "tool", names: readonly string[]): readonly Choice[] =>
    [...new Set(names)].sort().map((name) => ({ value: `${kind}:${name}`, text: name }));
  return [
    { label: "Everything", choices: [{ value: "all", text: "all work" }] },
    {
      label: "An agent",
      choices: named(
        "agent",
        agents.map(({ name }) => name),
      ),
    },
    {
      label: "Calls of a tool",
      choices: named(
        "tool",
        agents.flatMap(({ tools }) => tools),
      ),
    },
  ].filter(({ choices }) => choices.length > 0);
}

/** `all work`, `agent clerk`, `tool pay`. */
export const haltName = (scope: string): string => (scope === "all" ? "all work" : scope.replace(":", " "));

/** The halt that keeps an agent from starting anything; null if there is none. */
export const haltFor = (halts: readonly Halt[], agent: string): Halt | null =>
  halts.find(({ scope }) => scope === "all") ?? halts.find(({ scope }) => scope === `agent:${agent}`) ?? null;

/** `work is halted by ana: the mail loop`. */
export const describeHalt = ({ scope, by, reason }: Halt): string =>
  `${scope === "all" ? "work" : escapeHidden(haltName(scope))} is halted by ${escapeHidden(by.id)}: ${reason === "" ? "no reason was given" : escapeHidden(reason)}`;
