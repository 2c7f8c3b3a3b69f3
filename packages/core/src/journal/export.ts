/**
 * A journal, or one session of it, as a file of JSON lines that proves itself: with the file and the root's public key, and nothing else.
 *   header · commits · entries (of one session: each with its path to its commit's root) · blobs · end
 * J37 an export reads back to the bytes it was written from; whatever is bad in it is named with its line.
 * J38 only an export may be torn: without its end line it counts as torn, and what is there is still checked.
 * A session's export proves that each entry was written in its place; that nothing came after the last one, only the whole journal can.
 */
import * as z from "zod";
import {
  canonical,
  type Digest,
  ERASURES,
  type Hash,
  KEYS,
  type KeyId,
  type Millis,
  millis,
  readJson,
  type Seq,
  type StreamId,
  type SystemEvent,
  seq,
  type WriterId,
} from "../vocab/index.ts";
import {
  type BlobRef,
  checkPayload,
  decodePayload,
  entryHash,
  FORMAT,
  merklePaths,
  type PathStep,
  parseRanges,
  payloadHash,
  type Range,
  rootFromPath,
  type StoredCommit,
  type StoredEntry,
} from "./codec.ts";
import { foldKeys, type KeyChecks, type Keyring, NO_KEYS } from "./keys.ts";
import type { Records } from "./port.ts";
import { type Head, headText } from "./seal.ts";
import {
  blobCheck,
  entryChain,
  keyBook,
  type Problem,
  type ProofPorts,
  readKeys,
  sealCheck,
  verify,
  whyBadPayload,
  whyNotErased,
} from "./verify.ts";

const Text = z.string();
const Count = z.number().int().nonnegative();
const Header = z.strictObject({
  kind: z.literal("header"),
  format: z.literal(FORMAT),
  what: z.enum(["journal", "session"]),
  stream: Text.nullable(),
  /** For people: the verifier brings its own. */
  root: Text,
  /** Of a whole journal; a session's export has not what would prove it. */
  head: Text.nullable(),
  /** The certificates and rotations that the commits need. They prove themselves. */
  keys: z.array(z.strictObject({ kind: Text, payload: Text })),
});
const CommitLine = z.strictObject({
  kind: z.literal("commit"),
  writer: Text,
  number: Count,
  at: Count,
  previous: Text,
  ranges: Text,
  root: Text,
  hash: Text,
  key: Text,
  signature: Text,
});
const Proof = z.strictObject({ writer: Text, commit: Count, path: z.array(z.strictObject({ left: z.boolean(), hash: Text })) });
const EntryLine = z.strictObject({
  kind: z.literal("entry"),
  stream: Text,
  seq: Count,
  at: Count,
  event: Text,
  previous: Text,
  payloadHash: Text,
  entryHash: Text,
  salt: Text.nullable(),
  payload: Text.nullable(),
  proof: Proof.nullable(),
});
const BlobLine = z.strictObject({ kind: z.literal("blob"), address: Text, text: Text });
const EndLine = z.strictObject({ kind: z.literal("end"), commits: Count, entries: Count, blobs: Count });
const Line = z.discriminatedUnion("kind", [Header, CommitLine, EntryLine, BlobLine, EndLine]);
type Line = z.infer<typeof Line>;

type InclusionProof = Readonly<{ writer: WriterId; commit: number; path: readonly PathStep[] }>;

// writing

/** The whole journal, line by line; each line ends in a line feed. */
export function* exportJournal(records: Records, checks: KeyChecks): Generator<string> {
  const ring = readKeys(records, checks);
  const commits = [...records.writers()].sort().flatMap((w) => [...records.commits(w)]);
  yield header("journal", null, ring, headOf(commits), [...keyEntries(records, usedKeys(commits))]);
  for (const c of commits) yield lineOf({ kind: "commit", ...c });
  const blobs = blobsMet();
  let entries = 0;
  for (const stream of [...records.streams()].sort()) {
    for (const e of records.entries(stream)) {
      entries += 1;
      blobs.meet(e);
      yield entryLine(e, null);
    }
  }
  yield* blobs.lines(records);
  yield lineOf({ kind: "end", commits: commits.length, entries, blobs: blobs.count() });
}

/** One session, and of everything else only what proves it: its commits, their keys, and the erasures in it. */
export function* exportSession(records: Records, session: StreamId, ports: ProofPorts): Generator<string> {
  const ring = readKeys(records, ports);
  const erasures = [...records.entries(ERASURES)].filter((e) => erases(e, session));
  const own = [...records.entries(session)];
  const wanted = [...erasures, ...own];
  const keysOf = new Map<StreamId, Set<Seq>>([
    [session, new Set(own.map((e) => e.seq))],
    [ERASURES, new Set(erasures.map((e) => e.seq))],
  ]);

  const commits: StoredCommit[] = [];
  const proofs = new Map<string, InclusionProof>();
  const hashes = hashLookup(records);
  for (const writer of [...records.writers()].sort()) {
    for (const c of records.commits(writer)) {
      const ranges = parseRanges(c.ranges) ?? [];
      if (!ranges.some((r) => touches(r, keysOf.get(r.stream)))) continue;
      commits.push(c);
      const places = ranges.flatMap((r) => Array.from({ length: r.count }, (_, i) => ({ stream: r.stream, seq: seq(r.first + i) })));
      const paths = merklePaths(
        places.map((p) => hashes(p.stream, p.seq)),
        ports.hash,
      );
      for (const [i, p] of places.entries())
        if (keysOf.get(p.stream)?.has(p.seq)) proofs.set(`${p.stream}:${p.seq}`, { writer, commit: c.number, path: paths[i] ?? [] });
    }
  }

  yield header("session", session, ring, null, [...keyEntries(records, usedKeys(commits))]);
  for (const c of commits) yield lineOf({ kind: "commit", ...c });
  const blobs = blobsMet();
  for (const e of wanted) {
    blobs.meet(e);
    yield entryLine(e, proofs.get(`${e.stream}:${e.seq}`) ?? null);
  }
  yield* blobs.lines(records);
  yield lineOf({ kind: "end", commits: commits.length, entries: wanted.length, blobs: blobs.count() });
}

const lineOf = (line: Readonly<Record<string, unknown>>): string => `${canonical(line)}\n`;

/** `kind` says which line it is, so the kind of the event is `event` here. */
const entryLine = ({ kind: event, ...e }: StoredEntry, proof: InclusionProof | null): string =>
  lineOf({ ...e, event, kind: "entry", proof });

function header(what: "journal" | "session", stream: StreamId | null, ring: Keyring, head: Head | null, keys: readonly KeyEntry[]): string {
  const first = ring.roots[0];
  const root = first === undefined ? "" : (ring.keys.get(first)?.publicKey ?? "");
  return lineOf({ kind: "header", format: FORMAT, what, stream, root, head: head === null ? null : headText(head), keys });
}

const usedKeys = (commits: readonly StoredCommit[]): ReadonlySet<KeyId> => new Set(commits.map((c) => c.key));

const headOf = (commits: readonly StoredCommit[]): Head => new Map(commits.map((c) => [c.writer, { number: c.number, hash: c.hash }]));

const touches = (r: Range, wanted: ReadonlySet<Seq> | undefined): boolean => {
  if (wanted === undefined) return false;
  for (let i = 0; i < r.count; i += 1) if (wanted.has(seq(r.first + i))) return true;
  return false;
};

function erases(e: StoredEntry, stream: StreamId): boolean {
  const event = e.payload === null ? null : systemEvent(e.kind, e.payload);
  return event?.kind === "content.erased" && event.stream === stream;
}

/** Events of system streams hold no long texts, so they decode without blobs. */
function systemEvent(kind: string, payload: string): SystemEvent | null {
  const decoded = decodePayload(kind, payload, () => null);
  if (decoded.kind !== "event") return null;
  const { event } = decoded;
  const system =
    event.kind === "key.certified" || event.kind === "key.rotated" || event.kind === "key.withdrawn" || event.kind === "content.erased";
  return system ? event : null;
}

type KeyEntry = Readonly<{ kind: string; payload: string }>;

/** The root keys, their rotations, and the certificates of the given keys. */
function* keyEntries(records: Records, wanted: ReadonlySet<KeyId>): Generator<KeyEntry> {
  for (const { kind, payload } of records.entries(KEYS)) {
    const event = payload === null ? null : systemEvent(kind, payload);
    if (payload === null || event === null) continue;
    if (event.kind === "key.rotated" || (event.kind === "key.certified" && (event.of.kind === "root" || wanted.has(event.key))))
      yield { kind, payload };
  }
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

function blobsMet() {
  const addresses = new Set<string>();
  return {
    count: () => addresses.size,
    has: (address: string) => addresses.has(address),
    meet(e: StoredEntry): void {
      if (e.payload === null || !e.payload.includes('"$blob":')) return;
      const checked = checkPayload(e.kind, e.payload);
      if (checked.kind === "good") for (const ref of checked.blobs) addresses.add(ref.address);
    },
    *lines(records: Records): Generator<string> {
      for (const address of [...addresses].sort()) {
        const text = records.blob(address);
        if (text === null) addresses.delete(address);
        else yield lineOf({ kind: "blob", address, text });
      }
    },
  };
}

// reading

export type LineProblem = Readonly<{ line: number; reason: string }>;

export type ExportRead = Readonly<{
  what: "journal" | "session";
  stream: StreamId | null;
  /** The end is missing; what is there was checked. */
  torn: boolean;
  counts: Readonly<{ commits: number; entries: number; blobs: number; erased: number }>;
  /** Of a whole journal; null for one session. */
  head: string | null;
  firstBad: LineProblem | null;
  problems: readonly LineProblem[];
  /** What the file holds, to look into or to export again. */
  records: Records;
}>;

/** `text` is the file's, whole or in pieces. */
export function readExport(text: string | Iterable<string>, root: string, ports: ProofPorts): ExportRead {
  const file = readLines(typeof text === "string" ? [text] : text);
  const records = recordsOf(file);
  const checked = file.header?.what === "session" ? checkSession(file, root, ports) : checkJournal(file, records, root, ports);
  const problems = [...file.problems, ...(file.header === null ? [] : checked.problems)].sort((a, b) => a.line - b.line);
  return {
    what: file.header?.what ?? "journal",
    stream: (file.header?.stream ?? null) as StreamId | null,
    torn: file.torn,
    counts: { commits: file.commits.length, entries: file.entries.length, blobs: file.blobs.size, erased: checked.erased },
    head: file.header?.head ?? null,
    firstBad: problems[0] ?? null,
    problems,
    records,
  };
}

type ReadEntry = Readonly<{ line: number; entry: StoredEntry; proof: InclusionProof | null }>;
type ReadCommit = Readonly<{ line: number; commit: StoredCommit }>;
type File = {
  header: z.infer<typeof Header> | null;
  commits: ReadCommit[];
  entries: ReadEntry[];
  blobs: Map<string, { line: number; text: string }>;
  torn: boolean;
  lines: number;
  problems: LineProblem[];
};

function readLines(pieces: Iterable<string>): File {
  const file: File = { header: null, commits: [], entries: [], blobs: new Map(), torn: true, lines: 0, problems: [] };
  for (const { text, whole } of linesOf(pieces)) {
    file.lines += 1;
    const line = file.lines;
    const read = readLine(text);
    if (typeof read !== "string") place(file, line, read);
    // a last line without its line feed was cut off while it was written: it counts as torn, not as bad
    else if (whole) file.problems.push({ line, reason: read });
  }
  if (file.header === null && file.problems.length === 0) file.problems.push({ line: 1, reason: "there is no header" });
  return file;
}

function* linesOf(pieces: Iterable<string>): Generator<{ text: string; whole: boolean }> {
  let rest = "";
  for (const piece of pieces) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    for (const text of lines) yield { text, whole: true };
  }
  if (rest !== "") yield { text: rest, whole: false };
}

function readLine(text: string): Line | string {
  const json = readJson(text);
  if (json.kind === "not-json") return json.detail;
  if (canonical(json.value) !== text) return "the line is not canonical JSON";
  const line = Line.safeParse(json.value);
  return line.success ? line.data : `the line is malformed: ${line.error.issues[0]?.path.join(".") || "kind"}`;
}

const ORDER: Readonly<Record<Line["kind"], number>> = { header: 0, commit: 1, entry: 2, blob: 3, end: 4 };

function place(file: File, line: number, read: Line): void {
  const bad = (reason: string) => file.problems.push({ line, reason });
  if ((read.kind === "header") !== (line === 1)) return void bad("a header stands in the first line, and nowhere else");
  if (!file.torn) return void bad("nothing stands after the end line");
  const before = file.blobs.size > 0 ? "blob" : file.entries.length > 0 ? "entry" : "commit";
  if (read.kind !== "header" && ORDER[read.kind] < ORDER[before]) return void bad(`a ${read.kind} stands after the first ${before}`);
  switch (read.kind) {
    case "header":
      file.header = read;
      return;
    case "commit": {
      const { kind: _, ...commit } = read;
      file.commits.push({ line, commit: commit as StoredCommit });
      return;
    }
    case "entry": {
      const { kind: _, event: kind, proof, ...entry } = read;
      if ((proof === null) !== (file.header?.what === "journal")) bad("an entry of one session comes with its proof, and no other");
      file.entries.push({ line, entry: { ...entry, kind } as StoredEntry, proof: proof as InclusionProof | null });
      return;
    }
    case "blob":
      if (file.blobs.has(read.address)) bad("the blob stands in the file twice");
      file.blobs.set(read.address, { line, text: read.text });
      return;
    case "end": {
      file.torn = false;
      const counted = read.commits === file.commits.length && read.entries === file.entries.length && read.blobs === file.blobs.size;
      if (!counted) bad("the counts are not those of the lines above");
    }
  }
}

function recordsOf(file: File): Records {
  const entries = Map.groupBy(
    file.entries.map((e) => e.entry),
    (e) => e.stream,
  );
  const commits = Map.groupBy(
    file.commits.map((c) => c.commit),
    (c) => c.writer,
  );
  return {
    streams: () => entries.keys(),
    entries: (stream) => entries.get(stream) ?? [],
    writers: () => commits.keys(),
    commits: (writer) => commits.get(writer) ?? [],
    blob: (address) => file.blobs.get(address)?.text ?? null,
  };
}

type Checked = Readonly<{ problems: readonly LineProblem[]; erased: number }>;

function checkJournal(file: File, records: Records, root: string, ports: ProofPorts): Checked {
  const problems: LineProblem[] = unusedBlobs(file);
  const ring = headerRing(file, ports, problems);
  const commits = file.commits.map((c) => c.commit);
  if (!file.torn && file.header?.head !== headText(headOf(commits)))
    problems.push({ line: 1, reason: "the head is not that of the commits below" });
  if (!file.torn && canonical(file.header?.keys ?? []) !== canonical([...keyEntries(records, usedKeys(commits))]))
    problems.push({ line: 1, reason: "the keys are not those that the commits need" });

  const result = verify({ records, root, ports, head: null, progress: () => {}, torn: file.torn ? ring : null });
  // by place, not by what a line says of itself: a missing one is found where another stands
  const entryLines = Map.groupBy(file.entries, (e) => e.entry.stream);
  const commitLines = Map.groupBy(file.commits, (c) => c.commit.writer);
  const lineFor = (p: Problem): number =>
    (p.kind === "entry" ? entryLines.get(p.stream)?.[p.seq - 1] : commitLines.get(p.writer)?.[p.commit - 1])?.line ?? file.lines;
  for (const p of result.problems) problems.push({ line: lineFor(p), reason: `${problemName(p)}: ${p.reason}` });
  return { problems, erased: result.counts.erased };
}

/** The keys that the header brings along; what is wrong with them is wrong with its line. */
function headerRing(file: File, ports: ProofPorts, problems: LineProblem[]): Keyring {
  const keys = keysOfHeader(file.header?.keys ?? []);
  if (keys === null) problems.push({ line: 1, reason: "what the header says of keys cannot be read" });
  const ring = foldKeys(NO_KEYS, keys ?? [], ports);
  for (const b of ring.bad) problems.push({ line: 1, reason: `key ${b.seq} of the header: ${b.reason}` });
  problems.push(...whyBadRoot(file.header?.root ?? "", ring));
  return ring;
}

/** `entry 3 of s_…`, `commit 2 of w…`. */
export const problemName = (p: Problem): string =>
  p.kind === "entry" ? `entry ${p.seq} of \`${p.stream}\`` : `commit ${p.commit} of \`${p.writer}\``;

function whyBadRoot(root: string, ring: Keyring): LineProblem[] {
  const first = ring.roots[0];
  const same = (first === undefined ? "" : ring.keys.get(first)?.publicKey) === root;
  return same ? [] : [{ line: 1, reason: "the root key is not the one that the keys go back to" }];
}

/** A text that no entry refers to is proved by nothing. */
function unusedBlobs(file: File): LineProblem[] {
  if (file.blobs.size === 0) return [];
  const used = blobsMet();
  for (const { entry } of file.entries) used.meet(entry);
  const problems: LineProblem[] = [];
  for (const [address, { line }] of file.blobs)
    if (!used.has(address)) problems.push({ line, reason: `no entry refers to blob \`${address}\`` });
  return problems;
}

function checkSession(file: File, root: string, ports: ProofPorts): Checked {
  const session = (file.header?.stream ?? "") as StreamId;
  const problems: LineProblem[] = unusedBlobs(file);
  const bad = (line: number, reason: string) => problems.push({ line, reason });
  const ring = headerRing(file, ports, problems);
  const keys = keyBook(recordsOf(file), root, ports, ring);
  const commits = new Map<string, { root: Digest; ranges: readonly Range[] }>();
  const seals = new Map<WriterId, ReturnType<typeof sealCheck>>();
  let claimed = 0; // the last entry of the session that a commit names
  for (const { line, commit: c } of file.commits) {
    const seal = seals.get(c.writer) ?? sealCheck(c.writer, keys, ports);
    seals.set(c.writer, seal);
    const why = commits.has(`${c.writer}@${c.number}`) ? "it stands in the file twice" : seal(c);
    if (why !== null) bad(line, `commit ${c.number} of \`${c.writer}\`: ${why}`);
    const ranges = parseRanges(c.ranges) ?? [];
    commits.set(`${c.writer}@${c.number}`, { root: c.root, ranges });
    for (const r of ranges) if (r.stream === session) claimed = Math.max(claimed, r.first + r.count - 1);
  }

  const whyUnproved = ({ entry: e, proof }: ReadEntry): string | null => {
    if (proof === null) return null; // named where the line was read
    const commit = commits.get(`${proof.writer}@${proof.commit}`);
    if (!commit?.ranges.some((r) => r.stream === e.stream && r.first <= e.seq && e.seq < r.first + r.count))
      return "its commit does not name it";
    return rootFromPath(e.entryHash, proof.path, ports.hash) === commit.root ? null : "its path does not lead to its commit's root";
  };
  const erased = erasedPlaces(session);
  const chain = entryChain(session, ports.hash);
  const blobs = blobCheck({ blob: (address) => file.blobs.get(address)?.text ?? null }, ports.hash, file.torn);
  let gone = 0;
  for (const read of file.entries) {
    const { entry: e, line } = read;
    const why = e.stream === ERASURES && session !== ERASURES ? erased.add(e, ports.hash) : ownEntry(e);
    const reason = why ?? whyUnproved(read);
    if (reason !== null) bad(line, `entry ${e.seq} of \`${e.stream}\`: ${reason}`);
    if (chain.broken()) break;
  }
  function ownEntry(e: StoredEntry): string | null {
    const why = chain.check(e);
    if (why !== null) return why;
    if (e.payload !== null && e.salt !== null) return whyBadPayload(e.kind, e.payload, (ref: BlobRef) => blobs.check(ref));
    gone += 1;
    return whyNotErased(e, erased.has(e.seq));
  }
  if (!file.torn && !chain.broken() && claimed > chain.hashes.length)
    bad(file.lines, `entry ${chain.hashes.length + 1} of \`${session}\`: it is missing, though a commit names it`);
  return { problems, erased: gone };
}

/** Null when one of them is something else: only what is signed by a root key can stand here. */
function keysOfHeader(keys: readonly KeyEntry[]) {
  const entries: { seq: Seq; at: Millis; event: SystemEvent }[] = [];
  for (const { kind, payload } of keys) {
    const event = checkPayload(kind, payload).kind === "good" ? systemEvent(kind, payload) : null;
    if (event?.kind !== "key.certified" && event?.kind !== "key.rotated") return null;
    entries.push({ seq: seq(entries.length + 1), at: millis(0), event });
  }
  return entries;
}

/** Entries of `erasures` that came along: each proved by its path, none chained to the next, since those between are not here. */
function erasedPlaces(session: StreamId) {
  const ranges: { first: Seq; last: Seq }[] = [];
  return {
    has: (at: Seq) => ranges.some((r) => r.first <= at && at <= r.last),
    add(e: StoredEntry, hash: Hash): string | null {
      if (e.payload === null || e.salt === null) return "entries of this stream cannot be erased";
      if (entryHash(e, hash) !== e.entryHash) return "its hash does not match its header";
      if (payloadHash(e.salt, e.payload, hash) !== e.payloadHash) return "its hash does not match its payload";
      const checked = checkPayload(e.kind, e.payload);
      if (checked.kind === "bad") return checked.detail;
      const event = systemEvent(e.kind, e.payload);
      if (event?.kind !== "content.erased" || event.stream !== session) return "it is not about this session";
      ranges.push({ first: event.first, last: event.last });
      return null;
    },
  };
}
