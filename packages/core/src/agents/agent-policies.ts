/**
 * The parts of an agent's own file beside its definition: policies about it and labels for every output of its tools.
 * Rule: Y-4.
 */
import { digestJson, type Hash, type JsonObject, type Label } from "../vocab/index.ts";
import type { Agent, AgentPolicies } from "./agent.ts";

export type AgentFile = Readonly<{
  policies: readonly AgentPolicies[];
  /** Added to the labels of every tool. */
  labels: readonly Label[];
  /** The whole content of the file, read only for the digest. */
  basis: JsonObject;
}>;

export function withAgentFile(agent: Agent, file: AgentFile): Agent {
  const { policies, labels } = file;
  const tools =
    labels.length === 0
      ? agent.tools
      : Object.freeze(agent.tools.map((tool) => Object.freeze({ ...tool, labels: joined(tool.labels, labels) })));
  const digest = (hash: Hash) => digestJson({ agent: agent.digest(hash), labels, basis: file.basis }, hash);
  return Object.freeze({ ...agent, tools, policies: Object.freeze([...policies]), digest });
}

const joined = (own: readonly Label[], more: readonly Label[]): readonly Label[] => Object.freeze([...new Set([...own, ...more])].sort());
