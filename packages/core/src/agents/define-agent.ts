/**
 * An agent is a definition: data and tools, frozen, with a digest that a session records.
 *
 * A1 An invalid definition is refused where it stands, with what to do, before anything runs.
 * A2 The digest covers everything a session depends on: name, instructions, model and its options, limits, groups, the facts of every tool.
 * K5 A skill's tools join the agent's; a name that is taken is refused, and both who bring it are named.
 */
import {
  checkLimits,
  type Digest,
  digestOf,
  FaultError,
  frozenCopy,
  type Hash,
  type JsonObject,
  type Limits,
  type Tool,
  toolFacts,
} from "../vocab/index.ts";
import { isSkill, isSkillName, SKILL_NAME_RULE, type Skill } from "./define-skill.ts";
import { inOrder } from "./define-tool.ts";
import { isName, NAME_RULE, strayKey } from "./name.ts";
import { type ProjectText, projectBlocks } from "./project-text.ts";
import { LOAD_SKILL, skillIndex, skillLoader } from "./skill-loader.ts";

export type AgentDefinition = Readonly<{
  name: string;
  instructions: string;
  /** `provider/name`. */
  model: string;
  /** What the model's adapter is told beside the request: the rules of an offline model, for one. */
  modelOptions?: JsonObject;
  tools?: readonly Tool[];
  limits?: Partial<Limits>;
  /** `AgentGroup`s it is in, for policies to be written about; the project may put it into more. */
  groups?: readonly string[];
  /** What `defineSkill` returned, or the name of a skill that the project brings. */
  skills?: readonly (Skill | string)[];
  /** Whether `AGENTS.md`, from the working folder up to the project's, joins its instructions once it is trusted. */
  projectInstructions?: boolean;
}>;

/** What a project brings for an agent that asks for it. */
export type Equipment = Readonly<{
  skills: readonly Skill[];
  /** Why a skill of this name, or the project's instructions in this file, are not among them. */
  unusable: ReadonlyMap<string, Unusable>;
  /** The farthest first, so that the nearest wins. */
  instructions: readonly ProjectText[];
  /** Instructions that are there and not used: told to whoever runs an agent that asks for them. */
  warnings: readonly string[];
}>;
export type Unusable = Readonly<{ detail: string; hint: string }>;
export const NO_EQUIPMENT: Equipment = Object.freeze({ skills: [], unusable: new Map(), instructions: [], warnings: [] });

/** Known by a symbol every copy of this module shares: an agent may come from the compiled package or from source. */
const AGENT = Symbol.for("orgate.agent");

export type Agent = Readonly<{
  name: string;
  /** The system text: what was written, the skills by name, the project's own instructions. */
  instructions: string;
  model: string;
  modelOptions: JsonObject;
  /** By name. */
  tools: readonly Tool[];
  limits: Limits;
  groups: readonly string[];
  /** By name. */
  skills: readonly Skill[];
  /** Skills that it names and does not have: it is not run without them. */
  missing: readonly Readonly<{ skill: string } & Unusable>[];
  /** What it asks for and runs without. */
  warnings: readonly string[];
  /** As it was written: `equipAgent` starts from it. */
  definition: AgentDefinition;
  digest(hash: Hash): Digest;
}>;

const FIELDS = ["name", "instructions", "model", "modelOptions", "tools", "limits", "groups", "skills", "projectInstructions"];
const MODEL = /^[a-z0-9][a-z0-9-]*\/[\x21-\x7e]{1,128}$/;

export const defineAgent = (given: AgentDefinition): Agent => assembled(given, NO_EQUIPMENT);

/** The same agent with what it asked for by name. What is not there stays missing, and is told with the reason. */
export const equipAgent = ({ definition }: Agent, equipment: Equipment): Agent => assembled(definition, equipment);

function assembled(given: AgentDefinition, equipment: Equipment): Agent {
  const named: unknown = given.name;
  if (!isName(named)) throw invalid("an agent", `\`name\` is ${JSON.stringify(named) ?? "missing"}`, `a name is ${NAME_RULE}`);
  const where = `agent \`${named}\``;
  const stray = strayKey(given, FIELDS);
  if (stray !== null) throw invalid(where, `there is no field \`${stray}\``, `the fields are ${FIELDS.join(", ")}`);
  const { instructions, model } = given;
  if (typeof instructions !== "string" || instructions.trim() === "")
    throw invalid(where, "`instructions` is empty", "say what the agent is for");
  if (typeof model !== "string" || !MODEL.test(model))
    throw invalid(where, `\`model\` is ${JSON.stringify(model) ?? "missing"}`, "name it `provider/name`; `offline/echo` needs no key");
  const limits = checkLimits(given.limits ?? {}, where);
  if ("kind" in limits) throw new FaultError(limits);
  const { skills, missing } = skillsOf(given.skills ?? [], equipment, where);
  const own = toolsOf(given.tools ?? [], where);
  const loader = skills.length + missing.length === 0 ? [] : [skillLoader(skills)];
  const tools = Object.freeze(inOrder([...joined(own, skills, where), ...loader]));
  const asks = given.projectInstructions ?? false;
  if (typeof asks !== "boolean")
    throw invalid(where, "`projectInstructions` is neither true nor false", "true to use the project's AGENTS.md");
  const modelOptions = optionsOf(given.modelOptions ?? {}, where);

  const groups = groupsOf(given.groups ?? [], where);

  const brought = asks ? equipment.instructions : [];
  const system = [instructions, skillIndex(skills, where), ...projectBlocks(brought)].filter((text) => text !== "").join("\n\n");
  const facts = { name: named, instructions: system, model, modelOptions, limits, groups, tools: tools.map(toolFacts) };
  const agent = {
    name: named,
    instructions: system,
    model,
    modelOptions,
    tools,
    limits: Object.freeze(limits),
    groups,
    skills,
    missing,
    warnings: asks ? equipment.warnings : [],
    definition: Object.freeze({ ...given }),
  };
  return Object.freeze({ ...agent, digest: (hash: Hash) => digestOf(facts, hash), [AGENT]: true });
}

export const isAgent = (value: unknown): value is Agent => typeof value === "object" && value !== null && AGENT in value;

function toolsOf(given: readonly Tool[], where: string): readonly Tool[] {
  if (!Array.isArray(given)) throw invalid(where, "`tools` is not a list", "list what `defineTool` returned");
  const seen = new Set<string>();
  for (const [i, tool] of given.entries()) {
    const made: unknown = tool;
    if (typeof made !== "object" || made === null || !("check" in made) || !("resource" in made))
      throw invalid(where, `\`tools[${i}]\` is no tool`, "make it with `defineTool`");
    if (tool.name === LOAD_SKILL) throw invalid(where, `\`tools[${i}]\` is named \`${LOAD_SKILL}\``, "that name is reserved: rename it");
    if (seen.has(tool.name)) throw invalid(where, `two tools are named \`${tool.name}\``, "rename one of them");
    seen.add(tool.name);
  }
  return given;
}

type Skills = Readonly<{ skills: readonly Skill[]; missing: Agent["missing"] }>;

function skillsOf(given: readonly (Skill | string)[], equipment: Equipment, where: string): Skills {
  if (!Array.isArray(given)) throw invalid(where, "`skills` is not a list", "list names, or what `defineSkill` returned");
  const listed: readonly (Skill | string)[] = given;
  const [skills, missing] = [new Map<string, Skill>(), new Map<string, Agent["missing"][number]>()];
  for (const [i, one] of listed.entries()) {
    const name: unknown = isSkill(one) ? one.name : one;
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
function joined(own: readonly Tool[], skills: readonly Skill[], where: string): readonly Tool[] {
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

/** In order, each once: the same groups are the same digest. */
function groupsOf(given: readonly string[], where: string): readonly string[] {
  const wrong = Array.isArray(given) ? given.find((group) => !isName(group)) : given;
  if (wrong !== undefined) throw invalid(where, `\`groups\` holds ${JSON.stringify(wrong)}`, `list names of ${NAME_RULE}`);
  return Object.freeze([...new Set(given)].sort());
}

function optionsOf(given: JsonObject, where: string): JsonObject {
  try {
    return frozenCopy(given);
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    throw invalid(where, `\`modelOptions\` is not plain JSON: ${detail}`, "use text, numbers, true, false, null, lists and objects");
  }
}

const invalid = (where: string, detail: string, hint: string): FaultError => new FaultError({ kind: "agent-invalid", where, detail, hint });
