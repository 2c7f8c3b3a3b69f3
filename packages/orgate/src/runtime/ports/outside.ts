/** The ports of a session that a program may bring itself, and those of Node that stand there otherwise. */
import type { Agent, Clock, Counters, Embedder, Ids, Model, Ports } from "@orgate/core";
import { readModelSettings } from "../../models/env.ts";
import { createModelLookup } from "../../models/named-model.ts";
import { tokenizers } from "../../models/tokenizers.ts";
import { nodeClock } from "../../node/clock.ts";
import { randomIds } from "../../node/ids.ts";

export type Outside = Readonly<{
  model(agent: Agent): Model;
  clock: Clock;
  ids: Ids;
  counters: Counters;
  contextPlans: Ports["contextPlans"];
  /** Null: knowledge is searched by words alone. */
  embedder: Embedder | null;
}>;

export const NODE: Outside = {
  model: createModelLookup(readModelSettings(process.env, null)),
  clock: nodeClock,
  ids: randomIds,
  counters: tokenizers,
  contextPlans: () => null,
  embedder: null,
};
