/**
 * Which MCP servers an agent has, and what they bring.
 *
 * T-35 An agent names a server, for all that was accepted of it, or one tool as `SERVER__TOOL`. A missing one stays missing, and the agent
 *      is not run without it; an accepted one that cannot be used is reported.
 */
import { FaultError, isName, NAME_RULE, type Tool } from "../vocab/index.ts";
import type { ProjectResources, Unusable } from "./skills/agent-skills.ts";

export type MissingServer = Readonly<{ server: string } & Unusable>;
type Servers = Readonly<{ tools: readonly Tool[]; missing: readonly MissingServer[]; warnings: readonly string[] }>;

export function resolveServers(given: readonly string[], { servers, unusableServers }: ProjectResources, where: string): Servers {
  const wrong: unknown = Array.isArray(given) ? given.find((one: unknown) => !isName(one)) : given;
  if (wrong !== undefined)
    throw new FaultError({
      kind: "agent-invalid",
      where,
      detail: `\`mcp\` holds ${JSON.stringify(wrong)}`,
      hint: `list names of servers, or \`SERVER__TOOL\`: ${NAME_RULE}`,
    });
  const tools = new Map<string, Tool>();
  const missing: MissingServer[] = [];
  const warnings: string[] = [];
  for (const name of given) {
    const [server = ""] = name.split("__");
    const found = servers.get(server);
    if (found === undefined) {
      missing.push({ server, ...(unusableServers.get(server) ?? unusableServers.get("*") ?? NOT_THERE) });
      continue;
    }
    const isWhole = name === server;
    for (const tool of found.tools) if (isWhole || tool.name === name) tools.set(tool.name, tool);
    for (const { name: refused, reason } of found.refused)
      if (isWhole) warnings.push(`tool \`${refused}\` is not used: ${reason}`);
      else if (refused === name) missing.push({ server, detail: `its tool \`${name}\` cannot be used: ${reason}`, hint: "leave it out" });
    if (!isWhole && !tools.has(name) && !missing.some((m) => m.detail.includes(`\`${name}\``)))
      missing.push({
        server,
        detail: `no tool \`${name}\` of it was accepted`,
        hint: `\`orgate mcp list ${server}\` shows those that were`,
      });
  }
  return { tools: [...tools.values()], missing, warnings };
}
const NOT_THERE: Unusable = { detail: "it is not there", hint: "`orgate mcp list` shows those of the project and your own" };
