/**
 * What an agent's own file brings beside its definition: policies about it, a label for all that its tools bring, and what it says beside.
 * Rule: Y-4.
 */
import { digestJson, type Hash, type JsonObject, type Label } from "../vocab/index.ts";
import type { Agent } from "./define-agent.ts";

/** Cedar about this one agent. `path` and `name` are the file's: its lines are the file's lines. */
export type AgentPolicies = Readonly<{
  path: string;
  name: string;
  agent: string;
  text: string;
  shadow: boolean;
  /** Each policy of `text` as it stands there, in order, with its whole id. */
  pieces: readonly Readonly<{ id: string; text: string }>[];
}>;

export type AgentFile = Readonly<{
  policies: readonly AgentPolicies[];
  /** What every output of its tools carries beside what the tools say. */
  labels: readonly Label[];
  /** Everything that the file says. Asked for by whoever wants the digest. */
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
