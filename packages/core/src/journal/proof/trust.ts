/** Whether a seal is genuine, asked one at a time before entries are relied on. */

import { type Mark, parseMarks, type StoredSeal } from "../codec.ts";
import type { Records } from "../port.ts";
import { createKeyBook, type ProofPorts, refuseSeal } from "./checks.ts";

export type Trust = Readonly<{
  /** Why this seal does not count; null when a writer certified by the project's root key made it. */
  whyBadSeal(seal: StoredSeal): string | null;
  /** False when the journal's keys do not go back to the root key that this process was given: one of the two is another project's. */
  isRooted(): boolean;
}>;

/**
 * The root's public key comes from outside the journal: anybody who can write the database can write any `keys` stream into it, but cannot sign
 * a certificate. Certificates are read again when a key is met that is not among them.
 */
export function createTrust(root: string, ports: ProofPorts): (records: Records) => Trust {
  return (records) => {
    const keys = createKeyBook(records, root, ports, null);
    return { whyBadSeal: (seal) => refuseSeal(seal, keys, ports), isRooted: () => keys.ring().roots.length === 0 || keys.trusted() };
  };
}

/** Why a seal does not prove an entry: it does not name it, or does not count. Null: it does, or it covers it by the returned later entry's hash. */
export function findProofGap(entry: Mark, seal: StoredSeal, trust: Trust): Readonly<{ why: string } | { until: Mark }> {
  const by = `seal ${seal.number} of writer \`${seal.writer}\``;
  const named = (parseMarks(seal.wrote) ?? []).filter((m) => m.stream === entry.stream && m.seq >= entry.seq);
  const until = named.reduce<Mark | null>((nearest, m) => (nearest === null || m.seq < nearest.seq ? m : nearest), null);
  if (until === null) return { why: `${by} does not name it` };
  const why = trust.whyBadSeal(seal);
  if (why !== null) return { why: `${by} does not count: ${why}` };
  if (until.seq === entry.seq && until.hash !== entry.hash) return { why: `it is not the entry that ${by} was made over` };
  return { until };
}
