/**
 * The shell's agent among a project's agents: a file like any other's (`agents/shell.symbi`). Unless it names delegates it may have all others do something, and each time a
 * policy decides.
 */
import { type Agent, defineAgent, describe, FaultError } from "@orgate/core";
import { fileBad } from "../../project-modules.ts";
import { SHELL } from "../authoring/artifact.ts";
import type { ShellTools } from "./tools.ts";

type Found = Readonly<{ agent: Agent; file: string }>;

export function withShell(agents: readonly Found[], tools: Pick<ShellTools, "command" | "middleware"> | null): readonly Found[] {
  if (tools === null) return agents;
  const { command, middleware } = tools;
  const others = agents.map(({ agent }) => agent.name).filter((name) => name !== SHELL);
  return agents.map((found) => {
    if (found.agent.name !== SHELL) return found;
    const { definition } = found.agent;
    const { delegates = [], tools: own = [] } = definition;
    try {
      const agent = defineAgent({
        ...definition,
        delegates: delegates.length === 0 ? others : delegates,
        tools: command === null ? own : [...own, command],
        middleware: [...(definition.middleware ?? []), middleware],
      });
      return { ...found, agent };
    } catch (error) {
      if (!(error instanceof FaultError)) throw error;
      const { message, hint } = describe(error.fault);
      throw fileBad(found.file, null, message, hint, error);
    }
  });
}
