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
  commitHash,
  encodePayload,
  entryHash,
  isStreamName,
  isWriterName,
  merkleRoot,
  type PutBlob,
  payloadHash,
  rangesText,
  type StoredCommit,
  type StoredEntry,
  sealText,
  storedKind,
} from "../codec.ts";
import { type Seen, seenText } from "./seen.ts";

/** Where a stream ends: what the next entry is chained to. */
export type StreamHead = Readonly<{ seq: Seq; hash: Digest; at: Millis }>;
export const EMPTY_STREAM: StreamHead = Object.freeze({ seq: seq(0), hash: ZERO, at: millis(0) });

/** Where a writer's commits end. */
export type WriterHead = Readonly<{ number: number; hash: Digest }>;
export const FIRST_COMMIT: WriterHead = Object.freeze({ number: 0, hash: ZERO });

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

/** The entries of one transaction, in the order in which they are leaves of its commit. `seen`: how far the writer has seen others. */
export type CommitContent = Readonly<{ at: Millis; appends: readonly (readonly StoredEntry[])[]; seen?: readonly Seen[] }>;

export function sealCommit(head: WriterHead, { at, appends, seen = [] }: CommitContent, ports: SealPorts): StoredCommit {
  if (!isWriterName(ports.writer)) throw new RangeError(`\`${ports.writer}\` cannot name a writer`);
  const ranges = rangesText(
    appends.map(([first, ...rest]) => ({ stream: first?.stream ?? none(), first: first?.seq ?? none(), count: rest.length + 1 })),
  );
  const root = merkleRoot(
    appends.flat().map((e) => e.entryHash),
    ports.hash,
  );
  const open = {
    writer: ports.writer,
    number: head.number + 1,
    at,
    previous: head.hash,
    ranges,
    root,
    key: ports.key,
    seen: seenText(seen),
  };
  const hash = commitHash(open, ports.hash);
  return { ...open, hash, signature: ports.sign(sealText(hash)) };
}

function none(): never {
  throw new RangeError("an append has at least one event");
}

/** The head of a project: the last commit of each writer. Kept elsewhere, it shows a file that was rolled back. */
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
