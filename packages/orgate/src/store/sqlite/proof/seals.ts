/**
 * Seals checked when an entry is read for use, in the process that uses it.
 * J-18 an entry counts only when the commit that covers it is sealed by a writer key that the project's root key certified; the root key lies outside the
 *      database. One proved entry proves all before it in its stream, because each hash covers the one before: a read costs one signature at most.
 */
import type { DatabaseSync } from "node:sqlite";
import { findProofGap, parseRanges, type Records, type StoredCommit, type StoredEntry, type Trust } from "@orgate/core/journal";
import { type Digest, digest, FaultError, type Hash } from "@orgate/core/vocab";
import type { Alarms } from "./alarms.ts";

export type ToProve = Pick<StoredEntry, "stream" | "seq" | "entryHash">;

export type Seals = Readonly<{
  /** Throws `entry-bad` and raises an alarm unless this entry is covered by a genuine seal. */
  prove(entry: ToProve): void;
  /** Entries that this process has sealed and made durable itself. */
  vouch(hashes: Iterable<Digest>): void;
  alarms: Pick<Alarms, "raise">;
  trust(): Trust;
}>;

/** For a process that rebuilds rows, or only reads without the project's root key: chains are checked, seals are not. */
export const UNPROVED: Seals = Object.freeze({
  prove: () => {},
  vouch: () => {},
  alarms: { raise: () => true },
  trust: () => ({ whyBadSeal: () => "nobody here knows the project's root key", isRooted: () => true }),
});

export type SealNeeds = Readonly<{ db: DatabaseSync; trust: (records: Records) => Trust; records: Records; alarms: Alarms; hash: Hash }>;

/** Entry hashes that are known to be sealed: enough for what is read again and again, whatever the length of the journal. */
const MOST_PROVED = 20_000;

export function openSeals({ db, trust: trustOf, records, alarms, hash }: SealNeeds): Seals {
  const commitOf = db.prepare(
    "SELECT c.* FROM entries AS e JOIN commits AS c ON c.writer = e.writer AND c.number = e.number WHERE e.stream = ? AND e.seq = ?",
  );
  const hashes = db.prepare("SELECT entry_hash FROM entries WHERE stream = ? AND seq BETWEEN ? AND ? ORDER BY seq");
  const proved = new Set<Digest>();
  let known: Trust | null = null;
  const trust = (): Trust => (known ??= trustOf(records));

  function vouch(all: Iterable<Digest>): void {
    for (const one of all) {
      proved.delete(one); // the newest last
      proved.add(one);
    }
    for (const oldest of proved) {
      if (proved.size <= MOST_PROVED) return;
      proved.delete(oldest);
    }
  }
  const leavesOf = ({ ranges }: StoredCommit): Digest[] =>
    (parseRanges(ranges) ?? []).flatMap(({ stream, first, count }) =>
      hashes.all(stream, first, first + count - 1).map((row) => digest(String(row.entry_hash))),
    );

  return {
    alarms,
    trust,
    vouch,
    prove(entry) {
      if (proved.has(entry.entryHash)) return;
      const { stream, seq } = entry;
      const row = commitOf.get(stream, seq);
      let leaves: readonly Digest[] = [];
      const why = findProofGap(
        entry,
        row === undefined ? null : ({ ...row } as unknown as StoredCommit),
        (commit) => {
          leaves = leavesOf(commit);
          return leaves;
        },
        { trust: trust(), hash },
      );
      if (why === null) return vouch(leaves);
      if (!trust().isRooted()) throw otherRoot();
      alarms.raise(`entry ${seq} of stream \`${stream}\``, why);
      throw new FaultError({ kind: "entry-bad", stream, seq, detail: why });
    },
  };
}

/** Nothing is read, and no alarm is raised: a folder of keys that was lost or mixed up is no forgery. */
export const otherRoot = (): FaultError =>
  new FaultError({
    kind: "key-bad",
    key: "keys/root.key",
    detail: "it is not the root key of this journal",
    hint: "restore the file that belongs to this journal",
  });
