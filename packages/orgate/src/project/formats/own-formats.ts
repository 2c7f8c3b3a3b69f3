/** Formats that a project brings, held to their contract: an error or nonsense in one is a fault that names it, and no file is passed over in silence. */
import { isAgent } from "@orgate/core";
import { errorMessage, FaultError } from "@orgate/core/vocab";
import { fileFault } from "../../files/file-fault.ts";
import { isTool } from "../tool-box.ts";
import type { AgentFormat, FormatInputs, ToolFormat } from "./format.ts";

/** `module`: the file that brings the format. */
export const checkAgentFormat = (own: AgentFormat, module: string): AgentFormat => ({
  name: own.name,
  matches: (path) => own.matches(path) === true,
  async load(patterns, context) {
    const load = new OwnLoad(`agent format \`${own.name}\``, module, context);
    const { agents, sources = [] } = await load.run(
      (inputs) => own.load(patterns, { ...context, ...inputs }),
      (found) => Array.isArray(found.agents) && found.agents.every(({ agent, file }) => isAgent(agent) && typeof file === "string"),
      "`{ agents: [{ agent, file }] }`, with agents of `defineAgent`",
    );
    load.checkAllRead(patterns, [...agents.map(({ file }) => file), ...sources.map(({ path }) => path)], "agent");
    return { agents, sources };
  },
});

export const checkToolFormat = (own: ToolFormat, module: string): ToolFormat => ({
  name: own.name,
  matches: (path) => own.matches(path) === true,
  ...(own.isLazy === undefined ? {} : { isLazy: own.isLazy }),
  async load(patterns, inputs) {
    const load = new OwnLoad(`tool format \`${own.name}\``, module, inputs);
    const { tools, broken = new Map() } = await load.run(
      (checked) => own.load(patterns, checked),
      (found) => Array.isArray(found.tools) && found.tools.every(({ tool, file }) => isTool(tool) && typeof file === "string"),
      "`{ tools: [{ tool, file }] }`, with tools of `defineTool`",
    );
    load.checkAllRead(
      patterns,
      [...tools, ...broken.values()].map(({ file }) => file),
      "tool",
    );
    return { tools, broken };
  },
});

class OwnLoad {
  readonly #name: string;
  readonly #module: string;
  readonly #inputs: FormatInputs;
  readonly #reported = new Set<string>();

  constructor(name: string, module: string, inputs: FormatInputs) {
    this.#name = name;
    this.#module = module;
    this.#inputs = inputs;
  }

  async run<T extends object>(work: (inputs: FormatInputs) => Promise<T>, isRight: (found: T) => boolean, shape: string): Promise<T> {
    const { report } = this.#inputs;
    const note: FormatInputs["report"] = (problem, unread) => {
      const { file } = problem instanceof FaultError ? { file: problem.fault.kind === "file-bad" ? problem.fault.file : "" } : problem;
      this.#reported.add(file);
      report(problem, unread);
    };
    let found: T;
    try {
      found = await work({ ...this.#inputs, report: note });
    } catch (error) {
      if (error instanceof FaultError) throw error;
      throw this.#fault(`${this.#name} failed: ${errorMessage(error)}`, "mend its `load`; it reports a bad file with `report`", error);
    }
    if (typeof found === "object" && found !== null && isRight(found)) return found;
    throw this.#fault(`${this.#name} returned something else than files`, `\`load\` returns ${shape}`);
  }

  /** A file that a format skips would be an agent or a tool that silently is not there. */
  checkAllRead(patterns: readonly string[], read: readonly string[], what: "agent" | "tool"): void {
    for (const file of this.#inputs.listFiles(patterns))
      if (!read.includes(file) && !this.#reported.has(file))
        this.#inputs.report(
          {
            file,
            at: { line: 1, column: 1 },
            detail: `${this.#name} made no ${what} of it`,
            hint: `mend its \`load\` in ${this.#module}, or name fewer files in orgate.toml`,
          },
          what === "agent" ? "agents" : "tools",
        );
  }

  #fault(detail: string, hint: string, cause?: unknown): FaultError {
    return fileFault({ file: `${this.#inputs.root}/${this.#module}`, detail, hint }, cause);
  }
}
