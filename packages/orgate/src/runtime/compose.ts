/** The composition root: gives a session of an agent the adapters that stand behind its ports. */
import {
  type Agent,
  type AgentFacts,
  agentFacts,
  type Gate,
  type Live,
  listAgentTools,
  type Middleware,
  NO_CHILDREN,
  noKnowledge,
  type Ports,
  toOutputs,
  toolbox,
  withDigest,
} from "@orgate/core";
import { withModel } from "../models/named-model.ts";
import { sha256 } from "../node/crypto.ts";
import { assertAgentComplete } from "../project/agent-settings.ts";
import { withFreshKeys } from "../store/keyring.ts";
import type { Family } from "./ports/delegates.ts";
import { NODE, type Outside } from "./ports/outside.ts";
import type { OpenProjectStore } from "./ports/project-store.ts";

export type Composed = Readonly<{ ports: Ports; facts: AgentFacts }>;

export type ComposeParts = Readonly<{
  place: OpenProjectStore;
  gate: Gate;
  watch: (live: Live) => void;
  outside?: Outside;
  family?: Family;
  /** The agent's own unless given. */
  middleware?: readonly Middleware[];
}>;

export function compose(agent: Agent, parts: ComposeParts): Composed {
  const { place, gate, watch, outside = NODE, family = NO_CHILDREN, middleware = agent.middleware } = parts;
  assertAgentComplete(agent);
  const tools = toolbox(listAgentTools(agent), sha256);
  const ports: Ports = {
    model: outside.model(agent),
    fallbacks: agent.fallbacks.map(({ model }) => outside.model(withModel(agent, model))),
    summariser: outside.model(summariserOf(agent)),
    counters: outside.counters,
    contextPlans: outside.contextPlans,
    gate,
    tools,
    middleware,
    outputs: toOutputs(agent.output === null ? null : withDigest(agent.output, sha256)),
    journal: place.store.journal,
    knowledge: agent.knowledge === null ? noKnowledge : place.knowledge(outside.embedder),
    inbox: withFreshKeys(place.store.inbox, place.keyring),
    orders: place.orders,
    children: { ...family, delegates: agent.delegates, maxDepth: agent.maxDepth },
    breakers: place.breakers,
    counts: place.counts,
    folds: place.folds,
    modelRetry: agent.retry,
    modelBreaker: agent.breaker,
    authenticate: (intent) => place.keyring.authenticate(intent),
    signAsWriter: place.keyring.signAsWriter,
    clock: outside.clock,
    ids: outside.ids,
    hash: sha256,
    watch,
  };
  return { ports, facts: agentFacts(agent, { gate, tools, hash: sha256, counters: outside.counters }) };
}

/** The agent's own model unless its plan for the conversation names another. */
const summariserOf = (agent: Agent): Agent =>
  agent.context.kind !== "summarise" || agent.context.model === null ? agent : withModel(agent, agent.context.model);
