/**
 * Which skills an agent has, and what they bring.
 *
 * K-3 A skill's tools join the agent's; a name that is taken is refused, and both who bring it are named.
 */
import { FaultError, type Prices, type Tool } from "../../vocab/index.ts";
import type { ProjectText } from "../project-text.ts";
import { isSkill, isSkillName, SKILL_NAME_RULE, type Skill, skillName } from "./define-skill.ts";
import { LOAD_SKILL, type SkillPrompter } from "./skill-loader.ts";

/** Resources of the project that its agents may name. */
export type ProjectResources = Readonly<{
  skills: readonly Skill[];
  /** Why a skill of this name is not among them. */
  unusable: ReadonlyMap<string, Unusable>;
  /** The farthest first, so that the nearest wins. */
  instructions: readonly ProjectText[];
  /** Instructions that exist and are not used: reported when an agent asks for them. */
  warnings: readonly string[];
  /** MCP servers by name, with what was accepted of each. */
  servers: ReadonlyMap<string, ServerTools>;
  /** Why a server of this name is not among them. */
  unusableServers: ReadonlyMap<string, Unusable>;
  /** Tools that the agent names, that are written somewhere, and that cannot be used as they are written. */
  missingTools: readonly MissingTool[];
  /** The project's prices by model: after the agent's own, before the table of this version. */
  prices: Readonly<Record<string, Prices>>;
  /** Presents the skills of agents that bring no prompter themselves; null: as a list. */
  skillPrompter?: SkillPrompter | null;
}>;
/** `refused`: offered and accepted, and still not usable. */
export type ServerTools = Readonly<{ tools: readonly Tool[]; refused: readonly Readonly<{ name: string; reason: string }>[] }>;
export type Unusable = Readonly<{ detail: string; hint: string }>;
export type MissingTool = Readonly<{ tool: string } & Unusable>;
type Missing = Readonly<{ skill: string } & Unusable>;
export const NO_RESOURCES: ProjectResources = Object.freeze({
  skills: [],
  unusable: new Map(),
  instructions: [],
  warnings: [],
  servers: new Map(),
  unusableServers: new Map(),
  missingTools: [],
  prices: {},
});

type Skills = Readonly<{ skills: readonly Skill[]; missing: readonly Missing[] }>;

export function resolveSkills(given: readonly (Skill | string)[], equipment: ProjectResources, where: string): Skills {
  if (!Array.isArray(given)) throw invalid(where, "`skills` is not a list", "list names, or what `defineSkill` returned");
  const listed: readonly (Skill | string)[] = given;
  const [skills, missing] = [new Map<string, Skill>(), new Map<string, Missing>()];
  for (const [i, one] of listed.entries()) {
    const name: unknown = isSkill(one) ? one.name : typeof one === "string" ? skillName(one) : one;
    if (!isSkillName(name))
      throw invalid(where, `\`skills[${i}]\` is no skill`, `make it with \`defineSkill\`, or name one: ${SKILL_NAME_RULE}`);
    if (skills.has(name) || missing.has(name)) throw invalid(where, `two skills are named \`${name}\``, "leave one of them out");
    const found = isSkill(one) ? one : equipment.skills.find((skill) => skill.name === name);
    if (found !== undefined) skills.set(name, found);
    else missing.set(name, { skill: name, ...(equipment.unusable.get(name) ?? NOT_THERE) });
  }
  const sorted = [...skills.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  return { skills: Object.freeze(sorted), missing: Object.freeze([...missing.values()]) };
}
const NOT_THERE: Unusable = { detail: "it is not there", hint: "`orgate skills list` shows those of the project" };

/** One tool in two places is one tool. */
export function joinTools(own: readonly Tool[], skills: readonly Skill[], where: string): readonly Tool[] {
  const brought = new Map(own.map((tool) => [tool.name, { tool, by: "the agent itself" }]));
  for (const skill of skills) {
    for (const tool of skill.tools) {
      const by = `skill \`${skill.name}\``;
      if (tool.name === LOAD_SKILL) throw invalid(where, `${by} brings a tool named \`${LOAD_SKILL}\``, "that name is reserved: rename it");
      const other = brought.get(tool.name);
      if (other !== undefined && other.tool !== tool)
        throw invalid(where, `tool \`${tool.name}\` is brought by ${other.by} and by ${by}`, "rename one of them");
      brought.set(tool.name, other ?? { tool, by });
    }
  }
  return [...brought.values()].map(({ tool }) => tool);
}

const invalid = (where: string, detail: string, hint: string): FaultError => new FaultError({ kind: "agent-invalid", where, detail, hint });
