/** Whether a commit is genuine, asked one at a time before its entries are relied on. */

import { merkleRoot, parseRanges, type StoredCommit, type StoredEntry } from "../codec.ts";
import type { Records } from "../port.ts";
import { createKeyBook, type ProofPorts, refuseSeal } from "./checks.ts";

export type Trust = Readonly<{
  /** Why this commit does not count; null when a writer certified by the project's root key sealed it. */
  whyBadSeal(commit: StoredCommit): string | null;
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
    return { whyBadSeal: (commit) => refuseSeal(commit, keys, ports), isRooted: () => keys.ring().roots.length === 0 || keys.trusted() };
  };
}

/** Why an entry is not proved by its commit: not named by it, not among the leaves of its tree, or not sealed. `leaves` are the hashes it names. */
export function findProofGap(
  entry: Pick<StoredEntry, "stream" | "seq" | "entryHash">,
  commit: StoredCommit | null,
  leaves: (commit: StoredCommit) => readonly StoredEntry["entryHash"][],
  { trust, hash }: Readonly<{ trust: Trust; hash: ProofPorts["hash"] }>,
): string | null {
  if (commit === null) return "no commit covers it";
  const by = `commit ${commit.number} of writer \`${commit.writer}\``;
  const ranges = parseRanges(commit.ranges) ?? [];
  const named = ranges.find((r) => r.stream === entry.stream && r.first <= entry.seq && entry.seq < r.first + r.count);
  if (named === undefined) return `${by} does not name it`;
  const why = trust.whyBadSeal(commit);
  if (why !== null) return `the seal of ${by} does not count: ${why}`;
  const tree = leaves(commit);
  const count = ranges.reduce((sum, r) => sum + r.count, 0);
  if (tree.length !== count || merkleRoot(tree, hash) !== commit.root) return `it is not among the entries that ${by} was sealed over`;
  const before = ranges.slice(0, ranges.indexOf(named)).reduce((sum, r) => sum + r.count, 0);
  return tree[before + entry.seq - named.first] === entry.entryHash ? null : `it is not the entry that ${by} was sealed over`;
}
