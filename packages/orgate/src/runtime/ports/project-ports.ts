/** The module that `[ports]` of `orgate.toml` names: ports of the program's own for a project that the command line runs. */
import { type Agent, FaultError, type Model } from "@orgate/core";
import type { Config } from "../../config/config.ts";
import { fileFault } from "../../files/file-fault.ts";
import { readModelSettings } from "../../models/env.ts";
import { createModelLookup } from "../../models/named-model.ts";
import type { Env } from "../../node/env.ts";
import { type BuildPorts, isBuildPort, loadPortsModule, PORT_NAMES, PORTS_HINT } from "../../project/ports-module.ts";
import type { RuntimeOptions } from "../api.ts";
import { RUNTIME_OPTIONS } from "../front-door.ts";

/** `model` may return null: the model of that name is then found as usual. The journal stays the project's own: every command reads it. */
export type ProjectPorts = RuntimeOwnPorts & BuildPorts;

type RuntimeOwnPorts = Readonly<{ model?: (agent: Agent) => Model | null }> & Omit<RuntimePorts, "model">;
type RuntimePorts = Pick<RuntimeOptions, Exclude<(typeof PORT_NAMES)[number], keyof BuildPorts>>;
const isRuntimePort = (name: string): name is keyof RuntimePorts => PORT_NAMES.some((one) => one === name) && !isBuildPort(name);

/** For `export default definePorts({ … })`: the types without a cast. */
export const definePorts = (ports: ProjectPorts): ProjectPorts => ports;

/** Throws `file-bad`: nothing of the project runs with ports that could not be loaded. */
export async function loadProjectPorts(config: Pick<Config, "root" | "ports">, env: Env): Promise<RuntimePorts> {
  const module = await loadPortsModule(config);
  if (module === null) return {};
  const { file, given } = module;
  for (const [name, value] of Object.entries(given))
    if (isRuntimePort(name) && RUNTIME_OPTIONS[name](value, name) !== null)
      throw fileFault({ file, detail: `\`${name}\` is not what \`createRuntime\` takes`, hint: PORTS_HINT });
  const { model, ...rest }: RuntimeOwnPorts = Object.fromEntries(Object.entries(given).filter(([name]) => isRuntimePort(name)));
  return model === undefined ? rest : { ...rest, model: withFallback(model, createModelLookup(readModelSettings(env, config.root)), file) };
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
