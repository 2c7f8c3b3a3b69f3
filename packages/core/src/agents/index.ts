export { type Equipment, NO_EQUIPMENT, type Unusable } from "./agent-skills.ts";
export * from "./define-agent.ts";
export { defineSkill, isSkill, isSkillName, isSkillPath, MAX_SKILL_FILES, type Skill, type SkillDefinition } from "./define-skill.ts";
export * from "./define-tool.ts";
export { delegateTool, toolsOf } from "./delegate-tool.ts";
export type { ProjectText } from "./project-text.ts";
export { LOAD_SKILL } from "./skill-loader.ts";
export { type ReadSkill, readSkillText, type SkillAbout, type SkillText, type SkillTrouble } from "./skill-text.ts";
export type { StandardSchema } from "./standard-schema.ts";
