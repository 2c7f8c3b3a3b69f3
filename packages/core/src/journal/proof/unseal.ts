/** From stored entries back to events, the chain checked on the way: the one reading path of every journal adapter (J-2). */
import { type Digest, type Entry, FaultError, type Hash, isFault, type StreamId, seq, type TimedEvent } from "../../vocab/index.ts";
import { decodePayload, entryHash, type GetBlob, payloadHash, type StoredAppend, type StoredEntry } from "../codec.ts";
import { type SessionSummary, summariseSession } from "../summary.ts";
import type { StreamHead } from "./seal.ts";

export type UnsealPorts = Readonly<{ hash: Hash; getBlob: GetBlob }>;

/** `before` is what the first of `stored` must be chained to. Throws `entry-bad` or `entry-erased`, naming the first that is. */
export function unseal(
  stream: StreamId,
  before: Pick<StreamHead, "seq" | "hash">,
  stored: readonly StoredEntry[],
  ports: UnsealPorts,
): Entry[] {
  const entries: Entry[] = [];
  let { seq: at, hash: previous } = before;
  for (const e of stored) {
    at = seq(at + 1);
    const bad = (detail: string): never => {
      throw new FaultError({ kind: "entry-bad", stream, seq: at, detail });
    };
    if (e.seq !== at) bad("it is missing");
    if (e.stream !== stream) bad("it belongs to another stream");
    if (e.previous !== previous) bad("it is not chained to the entry before it");
    if (entryHash(e, ports.hash) !== e.entryHash) bad("its hash does not match its header");
    if (e.payload === null || e.salt === null) throw new FaultError({ kind: "entry-erased", stream, seq: at });
    if (payloadHash(e.salt, e.payload, ports.hash) !== e.payloadHash) bad("its hash does not match its payload");
    const decoded = decodePayload(e.kind, e.payload, ports.getBlob);
    if (decoded.kind === "bad") return bad(decoded.detail);
    entries.push({ stream, seq: at, at: e.at, event: decoded.event });
    previous = e.entryHash;
  }
  return entries;
}

/** The same for one entry on its own, where trouble with one must not hide the others. */
export function unsealOne(e: StoredEntry, previous: Digest | null, ports: UnsealPorts): ReadOne {
  if (previous === null) return { kind: "bad", detail: "the entry before it is missing" };
  try {
    const [entry] = unseal(e.stream, { seq: seq(e.seq - 1), hash: previous }, [e], ports);
    return entry === undefined ? { kind: "bad", detail: "it is missing" } : { kind: "entry", entry };
  } catch (error) {
    if (isFault(error) && error.fault.kind === "entry-erased") return { kind: "erased" };
    if (isFault(error) && error.fault.kind === "entry-bad") return { kind: "bad", detail: error.fault.detail };
    throw error;
  }
}
export type ReadOne = Readonly<{ kind: "entry"; entry: Entry } | { kind: "erased" } | { kind: "bad"; detail: string }>;

/**
 * The entries of one append, each by itself. `stored` is what its body says, chained to the append before (`readBody`). One hash covers them all: where it
 * does not match their headers, none of them counts. A payload that was changed is bad by itself. Of a long append, `part` alone is decoded.
 */
export function unsealAppend(
  append: StoredAppend,
  stored: readonly StoredEntry[],
  ports: UnsealPorts,
  part: Readonly<{ from: number; to: number }> = { from: 0, to: append.count },
): readonly ReadOne[] {
  const last = stored.at(-1);
  const isWhole = last !== undefined && stored.length === append.count && entryHash(last, ports.hash) === append.hash;
  return Array.from({ length: Math.max(0, Math.min(append.count, part.to) - part.from) }, (_, i): ReadOne => {
    const e = stored[part.from + i];
    if (e === undefined) return { kind: "bad", detail: "it is missing" };
    if (!isWhole) return { kind: "bad", detail: WRONG_APPEND };
    if (e.payload === null || e.salt === null) return { kind: "erased" };
    if (payloadHash(e.salt, e.payload, ports.hash) !== e.payloadHash) return { kind: "bad", detail: "its hash does not match its payload" };
    const decoded = decodePayload(e.kind, e.payload, ports.getBlob);
    if (decoded.kind === "bad") return decoded;
    return { kind: "entry", entry: { stream: e.stream, seq: e.seq, at: e.at, event: decoded.event } };
  });
}

/** The place in an append that is bad, for who must name one: where one can be told from its neighbours, that; else the first. */
export function findBad(read: readonly ReadOne[]): Readonly<{ index: number; detail: string }> | null {
  const bad = read.flatMap((one, index) => (one.kind === "bad" ? [{ index, detail: one.detail }] : []));
  return bad.find(({ detail }) => detail !== WRONG_APPEND) ?? bad[0] ?? null;
}
const WRONG_APPEND = "its append does not match its hash";

/** A reader knows where the stream ends: entries that are missing at its end are named as well, never taken for its end. */
export function checkEnd(stream: StreamId, last: Pick<StreamHead, "seq" | "hash">, head: Pick<StreamHead, "seq" | "hash">): void {
  if (last.seq < head.seq) throw new FaultError({ kind: "entry-bad", stream, seq: seq(last.seq + 1), detail: "it is missing" });
  if (last.hash !== head.hash)
    throw new FaultError({ kind: "entry-bad", stream, seq: last.seq, detail: "it is not the entry that was written last" });
}

/** The summary of a session in lists, after the entries that were just sealed from `events`. */
export function summariseSealed(
  before: SessionSummary | null,
  sealed: readonly StoredEntry[],
  events: readonly TimedEvent[],
): SessionSummary | null {
  return events.reduce((summary, { event }, i) => {
    const e = sealed[i];
    return e === undefined ? summary : summariseSession(summary, { stream: e.stream, seq: e.seq, at: e.at, event });
  }, before);
}
