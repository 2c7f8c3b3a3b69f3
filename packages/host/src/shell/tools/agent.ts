/**
 * The shell's agent among a project's agents: a file like any other's (`agents/shell.symbi`). Unless it names delegates it may have all others do something, and each time a
 * policy decides.
 */
import { type Agent, defineAgent, describe, FaultError, type Middleware } from "@orgate/core";
import { fileBad } from "../../project-modules.ts";
import { SHELL } from "../authoring/artifact.ts";
import type { ShellTools } from "./tools.ts";

type Found = Readonly<{ agent: Agent; file: string }>;

/** `leave` holds delegates to what whoever speaks may run. */
export function withShell(
  agents: readonly Found[],
  tools: Pick<ShellTools, "command" | "middleware"> | null,
  leave: Middleware,
): readonly Found[] {
  if (tools === null) return agents;
  const { command, middleware } = tools;
  const others = agents.map(({ agent }) => agent.name).filter((name) => name !== SHELL);
  return agents.map((found) => {
    if (found.agent.name !== SHELL) return found;
    const { definition } = found.agent;
    const { delegates = [] } = definition;
    try {
      const agent = defineAgent({
        ...definition,
        delegates: delegates.length === 0 ? others : delegates,
        tools: command === null ? found.agent.tools : [...found.agent.tools, command],
        middleware: [...(definition.middleware ?? []), leave, middleware],
      });
      return { ...found, agent };
    } catch (error) {
      if (!(error instanceof FaultError)) throw error;
      const { message, hint } = describe(error.fault);
      throw fileBad(found.file, null, message, hint, error);
    }
  });
}
