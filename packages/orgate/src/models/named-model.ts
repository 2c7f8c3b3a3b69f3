/** Finds the model that a name such as `provider/name` stands for. */
import { type Agent, conductorModel, FaultError, MODEL_SETTINGS, type Model, ORCHESTRATOR_MODEL } from "@orgate/core";
import { nodeClock } from "../node/clock.ts";
import type { Env } from "../node/env.ts";
import { type ModelSettings, readModelSettings } from "./env.ts";
import { modelFor } from "./offline/model.ts";
import { providerModel } from "./providers.ts";

type Named = Pick<Agent, "model" | "modelOptions"> & Partial<Pick<Agent, "modelSource">>;

/** `provider/name` to a model, with keys and addresses from these settings. Throws `model-unknown` with what is missing. */
export function createModelLookup(settings: ModelSettings): (agent: Named) => Model {
  const find = ({ model, modelOptions }: Named): Model => {
    if (model === ORCHESTRATOR_MODEL) return conductorModel;
    return model.startsWith("offline/")
      ? modelFor(model, modelOptions, nodeClock)
      : providerModel(model, modelOptions, settings, () => nodeClock.now());
  };
  return (named) => {
    try {
      return find(named);
    } catch (error) {
      const { modelSource: by = "agent" } = named;
      if (!(error instanceof FaultError) || error.fault.kind !== "model-unknown" || by === "agent") throw error;
      const detail = `${error.fault.detail} (${MODEL_SETTINGS[by]})`; // M-3 who reads it has not written the agent's file
      throw new FaultError({ ...error.fault, detail }, error);
    }
  };
}

export type NamedModelOptions = Readonly<{ modelOptions?: Agent["modelOptions"]; env?: Env /** With a `.env` in it. */; folder?: string }>;

/** The model of `provider/name` as a runtime makes it: to be put inside another, or asked by itself. */
export const namedModel = (model: string, { modelOptions = {}, env = process.env, folder }: NamedModelOptions = {}): Model =>
  createModelLookup(readModelSettings(env, folder ?? null))({ model, modelOptions });

/** Drops the agent's `modelOptions`: they mean nothing to another provider. */
export function withModel(agent: Agent, model: string): Agent {
  const isSame = model.split("/")[0] === agent.model.split("/")[0];
  return {
    ...agent,
    model,
    modelSource: model === agent.model ? agent.modelSource : "agent",
    modelOptions: isSame ? agent.modelOptions : {},
  };
}
