/** Reads from the journal what a person trusts. */
import { isFault, type Journal, TRUST } from "@orgate/core";
import { readAllEntries } from "@orgate/core/journal";
import { openReadOnlyStore } from "../store/open-read-only.ts";
import type { StorePlace } from "../store/store.ts";
import { foldTrust, type Trusted } from "./trust.ts";

/** Empty where there is no journal yet. */
export async function loadTrust(place: StorePlace): Promise<Trusted> {
  try {
    const look = await openReadOnlyStore(place);
    try {
      return await readTrust(look.journal);
    } finally {
      await look.close();
    }
  } catch (error) {
    if (isFault(error, "journal-unreadable")) return new Map();
    throw error;
  }
}

export const readTrust = async (journal: Pick<Journal, "read">): Promise<Trusted> => foldTrust(await readAllEntries(journal, TRUST));
