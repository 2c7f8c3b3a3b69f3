export type * from "./agent.ts";
export type { ContextDefinition } from "./agent-context.ts";
export {
  type KnowledgeDefinition,
  knowledgeTools,
  type RecallArgs,
  readKnowledgeSettings,
  type StoreArgs,
} from "./agent-knowledge.ts";
export {
  MODEL_SETTINGS,
  MODEL_SOURCES,
  OFFLINE_OPTIONS,
  withChosenModel,
  withDefaultModel,
} from "./agent-model.ts";
export { type AgentFile, withAgentFile } from "./agent-policies.ts";
export { refuseUnpricedLimit } from "./agent-prices.ts";
export type { MissingServer } from "./agent-servers.ts";
export * from "./define-agent.ts";
export { checkMiddleware, defineMiddleware, type MiddlewareDefinition } from "./define-middleware.ts";
export {
  type AgentOutput,
  type AnswerOf,
  checkBySpec,
  DEFAULT_REPAIRS,
  readOutput,
  readRunOutput,
  toOutputSpec,
  withDigest,
} from "./define-output.ts";
export * from "./define-tool.ts";
export { delegateTool, listAgentTools } from "./delegate-tool.ts";
export { type AiTool, type AiToolSettings, fromAiTool } from "./from-ai-tool.ts";
export { checkModelName, DEFAULT_MODEL, isModelName, NO_MODEL_NAMED } from "./model-name.ts";
export { PRICE_TABLE, type TablePrice, tablePrice } from "./price-table.ts";
export type { ProjectText } from "./project-text.ts";
export { recordDefinitionSchema } from "./records/record-schema.ts";
export { SET_NAME } from "./records/thing-name.ts";
export type { RecordDefinition, RecordFieldDefinition } from "./records/tool-records.ts";
export { type FromJsonSchema, fromJsonSchema } from "./schemas/json-schema.ts";
export type { Schema } from "./schemas/schemas.ts";
export type { StandardSchema } from "./schemas/standard-schema.ts";
export {
  type MissingTool,
  NO_RESOURCES,
  type ProjectResources,
  type ServerTools,
  type Unusable,
} from "./skills/agent-skills.ts";
export {
  defineSkill,
  isSkill,
  isSkillName,
  isSkillPath,
  MAX_SKILL_FILES,
  SKILL_NAME_RULE,
  type Skill,
  type SkillDefinition,
  skillName,
} from "./skills/define-skill.ts";
export type { SkillPrompter } from "./skills/skill-loader.ts";
export { LOAD_SKILL } from "./skills/skill-loader.ts";
export { type ReadSkill, readSkillText, type SkillAbout, type SkillText, type SkillTrouble } from "./skills/skill-text.ts";
export type { TargetDefinition } from "./tool-targets.ts";
