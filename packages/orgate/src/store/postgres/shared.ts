/** What every process has of a journal in PostgreSQL, whether it writes or only reads. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sha256 } from "../../node/crypto.ts";
import { assertTrusted } from "../appends.ts";
import { openReadStore } from "../journal.ts";
import { type Alarms, openAlarms } from "../sqlite/proof/alarms.ts";
import { appendMacs, openSeals } from "../sqlite/proof/seals.ts";
import { openReader, type SqliteReader } from "../sqlite/reader.ts";
import { JournalRows } from "../sqlite/rows.ts";
import { databasePaths } from "../sqlite/schema.ts";
import type { Snapshot, StoreOpening } from "../store.ts";
import { LocalCopy } from "./copy.ts";
import { openPostgresInbox } from "./inbox.ts";
import type { Link } from "./link.ts";
import { type Listener, openListener } from "./listen.ts";
import { copyToFile } from "./moving/snapshot.ts";
import { leasedProcesses } from "./processes.ts";
import { openReads } from "./reads.ts";
import { shareAlarms } from "./shared-alarms.ts";

/** What a process needs that only reads. */
export type ReadingOptions = Pick<StoreOpening, "directory" | "trust" | "blobKey">;

/** `own`: the writer of this process, if it has one. */
export async function openShared(link: Link, options: ReadingOptions, own: string | null) {
  const { directory, blobKey } = options;
  const alarms = shareAlarms(openAlarms(directory, blobKey), link);
  const copy = new LocalCopy();
  const listener = await openListener({ link, copy, alarms, own });
  const { reader, rows } = openCopy(copy, options, alarms);
  const reads = openReads({ link, copy, reader, key: blobKey });
  const { fetch: _, withStream: __, beside, ...journalReads } = reads;
  const offers = { ...beside, snapshot: () => takeSnapshot(link, options), processes: () => leasedProcesses(link) };
  const inbox = openPostgresInbox(link, listener.watchers, () => assertTrusted(alarms));
  return { link, copy, alarms, listener, reader, rows, reads, journalReads, offers, inbox };
}
export type Shared = Awaited<ReturnType<typeof openShared>>;

/** The reader of a file, over the rows at hand. */
function openCopy(
  copy: LocalCopy,
  { directory, blobKey, trust }: ReadingOptions,
  alarms: Alarms,
): Readonly<{ reader: SqliteReader; rows: JournalRows }> {
  const places = databasePaths(directory);
  const macOf = appendMacs(blobKey);
  const rows = new JournalRows(copy.db, places);
  const seals = (of: JournalRows) => openSeals({ rows: of, trust, alarms, hash: sha256, macOf });
  return { rows, reader: openReader(copy.db, places, { seals, key: blobKey, copied: () => copy.version }) };
}

/** Everything as of now, in a file of its own. */
async function takeSnapshot(link: Link, { trust, blobKey }: ReadingOptions): Promise<Snapshot> {
  const directory = await mkdtemp(join(tmpdir(), "orgate-snapshot-"));
  const remove = (): Promise<void> => rm(directory, { recursive: true, force: true });
  try {
    await copyToFile(link, directory, blobKey);
    const { records, wrongRows, close } = openReadStore({ directory, trust, blobKey });
    return {
      ...{ directory, records, wrongRows },
      async close() {
        await close();
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

export async function disconnect({ link, listener, copy }: Readonly<{ link: Link; listener: Listener; copy: LocalCopy }>): Promise<void> {
  await listener.close();
  await link.close();
  copy.close();
}
