/** Agents as Markdown files, and tools as files that contain one fact. */
import { type AgentFormat, defineAgent, definePorts, defineTool, type FormatAgent, type ToolFormat } from "orgate";
import * as z from "zod";

const markdown: AgentFormat = {
  name: "markdown",
  matches: (path) => path.endsWith(".md"),
  async load(patterns, { listFiles, readText, tools, report }) {
    const { box } = await tools();
    const read = (file: string): readonly FormatAgent[] => {
      const [heading = "", list = "", ...lines] = readText(file).split("\n");
      const name = /^# ([a-z]+)$/.exec(heading)?.[1];
      if (name === undefined) {
        report(
          { file, at: { line: 1, column: 1 }, detail: "it has no heading with the agent's name", hint: "begin with `# NAME`" },
          "agents",
        );
        return [];
      }
      const found = list
        .replace("Tools: ", "")
        .split(", ")
        .map((tool) => box.get(tool)?.tool);
      if (found.includes(undefined))
        report({ file, at: { line: 2, column: 1 }, detail: "there is no such tool", hint: `tools: ${[...box.keys()].join(", ")}` });
      const known = found.filter((tool) => tool !== undefined);
      const rules = [
        { calls: known.map((tool) => ({ tool: tool.name, args: {} })), when: { notCalled: known.map((tool) => tool.name) } },
        { say: "{{result}}" },
      ];
      return [
        {
          file,
          agent: defineAgent({ name, instructions: lines.join("\n"), tools: known, model: "offline/guide", modelOptions: { rules } }),
        },
      ];
    };
    return { agents: listFiles(patterns).flatMap(read) };
  },
};

const facts: ToolFormat = {
  name: "fact",
  matches: (path) => path.endsWith(".fact"),
  async load(patterns, { listFiles, readText }) {
    const tools = listFiles(patterns).map((file) => {
      const name = file.replace(/^.*\/|\.fact$/g, "");
      const run = () => readText(file).trim();
      return {
        file,
        tool: defineTool({
          name,
          description: `Says the fact ${name}.`,
          input: z.strictObject({}),
          repeat: "read",
          effects: ["read"],
          run,
        }),
      };
    });
    return { tools };
  },
};

export default definePorts({ agentFormats: [markdown], toolFormats: [facts] });
