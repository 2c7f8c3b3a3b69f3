/**
 * The part of the composition root that looks: a project's settings, its journal opened to read, people's keys. Beside the whole of it, so that a command
 * that only tells what there is loads neither the loop nor what drives it.
 */
import { join } from "node:path";
import { createTrust, type Keyring, type ProofPorts, readKeys } from "@orgate/core/journal";
import { FaultError, KEYS } from "@orgate/core/vocab";
import type { ClusterConfig } from "../config/cluster-schema.ts";
import { checkSignature, ed25519, nameKey, sha256 } from "../node/crypto.ts";
import { openReadStore, type SqliteReadStore } from "./journal.ts";
import { createPerson, listPersons, openPerson, orgateHome, type Person, readBlobKey, readRootKey } from "./keyring.ts";
import { type ReadStore, type StorePlace, withSnapshot } from "./store.ts";

/** A journal opened to look: nothing is made, no slot is taken, nothing is written but intents. */
export type ReadOnlyStore = ReadStore & Readonly<{ directory: string; keys(): Promise<Keyring> }>;

/** Rejects with `journal-unreadable` where there is no journal yet. */
export async function openReadOnlyStore({ directory, cluster = null }: StorePlace): Promise<ReadOnlyStore> {
  const store = cluster === null ? openSnapshot(directory) : await openShared(cluster, directory);
  return { ...store, directory, keys: () => withSnapshot(store, ({ records }) => readKeys(records, PROOF_PORTS), KEYS) };
}

/** Of a database that others reach, nothing is believed without the project's keys. */
async function openShared(cluster: ClusterConfig, directory: string): Promise<ReadStore> {
  const keys = join(directory, "keys");
  const [root, blobKey] = [readRootKey(keys, ed25519), readBlobKey(keys)];
  if (root === null || blobKey === null) {
    const detail =
      "this machine has no keys of the project: copy `root.key` and `blobs.key` from one that has; the first run of a project makes them";
    throw new FaultError({ kind: "journal-unreadable", file: keys, detail });
  }
  const { openClusterReadStore } = await import("./open-cluster.ts");
  return openClusterReadStore(cluster, { directory, trust: createTrust(root.publicKey, PROOF_PORTS), blobKey });
}

/** A journal in SQLite, opened to look. `keys`: where the project's keys lie, if not beside it. */
export function openSnapshot(directory: string, keys = join(directory, "keys")): SqliteReadStore {
  const root = readRootKey(keys, ed25519);
  const trust = root === null ? null : createTrust(root.publicKey, PROOF_PORTS);
  return openReadStore({ directory, trust, blobKey: root === null ? null : readBlobKey(keys) });
}

/** Why this person's word does not count in this project; null when it does. */
export function findPersonProblem(ring: Keyring, { name, key }: Person): string | null {
  const known = ring.keys.get(key.id);
  const text = `orgate-acting-1\n${name}`;
  if (known === undefined || known.of.kind !== "person" || known.of.name !== name)
    return `key \`${key.id}\` is not certified as theirs in this project`;
  if (known.withdrawn !== null) return `key \`${key.id}\` was withdrawn`;
  return checkSignature(known.publicKey, text, key.sign(text)) ? null : "the key is not theirs";
}

export const PROOF_PORTS: ProofPorts = { hash: sha256, checkSignature, nameKey };

/** The public key that this project's journal is verified with; throws when there is none. `keys`: where the project's keys lie. */
export function rootPublicKey(keys: string): string {
  const root = readRootKey(keys, ed25519);
  if (root !== null) return root.publicKey;
  throw new FaultError({
    kind: "key-bad",
    key: join(keys, "root.key"),
    detail: "there is no such key",
    hint: "give the root's public key with --key (`orgate keys list` shows it where the project is)",
  });
}

/** A person's own keys, in the home of the one who runs this. */
export type Persons = Readonly<{ home: string; names(): readonly string[]; open(name: string): Person; create(name: string): Person }>;

export const openPersons = (env: Readonly<Record<string, string | undefined>>): Persons => openPersonsAt(orgateHome(env));

export function openPersonsAt(home: string): Persons {
  return {
    home,
    names: () => listPersons(home),
    open: (name) => openPerson(home, name, ed25519),
    create: (name) => createPerson(home, name, ed25519),
  };
}
