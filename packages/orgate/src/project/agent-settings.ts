/** Checks an agent's settings all together: a wrong one is reported and left out, and the others are checked again. */
import { type Agent, type AgentDefinition, defineAgent, describeFault, FaultError } from "@orgate/core";

export type WrongSetting = Readonly<{ setting: string; message: string; hint: string; error: FaultError }>;

/** Tells each setting that is wrong. Null where what is left makes no agent. */
export function defineReporting(definition: AgentDefinition, tell: (wrong: WrongSetting) => void): Agent | null {
  for (let left: AgentDefinition | null = definition; left !== null; ) {
    try {
      return defineAgent(left);
    } catch (error) {
      if (!(error instanceof FaultError)) throw error;
      const { message, hint } = describeFault(error.fault);
      const setting = /`([A-Za-z.]+)(?:\[\d+\])?`/.exec(message.replace(/^agent `[^`]*`: /, ""))?.[1] ?? "name";
      tell({ setting, message, hint, error });
      left = without(left, setting);
    }
  }
  return null;
}

const REQUIRED: readonly string[] = ["name", "instructions", "tools"];
/** Settings that are checked against another one: without it they would seem wrong too. */
const DEPENDENT: Readonly<Record<string, readonly string[]>> = {
  output: ["outputRepairs"],
  model: ["prices", "limits.cents"],
  prices: ["limits.cents"],
};

function without(definition: AgentDefinition, setting: string): AgentDefinition | null {
  const limits: Record<string, unknown> = { ...definition.limits };
  const left: Record<string, unknown> = { ...definition, limits };
  let isLess = false;
  for (const path of [setting, ...(DEPENDENT[setting] ?? [])]) {
    const [first = "", second = ""] = path.split(".");
    const [of, key] =
      first === "limits" && second !== "" ? [limits, second] : Object.hasOwn(limits, first) ? [limits, first] : [left, first];
    if (!Object.hasOwn(of, key) || (of === left && REQUIRED.includes(key))) continue;
    delete of[key];
    isLess = true;
  }
  return isLess ? (left as unknown as AgentDefinition) : null; // fewer settings of one, and checked again
}

/** K-3, T-35, T-16 an agent without a skill, an MCP server or a tool that it names is not run: what it was written for may hang on it. */
export function assertAgentComplete({ name, missing: [missing], missingServers: [server], missingTools: [tool] }: Agent): void {
  const lack = missing ?? server ?? tool;
  if (lack === undefined) return;
  const what = "skill" in lack ? `skill \`${lack.skill}\`` : "tool" in lack ? `tool \`${lack.tool}\`` : `MCP server \`${lack.server}\``;
  throw new FaultError({
    kind: "agent-invalid",
    where: `agent \`${name}\``,
    detail: `${what} cannot be used: ${lack.detail}`,
    hint: lack.hint,
  });
}
