import { toStoreAlarms } from "../sqlite/proof/alarms.ts";
import type { ReadStore } from "../store.ts";
import { type DatabaseOptions, openLink } from "./link.ts";
import { checkIdentity } from "./schema/identity.ts";
import { migrate } from "./schema/migrations.ts";
import { disconnect, openShared, type ReadingOptions } from "./shared.ts";

/** A store without a writer's name: it reads, and puts intents into the inbox. */
export async function openPostgresReadStore(options: ReadingOptions & DatabaseOptions): Promise<ReadStore> {
  const link = await openLink(options);
  try {
    await migrate(link);
    await checkIdentity(link, options.directory, options.blobKey);
    const shared = await openShared(link, options, null);
    return {
      ...shared.offers,
      journal: { ...shared.journalReads, watch: (changed) => shared.inbox.watchChanges(() => changed(null)) },
      inbox: shared.inbox,
      alarms: toStoreAlarms(shared.alarms),
      close: () => disconnect(shared),
    };
  } catch (error) {
    await link.close();
    throw error;
  }
}
