/** Tools of an agent: listed, brought by MCP servers, and filled up with the agent's own recovery. */
import {
  type BreakerSettings,
  type ChooseRecovery,
  DELEGATE,
  FaultError,
  isKnowledgeTool,
  type JsonObject,
  type RecoveryPlan,
  type Tool,
  toolFacts,
} from "../vocab/index.ts";
import { type AiTool, fromAiTool } from "./from-ai-tool.ts";
import { LOAD_SKILL } from "./skills/skill-loader.ts";

export function listTools(all: readonly Tool[] | Readonly<Record<string, Tool | AiTool>>, where: string): readonly Tool[] {
  const given = isList(all) ? all : namedTools(all, where);
  const seen = new Set<string>();
  for (const [i, tool] of given.entries()) {
    const made: unknown = tool;
    if (typeof made !== "object" || made === null || !("check" in made) || !("resource" in made))
      throw invalid(where, `\`tools[${i}]\` is no tool`, "make it with `defineTool`");
    if (tool.name === DELEGATE) throw invalid(where, `\`${DELEGATE}\` is no name for a tool`, "it is what the model calls to delegate");
    if (isKnowledgeTool(tool.name))
      throw invalid(where, `\`tools[${i}]\` is named \`${tool.name}\``, "that name is reserved for `knowledge`: rename it");
    if (tool.name === LOAD_SKILL) throw invalid(where, `\`tools[${i}]\` is named \`${LOAD_SKILL}\``, "that name is reserved: rename it");
    if (seen.has(tool.name)) throw invalid(where, `two tools are named \`${tool.name}\``, "rename one of them");
    seen.add(tool.name);
  }
  return given;
}

/** A tool of a server that the agent lists itself is the same tool. */
export function addServerTools(own: readonly Tool[], brought: readonly Tool[], where: string): readonly Tool[] {
  const twice = brought.find((tool) => own.some((other) => other.name === tool.name && other !== tool));
  if (twice !== undefined)
    throw invalid(
      where,
      `tool \`${twice.name}\` is brought by the agent itself and by MCP server \`${twice.server ?? ""}\``,
      "rename one of them",
    );
  return [...own, ...brought.filter((tool) => !own.includes(tool))];
}

const isList = (given: readonly Tool[] | Readonly<Record<string, unknown>>): given is readonly Tool[] => Array.isArray(given);

/** M-15 by name: a tool of ours under its own name, or one of the AI SDK's, which gets the key as its name. */
function namedTools(given: Readonly<Record<string, Tool | AiTool>>, where: string): readonly Tool[] {
  if (typeof given !== "object" || given === null || "inputSchema" in given)
    throw invalid(where, "`tools` is not a list", "list what `defineTool` returned");
  return Object.entries(given).map(([name, tool]) => {
    if (typeof tool !== "object" || tool === null || !("check" in tool)) return fromAiTool(name, tool);
    if (tool.name === name) return tool;
    throw invalid(where, `\`tools.${name}\` is the tool \`${tool.name}\``, "name it as it names itself");
  });
}

/** The agent's recovery and breaker apply to each tool that has none; a fallback names a tool of the same agent. */
export function withAgentRecovery(
  tools: readonly Tool[],
  recover: RecoveryPlan | ChooseRecovery | null,
  breaker: BreakerSettings,
  where: string,
): readonly Tool[] {
  const names = tools.map((t) => t.name);
  const filled = tools.map((t) => Object.freeze({ ...t, recover: t.recover ?? recover, breaker: t.breaker ?? breaker }));
  for (const { name, recover: plan } of filled) {
    if (plan === null || typeof plan === "function") continue;
    const gone = plan.find((one) => one.kind === "fallback" && !names.includes(one.tool));
    if (gone?.kind !== "fallback") continue;
    throw invalid(where, `\`${name}\` falls back to \`${gone.tool}\`, which is no tool of this agent's`, `it has: ${names.join(", ")}`);
  }
  return Object.freeze(filled);
}

/** For the digest: a recovery function is code, and code has no digest. */
export const toRecoveryFacts = (tool: Tool): JsonObject => ({
  ...toolFacts(tool),
  recover: typeof tool.recover === "function" ? "function" : tool.recover,
  breaker: tool.breaker,
});

const invalid = (where: string, detail: string, hint: string): FaultError => new FaultError({ kind: "agent-invalid", where, detail, hint });
