/** Tools and skills in the modules of a project's `tools/`. */
import { realpathSync } from "node:fs";
import { relative } from "node:path";
import { isSkill, type Skill, type Tool } from "@orgate/core";
import type { Config } from "../config/config.ts";
import { fileFault } from "../files/file-fault.ts";
import { importModule, matchProjectFiles, type OnLoadFault, reportFault, THROW_FAULT } from "../guard/modules.ts";

export type ToolBox = ReadonlyMap<string, Readonly<{ tool: Tool; file: string }>>;

type ToolSources = Readonly<{
  /** Tools of manifests. */
  tools: ToolBox;
  /** Tools for agents where the project has none of that name. */
  spare: readonly Tool[];
  trouble?: OnLoadFault;
}>;

/** Tools that agents can name; imports the project's tool modules. */
export async function loadToolBox(
  { root, tools: patterns }: Pick<Config, "root" | "tools">,
  { tools, spare, trouble = THROW_FAULT }: ToolSources,
): Promise<ToolBox> {
  const named = await loadTools(realpathSync(root), patterns, tools, trouble);
  return new Map([...spare.map((tool) => [tool.name, { tool, file: "orgate" }] as const), ...named]);
}

/** T-25 one name is one tool, wherever it is defined. */
async function loadTools(root: string, patterns: readonly string[], more: ToolBox, trouble: OnLoadFault): Promise<ToolBox> {
  const box = new Map<string, { tool: Tool; file: string }>(more);
  for (const file of matchProjectFiles(root, patterns.filter(isModule), "tools")) {
    const module = await reportFault(() => importModule(file, root), trouble);
    const exported = Object.values(module ?? {});
    const tools = new Set(exported.filter(isTool));
    if (module !== null && tools.size === 0 && !exported.some(isSkill))
      trouble(fileFault({ file, detail: "exports no tool", hint: "export what `defineTool` returns, by name or as the default" }));
    for (const tool of tools) {
      const other = box.get(tool.name);
      if (other !== undefined && other.tool !== tool)
        trouble(fileFault({ file, detail: `tool \`${tool.name}\` is already defined in ${other.file}`, hint: "rename one of them" }));
      else box.set(tool.name, { tool, file });
    }
  }
  return box;
}

/** Skills that modules of `tools` export. */
export async function loadCodeSkills(
  root: string,
  patterns: readonly string[],
): Promise<readonly Readonly<{ skill: Skill; place: string }>[]> {
  const folder = realpathSync(root);
  const found = new Map<string, { skill: Skill; place: string }>();
  for (const file of matchProjectFiles(folder, patterns.filter(isModule), "tools")) {
    for (const skill of Object.values(await importModule(file, folder)).filter(isSkill)) {
      const other = found.get(skill.name);
      if (other !== undefined && other.skill !== skill)
        throw fileFault({ file, detail: `skill \`${skill.name}\` is already defined in ${other.place}`, hint: "rename one of them" });
      found.set(skill.name, other ?? { skill, place: relative(folder, file) });
    }
  }
  return [...found.values()];
}

const isModule = (pattern: string): boolean => !pattern.endsWith(".clad.toml");

const isTool = (value: unknown): value is Tool =>
  typeof value === "object" && value !== null && "inputSchema" in value && "check" in value && "resource" in value && "run" in value;
