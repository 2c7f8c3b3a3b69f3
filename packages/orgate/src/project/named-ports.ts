/** Ports that agents name: context plans and token counters. An agent that names one which nobody brings is refused, never run without it. */
import { type Agent, FaultError, type OwnContextPlan, suggestNearest, type TokenCount } from "@orgate/core";

export type NamedPorts = Readonly<{
  contextPlans?: Readonly<Record<string, OwnContextPlan>> | undefined;
  counters?: ((tokenizer: string) => TokenCount | null) | undefined;
}>;

/** `setting`: of the agent. */
export type MissingPort = Readonly<{ setting: "context" | "tokenizer"; detail: string; hint: string }>;

export const namesPorts = ({ context, tokenizer }: Agent): boolean => context.kind === "own" || isOwnCounter(tokenizer);

export function findMissingPorts({ context, tokenizer }: Agent, { contextPlans = {}, counters }: NamedPorts): readonly MissingPort[] {
  const missing: MissingPort[] = [];
  if (context.kind === "own" && !Object.hasOwn(contextPlans, context.plan)) {
    const names = Object.keys(contextPlans);
    const hint =
      names.length === 0 ? `bring it: contextPlans: { ${JSON.stringify(context.plan)}: … }` : suggestNearest(context.plan, names);
    missing.push({ setting: "context", detail: `there is no context plan \`${context.plan}\``, hint });
  }
  if (isOwnCounter(tokenizer) && typeof findCounter(counters, tokenizer) !== "function")
    missing.push({
      setting: "tokenizer",
      detail: `there is no token counter \`${tokenizer}\``,
      hint: "`counters` returns it by its name; docs/guide/library.md has an example",
    });
  return missing;
}

/** Throws `agent-invalid` for the first agent that names a port which is not there. */
export function assertNamedPorts(agents: readonly Agent[], ports: NamedPorts): void {
  for (const agent of agents)
    for (const { detail, hint } of findMissingPorts(agent, ports))
      throw new FaultError({ kind: "agent-invalid", where: `agent \`${agent.name}\``, detail, hint });
}

const isOwnCounter = (tokenizer: string): boolean => tokenizer.startsWith("own/");

function findCounter(counters: NamedPorts["counters"], tokenizer: string): unknown {
  try {
    return counters?.(tokenizer);
  } catch {
    return null;
  }
}
