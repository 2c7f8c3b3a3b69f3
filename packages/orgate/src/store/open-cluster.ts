/** The store that `[cluster]` of `orgate.toml` names. PostgreSQL's code and its driver are loaded when a project names a database, and not before (decision 0056). */
import { type ClusterConfig, readAddress } from "../config/cluster-schema.ts";
import type { Env } from "../node/env.ts";
import type { LocalWorker } from "./postgres/processes.ts";
import type { CommitOptions, ReadStore, Store, StoreOpening } from "./store.ts";

export async function openClusterStore(cluster: ClusterConfig, opening: StoreOpening, commit: CommitOptions): Promise<Store> {
  const { openPostgresStore } = await import("./postgres/store.ts");
  return openPostgresStore({ ...opening, ...commit, ...toDatabase(cluster), leaseMs: cluster.leaseMs });
}

export async function openClusterReadStore(cluster: ClusterConfig, opening: ClusterReading): Promise<ReadStore> {
  const { openPostgresReadStore } = await import("./postgres/read-store.ts");
  return openPostgresReadStore({ ...opening, ...toDatabase(cluster) });
}
/** One line for each setting of the database that takes something back from the journal's promises. */
export async function findClusterWeaknesses(cluster: ClusterConfig, env?: Env): Promise<readonly string[]> {
  const { findWeakSettings } = await import("./postgres/advice.ts");
  return findWeakSettings(toDatabase(cluster, env));
}

export async function findLocalWorkers(cluster: ClusterConfig, env?: Env): Promise<readonly LocalWorker[]> {
  const { localWorkersOf } = await import("./postgres/processes.ts");
  return localWorkersOf(toDatabase(cluster, env));
}

export type ClusterReading = Pick<StoreOpening, "directory" | "trust" | "blobKey">;

export const toDatabase = ({ database, listen, schema, poolSize, statementMs, lockMs }: ClusterConfig, env?: Env) => ({
  url: readAddress(database, env),
  listenUrl: listen === null ? null : readAddress(listen, env),
  schema,
  poolSize,
  statementTimeoutMs: statementMs,
  lockTimeoutMs: lockMs,
});
