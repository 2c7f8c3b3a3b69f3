/**
 * A journal, or one session of it, as a file of JSON lines that proves itself: with the file and the root's public key, and nothing else.
 *   header · seals · entries (those without their neighbours with their links to a sealed one) · blobs · end
 * J-13 only an export may be torn: without its end line it counts as torn, and what is there is still checked.
 * A session's export proves that each entry was written in its place; that nothing came after the last one, only the whole journal can.
 */
import { ERASURES, type StreamId, type WriterId } from "../../vocab/index.ts";
import { FORMAT, parseMarks, type StoredEntry, type StoredSeal } from "../codec.ts";
import type { Records } from "../port.ts";
import { type ProofPorts, readKeys } from "./checks.ts";
import {
  createBlobCounter,
  exportLine,
  type KeyEntry,
  keyEntries,
  type LinkedProof,
  listUsedKeys,
  sealLine,
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
  const seals = [...records.writers()].sort().flatMap((w) => [...records.seals(w)]);
  yield header(
    { what: "journal", stream: null, head: headText(toHead(seals)), keys: [...keyEntries(records, listUsedKeys(seals))] },
    readKeys(records, checks),
  );
  for (const s of seals) yield sealLine(s);
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
  yield exportLine({ kind: "end", seals: seals.length, entries, blobs: blobs.count() });
}

/**
 * One session, and of everything else only what proves it: its seals, their keys, the erasures in it, and the policies it ran under.
 * J-27 the texts of every set that the session names come along, and are proved offline like its own entries.
 */
export const exportSession = (live: Records, session: StreamId, ports: ProofPorts): Generator<string> =>
  sessionExports(live, [session], ports)(session);

/** Exports of several sessions as of now. What they share (all seals, all erasures) is read once, so each costs what it holds itself. */
export function sessionExports(live: Records, sessions: readonly StreamId[], ports: ProofPorts): (session: StreamId) => Generator<string> {
  const records = asOfNow(live, [...sessions, ERASURES]);
  const erasures = Map.groupBy(records.entries(ERASURES), erasedStream);
  const all = [...records.writers()].sort().flatMap((w) => [...records.seals(w)]);
  const naming = sealsByStream(all);
  const ring = readKeys(records, ports);
  return function* (session) {
    const own = [...records.entries(session)];
    const sets = new Set(own.flatMap((e) => findPolicySet(e) ?? []));
    const loose = [...(erasures.get(session) ?? []), ...policyEntries(records, sets)];
    const proofs = linkedProofs(records, naming, loose);
    const used = new Set([...(naming.get(session) ?? []).map(([, seal]) => seal), ...[...proofs.values()].map(({ seal }) => seal)]);
    const seals = [...used].sort((a, b) => (a.writer === b.writer ? a.number - b.number : a.writer < b.writer ? -1 : 1));
    yield header({ what: "session", stream: session, head: null, keys: [...keyEntries(records, listUsedKeys(seals))] }, ring);
    for (const s of seals) yield sealLine(s);
    const blobs = createBlobCounter();
    for (const e of [...loose, ...own]) {
      blobs.meet(e);
      yield entryLine(e, proofs.get(e)?.proof ?? null);
    }
    yield* blobs.lines(records);
    yield exportLine({ kind: "end", seals: seals.length, entries: loose.length + own.length, blobs: blobs.count() });
  };
}

/** By stream: the places that seals name, and which seal. */
type SealsByStream = ReadonlyMap<StreamId, readonly (readonly [place: number, seal: StoredSeal])[]>;

function sealsByStream(seals: readonly StoredSeal[]): SealsByStream {
  const found = new Map<StreamId, (readonly [number, StoredSeal])[]>();
  for (const s of seals)
    for (const { stream, seq } of parseMarks(s.wrote) ?? []) {
      const named = found.get(stream);
      if (named === undefined) found.set(stream, [[seq, s]]);
      else named.push([seq, s]);
    }
  return found;
}

/** For each of these entries: the nearest one at or after it that a seal names, and the headers in between. None where no seal covers it. */
function linkedProofs(
  records: Records,
  naming: SealsByStream,
  loose: readonly StoredEntry[],
): ReadonlyMap<StoredEntry, Readonly<{ seal: StoredSeal; proof: LinkedProof }>> {
  const proofs = new Map<StoredEntry, Readonly<{ seal: StoredSeal; proof: LinkedProof }>>();
  for (const [stream, wanted] of Map.groupBy(loose, (e) => e.stream)) {
    const named = new Map(naming.get(stream));
    const entries = [...records.entries(stream)];
    for (const e of wanted) {
      const end = entries.findIndex(({ seq }) => seq >= e.seq && named.has(seq));
      const seal = named.get(entries[end]?.seq ?? 0);
      if (seal === undefined) continue;
      const links = entries.slice(e.seq, end + 1).map(({ at, kind, payloadHash }) => ({ at, event: kind, payloadHash }));
      proofs.set(e, { seal, proof: { writer: seal.writer, number: seal.number, links } });
    }
  }
  return proofs;
}

/**
 * The journal as it is now, however it grows while it is written out: the entries that are there, then the seals, then whatever else
 * these name. Nothing is left out that was there before: an entry that no seal covers is exported, and counted when read.
 */
function asOfNow(live: Records, counted: Iterable<StreamId>): Records {
  const ends = new Map<StreamId, number>();
  for (const stream of counted) {
    let end = 0;
    for (const _ of live.entries(stream)) end += 1;
    ends.set(stream, end);
  }
  const seals = withNamed(live, new Map([...live.writers()].map((writer) => [writer, [...live.seals(writer)]])));
  for (const s of [...seals.values()].flat())
    for (const m of parseMarks(s.wrote) ?? []) ends.set(m.stream, Math.max(ends.get(m.stream) ?? 0, m.seq));
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
    writers: () => seals.keys(),
    seals: (writer) => seals.get(writer) ?? [],
    blob: live.blob,
  };
}

/** Writers are read one after the other: seals of the first that a later one names, because they came meanwhile, are read as well. */
function withNamed(live: Records, seals: Map<WriterId, StoredSeal[]>): ReadonlyMap<WriterId, readonly StoredSeal[]> {
  const lengthOf = (writer: WriterId): number => seals.get(writer)?.length ?? 0;
  for (;;) {
    const named = new Map<WriterId, number>();
    for (const { seen } of [...seals.values()].flat())
      for (const { kind, name, number } of parseSeen(seen) ?? [])
        if (kind === "writer" && number > Math.max(lengthOf(name), named.get(name) ?? 0)) named.set(name, number);
    const before = [...named.keys()].map(lengthOf).join();
    for (const [writer, number] of named) seals.set(writer, [...live.seals(writer)].slice(0, number));
    if ([...named.keys()].map(lengthOf).join() === before) return seals; // all there, or gone
  }
}

/** `kind` says which line it is, so the kind of the event is `event` here. */
const entryLine = ({ kind: event, ...e }: StoredEntry, proof: LinkedProof | null): string =>
  exportLine({ ...e, event, kind: "entry", proof });

type Exported = Readonly<{ what: "journal" | "session"; stream: StreamId | null; head: string | null; keys: readonly KeyEntry[] }>;

function header({ what, stream, head, keys }: Exported, ring: Keyring): string {
  const first = ring.roots[0];
  const root = first === undefined ? "" : (ring.keys.get(first)?.publicKey ?? "");
  return exportLine({ kind: "header", format: FORMAT, what, stream, root, head, keys });
}

/** The stream whose content an entry of `erasures` erases; null for any other. */
function erasedStream(e: StoredEntry): StreamId | null {
  const event = e.payload === null ? null : systemEvent(e.kind, e.payload);
  return event?.kind === "content.erased" ? event.stream : null;
}
