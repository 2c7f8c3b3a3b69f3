/**
 * A skill: instructions that are read when they are needed, and the tools they speak of.
 *
 * K-1 A skill that is not whole is refused where it stands: name, description and texts are bounded, a file's name leads nowhere.
 */
import { escapeHidden, FaultError, hasMixedScripts, type JsonObject, type Label, label, type Tool } from "../../vocab/index.ts";
import { sortTools } from "../define-tool.ts";
import { findUnknownKey } from "../unknown-key.ts";

export type SkillDefinition = Readonly<{
  /** Lower-case letters, digits and single hyphens: what the model and policies (`Skill::"name"`) call it. */
  name: string;
  /** Its purpose and when to use it: all that the model sees before it loads the skill. */
  description: string;
  instructions: string;
  /** They join the agent's tools and are gated like any other. */
  tools?: readonly Tool[];
  /** Further texts by their path in the skill; read through the loader only. */
  files?: Readonly<Record<string, string>>;
  /** Labels of its texts; none for a skill defined in code, which is trusted as code is. */
  labels?: readonly string[];
}>;

const SKILL = Symbol.for("orgate.skill");

export type Skill = Readonly<{
  name: string;
  description: string;
  instructions: string;
  /** By name. */
  tools: readonly Tool[];
  files: Readonly<Record<string, string>>;
  labels: readonly Label[];
}>;

export const MAX_SKILL_CHARS = 65_536;
export const MAX_SKILL_FILES = 256;
export const MAX_DESCRIPTION = 1_024;
const FIELDS = ["name", "description", "instructions", "tools", "files", "labels"];
/** Lower-case letters of any script, in their composed form. */
const NAME = /^(?:[\p{Ll}\p{Lo}\p{Nd}][\p{Ll}\p{Lo}\p{Nd}\p{M}]*)(?:-[\p{Ll}\p{Lo}\p{Nd}][\p{Ll}\p{Lo}\p{Nd}\p{M}]*)*$/u;
export const SKILL_NAME_RULE = "1 to 64 lower-case letters of one script, digits, and single hyphens between them";
const LABEL = /^[a-z][a-z0-9:_-]{0,63}$/;

/** K-2 a name is compared in its composed form (NFC): `é` is one letter, however a disk or an editor writes it. */
export const skillName = (given: string): string => given.normalize("NFC");
export const isSkillName = (value: unknown): value is string =>
  typeof value === "string" &&
  value.length <= 64 &&
  NAME.test(value) &&
  value === skillName(value) &&
  escapeHidden(value) === value &&
  !hasMixedScripts(value);
export const isSkill = (value: unknown): value is Skill => typeof value === "object" && value !== null && SKILL in value;

/** Plain steps below the skill's folder, as they are shown: nothing hidden, nothing that leads elsewhere. */
export const isSkillPath = (path: string): boolean =>
  path.length <= 200 &&
  !/[\\:]/.test(path) &&
  escapeHidden(path) === path &&
  path.split("/").every((step) => step !== "" && step !== "." && step !== ".." && step.trim() === step);

export function defineSkill(given: SkillDefinition): Skill {
  const named: unknown = typeof given.name === "string" ? skillName(given.name) : given.name;
  if (!isSkillName(named)) throw invalid("a skill", `\`name\` is ${shown(named)}`, `a name is ${SKILL_NAME_RULE}`);
  const where = `skill \`${named}\``;
  const stray = findUnknownKey(given, FIELDS);
  if (stray !== null) throw invalid(where, `there is no field \`${escapeHidden(stray)}\``, `the fields are ${FIELDS.join(", ")}`);
  const description = textOf(given.description, "description", MAX_DESCRIPTION, where);
  const instructions = textOf(given.instructions, "instructions", MAX_SKILL_CHARS, where);
  const { tools = [], labels = [] } = given;
  const wrong = Array.isArray(tools) ? tools.findIndex((tool: unknown) => !isTool(tool)) : 0;
  if (wrong !== -1) throw invalid(where, `\`tools[${wrong}]\` is no tool`, "list what `defineTool` returned");
  const badLabel = Array.isArray(labels) ? labels.find((one) => typeof one !== "string" || !LABEL.test(one)) : labels;
  if (badLabel !== undefined) throw invalid(where, `\`labels\` holds ${shown(badLabel)}`, "a label is lower-case: `untrusted`");
  return Object.freeze({
    name: named,
    description,
    instructions,
    tools: Object.freeze(sortTools(tools)),
    files: filesOf(given.files ?? {}, where),
    labels: Object.freeze([...new Set(labels)].sort().map(label)),
    [SKILL]: true,
  });
}

function textOf(given: unknown, field: string, most: number, where: string): string {
  if (typeof given !== "string" || given.trim() === "")
    throw invalid(where, `\`${field}\` is empty`, "say what it is for and when to use it");
  if (given.length > most)
    throw invalid(where, `\`${field}\` has ${given.length} characters, more than ${most}`, "move what is long into `files`");
  return given.trim().toWellFormed();
}

function filesOf(given: Readonly<Record<string, string>>, where: string): Readonly<Record<string, string>> {
  if (typeof given !== "object" || given === null) throw invalid(where, "`files` is no record", "write { path: text }");
  const paths = Object.keys(given).sort();
  if (paths.length > MAX_SKILL_FILES) throw invalid(where, `it has ${paths.length} files, more than ${MAX_SKILL_FILES}`, "keep fewer");
  const files: Record<string, string> = Object.create(null);
  for (const path of paths) {
    const text: unknown = given[path];
    if (!isSkillPath(path)) throw invalid(where, `the file ${shown(path)} has no plain path`, "use steps like `reference/limits.md`");
    if (typeof text !== "string") throw invalid(where, `the file \`${path}\` is no text`, "give its text");
    files[path] = text.toWellFormed();
  }
  return Object.freeze(files);
}

const isTool = (value: unknown): boolean => typeof value === "object" && value !== null && "check" in value && "resource" in value;

/** Whatever was given, in a form that obeys nobody. */
const shown = (value: unknown): string => escapeHidden(JSON.stringify(value)?.slice(0, 80) ?? "missing");

/** Everything a session that uses it depends on. */
export const skillFacts = ({ name, description, instructions, files, labels }: Skill): JsonObject => ({
  name,
  description,
  instructions,
  files: { ...files },
  labels,
});

const invalid = (where: string, detail: string, hint: string): FaultError => new FaultError({ kind: "agent-invalid", where, detail, hint });
