/** From events to sealed records: what every journal adapter stores, whatever it stores it in. Pure but for the ports it is handed. */
import {
  type Digest,
  digest,
  type Hash,
  type KeyId,
  type Millis,
  millis,
  type Seq,
  type Sign,
  type StreamId,
  seq,
  type TimedEvent,
  type WriterId,
  ZERO,
} from "../../vocab/index.ts";
import {
  encodePayload,
  entryHash,
  isStreamName,
  isWriterName,
  type Mark,
  marksText,
  type PutBlob,
  payloadHash,
  type StoredEntry,
  type StoredSeal,
  sealHash,
  signedText,
  storedKind,
} from "../codec.ts";
import { type Seen, seenText } from "./seen.ts";

/** Where a stream ends: what the next entry is chained to. */
export type StreamHead = Readonly<{ seq: Seq; hash: Digest; at: Millis }>;
export const EMPTY_STREAM: StreamHead = Object.freeze({ seq: seq(0), hash: ZERO, at: millis(0) });

/** Where a writer's seals end. */
export type WriterHead = Readonly<{ number: number; hash: Digest }>;
export const NO_SEAL: WriterHead = Object.freeze({ number: 0, hash: ZERO });

export type SealPorts = Readonly<{ writer: WriterId; key: KeyId; hash: Hash; sign: Sign; salt: () => string }>;

/** A clock that jumps back does not turn the stream's time around: an entry is never older than the one before it. */
export function sealEntries(
  { stream, head }: Readonly<{ stream: StreamId; head: StreamHead }>,
  events: readonly TimedEvent[],
  ports: SealPorts,
  putBlob: PutBlob,
): readonly StoredEntry[] {
  if (!isStreamName(stream)) throw new RangeError(`\`${stream}\` cannot name a stream`);
  let { seq: at, hash: previous, at: time } = head;
  return events.map(({ at: stamped, event }) => {
    at = seq(at + 1);
    time = millis(Math.max(time, stamped));
    const salt = ports.salt();
    const payload = encodePayload(event, putBlob);
    const kind = storedKind(event.kind);
    const header = { stream, seq: at, at: time, kind, previous, payloadHash: payloadHash(salt, payload, ports.hash) };
    const hash = entryHash(header, ports.hash);
    const entry: StoredEntry = {
      stream,
      seq: at,
      at: time,
      kind,
      previous,
      payloadHash: header.payloadHash,
      entryHash: hash,
      salt,
      payload,
    };
    previous = hash;
    return entry;
  });
}

/** What a writer seals: how far it has written which streams. `seen`: how far it has seen others. */
export type SealContent = Readonly<{ at: Millis; wrote: readonly Mark[]; seen: readonly Seen[]; recovered: boolean }>;

export function makeSeal(head: WriterHead, { at, wrote, seen, recovered }: SealContent, ports: SealPorts): StoredSeal {
  if (!isWriterName(ports.writer)) throw new RangeError(`\`${ports.writer}\` cannot name a writer`);
  const open = {
    writer: ports.writer,
    number: head.number + 1,
    at,
    previous: head.hash,
    key: ports.key,
    recovered,
    wrote: marksText(wrote),
    seen: seenText(seen),
  };
  const hash = sealHash(open, ports.hash);
  return { ...open, hash, signature: ports.sign(signedText(hash)) };
}

/** Where an append ends. */
export function toMark(entries: readonly StoredEntry[]): Mark {
  const last = entries.at(-1);
  if (last === undefined) throw new RangeError("an append has at least one event");
  return { stream: last.stream, seq: last.seq, hash: last.entryHash };
}

/** The head of a project: the last seal of each writer. Kept elsewhere, it shows a file that was rolled back. */
export type Head = ReadonlyMap<WriterId, WriterHead>;
export const headText = (head: Head): string =>
  [...head]
    .map(([w, h]) => `${w}@${h.number}:${h.hash}`)
    .sort()
    .join(",");
export function parseHead(text: string): Head | null {
  const head = new Map<WriterId, WriterHead>();
  for (const part of text.trim().split(",")) {
    const m = /^([\w.-]+)@([1-9]\d{0,14}):([0-9a-f]{64})$/.exec(part);
    if (m?.[1] === undefined || m[3] === undefined || head.has(m[1] as WriterId)) return null;
    head.set(m[1] as WriterId, { number: Number(m[2]), hash: digest(m[3]) });
  }
  return head;
}
