/** The composition root: the only file that knows both the ports and the adapters. */

import { join } from "node:path";
import {
  type Agent,
  type AgentFacts,
  agentFacts,
  type Clock,
  type Gate,
  type Ids,
  type Live,
  type Model,
  type Ports,
  toolbox,
} from "@orgate/core";
import { nodeClock } from "./adapters/clock-node.ts";
import { checkSignature, ed25519, nameKey, sha256 } from "./adapters/crypto-node.ts";
import { randomIds } from "./adapters/ids-node.ts";
import { openStore, type Store } from "./adapters/journal-sqlite.ts";
import { type OpenKeyring, openKeyring, openProjectKeys, type ProjectKeys, withFreshKeys } from "./adapters/keyring.ts";
import { modelFor } from "./adapters/model-offline.ts";

export type PlaceOptions = Readonly<{
  /** Where journal, keys and locks lie: `.orgate` of a project. */
  directory: string;
  thread: "main" | "worker";
  synchronous: "full" | "normal" | "off";
}>;

/** A journal opened for writing, with its keys. One per process and project. */
export type Place = Readonly<{ store: Store; keys: ProjectKeys; keyring: OpenKeyring; close(): Promise<void> }>;

export async function openPlace({ directory, thread, synchronous }: PlaceOptions): Promise<Place> {
  const keys = openProjectKeys(join(directory, "keys"), ed25519);
  const keyFor = (writer: Parameters<typeof keys.writer>[0]) => {
    const key = keys.writer(writer);
    return { key: key.id, sign: key.sign };
  };
  const store = openStore({ directory, blobKey: keys.blobKey, keyFor, thread, synchronous });
  try {
    const keyring = openKeyring({ journal: store.journal, keys, checks: { checkSignature, nameKey }, now: nodeClock.now });
    await keyring.enrol(); // before anything else is appended: a seal by an unknown key proves nothing
    return { store, keys, keyring, close: () => store.close() };
  } catch (error) {
    await store.close();
    throw error;
  }
}

export type Composed = Readonly<{ ports: Ports; facts: AgentFacts }>;

/** Everything one session of one agent needs. */
export function compose(place: Place, agent: Agent, gate: Gate, watch: (live: Live) => void, outside: Outside = NODE): Composed {
  const tools = toolbox(agent.tools, sha256);
  const ports: Ports = {
    model: outside.model(agent),
    gate,
    tools,
    journal: place.store.journal,
    inbox: withFreshKeys(place.store.inbox, place.keyring),
    authenticate: (intent) => place.keyring.authenticate(intent),
    signAsWriter: place.keyring.signAsWriter,
    clock: outside.clock,
    ids: outside.ids,
    hash: sha256,
    watch,
  };
  return { ports, facts: agentFacts(agent, gate, tools, sha256) };
}

/** What a test or an embedder may bring of its own. */
export type Outside = Readonly<{ model(agent: Agent): Model; clock: Clock; ids: Ids }>;
export const NODE: Outside = { model: (agent) => modelFor(agent.model, agent.modelOptions, nodeClock), clock: nodeClock, ids: randomIds };
