/** The composition root: the only file that knows both the ports and the adapters. */

import { uptime } from "node:os";
import { join } from "node:path";
import {
  type Agent,
  type AgentFacts,
  agentFacts,
  type BoundedFolds,
  type Clock,
  CONDUCTOR_MODEL,
  type CountsPort,
  conductorModel,
  type Embedder,
  FaultError,
  type Gate,
  type Ids,
  type Intent,
  type Knowledge,
  type KnowledgeStore,
  knowledgeOn,
  type Live,
  type Middleware,
  MODEL_PLACES,
  type Model,
  NO_CHILDREN,
  noKnowledge,
  type OpenBreakers,
  type OpenOrders,
  openBreakers,
  openCounts,
  ordersOf,
  outputsOf,
  type Ports,
  type SessionId,
  specOf,
  toolbox,
  toolsOf,
  withDigest,
} from "@orgate/core";
import { trustIn } from "@orgate/core/journal";
import { fitsSecret, fitsSlowly, hashSecret, NOBODYS, newName, newSecret } from "../identity/secret-hash.ts";
import { openKnowledge } from "../knowledge/sqlite.ts";
import { type ModelSettings, settingsOf } from "../models/env.ts";
import { modelFor } from "../models/offline/model.ts";
import { providerModel } from "../models/providers.ts";
import { tokenizers } from "../models/tokenizers.ts";
import { nodeClock } from "../node/clock.ts";
import { checkSignature, ed25519, nameKey, sha256 } from "../node/crypto.ts";
import type { Env } from "../node/env.ts";
import { randomIds } from "../node/ids.ts";
import { mustHaveSkills } from "../project/agent-settings.ts";
import { type IntentDoor, listenForIntents } from "../store/intent-socket.ts";
import { openStore, type Store } from "../store/journal.ts";
import { type OpenKeyring, openKeyring, openProjectKeys, type ProjectKeys, withFreshKeys } from "../store/keyring.ts";
import { proof } from "../store/open-read-only.ts";
import { sweptFolds } from "./fold-sweeping.ts";

export type PlaceOptions = Readonly<{
  /** Where journal, keys and locks lie: `.orgate` of a project. */
  directory: string;
  thread: "main" | "worker";
  synchronous: "full" | "normal" | "off";
}>;

/** A journal opened for writing, with its keys. One per process and project. */
export type OpenProjectStore = Readonly<{
  store: Store;
  keys: ProjectKeys;
  keyring: OpenKeyring;
  /** Grants and halts of the whole project, as this process sees them. */
  orders: OpenOrders;
  /** What keeps failing, as this process sees it. */
  breakers: OpenBreakers;
  /** What is counted over hours and days, of this process and all others. */
  counts: CountsPort;
  /** Of the sessions that were driven here lately. */
  folds: BoundedFolds;
  /** What is remembered: opened when it is first asked for. */
  knowledge(embedder: Embedder | null): Knowledge;
  knowledgeStore(): KnowledgeStore;
  /** Opens the socket through which others send intents to the sessions driven here; null where there can be none. */
  listen(drives: (session: SessionId) => boolean): Promise<IntentDoor | null>;
  close(): Promise<void>;
}>;

export async function openPlace({ directory, thread, synchronous }: PlaceOptions): Promise<OpenProjectStore> {
  const keys = openProjectKeys(join(directory, "keys"), ed25519);
  const keyFor = (writer: Parameters<typeof keys.writer>[0]) => {
    const key = keys.writer(writer);
    return { key: key.id, sign: key.sign };
  };
  const trust = trustIn(keys.root().publicKey, proof);
  const store = openStore({ directory, blobKey: keys.blobKey, keyFor, trust, thread, synchronous });
  try {
    const keyring = openKeyring({ journal: store.journal, keys, checks: { checkSignature, nameKey }, now: nodeClock.now });
    await keyring.enrol(); // before anything else is appended: a seal by an unknown key proves nothing
    const authenticate = async (intent: Intent) => {
      await keyring.refresh();
      return keyring.authenticate(intent);
    };
    const { knowledgeStore, closeKnowledge, knowledge } = knowledgeIn(directory);
    const listen: OpenProjectStore["listen"] = (drives) =>
      listenForIntents(directory, store.slot.writer, { drives, authenticate, put: store.inbox.put });
    const folds = sweptFolds(store.journal, nodeClock.elapsed);
    const breakers = openBreakers(store.journal, { now: nodeClock.now, hash: sha256, self: { kind: "system", id: store.slot.writer } });
    return {
      store,
      keys,
      keyring,
      orders: ordersFor(store),
      breakers,
      counts: openCounts(store.journal, nodeClock.now, () => uptime() * 1_000),
      folds,
      knowledge,
      knowledgeStore,
      listen,
      async close() {
        closeKnowledge();
        folds.clear();
        await store.close();
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** N74 opened when something is looked up or kept, and not before: where that fails, it fails like any lookup, and no agent is refused for it. */
function knowledgeIn(directory: string) {
  let known: KnowledgeStore | null = null;
  let isOver = false;
  const knowledgeStore = (): KnowledgeStore => {
    if (isOver) throw new Error("what is known is closed");
    known ??= openKnowledge(directory);
    return known;
  };
  const late: Parameters<typeof knowledgeOn>[0] = {
    search: (search, vector) => knowledgeStore().search(search, vector),
    put: (item) => knowledgeStore().put(item),
    embed: (vectors, model) => knowledgeStore().embed(vectors, model),
    used: (ids, at) => known?.used(ids, at),
  };
  return {
    knowledgeStore,
    knowledge: (embedder: Embedder | null): Knowledge => knowledgeOn(late, embedder),
    closeKnowledge() {
      known?.close();
      known = null;
      isOver = true;
    },
  };
}

/** What another process orders is seen by the same look that sees its intents. */
function ordersFor({ journal, inbox }: Store): OpenOrders {
  const orders = ordersOf(journal, nodeClock.now);
  return {
    ...orders,
    watch(changed) {
      const stops = [orders.watch(changed), inbox.watchChanges(changed)];
      return () => {
        for (const stop of stops) stop();
      };
    },
  };
}

export type Composed = Readonly<{ ports: Ports; facts: AgentFacts }>;

/** The other agents of the runtime: how one of them is found, and driven for whoever delegates to it. */
export type Family = Pick<Ports["children"], "find" | "drive">;

/** Everything one session of one agent needs. */
export function compose(
  place: OpenProjectStore,
  agent: Agent,
  gate: Gate,
  watch: (live: Live) => void,
  outside: Outside = NODE,
  family: Family = NO_CHILDREN,
  middleware: readonly Middleware[] = agent.middleware,
): Composed {
  mustHaveSkills(agent);
  const tools = toolbox(toolsOf(agent), sha256);
  const ports: Ports = {
    model: outside.model(agent),
    fallbacks: agent.fallbacks.map(({ model }) => outside.model(onModel(agent, model))),
    summariser: outside.model(summariserOf(agent)),
    counters: tokenizers,
    gate,
    tools,
    middleware,
    outputs: outputsOf(agent.output === null ? null : withDigest(agent.output, sha256)),
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
  return { ports, facts: agentFacts(agent, { gate, tools, hash: sha256, counters: tokenizers }) };
}

/** The agent's own model unless its plan for the conversation names another. */
const summariserOf = (agent: Agent): Agent =>
  agent.context.kind !== "summarise" || agent.context.model === null ? agent : onModel(agent, agent.context.model);

/** What the agent's own model is told beside the request means nothing to another provider's. */
export function onModel(agent: Agent, model: string): Agent {
  const isSame = model.split("/")[0] === agent.model.split("/")[0];
  return {
    ...agent,
    model,
    modelSource: model === agent.model ? agent.modelSource : "agent",
    modelOptions: isSame ? agent.modelOptions : {},
  };
}

/** What sessions of an agent record of it, and what limits it has, for those that delegate to it. */
export function delegatesOf(agents: ReadonlyMap<string, Agent>, gate: Gate): Family["find"] {
  const known = new Map<string, Readonly<{ under: Gate["digest"]; delegate: ReturnType<Family["find"]> }>>();
  return (name) => {
    const found = known.get(name);
    const agent = agents.get(name);
    if (agent === undefined || agent.missing.length + agent.missingServers.length + agent.missingTools.length > 0) return null; // without what it names it is not run
    if (found?.under === gate.digest) return found.delegate;
    const delegate = {
      facts: agentFacts(agent, { gate, tools: toolbox(toolsOf(agent), sha256), hash: sha256, counters: tokenizers }),
      limits: agent.limits,
      output: agent.output === null ? null : specOf(withDigest(agent.output, sha256)),
    };
    known.set(name, { under: gate.digest, delegate });
    return delegate;
  };
}

/** What a test or an embedder may bring of its own. */
export type Outside = Readonly<{
  model(agent: Agent): Model;
  clock: Clock;
  ids: Ids /** Null: knowledge is found by its words alone. */;
  embedder: Embedder | null;
}>;
type Named = Pick<Agent, "model" | "modelOptions"> & Partial<Pick<Agent, "modelSource">>;
export const NODE: Outside = { model: modelsWith(settingsOf(process.env, null)), clock: nodeClock, ids: randomIds, embedder: null };

/** `provider/name` to a model, with keys and addresses from these settings. Throws `model-unknown` with what is missing. */
export function modelsWith(settings: ModelSettings): (agent: Named) => Model {
  const find = ({ model, modelOptions }: Named): Model => {
    if (model === CONDUCTOR_MODEL) return conductorModel;
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
      const detail = `${error.fault.detail} (${MODEL_PLACES[by]})`; // M562 who reads it has not written the agent's file
      throw new FaultError({ ...error.fault, detail }, error);
    }
  };
}

/** What `namedModel` may be told. */
export type NamedModelOptions = Readonly<{ modelOptions?: Agent["modelOptions"]; env?: Env /** With a `.env` in it. */; folder?: string }>;

/** The model of `provider/name` as a runtime makes it: to be put inside another, or asked by itself. */
export const namedModel = (model: string, { modelOptions = {}, env = process.env, folder }: NamedModelOptions = {}): Model =>
  modelsWith(settingsOf(env, folder ?? null))({ model, modelOptions });

/** Secrets that stand for people, and what is kept of them. */
export const secretPort = Object.freeze({ newSecret, newName, hashSecret, fitsSecret, fitsSlowly, nobodys: NOBODYS });
