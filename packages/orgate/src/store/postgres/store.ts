/**
 * Opens the store of a project in PostgreSQL, for any number of processes on any number of machines.
 * `copy.ts` has rows at hand, `writer.ts` commits, `lease.ts` says who is alive, `listen.ts` hears of the others; the rest is the code of the file store.
 */
import type { SealPorts } from "@orgate/core/journal";
import type { Seq, StreamId } from "@orgate/core/vocab";
import { sha256 } from "../../node/crypto.ts";
import { saltSource } from "../../node/salts.ts";
import { SqliteJournal } from "../appends.ts";
import { toStoreAlarms } from "../sqlite/proof/alarms.ts";
import { openBonds } from "../sqlite/proof/bonds.ts";
import { openSums } from "../sqlite/proof/sums.ts";
import type { CommitOptions, Store, StoreOpening } from "../store.ts";
import { openClaims } from "./claims.ts";
import { erasePayloads } from "./erase.ts";
import { remoteCountKeeper } from "./keep-counts.ts";
import { leaseWriter, type WriterLease } from "./lease.ts";
import { type DatabaseOptions, type Link, openLink } from "./link.ts";
import type { PostgresReads } from "./reads.ts";
import { openRequests } from "./requests.ts";
import { SEALS_BACK } from "./schema/functions.ts";
import { checkIdentity } from "./schema/identity.ts";
import { migrate } from "./schema/migrations.ts";
import { disconnect, openShared, type Shared } from "./shared.ts";
import { openBatchWriter } from "./writer.ts";

export type PostgresOptions = StoreOpening &
  Pick<CommitOptions, "sealing"> &
  DatabaseOptions &
  Readonly<{
    /** For how long a process that is not heard of keeps its sessions. */
    leaseMs?: number;
    /** For how long a session is a process's to take that was handed to it. */
    claimMs?: number;
  }>;

export type PostgresStore = Store &
  Readonly<{
    /** What other processes have written by now is known here when this resolves. */
    catchUp(): Promise<void>;
    /** Ends as a process does that is killed: nothing is sealed or given back. */
    abandon(): Promise<void>;
  }>;

export const LEASE_MS = 10_000;

export async function openPostgresStore(options: PostgresOptions): Promise<PostgresStore> {
  const { blobKey, keyFor, sealing = "interval", leaseMs = LEASE_MS, claimMs } = options;
  const link = await openLink(options);
  let lease: WriterLease | null = null;
  try {
    await migrate(link);
    await checkIdentity(link, options.directory, blobKey);
    lease = await leaseWriter(link, leaseMs);
    const shared = await openShared(link, options, lease.writer);
    const { copy, reader, rows, alarms, listener, reads, inbox } = shared;
    lease.liveBy(listener.connectedMs);
    const owner = { writer: lease.writer, incarnation: lease.incarnation, pid: process.pid };
    copy.setWriter(lease.writer, lease.incarnation, lease.unsealed);
    const ports: SealPorts = { writer: owner.writer, hash: sha256, salt: saltSource(), ...keyFor(owner.writer) };
    const needs = { db: copy.db, owner: owner.writer, alarms };
    const bonds = openBonds({ ...needs, rows, trust: reader.seals.trust(), seals: reader.seals, hash: sha256, newestSeals: SEALS_BACK });
    const sums = openSums({
      ...{ ...needs, key: blobKey, sealed: reader.sealedSums, version: () => copy.version, sumsCounts: false },
      sumOfQuestions: () => 0n,
    });
    sums.check();
    const { fetch } = reads;
    const taken = lease;
    const journal = new SqliteJournal({
      reader: { ...reader, position: listener.position, streamsAfter: listener.streamsAfter },
      ...{ ports, owner, alarms, bonds, sums, blobKey, sealing, inbox },
      writer: openBatchWriter({ link, copy, lease }),
      keepCounts: remoteCountKeeper({ link, copy, reader, catchUp: listener.catchUp }),
      powerCut: "lose-nothing",
      holding: lease.holding,
      isKeyNew: true,
      fetch: { ...fetch, unsealed: () => fetchUnsealed(link, taken, fetch) },
      confirm: () => {},
    });
    void journal.whenStopped.then(taken.abandon); // what it holds is for others
    return toStore(shared, { journal, lease, claimMs });
  } catch (error) {
    await lease?.end().catch(() => {});
    await link.close();
    throw error;
  }
}

type StoreParts = Readonly<{ journal: SqliteJournal; lease: WriterLease; claimMs: number | undefined }>;

function toStore(shared: Shared, { journal, lease, claimMs }: StoreParts): PostgresStore {
  const { link, listener, inbox, reader, alarms } = shared;
  const port = journal.port();
  let closing: Promise<void> | null = null;
  const close = (): Promise<void> => (closing ??= closeAll(shared, lease, journal));
  return {
    ...shared.offers,
    journal: { ...port, ...shared.journalReads, unknownsLike: port.unknownsLike, close },
    inbox,
    alarms: toStoreAlarms(alarms),
    requests: openRequests(link),
    claims: openClaims(link, listener.watchers, claimMs),
    play: lease.play,
    signals: listener.signals,
    slot: { writer: lease.writer, incarnation: lease.incarnation, isNew: reader.writerHead(lease.writer).number === 0 },
    catchUp: listener.catchUp,
    stopped: journal.whenStopped,
    seal: () => journal.seal(),
    erase: (stream, first, last) => erasePayloads(link, stream, { first, last }),
    async checkWritable() {
      journal.check();
      await link.query(`UPDATE "${link.schema}".format SET version = version`);
    },
    close,
    abandon: () => (closing ??= abandonAll(shared, lease)),
  };
}

/** Sessions in which a process that died under this writer's name has left entries unsealed. */
async function fetchUnsealed(
  link: Link,
  { writer, unsealed }: Pick<WriterLease, "writer" | "unsealed">,
  fetch: PostgresReads["fetch"],
): Promise<() => void> {
  const rows = await link.read<{ stream: StreamId; first: string }>(
    `SELECT s.stream, min(a.first) AS first FROM "${link.schema}".appends AS a JOIN "${link.schema}".streams AS s ON s.no = a.stream
     WHERE a.id > $1 AND a.writer = $2 GROUP BY s.stream`,
    [unsealed ?? 0, writer],
  );
  return fetch.streams(rows.map(({ stream, first }) => ({ stream, from: Number(first) as Seq })));
}

async function closeAll(shared: Shared, lease: WriterLease, journal: SqliteJournal): Promise<void> {
  await journal.close();
  await lease.end().catch(() => {}); // it ends by itself
  await disconnect(shared);
}

async function abandonAll(shared: Shared, lease: WriterLease): Promise<void> {
  lease.abandon();
  await disconnect(shared);
}
