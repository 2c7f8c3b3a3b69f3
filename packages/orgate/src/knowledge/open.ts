/** The knowledge store of a project: a file beside its journal, or the database of its cluster. */
import type { Knowledge, KnowledgeStore } from "@orgate/core/knowledge";
import type { ClusterConfig } from "../config/cluster-schema.ts";
import { toDatabase } from "../store/open-cluster.ts";
import type { StorePlace } from "../store/store.ts";
import { openKnowledge } from "./sqlite.ts";

export const openProjectKnowledge = ({ directory, cluster = null }: StorePlace): KnowledgeStore =>
  cluster === null ? openKnowledge(directory) : openClusterKnowledge(cluster);

export const reachOf = ({ cluster = null }: StorePlace): Knowledge["reach"] => (cluster === null ? "local" : "remote");

/** Lookups of an agent wait for few others; appends have connections of their own. */
const POOL = 2;

/** N-6 connects when something is looked up or kept, and again after a failure; PostgreSQL's code is loaded then (decision 0056). */
function openClusterKnowledge(cluster: ClusterConfig): KnowledgeStore {
  let opened: Promise<KnowledgeStore> | null = null;
  const open = (): Promise<KnowledgeStore> => {
    opened ??= import("./postgres/knowledge.ts")
      .then(({ openPostgresKnowledge }) => openPostgresKnowledge({ ...toDatabase(cluster), poolSize: POOL }))
      .catch((error: unknown) => {
        opened = null;
        throw error;
      });
    return opened;
  };
  return {
    reach: "remote",
    search: async (search, vector) => (await open()).search(search, vector),
    put: async (item) => (await open()).put(item),
    used: async (ids, at) => (await opened?.catch(() => null))?.used(ids, at),
    get: async (id) => (await open()).get(id),
    list: async (page) => (await open()).list(page),
    restore: async (item) => (await open()).restore(item),
    documents: async (path) => (await open()).documents(path),
    replace: async (document, pieces, at) => (await open()).replace(document, pieces, at),
    piecesOf: async (document) => (await open()).piecesOf(document),
    forget: async (ids) => (await open()).forget(ids),
    isForgotten: async (id) => (await open()).isForgotten(id),
    unembedded: async (model, most) => (await open()).unembedded(model, most),
    embed: async (vectors, model) => (await open()).embed(vectors, model),
    dropVectors: async () => (await open()).dropVectors(),
    stats: async () => (await open()).stats(),
    close: async () => (await opened?.catch(() => null))?.close(),
  };
}
