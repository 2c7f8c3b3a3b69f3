/** T-31 where programs of tools cannot be run, commands and a server's health say so before the first tool is refused. */
import type { Agent } from "@orgate/core";
import { hostRunning } from "./running.ts";

/** Null where a sandbox works; otherwise what is missing and what to do. */
export async function explainProgramFailure(): Promise<string | null> {
  const standing = await hostRunning().standing();
  return standing.kind === "usable" ? null : `tools cannot run programs on this machine: ${standing.reason}; ${standing.hint}`;
}

/** Empty where no tool of these agents runs a program. */
export async function programWarnings(agents: readonly Pick<Agent, "tools">[]): Promise<readonly string[]> {
  if (!agents.some(({ tools }) => tools.some(({ sandbox }) => sandbox !== null))) return [];
  const why = await explainProgramFailure();
  return why === null ? [] : [why];
}
