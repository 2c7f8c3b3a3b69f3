/**
 * Progressive disclosure: the system text names an agent's skills, one tool reads them.
 *
 * K-3 `load_skill` is a tool like any other: gated (`Skill::"name"`), journalled, its result an observation. It answers only from what the
 *    skills hold: a path is a name, never a place on disk.
 * Rule: K-2.
 */
import * as z from "zod";
import { type CheckedArgs, escapeHidden, escapeHiddenLines, FaultError, type Json, type Tool } from "../../vocab/index.ts";
import { defineTool } from "../define-tool.ts";
import { type Skill, skillFacts } from "./define-skill.ts";

/** Reserved: no other tool has this name. */
export const LOAD_SKILL = "load_skill";
const MAX_INDEX_CHARS = 16_000;

/** The part of the system text that presents an agent's skills. `tool` is the name of the tool that reads one. */
export type SkillPrompter = (skills: readonly Readonly<Pick<Skill, "name" | "description">>[], tool: string) => string;

const listSkills: SkillPrompter = (skills, tool) => {
  const lines = skills.map(({ name, description }) => `- ${name}: ${escapeHidden(description.replaceAll(/\s+/g, " "))}`);
  return ["# Skills", "", `Read a skill with \`${tool}\` before you do what it is for.`, "", ...lines].join("\n");
};

/** Throws `agent-invalid`: an agent is not run with skills that its model cannot be shown. */
export function skillIndex(skills: readonly Skill[], where: string, prompter: SkillPrompter | null = null): string {
  if (skills.length === 0) return "";
  const text = prompter === null ? listSkills(skills, LOAD_SKILL) : ownIndex(skills, where, prompter);
  if (text.length > MAX_INDEX_CHARS)
    throw new FaultError({
      kind: "agent-invalid",
      where,
      detail: `names and descriptions of its ${skills.length} skills have ${text.length} characters, more than ${MAX_INDEX_CHARS}`,
      hint: "give it fewer skills, or shorten what describes them",
    });
  return text;
}

function ownIndex(skills: readonly Skill[], where: string, prompter: SkillPrompter): string {
  const refuse = (detail: string, cause?: unknown): FaultError =>
    new FaultError(
      { kind: "agent-invalid", where, detail: `\`skillPrompter\` ${detail}`, hint: "return the text that presents the skills" },
      cause,
    );
  let text: unknown;
  try {
    text = prompter(
      skills.map(({ name, description }) => ({ name, description })),
      LOAD_SKILL,
    );
  } catch (error) {
    throw refuse(`failed: ${error instanceof Error ? error.message : String(error)}`, error);
  }
  if (typeof text !== "string") throw refuse("returned something else than a text");
  return escapeHiddenLines(text.trim());
}

export function skillLoader(skills: readonly Skill[]): Tool {
  const byName = new Map(skills.map((skill) => [skill.name, skill]));
  const tool = defineTool({
    name: LOAD_SKILL,
    description: "Read the instructions of one of your skills, or one of the files that they name.",
    input: z.strictObject({ name: z.string().describe("The skill."), file: z.string().describe("A file of it.").optional() }),
    repeat: "read",
    effects: ["read"],
    labels: [...new Set(skills.flatMap(({ labels }) => labels))],
    resource: ({ name }) => ({ type: "Skill", id: name }),
    resourceTypes: ["Skill"],
    run({ name, file }) {
      const found = lookUp(name, file);
      if (found.kind === "none") throw new Error(found.detail);
      return found.text;
    },
  });

  function lookUp(name: string, file: string | undefined): Found {
    const skill = byName.get(name);
    if (skill === undefined) return none(`there is no skill ${quoted(name)}`, [...byName.keys()]);
    if (file === undefined) return { kind: "text", text: wholeText(skill) };
    const text = skill.files[file];
    return text === undefined
      ? none(`skill \`${skill.name}\` has no file ${quoted(file)}`, Object.keys(skill.files))
      : { kind: "text", text: escapeHiddenLines(text) };
  }

  /** An unknown name is a wrong argument, not a tool that failed: nothing recovers from it, no breaker counts it. */
  function check(args: Json): CheckedArgs {
    const checked = tool.check(args);
    if (checked.kind !== "valid") return checked;
    const { name, file } = checked.args;
    const found = lookUp(String(name), file === undefined ? undefined : String(file));
    return found.kind === "none" ? { kind: "invalid", issues: [found.detail] } : checked;
  }
  return Object.freeze({ ...tool, check, basis: { skills: skills.map(skillFacts) } });
}

type Found = Readonly<{ kind: "text"; text: string } | { kind: "none"; detail: string }>;
const none = (detail: string, known: readonly string[]): Found => ({
  kind: "none",
  detail: `${detail}; there is: ${known.join(", ") || "none"}`,
});

function wholeText({ name, instructions, files }: Skill): string {
  const paths = Object.keys(files);
  const more = paths.length === 0 ? "" : `\n\nFiles of this skill, to be read with \`${LOAD_SKILL}\`: ${paths.join(", ")}`;
  return `# Skill ${name}\n\n${escapeHiddenLines(instructions)}${more}`;
}

const quoted = (text: string): string => `\`${escapeHidden(text.slice(0, 80))}\``;
