/** The module that `[ports]` of `orgate.toml` names. Here: where it lies, and the parts that agents and manifest tools are built with. */
import { realpathSync } from "node:fs";
import type { SkillPrompter } from "@orgate/core";
import type { InvocationRunner } from "@orgate/toolclad";
import type { Config } from "../config/config.ts";
import { fileFault } from "../files/file-fault.ts";
import { importModule, matchProjectFiles } from "../guard/modules.ts";
import { bindMethods } from "../node/bind-methods.ts";
import type { AgentFormat, ToolFormat } from "./formats/format.ts";
import type { FindSecret } from "./own-manifest-ports.ts";

/** Ports that are used while a project is loaded, or by its manifest tools. The others are options of `createRuntime`. */
export type BuildPorts = Readonly<{
  /** The value of `{_secret:NAME}` in manifests, in place of the environment and the project's encrypted store. */
  secrets?: FindSecret;
  /** Runs the programs and requests of manifests, in place of the sandbox and the HTTP guard. */
  running?: InvocationRunner;
  /** Presents the skills of agents that bring no prompter themselves. */
  skillPrompter?: SkillPrompter;
  /** Ways to write agents in files, beside modules, TOML and `.symbi`. */
  agentFormats?: readonly AgentFormat[];
  /** Ways to write tools in files, beside modules and manifests. */
  toolFormats?: readonly ToolFormat[];
}>;

const isFunction = (value: unknown): boolean => typeof value === "function";
const isFormat = (value: unknown): boolean =>
  typeof value === "object" &&
  value !== null &&
  typeof Reflect.get(value, "name") === "string" &&
  isFunction(Reflect.get(value, "matches")) &&
  isFunction(Reflect.get(value, "load"));
const areFormats = (value: unknown): boolean => Array.isArray(value) && value.every(isFormat);
const BUILD_PORTS: Readonly<Record<keyof BuildPorts, (value: unknown) => boolean>> = {
  secrets: isFunction,
  running: (value) => typeof value === "object" && value !== null && "run" in value && isFunction(value.run),
  skillPrompter: isFunction,
  agentFormats: areFormats,
  toolFormats: areFormats,
};
export const isBuildPort = (name: string): name is keyof BuildPorts => Object.hasOwn(BUILD_PORTS, name);

export const PORT_NAMES = [
  ...(["model", "knowledge", "counters", "contextPlans", "breakers", "tracer", "middleware", "embedding"] as const),
  ...(["secrets", "running", "skillPrompter", "agentFormats", "toolFormats"] as const),
];
export const PORTS_HINT = `export default { ${PORT_NAMES.join(", ")} }, as docs/guide/project.md describes them; all may be left out, and a class keeps the rest in #private fields`;

export type PortsModule = Readonly<{ file: string; given: Readonly<Record<string, unknown>> }>;

/** Null where the project names none. Throws `file-bad` when it cannot be loaded, or is no object of ports that exist and have their shape. */
export async function loadPortsModule({ root, ports }: Pick<Config, "root" | "ports">): Promise<PortsModule | null> {
  if (ports === null) return null;
  const folder = realpathSync(root);
  const [file] = matchProjectFiles(folder, [ports], "ports");
  if (file === undefined)
    throw fileFault({ file: `${root}/orgate.toml`, detail: `\`ports.module\`: there is no file \`${ports}\``, hint: PORTS_HINT });
  const module = await importModule(file, folder);
  const given: unknown = "default" in module ? module.default : null;
  if (typeof given !== "object" || given === null) throw fileFault({ file, detail: "its default export is no object", hint: PORTS_HINT });
  const read = Object.fromEntries(Object.entries(bindMethods(given)));
  for (const [name, value] of Object.entries(read)) {
    if (!PORT_NAMES.some((one) => one === name)) throw fileFault({ file, detail: `there is no port \`${name}\``, hint: PORTS_HINT });
    if (isBuildPort(name) && value !== undefined && !BUILD_PORTS[name](value))
      throw fileFault({ file, detail: `\`${name}\` is not what docs/guide/project.md describes`, hint: PORTS_HINT });
  }
  return { file, given: read };
}

export async function loadBuildPorts(config: Pick<Config, "root" | "ports">): Promise<BuildPorts> {
  const given = Object.entries((await loadPortsModule(config))?.given ?? {});
  return Object.fromEntries(given.filter(([name, value]) => isBuildPort(name) && value !== undefined));
}
