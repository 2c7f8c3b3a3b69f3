/** Checks of one entry, one seal, one payload and one key; `verify.ts` and `read-export.ts` put them together. */
import {
  type Digest,
  ERASURES,
  type Hash,
  type JournalEvent,
  KEYS,
  type KeyId,
  millis,
  type Seq,
  type StreamId,
  seq,
  type WriterId,
  ZERO,
} from "../../vocab/index.ts";
import {
  type BlobRef,
  checkPayload,
  decodePayload,
  entryHash,
  isStreamName,
  isWriterName,
  parseMarks,
  payloadHash,
  type StoredEntry,
  type StoredSeal,
  sealHash,
  signedText,
} from "../codec.ts";
import type { Records } from "../port.ts";
import { type CertifiedKey, foldKeys, type KeyChecks, type Keyring, NO_KEYS } from "./keys.ts";
import { isPolicyStream } from "./policy-texts.ts";
import type { WriterHead } from "./seal.ts";
import { parseSeen } from "./seen.ts";

export type ProofPorts = KeyChecks & Readonly<{ hash: Hash }>;
export type EntryChain = Readonly<{
  /** The sequence number that the next entry must have. */
  place(): Seq;
  /** Why the entry is not the next one of its stream; null when it is. */
  check(e: StoredEntry): string | null;
  /** True once entries can no longer be distinguished by their place: nothing after that is checked. */
  broken(): boolean;
  /** How many entries have been checked. */
  count(): number;
}>;

/** One stream, entry by entry: place, chain, header, and the payload's hash where there is a payload. */
export function createEntryChain(stream: StreamId, hash: Hash): EntryChain {
  let count = 0;
  // an entry whose own hash is wrong is named once: the next may be chained to what is stored or to what is right
  let previous: readonly Digest[] = [ZERO];
  let time = millis(0);
  let broken = false;
  const place = (): Seq => seq(count + 1);
  const whyBad = (e: StoredEntry, right: Digest): string | null => {
    if (!isStreamName(e.stream) || !Number.isSafeInteger(e.at)) return "its header is malformed";
    if (!previous.includes(e.previous)) return "it is not chained to the entry before it";
    if (right !== e.entryHash) return "its hash does not match its header";
    if (e.at < time) return "it is older than the entry before it";
    if (e.payload === null || e.salt === null) return null;
    return payloadHash(e.salt, e.payload, hash) === e.payloadHash ? null : "its hash does not match its payload";
  };
  return {
    place,
    broken: () => broken,
    count: () => count,
    check(e) {
      if (e.stream !== stream || e.seq !== place()) {
        broken = true;
        return e.stream === stream
          ? `it is missing: entry ${e.seq} stands in its place`
          : `it is missing: an entry of \`${e.stream}\` stands in its place`;
      }
      const right = entryHash(e, hash);
      const reason = whyBad(e, right);
      previous = reason === null ? [e.entryHash] : [e.entryHash, right];
      time = e.at;
      count += 1;
      return reason;
    },
  };
}

export type SealChain = Readonly<{
  check(c: StoredSeal): string | null;
  /** The number that the seal checked last should have had. */
  place(): number;
  head(): WriterHead | null;
}>;

/** One writer, seal by seal: number, chain, hash, signature. */
export function createSealChain(writer: WriterId, keys: KeyBook, ports: ProofPorts): SealChain {
  let due = 0;
  let last: WriterHead | null = null;
  let previous: readonly Digest[] = [ZERO];
  const seal = createSealCheck(writer, keys, ports);
  return {
    place: () => due,
    head: () => last,
    check(c) {
      due = (last?.number ?? 0) + 1;
      const right = sealHash(c, ports.hash);
      const chained = previous.includes(c.previous);
      previous = c.hash === right ? [c.hash] : [c.hash, right];
      last = { number: c.number, hash: c.hash };
      if (c.number !== due) return `it is missing: seal ${c.number} stands in its place`;
      return chained ? seal(c, right) : "it is not chained to the seal before it";
    },
  };
}

/** Why a seal is not good, wherever it stands. A writer that has gone on to another key never returns to an old one. */
export function createSealCheck(writer: WriterId, keys: KeyBook, ports: ProofPorts) {
  const used = new Set<KeyId>();
  let present: KeyId | null = null;
  return (c: StoredSeal, right: Digest = sealHash(c, ports.hash)): string | null => {
    const why = c.writer === writer ? refuseSeal(c, keys, ports, right) : "it is malformed";
    if (why !== null || c.key === present) return why;
    if (used.has(c.key)) return `key \`${c.key}\` was replaced before`;
    used.add(c.key);
    present = c.key;
    return null;
  };
}

/** Why one seal's hash, key or signature is not good; null when they are. Its place among its writer's other seals is not checked. */
export function refuseSeal(c: StoredSeal, keys: KeyBook, ports: ProofPorts, right: Digest = sealHash(c, ports.hash)): string | null {
  if (!isWriterName(c.writer) || !Number.isSafeInteger(c.at)) return "it is malformed";
  if (c.hash !== right) return "its hash does not match what it says";
  if (parseMarks(c.wrote) === null) return "what it says of the streams it has written is malformed";
  if (parseSeen(c.seen) === null) return "what it says of other writers is malformed";
  const key = keys.find(c.key);
  if (key === undefined || key.of.kind !== "writer") return `key \`${c.key}\` is not certified for a writer`;
  if (key.of.writer !== c.writer) return `key \`${c.key}\` is certified for another writer`;
  if (!keys.trusted()) return "the keys of this journal do not go back to the given root key";
  return ports.checkSignature(key.publicKey, signedText(right), c.signature) ? null : "its signature does not match";
}

export type KeyBook = Readonly<{ ring(): Keyring; find(key: KeyId): CertifiedKey | undefined; trusted(): boolean }>;

/** The certificates prove themselves, so they are read before the seals that cover them are checked; again for a key not met so far. */
export function createKeyBook(records: Records, root: string, checks: KeyChecks, given: Keyring | null): KeyBook {
  let ring = given ?? readKeys(records, checks);
  const unknown = new Set<KeyId>();
  const pinned = checks.nameKey(root);
  return {
    ring: () => ring,
    trusted: () => ring.roots.includes(pinned),
    find(key) {
      const found = ring.keys.get(key);
      if (found !== undefined || given !== null || unknown.has(key)) return found;
      ring = readKeys(records, checks);
      unknown.add(key);
      return ring.keys.get(key);
    },
  };
}

export function refuseErasure(e: StoredEntry, covered: boolean): string | null {
  if (e.payload !== null || e.salt !== null) return "its payload and its salt are not erased together";
  if (e.stream === KEYS || e.stream === ERASURES || isPolicyStream(e.stream)) return "entries of this stream cannot be erased";
  return covered ? null : "its payload is gone, and no erasure is on record";
}

/** An entry that stands by itself, chained to nothing before it. */
export function refuseEntry(e: StoredEntry, hash: Hash): string | null {
  if (e.payload === null || e.salt === null) return "entries of this stream cannot be erased";
  if (entryHash(e, hash) !== e.entryHash) return "its hash does not match its header";
  if (payloadHash(e.salt, e.payload, hash) !== e.payloadHash) return "its hash does not match its payload";
  return null;
}

export function refusePayload(kind: string, payload: string, whyBadBlob: (ref: BlobRef) => string | null): string | null {
  const checked = checkPayload(kind, payload);
  if (checked.kind === "bad") return checked.detail;
  for (const ref of checked.blobs) {
    const why = whyBadBlob(ref);
    if (why !== null) return why;
  }
  return null;
}

export function createBlobCheck(records: Pick<Records, "blob">, hash: Hash, partial: boolean) {
  const met = new Map<string, string | null>(); // a blob that many entries share is hashed once
  return {
    count: () => met.size,
    check(ref: BlobRef): string | null {
      const id = `${ref.sha256}:${ref.chars}:${ref.address}`;
      const known = met.get(id);
      if (known !== undefined) return known;
      const text = records.blob(ref.address);
      const same = text === null ? partial : text.length === ref.chars && hash(text) === ref.sha256;
      const why = same ? null : text === null ? `blob \`${ref.address}\` is missing` : `blob \`${ref.address}\` is not what was stored`;
      met.set(id, why);
      return why;
    },
  };
}

/** The events of a stream as far as they can be read; what cannot is named when the stream itself is checked. */
function* readable(records: Records, stream: StreamId) {
  let place = 0; // what an entry says of its own place is not proved yet
  for (const e of records.entries(stream)) {
    place += 1;
    if (e.payload === null) continue;
    const decoded = decodePayload(e.kind, e.payload, records.blob);
    if (decoded.kind === "event") yield { seq: seq(place), at: e.at, event: decoded.event };
  }
}

export const readKeys = (records: Records, checks: KeyChecks): Keyring => foldKeys(NO_KEYS, readable(records, KEYS), checks);

type Erasure = Extract<JournalEvent, { kind: "content.erased" }>;

/** The erasures on record; read again for a place that is not among them, since one may have been recorded meanwhile. */
export function createErasureBook(records: Records) {
  const MOST_READINGS = 100; // a journal with that many erasures in one reading is not being erased from, it is bad
  let readings = 0;
  let erasures = new Map<StreamId, Erasure[]>();
  const known = (stream: StreamId, at: Seq): boolean => (erasures.get(stream) ?? []).some((r) => r.first <= at && at <= r.last);
  const read = (): void => {
    readings += 1;
    const found: Erasure[] = [];
    for (const { event } of readable(records, ERASURES)) if (event.kind === "content.erased") found.push(event);
    erasures = Map.groupBy(found, (e) => e.stream);
  };
  read();
  return {
    known,
    cover(stream: StreamId, at: Seq): boolean {
      if (!known(stream, at) && readings < MOST_READINGS) read();
      return known(stream, at);
    },
  };
}
