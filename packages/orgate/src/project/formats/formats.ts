/** Formats of a project: those of Orgate, and those that its `[ports]` module brings. A pattern is read by the first format that claims it. */

import { existsSync } from "node:fs";
import { extname } from "node:path";
import type { Config } from "../../config/config.ts";
import { fileFault } from "../../files/file-fault.ts";
import { readTextFile } from "../../files/text-file.ts";
import { findTomlPosition } from "../../files/toml-text.ts";
import { loadBuildPorts } from "../ports-module.ts";
import { symbiFormat } from "../symbi/symbi-format.ts";
import { moduleTools } from "../tool-box.ts";
import type { AgentFormat, ToolFormat } from "./format.ts";
import { moduleFormat } from "./modules.ts";
import { checkAgentFormat, checkToolFormat } from "./own-formats.ts";
import { tomlFormat } from "./toml.ts";

export const AGENT_FORMATS: readonly AgentFormat[] = [moduleFormat, tomlFormat, symbiFormat];

/** Patterns of `orgate.toml`, by the format that reads them, in the order of loading. */
export type ClaimedPatterns<Format> = ReadonlyMap<Format, readonly string[]>;
export type ProjectFormats = Readonly<{ agents: ClaimedPatterns<AgentFormat>; tools: ClaimedPatterns<ToolFormat> }>;

/** `manifests`: the format of tool manifests, bound to this project. The `[ports]` module is loaded only if no built-in format claims a pattern. */
export async function chooseFormats(config: Config, manifests: ToolFormat): Promise<ProjectFormats> {
  const tools = [manifests, moduleTools];
  const isClaimed =
    config.agents.every((pattern) => AGENT_FORMATS.some((format) => format.matches(pattern))) &&
    config.tools.every((pattern) => tools.some((format) => format.matches(pattern)));
  const own = isClaimed ? {} : await loadBuildPorts(config);
  const file = config.ports ?? "";
  const agentFormats = [...AGENT_FORMATS, ...(own.agentFormats ?? []).map((one) => checkAgentFormat(one, file))];
  const toolFormats = [manifests, ...(own.toolFormats ?? []).map((one) => checkToolFormat(one, file)), moduleTools];
  return {
    agents: claimPatterns(config, "agents", agentFormats, moduleFormat),
    tools: claimPatterns(config, "tools", toolFormats, moduleTools),
  };
}

function claimPatterns<Format extends AgentFormat | ToolFormat>(
  config: Config,
  setting: "agents" | "tools",
  formats: readonly Format[],
  modules: Format,
): ClaimedPatterns<Format> {
  const claimed = new Map(formats.map((format): [Format, string[]] => [format, []]));
  config[setting].forEach((pattern, i) => {
    const format = formats.find((one) => one.matches(pattern)) ?? modules;
    if (format === modules && hasForeignEnding(pattern)) {
      const detail = `no format reads \`${pattern}\``;
      const hint = `formats: ${formats.map(({ name }) => name).join(", ")}; \`${setting === "agents" ? "agentFormats" : "toolFormats"}\` of the [ports] module adds one`;
      throw fileFault({ file: config.file, at: positionOf(config, setting, i), detail, hint });
    }
    claimed.get(format)?.push(pattern);
  });
  return claimed;
}

/** A glob without a plain ending, such as `agents/*`, may match modules. */
const hasForeignEnding = (pattern: string): boolean => /^\.\w+$/.test(extname(pattern)) && !moduleFormat.matches(pattern);

const positionOf = ({ file }: Config, setting: string, index: number) =>
  existsSync(file) ? findTomlPosition(readTextFile(file, 1024 * 1024), ["project", setting, index]) : null;
