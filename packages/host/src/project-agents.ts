/** The agents of a project: modules and TOML files alike, with the instructions that the project's own `AGENTS.md` adds once it is trusted. */
import { type Agent, defineAgent, type Entry, isFault, type Journal, seq, TRUST } from "@orgate/core";
import {
  foldTrust,
  INSTRUCTIONS,
  loadAgents,
  loadTomlAgents,
  openLook,
  projectInstructions,
  type Standing,
  sha256,
  standingOf,
  type Trusted,
} from "./compose.ts";
import type { Config } from "./config.ts";
import { fileBad } from "./project-modules.ts";

export type ProjectAgent = Readonly<{ agent: Agent; file: string }>;
export type ProjectAgents = Readonly<{
  agents: readonly ProjectAgent[];
  /** Of `AGENTS.md`; null when there is none. */
  instructions: Standing | null;
}>;

/** A23 an agent is found by its name, whichever way it is written; one name is one agent. */
export async function loadProjectAgents(config: Config): Promise<ProjectAgents> {
  const isToml = (pattern: string): boolean => pattern.endsWith(".toml");
  const modules = await loadAgents(
    config.root,
    config.agents.filter((p) => !isToml(p)),
  );
  const tomls = await loadTomlAgents(config.root, config.agents.filter(isToml), config.tools);
  const byName = new Map<string, ProjectAgent>();
  for (const { agent, file } of [...modules, ...tomls]) {
    const other = byName.get(agent.name);
    if (other !== undefined) throw fileBad(file, null, `agent \`${agent.name}\` is already defined in ${other.file}`, "rename one of them");
    byName.set(agent.name, { agent, file });
  }
  const sorted = [...byName.values()].sort((a, b) => (a.agent.name < b.agent.name ? -1 : 1));
  const found = projectInstructions(config.root, sha256);
  if (found === null) return { agents: sorted, instructions: null };
  const standing = standingOf(INSTRUCTIONS, found.digest, await trustIn(config.journal.directory));
  if (standing !== "trusted") return { agents: sorted, instructions: standing };
  return { agents: sorted.map((one) => ({ ...one, agent: withInstructions(one.agent, found.text) })), instructions: standing };
}

/** The text is part of the definition, so it counts in the agent's digest: a session records what it ran on. */
export function withInstructions(agent: Agent, text: string): Agent {
  const { digest: _, prices, ...rest } = agent;
  return defineAgent({
    ...rest,
    ...(prices === null ? {} : { prices }),
    instructions: `${agent.instructions}\n\n# ${INSTRUCTIONS} of this project\n\n${text.trim()}`,
  });
}

/** What is trusted, by the journal; nothing where there is no journal yet. */
export async function trustIn(directory: string): Promise<Trusted> {
  try {
    const look = openLook(directory);
    try {
      return await readTrust(look.journal);
    } finally {
      await look.close();
    }
  } catch (error) {
    if (isFault(error, "journal-unreadable")) return new Map();
    throw error;
  }
}

export async function readTrust(journal: Pick<Journal, "read">): Promise<Trusted> {
  const all: Entry[] = [];
  for (;;) {
    const page = await journal.read(TRUST, all.at(-1)?.seq ?? seq(0), 500);
    all.push(...page);
    if (page.length < 500) return foldTrust(all);
  }
}
