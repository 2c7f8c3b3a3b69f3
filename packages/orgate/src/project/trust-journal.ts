/** Reads from the journal what a person trusts. */
import { type Entry, isFault, type Journal, seq, TRUST } from "@orgate/core";
import { openReadOnlyStore } from "../store/open-read-only.ts";
import { foldTrust, type Trusted } from "./trust.ts";

/** Empty where there is no journal yet. */
export async function loadTrust(directory: string): Promise<Trusted> {
  try {
    const look = openReadOnlyStore(directory);
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

export async function readTrust(journal: Pick<Journal, "read">): Promise<Trusted> {
  const all: Entry[] = [];
  for (;;) {
    const page = await journal.read(TRUST, all.at(-1)?.seq ?? seq(0), 500);
    all.push(...page);
    if (page.length < 500) return foldTrust(all);
  }
}
