/** What can be halted: everything, or an agent or a tool that exists (O481). */

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
