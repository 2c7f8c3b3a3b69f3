/**
 * Seals checked when an entry is read for use, in the process that uses it.
 * J-18 an entry counts only when a seal covers it that was made by a writer key which the project's root key certified; the root key lies outside the
 *      database. One proved entry proves all before it in its stream, because each hash covers the one before: a read costs one signature at most.
 * J-31 an append that is not sealed yet counts only with the keyed hash that this project's processes give it, and never where it would give authority.
 */
import { createHmac } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { findProofGap, isAlwaysSealed, type Mark, type Records, type Trust, unsealAppend } from "@orgate/core/journal";
import { type Digest, FaultError, type Hash, type Seq, type StreamId, seq } from "@orgate/core/vocab";
import { sha256 } from "../../../node/crypto.ts";
import { type AppendRow, CHUNK, type JournalRows } from "../rows.ts";
import type { Alarms } from "./alarms.ts";

export type Seals = Readonly<{
  /** Throws `entry-bad` and raises an alarm unless a genuine seal covers this append, or it is this project's own and needs none yet. */
  proveAppend(append: AppendRow): void;
  /** The same of an entry that must be there, with this hash. */
  prove(mark: Mark): void;
  /** Ends of appends that this process has made durable itself. */
  vouch(hashes: Iterable<Digest>): void;
  alarms: Pick<Alarms, "raise">;
  trust(): Trust;
}>;

/** For a process that rebuilds rows, or only reads without the project's root key: chains are checked, seals are not. */
export const UNPROVED: Seals = Object.freeze({
  proveAppend: () => {},
  prove: () => {},
  vouch: () => {},
  alarms: { raise: () => true },
  trust: () => ({ whyBadSeal: () => "nobody here knows the project's root key", isRooted: () => true }),
});

/** Computes the keyed hash that each append carries. Fixed length between two keys: nothing can be appended to what is hashed. */
export function appendMacs(blobKey: string | Uint8Array): (hash: Digest) => string {
  const key = createHmac("sha256", blobKey).update("orgate-append-mac-1").digest("hex");
  return (hash) => sha256(`${key}\n${hash}\n${key}`).slice(0, 32);
}

export type SealNeeds = Readonly<{
  rows: JournalRows;
  trust: (records: Records) => Trust;
  alarms: Alarms;
  hash: Hash;
  /** Null without the project's key: nothing that is unsealed is believed. */
  macOf: ((hash: Digest) => string) | null;
}>;

/** Ends of appends that are known to be sealed: enough for what is read again and again, whatever the length of the journal. */
const MOST_PROVED = 20_000;

export function openSeals({ rows, trust: trustOf, alarms, hash, macOf }: SealNeeds): Seals {
  const proved = new Set<Digest>();
  let known: Trust | null = null;
  const trust = (): Trust => (known ??= trustOf(rows.records));

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
  const bad = (stream: StreamId, at: Seq, why: string): FaultError => {
    if (!trust().isRooted()) return otherRoot();
    alarms.raise(`entry ${at} of stream \`${stream}\``, why);
    return new FaultError({ kind: "entry-bad", stream, seq: at, detail: why });
  };
  const endOf = (append: AppendRow): Mark => ({ stream: append.stream, seq: seq(append.first + append.count - 1), hash: append.hash });

  /** Why an append without a seal is not to be believed. */
  function whyUnsealed(append: AppendRow): string | null {
    if (macOf === null || macOf(append.hash) !== append.mac) return "no seal covers it, and it is not from this project's own processes";
    const always = rows.entriesOf(append).find((e) => isAlwaysSealed(append.stream, e.kind));
    return always === undefined ? null : "no seal covers it, and such an entry is sealed as it is written";
  }

  /** Follows the chain from an append to a later entry that its seal names; the hashes on the way. */
  function followChain(from: AppendRow, until: Mark): readonly Digest[] | null {
    const passed: Digest[] = [from.hash];
    for (let at = from; ; ) {
      const more = rows.appendsFrom(from.stream, seq(at.first + at.count), CHUNK);
      for (const next of more) {
        const read = unsealAppend(next, rows.entriesOf(next, at.hash), { hash, getBlob: rows.unsealing.getBlob });
        if (next.first !== at.first + at.count || read.some(({ kind }) => kind === "bad")) return null;
        passed.push(next.hash);
        at = next;
        if (next.first + next.count - 1 === until.seq) return next.hash === until.hash ? passed : null;
      }
      if (more.length === 0) return null;
    }
  }

  function proveAppend(append: AppendRow): void {
    if (proved.has(append.hash)) return;
    const end = endOf(append);
    const seal = rows.seal(append.writer, append.seal);
    if (seal === null) {
      const why = whyUnsealed(append);
      if (why !== null) throw bad(append.stream, end.seq, why);
      vouch([append.hash]);
      return;
    }
    const gap = findProofGap(end, seal, trust());
    if ("why" in gap) throw bad(append.stream, end.seq, gap.why);
    const passed = gap.until.seq === end.seq ? [append.hash] : followChain(append, gap.until);
    if (passed === null)
      throw bad(append.stream, end.seq, `it is not chained to the entry that seal ${seal.number} of writer \`${seal.writer}\` names`);
    vouch(passed);
  }

  return {
    alarms,
    trust,
    vouch,
    proveAppend,
    prove(mark) {
      if (proved.has(mark.hash)) return;
      const append = rows.appendsFrom(mark.stream, mark.seq, 1)[0];
      if (append === undefined || append.first > mark.seq) throw bad(mark.stream, mark.seq, "it is missing");
      if (rows.hashAt(mark.stream, mark.seq) !== mark.hash) throw bad(mark.stream, mark.seq, "it is not the entry that was written last");
      proveAppend(append);
    },
  };
}

/** Appends that no seal covers and that no process of this project has written. */
export function findForgedRows(db: DatabaseSync, macOf: (hash: Digest) => string): readonly string[] {
  const unsealed = db.prepare(
    "SELECT a.id, a.hash, a.mac FROM appends AS a LEFT JOIN seals AS s ON s.writer = a.writer AND s.number = a.seal WHERE s.number IS NULL",
  );
  return unsealed.all().flatMap(({ id, hash, mac }) => (macOf(String(hash) as Digest) === mac ? [] : [`row ${id} of table appends`]));
}

/** Writers whose row does not say since when their appends wait for a seal: what it leaves out, the next process under that name would not seal. */
export function findWrongWriters(db: DatabaseSync): readonly string[] {
  const unsealed = `SELECT 1 FROM appends AS a WHERE a.writer = w.writer
    AND NOT EXISTS (SELECT 1 FROM seals AS s WHERE s.writer = a.writer AND s.number = a.seal)`;
  const wrong = db.prepare(`SELECT w.writer FROM writers AS w
    WHERE EXISTS (${unsealed} AND a.id <= coalesce(w.unsealed, a.id)) OR (w.unsealed IS NOT NULL AND NOT EXISTS (${unsealed})) ORDER BY w.writer`);
  return wrong.all().map(({ writer }) => `row ${String(writer)} of table writers`);
}

/** Nothing is read, and no alarm is raised: a folder of keys that was lost or mixed up is no forgery. */
export const otherRoot = (): FaultError =>
  new FaultError({
    kind: "key-bad",
    key: "keys/root.key",
    detail: "it is not the root key of this journal",
    hint: "restore the file that belongs to this journal",
  });
