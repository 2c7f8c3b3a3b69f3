/**
 * The shell's agent among a project's agents: a file like any other's (`agents/shell.symbi`). Unless it names delegates it may have all others do something, and each time a
 * policy decides.
 */

import { type Agent, defineAgent, describeFault, FaultError, type Middleware } from "@orgate/core";
import type { Config } from "../../config/config.ts";
import type { CoordinatorTools } from "../../coordinator/tools.ts";
import { fileFault } from "../../files/file-fault.ts";
import type { Env } from "../../node/env.ts";
import { SHELL } from "../../project/shell-agent.ts";
import { type ShellTools, shellTools } from "./tools.ts";

type Found = Readonly<{ agent: Agent; file: string }>;

export type ShellAgentSetup = Readonly<{
  /** For agents to name. */
  tools: ShellTools["tools"];
  /** With the shell's agent as it is run. */
  within<A extends Found>(agents: readonly A[]): readonly A[];
}>;

export function shellAgentSetup(config: Config, env: Env, desk: CoordinatorTools): ShellAgentSetup {
  const tools = shellTools(config, env, desk);
  return { tools: tools.tools, within: (agents) => withShell(agents, tools, desk.middleware) };
}

/** `leave` limits delegation to agents that the caller may run. */
function withShell<A extends Found>(agents: readonly A[], { command, middleware }: ShellTools, leave: Middleware): readonly A[] {
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
      const { message, hint } = describeFault(error.fault);
      throw fileFault({ file: found.file, detail: message, hint }, error);
    }
  });
}
