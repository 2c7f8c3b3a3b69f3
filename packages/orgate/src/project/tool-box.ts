/** Modules of a project's `tools/` as a tool format; the skills that they export. */
import { relative } from "node:path";
import { isSkill, type Skill, type Tool } from "@orgate/core";
import { fileFault } from "../files/file-fault.ts";
import { importModule, reportFault } from "../guard/modules.ts";
import type { FormatInputs, ProjectTool, ToolFormat } from "./formats/format.ts";

/** Also reads patterns that no format claims, such as `tools/*`. */
export const moduleTools: ToolFormat = {
  name: "module",
  matches: (path) => /\.[cm]?[jt]s$/.test(path),
  isLazy: true,
  async load(patterns, { root, listFiles, report }) {
    const tools: ProjectTool[] = [];
    for (const file of listFiles(patterns)) {
      const module = await reportFault(
        () => importModule(file, root),
        (fault) => report(fault, "tools"),
      );
      const exported = Object.values(module ?? {});
      const own = new Set(exported.filter(isTool));
      if (module !== null && own.size === 0 && !exported.some(isSkill))
        report({ file, detail: "exports no tool", hint: "export what `defineTool` returns, by name or as the default" }, "tools");
      tools.push(...[...own].map((tool) => ({ tool, file })));
    }
    return { tools };
  },
};

/** Skills that modules of `tools` export. */
export async function loadCodeSkills({
  root,
  files,
}: Pick<FormatInputs, "root"> & Readonly<{ files: readonly string[] }>): Promise<readonly Readonly<{ skill: Skill; place: string }>[]> {
  const found = new Map<string, { skill: Skill; place: string }>();
  for (const file of files) {
    for (const skill of Object.values(await importModule(file, root)).filter(isSkill)) {
      const other = found.get(skill.name);
      if (other !== undefined && other.skill !== skill)
        throw fileFault({ file, detail: `skill \`${skill.name}\` is already defined in ${other.place}`, hint: "rename one of them" });
      found.set(skill.name, other ?? { skill, place: relative(root, file) });
    }
  }
  return [...found.values()];
}

export const isTool = (value: unknown): value is Tool =>
  typeof value === "object" && value !== null && "inputSchema" in value && "check" in value && "resource" in value && "run" in value;
