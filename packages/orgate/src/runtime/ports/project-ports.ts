/** The module that `[ports]` of `orgate.toml` names: ports of the program's own for a project that the command line runs. */
import { realpathSync } from "node:fs";
import { type Agent, FaultError, type Model } from "@orgate/core";
import type { Config } from "../../config/config.ts";
import { fileFault } from "../../files/file-fault.ts";
import { importModule, matchProjectFiles } from "../../guard/modules.ts";
import { readModelSettings } from "../../models/env.ts";
import { createModelLookup } from "../../models/named-model.ts";
import type { Env } from "../../node/env.ts";
import type { RuntimeOptions } from "../api.ts";
import { RUNTIME_OPTIONS } from "../front-door.ts";

/** `model` may return null: the model of that name is then found as usual. The journal stays the project's own: every command reads it. */
export type ProjectPorts = Readonly<{ model?: (agent: Agent) => Model | null }> &
  Pick<RuntimeOptions, "knowledge" | "counters" | "breakers" | "tracer" | "middleware" | "embedding">;

const NAMES = ["model", "knowledge", "counters", "breakers", "tracer", "middleware", "embedding"] as const;
const HINT = `export default { ${NAMES.join(", ")} }, each as \`createRuntime\` takes it; all may be left out`;

/** For `export default definePorts({ … })`: the types without a cast. */
export const definePorts = (ports: ProjectPorts): ProjectPorts => ports;

/** Throws `file-bad`: nothing of the project runs with ports that could not be loaded. */
export async function loadProjectPorts(
  { root, ports }: Pick<Config, "root" | "ports">,
  env: Env,
): Promise<Pick<RuntimeOptions, (typeof NAMES)[number]>> {
  if (ports === null) return {};
  const folder = realpathSync(root);
  const [file] = matchProjectFiles(folder, [ports], "ports");
  if (file === undefined)
    throw fileFault({ file: `${root}/orgate.toml`, detail: `\`ports.module\`: there is no file \`${ports}\``, hint: HINT });
  const module = await importModule(file, folder);
  const given: unknown = "default" in module ? module.default : null;
  if (typeof given !== "object" || given === null) throw fileFault({ file, detail: "its default export is no object", hint: HINT });
  for (const [name, value] of Object.entries(given)) {
    const known = NAMES.find((one) => one === name);
    if (known === undefined) throw fileFault({ file, detail: `there is no port \`${name}\``, hint: HINT });
    const problem = RUNTIME_OPTIONS[known](value, name);
    if (problem !== null) throw fileFault({ file, detail: `\`${name}\` is not what \`createRuntime\` takes`, hint: HINT });
  }
  const { model, ...rest } = given as ProjectPorts;
  return model === undefined ? rest : { ...rest, model: withFallback(model, createModelLookup(readModelSettings(env, root)), file) };
}

/** A factory that throws, or returns something else than a model, refuses that agent and no other. */
function withFallback(own: (agent: Agent) => Model | null, usual: (agent: Agent) => Model, file: string): (agent: Agent) => Model {
  return (agent) => {
    let made: Model | null;
    try {
      made = own(agent);
    } catch (error) {
      const detail = `\`model\` of ${file} failed: ${error instanceof Error ? error.message : String(error)}`;
      throw new FaultError({ kind: "model-unknown", model: agent.model, detail }, error);
    }
    if (made === null || made === undefined) return usual(agent);
    if (typeof made.ask === "function" && typeof made.id === "string") return made;
    throw new FaultError({
      kind: "model-unknown",
      model: agent.model,
      detail: `\`model\` of ${file} returned something else than a model`,
    });
  };
}
