/**
 * A journal, or one session of it, as a file of JSON lines that proves itself: with the file and the root's public key, and nothing else.
 *   header · commits · entries (of one session: each with its path to its commit's root) · blobs · end
 * J-13 only an export may be torn: without its end line it counts as torn, and what is there is still checked.
 * A session's export proves that each entry was written in its place; that nothing came after the last one, only the whole journal can.
 */
import { type Digest, ERASURES, type Seq, type StreamId, seq, type WriterId } from "../../vocab/index.ts";
import { FORMAT, merklePaths, parseRanges, type Range, type StoredCommit, type StoredEntry } from "../codec.ts";
import type { Records } from "../port.ts";
import { type ProofPorts, readKeys } from "./checks.ts";
import {
  commitLine,
  createBlobCounter,
  exportLine,
  type InclusionProof,
  type KeyEntry,
  keyEntries,
  listUsedKeys,
  systemEvent,
  toHead,
} from "./export-lines.ts";
import type { KeyChecks, Keyring } from "./keys.ts";
import { findPolicySet, policyEntries } from "./policy-texts.ts";
import { headText } from "./seal.ts";
import { parseSeen } from "./seen.ts";

/** The whole journal, line by line; each line ends in a line feed. */
export function* exportJournal(live: Records, checks: KeyChecks): Generator<string> {
  const records = asOfNow(live, live.streams());
  const commits = [...records.writers()].sort().flatMap((w) => [...records.commits(w)]);
  yield header(
    { what: "journal", stream: null, head: headText(toHead(commits)), keys: [...keyEntries(records, listUsedKeys(commits))] },
    readKeys(records, checks),
  );
  for (const c of commits) yield commitLine(c);
  const blobs = createBlobCounter();
  let entries = 0;
  for (const stream of [...records.streams()].sort()) {
    for (const e of records.entries(stream)) {
      entries += 1;
      blobs.meet(e);
      yield entryLine(e, null);
    }
  }
  yield* blobs.lines(records);
  yield exportLine({ kind: "end", commits: commits.length, entries, blobs: blobs.count() });
}

/**
 * One session, and of everything else only what proves it: its commits, their keys, the erasures in it, and the policies it ran under.
 * J-27 the texts of every set that the session names come along, and are proved offline like its own entries.
 */
export function* exportSession(live: Records, session: StreamId, ports: ProofPorts): Generator<string> {
  const records = asOfNow(live, [session, ERASURES]);
  const erasures = [...records.entries(ERASURES)].filter((e) => erases(e, session));
  const own = [...records.entries(session)];
  const sets = new Set(own.flatMap((e) => findPolicySet(e) ?? []));
  const entries = [...erasures, ...policyEntries(records, sets), ...own];
  const wanted = new Map<StreamId, ReadonlySet<Seq>>(
    [...Map.groupBy(entries, (e) => e.stream)].map(([stream, of]) => [stream, new Set(of.map((e) => e.seq))]),
  );

  const commits: StoredCommit[] = [];
  const proofs = new Map<string, InclusionProof>();
  const hashes = hashLookup(records);
  for (const writer of [...records.writers()].sort()) {
    for (const c of records.commits(writer)) {
      const ranges = parseRanges(c.ranges) ?? [];
      if (!ranges.some((r) => touches(r, wanted.get(r.stream)))) continue;
      commits.push(c);
      const places = ranges.flatMap((r) => Array.from({ length: r.count }, (_, i) => ({ stream: r.stream, seq: seq(r.first + i) })));
      const paths = merklePaths(
        places.map((p) => hashes(p.stream, p.seq)),
        ports.hash,
      );
      for (const [i, p] of places.entries())
        if (wanted.get(p.stream)?.has(p.seq)) proofs.set(`${p.stream}:${p.seq}`, { writer, commit: c.number, path: paths[i] ?? [] });
    }
  }

  yield header(
    { what: "session", stream: session, head: null, keys: [...keyEntries(records, listUsedKeys(commits))] },
    readKeys(records, ports),
  );
  for (const c of commits) yield commitLine(c);
  const blobs = createBlobCounter();
  for (const e of entries) {
    blobs.meet(e);
    yield entryLine(e, proofs.get(`${e.stream}:${e.seq}`) ?? null);
  }
  yield* blobs.lines(records);
  yield exportLine({ kind: "end", commits: commits.length, entries: entries.length, blobs: blobs.count() });
}

/**
 * The journal as it is now, however it grows while it is written out: the entries that are there, then the commits, then whatever else
 * these name. Nothing is left out that was there before: an entry that no commit covers is exported, and found bad when read.
 */
function asOfNow(live: Records, counted: Iterable<StreamId>): Records {
  const ends = new Map<StreamId, number>();
  for (const stream of counted) {
    let end = 0;
    for (const _ of live.entries(stream)) end += 1;
    ends.set(stream, end);
  }
  const commits = withNamed(live, new Map([...live.writers()].map((writer) => [writer, [...live.commits(writer)]])));
  for (const c of [...commits.values()].flat())
    for (const r of parseRanges(c.ranges) ?? []) ends.set(r.stream, Math.max(ends.get(r.stream) ?? 0, r.first + r.count - 1));
  return {
    streams: () => ends.keys(),
    *entries(stream) {
      let left = ends.get(stream) ?? 0;
      if (left === 0) return;
      for (const e of live.entries(stream)) {
        yield e;
        left -= 1;
        if (left === 0) return;
      }
    },
    writers: () => commits.keys(),
    commits: (writer) => commits.get(writer) ?? [],
    blob: live.blob,
  };
}

/** Writers are read one after the other: commits of the first that a later one names, because they came meanwhile, are read as well. */
function withNamed(live: Records, commits: Map<WriterId, StoredCommit[]>): ReadonlyMap<WriterId, readonly StoredCommit[]> {
  const lengthOf = (writer: WriterId): number => commits.get(writer)?.length ?? 0;
  for (;;) {
    const named = new Map<WriterId, number>();
    for (const { seen } of [...commits.values()].flat())
      for (const { kind, name, number } of parseSeen(seen) ?? [])
        if (kind === "writer" && number > Math.max(lengthOf(name), named.get(name) ?? 0)) named.set(name, number);
    const before = [...named.keys()].map(lengthOf).join();
    for (const [writer, number] of named) commits.set(writer, [...live.commits(writer)].slice(0, number));
    if ([...named.keys()].map(lengthOf).join() === before) return commits; // all there, or gone
  }
}

/** `kind` says which line it is, so the kind of the event is `event` here. */
const entryLine = ({ kind: event, ...e }: StoredEntry, proof: InclusionProof | null): string =>
  exportLine({ ...e, event, kind: "entry", proof });

type Exported = Readonly<{ what: "journal" | "session"; stream: StreamId | null; head: string | null; keys: readonly KeyEntry[] }>;

function header({ what, stream, head, keys }: Exported, ring: Keyring): string {
  const first = ring.roots[0];
  const root = first === undefined ? "" : (ring.keys.get(first)?.publicKey ?? "");
  return exportLine({ kind: "header", format: FORMAT, what, stream, root, head, keys });
}

const touches = (r: Range, wanted: ReadonlySet<Seq> | undefined): boolean => {
  if (wanted === undefined) return false;
  for (let i = 0; i < r.count; i += 1) if (wanted.has(seq(r.first + i))) return true;
  return false;
};

function erases(e: StoredEntry, stream: StreamId): boolean {
  const event = e.payload === null ? null : systemEvent(e.kind, e.payload);
  return event?.kind === "content.erased" && event.stream === stream;
}

/** The entry hashes of other sessions, which stand beside ours in a commit; each stream is read once. */
function hashLookup(records: Records): (stream: StreamId, at: Seq) => Digest {
  const streams = new Map<StreamId, readonly Digest[]>();
  return (stream, at) => {
    let hashes = streams.get(stream);
    if (hashes === undefined) {
      hashes = [...records.entries(stream)].map((e) => e.entryHash);
      streams.set(stream, hashes);
    }
    return hashes[at - 1] ?? ("missing" as Digest); // then no path leads to the root, and reading the export says so
  };
}
