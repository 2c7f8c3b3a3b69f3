/**
 * The entries of one append as the lines of its body:
 *   `<kind> <at> <payloadHash> <salt> <payload>`, and `<kind> <at> <payloadHash>` once erased
 * The payload's hash stands there although it could be computed: an erased entry needs it, and a changed one can be told from its neighbours.
 */
import { type Digest, type Hash, type Millis, type Seq, seq } from "../vocab/index.ts";
import { entryHash, type StoredAppend, type StoredEntry } from "./codec.ts";

export const toBody = (entries: readonly StoredEntry[]): string => {
  let body = "";
  for (const e of entries)
    body +=
      e.payload === null || e.salt === null
        ? `${e.kind} ${e.at} ${e.payloadHash}\n`
        : `${e.kind} ${e.at} ${e.payloadHash} ${e.salt} ${e.payload}\n`;
  return body;
};

/**
 * The entries of an append, chained to `previous`; fewer or none where the body is malformed. The last one has the hash that is stored with
 * the append, the others what follows from their lines. Nothing is checked but the form.
 */
export function readBody(append: StoredAppend, previous: Digest, hash: Hash): StoredEntry[] {
  const { stream, first, body } = append;
  const entries: StoredEntry[] = [];
  let before = previous;
  for (let start = 0; start < body.length; ) {
    const end = body.indexOf("\n", start);
    const line = end === -1 ? null : parseLine(body.slice(start, end));
    if (line === null) return entries;
    const header = {
      stream,
      seq: seq(first + entries.length),
      at: line.at,
      kind: line.kind,
      previous: before,
      payloadHash: line.payloadHash,
    };
    const own = end + 1 === body.length ? append.hash : entryHash(header, hash);
    entries.push({ ...header, entryHash: own, salt: line.salt, payload: line.payload });
    before = own;
    start = end + 1;
  }
  return entries;
}

type Line = Readonly<{ kind: string; at: Millis; salt: string | null; payload: string | null; payloadHash: Digest }>;
const HEADER = /^([^ ]+) (0|[1-9]\d{0,15}) ([0-9a-f]{64})(?: ([^ ]+) |$)/;

function parseLine(line: string): Line | null {
  const m = HEADER.exec(line);
  if (m?.[1] === undefined || m[3] === undefined) return null;
  const said = { kind: m[1], at: Number(m[2]) as Millis, payloadHash: m[3] as Digest };
  return m[4] === undefined ? { ...said, salt: null, payload: null } : { ...said, salt: m[4], payload: line.slice(m[0].length) };
}

/** The same append without the content of its entries from `first` to `last`: their hashes stay. */
export function eraseFromBody(append: StoredAppend, range: Readonly<{ first: Seq; last: Seq }>, hash: Hash): string {
  const kept = readBody(append, "" as Digest, hash); // what it is chained to does not show in a body
  return toBody(kept.map((e) => (e.seq < range.first || e.seq > range.last ? e : { ...e, salt: null, payload: null })));
}
