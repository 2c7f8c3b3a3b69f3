/** Tools of every format, by name. */
import type { Tool } from "@orgate/core";
import type { McpHub } from "../../mcp/hub.ts";
import type { BrokenTool, FormatInputs, ProjectTool, ToolFiles, ToolFormat } from "./format.ts";
import type { ClaimedPatterns } from "./formats.ts";

export type ToolBox = ReadonlyMap<string, ProjectTool>;

export type LoadedTools = Readonly<{
  /** Tools of files that are not code. */
  written: ToolBox;
  broken: ReadonlyMap<string, BrokenTool>;
  /** MCP servers that tools call. */
  servers: readonly string[];
  connect(call: McpHub["run"]): void;
  /** All tools that agents can name. Loads code at the first call. */
  box(): Promise<ToolBox>;
}>;

/** `spare`: tools for agents where the project has none of that name. */
export async function loadTools(formats: ClaimedPatterns<ToolFormat>, inputs: FormatInputs, spare: readonly Tool[]): Promise<LoadedTools> {
  const tools = new Map<string, ProjectTool>();
  const broken = new Map<string, BrokenTool>();
  const links: NonNullable<ToolFiles["mcp"]>[] = [];
  const load = async (isLazy: boolean): Promise<void> => {
    for (const [format, patterns] of formats) {
      if ((format.isLazy ?? false) !== isLazy) continue;
      const files = await format.load(patterns, inputs);
      for (const one of files.tools) addTool(tools, one, inputs);
      for (const [name, problem] of files.broken ?? []) broken.set(name, problem);
      if (files.mcp !== undefined) links.push(files.mcp);
    }
  };
  await load(false);
  const written = new Map(tools);
  let loading: Promise<ToolBox> | null = null;
  const loadAll = async (): Promise<ToolBox> => {
    await load(true);
    return new Map([...spare.map((tool) => [tool.name, { tool, file: "orgate" }] as const), ...tools]);
  };
  return {
    written,
    broken,
    get servers() {
      return [...new Set(links.flatMap(({ servers }) => servers))];
    },
    connect: (call) => links.forEach(({ connect }) => void connect(call)),
    box: () => (loading ??= loadAll()),
  };
}

/** T-25 one name is one tool, wherever it is defined. */
function addTool(tools: Map<string, ProjectTool>, { tool, file }: ProjectTool, { report }: FormatInputs): void {
  const other = tools.get(tool.name);
  if (other !== undefined && other.tool !== tool)
    report({ file, detail: `tool \`${tool.name}\` is already defined in ${other.file}`, hint: "rename one of them" }, "tools");
  else tools.set(tool.name, { tool, file });
}
