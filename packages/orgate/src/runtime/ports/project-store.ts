/** Opens a project for writing: journal, keys, orders, breakers and knowledge behind one value. */
import { join } from "node:path";
import {
  type BoundedFolds,
  type Clock,
  type CountsPort,
  createKnowledge,
  type Embedder,
  type Intent,
  type Knowledge,
  type KnowledgeStore,
  type OpenBreakers,
  type OpenOrders,
  openBreakers,
  openCounts,
  openOrders,
  type SessionId,
} from "@orgate/core";
import { createTrust } from "@orgate/core/journal";
import type { PowerCut, SealMode } from "@orgate/core/vocab";
import type { ClusterConfig } from "../../config/cluster-schema.ts";
import { openProjectKnowledge, reachOf } from "../../knowledge/open.ts";
import { bindMethods } from "../../node/bind-methods.ts";
import { createUptime, nodeClock } from "../../node/clock.ts";
import { closeAll } from "../../node/close-all.ts";
import { checkSignature, ed25519, nameKey, sha256 } from "../../node/crypto.ts";
import { type IntentListener, listenForIntents } from "../../store/intent-socket.ts";
import { openStore } from "../../store/journal.ts";
import { type OpenKeyring, openKeyring, openProjectKeys, type ProjectKeys, processKeys } from "../../store/keyring.ts";
import { openClusterStore } from "../../store/open-cluster.ts";
import { PROOF_PORTS } from "../../store/open-read-only.ts";
import type { Store, StoreOpening, StorePlace } from "../../store/store.ts";
import { createSweptFolds } from "../swept-folds.ts";
import { watchOrders } from "./order-watch.ts";
import { type BreakerTable, withBreakerTable } from "./own-ports.ts";
import { type OpenOwnStore, openOwnStore } from "./own-store.ts";

export type ProjectStoreOptions = Readonly<{
  /** Where journal, keys and locks lie: `.orgate` of a project. */
  directory: string;
  thread: "main" | "worker";
  powerCut: PowerCut;
  sealing?: SealMode;
  clock?: Clock;
  /** The database of a cluster in place of files. */
  cluster?: ClusterConfig | null | undefined;
  /** In place of SQLite. */
  store?: OpenOwnStore | undefined;
  knowledge?: KnowledgeStore | undefined;
  breakers?: BreakerTable | undefined;
}>;

/** A journal opened for writing, with its keys. One per process and project. */
export type OpenProjectStore = Readonly<{
  store: Store;
  keys: ProjectKeys;
  keyring: OpenKeyring;
  /** Grants and halts of the whole project, as this process sees them. */
  orders: OpenOrders;
  /** Circuit breakers, as this process sees them. */
  breakers: OpenBreakers;
  /** Counters over hours and days, of this process and all others. */
  counts: CountsPort;
  /** Of the sessions that were driven here lately. */
  folds: BoundedFolds;
  /** The knowledge store; opened when it is first used. */
  knowledge(embedder: Embedder | null): Knowledge;
  knowledgeStore(): KnowledgeStore;
  /** Opens the socket through which others send intents to the sessions driven here; null where there can be none. */
  listen(drives: (session: SessionId) => boolean): Promise<IntentListener | null>;
  close(): Promise<void>;
}>;

export async function openProjectStore(options: ProjectStoreOptions): Promise<OpenProjectStore> {
  const { directory, thread, powerCut, sealing = "interval" } = options;
  const clock = bindMethods(options.clock ?? nodeClock);
  const cluster = options.store === undefined ? (options.cluster ?? null) : null;
  const ownKeys = openProjectKeys(join(directory, "keys"), ed25519);
  const keys = cluster === null ? ownKeys : processKeys(ownKeys, ed25519);
  const keyFor = (writer: Parameters<typeof keys.writer>[0]) => {
    const key = keys.writer(writer);
    return { key: key.id, sign: key.sign };
  };
  const trust = createTrust(keys.root().publicKey, PROOF_PORTS);
  const opening = { directory, blobKey: keys.blobKey, keyFor, trust };
  const store = await openStoreFor({ ...options, cluster }, opening, () => openStore({ ...opening, thread, powerCut, sealing }));
  try {
    const keyring = openKeyring({ journal: store.journal, keys, checks: { checkSignature, nameKey }, now: clock.now });
    await keyring.enrol(); // before anything else is appended: a seal by an unknown key proves nothing
    const authenticate = async (intent: Intent) => {
      await keyring.refresh();
      return keyring.authenticate(intent);
    };
    const { knowledgeStore, closeKnowledge, knowledge } = knowledgeIn({ directory, cluster }, options.knowledge);
    const listen: OpenProjectStore["listen"] = (drives) =>
      listenForIntents(directory, store.slot.writer, { drives, authenticate, put: store.inbox.put });
    const folds = createSweptFolds(store.journal, clock.elapsed);
    const self = { kind: "system", id: store.slot.writer } as const;
    const breakers = withBreakerTable(openBreakers(store.journal, { now: clock.now, hash: sha256, self }), options.breakers);
    return {
      store,
      keys,
      keyring,
      orders: watchOrders({ orders: openOrders(store.journal, clock.now), breakers, inbox: store.inbox }),
      breakers,
      counts: openCounts(store.journal, clock.now, createUptime()),
      folds,
      knowledge,
      knowledgeStore,
      listen,
      close: () => closeAll([closeKnowledge, () => folds.clear(), () => store.close()]),
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function openStoreFor(
  { store, cluster, sealing = "interval" }: Pick<ProjectStoreOptions, "store" | "cluster" | "sealing">,
  opening: StoreOpening,
  openFiles: () => Store,
): Promise<Store> {
  if (store !== undefined) return openOwnStore(store, opening);
  return cluster === null || cluster === undefined ? openFiles() : openClusterStore(cluster, opening, { sealing });
}

/** N-6 opened when something is looked up or kept, and not before: where that fails, it fails like any lookup, and no agent is refused for it. */
function knowledgeIn(place: StorePlace, own: KnowledgeStore | undefined) {
  let known: KnowledgeStore | null = null;
  let isOver = false;
  const knowledgeStore = (): KnowledgeStore => {
    if (isOver) throw new Error("what is known is closed");
    known ??= own ?? openProjectKnowledge(place);
    return known;
  };
  const late: Parameters<typeof createKnowledge>[0] = {
    reach: own?.reach ?? reachOf(place),
    search: (search, vector) => knowledgeStore().search(search, vector),
    put: (item) => knowledgeStore().put(item),
    embed: (vectors, model) => knowledgeStore().embed(vectors, model),
    used: (ids, at) => known?.used(ids, at),
  };
  return {
    knowledgeStore,
    knowledge: (embedder: Embedder | null): Knowledge => createKnowledge(late, embedder),
    /** A store of the program's own may close asynchronously. */
    async closeKnowledge() {
      const open = known;
      known = null;
      isOver = true;
      await open?.close();
    },
  };
}
