/**
 * Statements of this writer's seals about the other writers, and the check that their entries are still there.
 * J-22 nothing is written onto a journal in which a seal or an entry is missing that somebody's seal names: found when it is opened, and, of what a
 *      living process has seen itself, when it goes back.
 */
import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import {
  BOUND_STREAMS,
  FULL_EVERY,
  listNewlySeen,
  parseMarks,
  parseSeen,
  type Seen,
  type SeenPlace,
  type StoredSeal,
  sealHash,
  seenName,
  type Trust,
} from "@orgate/core/journal";
import {
  type Digest,
  digest,
  FaultError,
  type Hash,
  type Seq,
  type StreamId,
  seq,
  type WriterId,
  writerId,
  ZERO,
} from "@orgate/core/vocab";
import type { JournalRows } from "../rows.ts";
import type { Alarms } from "./alarms.ts";
import { toSeal } from "./seal-row.ts";
import { otherRoot, type Seals } from "./seals.ts";

export type Bonds = Readonly<{
  /** Heads of other writers that the seal of this number names; each is proved first. Throws if one of them has gone back. */
  toSay(number: number): readonly SeenPlace[];
  /** This was said, and is durable. */
  said(seen: readonly Seen[]): void;
}>;

type Needs = Readonly<{
  db: DatabaseSync;
  rows: JournalRows;
  owner: WriterId;
  seals: Seals;
  trust: Trust;
  alarms: Alarms;
  hash: Hash;
  /** Null: everything is here. Else how many of each writer's newest seals are, beside single older ones: what they name of the rest is looked for elsewhere. */
  newestSeals: number | null;
}>;

export function openBonds(needs: Needs): Bonds {
  const { db, owner, seals, trust, alarms } = needs;
  const headOf = db.prepare("SELECT seq, hash FROM streams WHERE stream = ?");
  const { writers, lastSeal, sealAt } = sealReader(db);
  const said = new Map<string, Digest>();
  /** The newest that was met of each, proved. */
  const met = new Map<string, SeenPlace>();
  checkBonds(needs);

  /** Streams first: a seal that came in between is then among those of the writers. */
  function now(): readonly SeenPlace[] {
    const all: SeenPlace[] = [];
    for (const name of BOUND_STREAMS) {
      const row = headOf.get(name);
      if (row !== undefined && Number(row.seq) > 0)
        all.push({ kind: "stream", name, number: Number(row.seq), hash: digest(String(row.hash)) });
    }
    for (const name of writers()) {
      const last = name === owner ? null : lastSeal(name);
      if (last !== null) all.push({ kind: "writer", name, number: last.number, hash: last.hash });
    }
    return all;
  }

  /** False for what is bad and was acknowledged so: it is not named. */
  function isProved(one: SeenPlace): boolean {
    if (met.get(seenName(one))?.hash === one.hash) return true;
    if (one.kind === "stream") seals.prove({ stream: one.name, seq: seq(one.number), hash: one.hash });
    else {
      const seal = sealAt(one.name, one.number);
      const why = seal === null ? "it is missing" : trust.whyBadSeal(seal);
      if (why !== null && alarms.raise(nameOf(one), why)) throw faultOf(one, why);
      if (why !== null) return false;
    }
    return true;
  }

  return {
    toSay(number) {
      const all = now();
      const there = new Map(all.map((one) => [seenName(one), one]));
      for (const [name, before] of met) {
        const after = there.get(name);
        const isGone =
          after === undefined || after.number < before.number || (after.number === before.number && after.hash !== before.hash);
        if (isGone && alarms.raise(nameOf(before), GONE)) throw faultOf(before, GONE);
      }
      const proved = all.filter(isProved);
      for (const one of proved) met.set(seenName(one), one);
      return listNewlySeen(proved, said, number);
    },
    said(seen) {
      for (const one of seen) said.set(seenName(one), one.hash);
    },
  };
}
export const GONE = "it is missing: it was there before, while this process ran";

const APPEND_END_SQL = `SELECT a.hash, a.first + a.count - 1 AS last FROM streams AS s JOIN places AS p ON p.stream = s.no JOIN appends AS a ON a.id = p.id
  WHERE s.stream = ? AND p.first <= ? ORDER BY p.first DESC LIMIT 1`;

type Sighting = SeenPlace & Readonly<{ by: string }>;

/** Limit of the check of each writer's own entries when a journal is opened: the last seals, and no more streams than that. */
const SEALS_BACK = 256;
const STREAMS_BACK = SEALS_BACK;

/**
 * The newest word of every writer on each of the others: of as many seals as may pass until everything is named once more. And what the newest seals
 * cover is there, in sessions too (J-22). Reads one seal after the other and keeps none: opening takes the same memory whatever is parked.
 */
function checkBonds(needs: Needs): void {
  const { db, rows, trust, alarms } = needs;
  const { writers, lastSeal, sealAt } = sealReader(db);
  const newest = new Map<string, Sighting>();
  for (const writer of writers()) {
    const last = lastSeal(writer);
    const why = last === null ? "it is missing" : trust.whyBadSeal(last);
    if (why !== null) raiseSeal(needs, writer, { number: last?.number ?? 1, why });
    else if (last !== null) checkNewest(needs, last, newest);
  }
  for (const one of newest.values()) {
    if (one.kind === "writer" && one.number <= (lastSeal(one.name)?.number ?? 0) - (needs.newestSeals ?? Number.POSITIVE_INFINITY))
      continue;
    const found = one.kind === "writer" ? sealAt(one.name, one.number)?.hash : (rows.hashAt(one.name, seq(one.number)) ?? undefined);
    if (found === one.hash) continue;
    const why = `${found === undefined ? "it is missing" : "it is another"}: ${one.by}`;
    if (alarms.raise(nameOf(one), why)) throw faultOf(one, why);
  }
}

/** Down the chain from a writer's last seal, which is genuine; `newest` collects what they say of others. */
function checkNewest(needs: Needs, last: StoredSeal, newest: Map<string, Sighting>): void {
  const { db, rows, alarms, hash } = needs;
  const ends = db.prepare(APPEND_END_SQL);
  /** A seal names the end of an append: its row has the hash, and its body is not read. */
  const hashAt = (stream: StreamId, at: Seq): Digest | null => {
    const row = ends.get(stream, at);
    return row !== undefined && Number(row.last) === at ? digest(String(row.hash)) : rows.hashAt(stream, at);
  };
  let due = last.hash;
  let isAllNamed = false;
  let left = needs.newestSeals === null ? STREAMS_BACK : 0; // a seal may cover thousands of streams
  for (const c of sealReader(db, needs.newestSeals ?? SEALS_BACK).sealsBefore(last.writer, last.number)) {
    if (c.hash !== due || sealHash(c, hash) !== c.hash) {
      raiseSeal(needs, last.writer, { number: c.number, why: "it is not chained to the seal after it" });
      return;
    }
    due = c.previous;
    const by = `seal ${c.number} of writer \`${c.writer}\` names it`;
    for (const one of isAllNamed ? [] : (parseSeen(c.seen) ?? []))
      if (one.kind !== "sum" && one.number > (newest.get(seenName(one))?.number ?? 0)) newest.set(seenName(one), { ...one, by });
    isAllNamed ||= c.number % FULL_EVERY === 0;
    for (const { stream, seq: at, hash: sealed } of left === 0 ? [] : (parseMarks(c.wrote) ?? []).slice(0, left)) {
      left -= 1;
      const found = hashAt(stream, at);
      if (found === sealed) continue;
      const one: SeenPlace = { kind: "stream", name: stream, number: at, hash: sealed };
      const why = `${found === null ? "it is missing" : "it is another"}: ${by}`;
      if (alarms.raise(nameOf(one), why)) throw faultOf(one, why);
    }
  }
}

function raiseSeal({ trust, alarms }: Needs, writer: WriterId, { number, why }: Readonly<{ number: number; why: string }>): void {
  if (!trust.isRooted()) throw otherRoot();
  const one: SeenPlace = { kind: "writer", name: writer, number, hash: ZERO };
  if (alarms.raise(nameOf(one), why)) throw faultOf(one, why);
}

/** `back`: a constant of the statement, so that who reads it sees that it is bounded. */
function sealReader(db: DatabaseSync, back: number = SEALS_BACK) {
  const nextWriter = db.prepare("SELECT writer FROM seals WHERE writer > ? ORDER BY writer LIMIT 1");
  const last = db.prepare("SELECT * FROM seals WHERE writer = ? ORDER BY number DESC LIMIT 1");
  const before = db.prepare(`SELECT * FROM seals WHERE writer = ? AND number <= ? ORDER BY number DESC LIMIT ${back}`);
  const at = db.prepare("SELECT * FROM seals WHERE writer = ? AND number = ?");
  const read = (row: Record<string, SQLOutputValue> | undefined): StoredSeal | null => (row === undefined ? null : toSeal(row));
  return {
    *writers(): Generator<WriterId> {
      for (let row = nextWriter.get(""); row !== undefined; row = nextWriter.get(String(row.writer))) yield writerId(String(row.writer));
    },
    lastSeal: (writer: WriterId): StoredSeal | null => read(last.get(writer)),
    *sealsBefore(writer: WriterId, number: number): Generator<StoredSeal> {
      for (const row of before.iterate(writer, number)) yield toSeal(row);
    },
    sealAt: (writer: WriterId, number: number): StoredSeal | null => read(at.get(writer, number)),
  };
}

const nameOf = (one: SeenPlace): string =>
  one.kind === "writer" ? `seal ${one.number} of writer \`${one.name}\`` : `entry ${one.number} of stream \`${one.name}\``;

const faultOf = (one: SeenPlace, detail: string): FaultError =>
  new FaultError(
    one.kind === "writer"
      ? { kind: "seal-bad", writer: one.name, number: one.number, detail }
      : { kind: "entry-bad", stream: one.name, seq: seq(one.number), detail },
  );
