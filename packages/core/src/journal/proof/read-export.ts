/** An export read back and checked, with the file and the root's public key alone (J-13). */
import type * as z from "zod";
import {
  type Digest,
  ERASURES,
  type Hash,
  type Millis,
  millis,
  readJson,
  type Seq,
  type StreamId,
  type SystemEvent,
  seq,
  toCanonicalJson,
  type WriterId,
} from "../../vocab/index.ts";
import { type BlobRef, checkPayload, parseRanges, type Range, rootFromPath, type StoredCommit, type StoredEntry } from "../codec.ts";
import type { Records } from "../port.ts";
import {
  createBlobCheck,
  createEntryChain,
  createKeyBook,
  createSealCheck,
  type ProofPorts,
  refuseEntry,
  refuseErasure,
  refusePayload,
} from "./checks.ts";
import {
  createBlobCounter,
  ExportLine,
  type Header,
  type InclusionProof,
  type KeyEntry,
  keyEntries,
  listUsedKeys,
  systemEvent,
  toHead,
} from "./export-lines.ts";
import { foldKeys, type Keyring, NO_KEYS } from "./keys.ts";
import { isPolicyStream, type PolicySetWithoutTexts, policyProof } from "./policy-texts.ts";
import { headText } from "./seal.ts";
import { type VerifyProblem, verify } from "./verify.ts";

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
  /** Sets that its sessions name and whose texts did not come along. */
  textless: readonly PolicySetWithoutTexts[];
  /** The records of the file, to read or to export again. */
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
    textless: checked.textless,
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

function readLine(text: string): ExportLine | string {
  const json = readJson(text);
  if (json.kind === "not-json") return json.detail;
  if (toCanonicalJson(json.value) !== text) return "the line is not canonical JSON";
  const line = ExportLine.safeParse(json.value);
  return line.success ? line.data : `the line is malformed: ${line.error.issues[0]?.path.join(".") || "kind"}`;
}

const ORDER: Readonly<Record<ExportLine["kind"], number>> = { header: 0, commit: 1, entry: 2, blob: 3, end: 4 };

function place(file: File, line: number, read: ExportLine): void {
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
      const { kind: _, seen = "", ...commit } = read;
      file.commits.push({ line, commit: { ...commit, seen } as StoredCommit });
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

type Checked = Readonly<{ problems: readonly LineProblem[]; erased: number; textless: readonly PolicySetWithoutTexts[] }>;

function checkJournal(file: File, records: Records, root: string, ports: ProofPorts): Checked {
  const problems: LineProblem[] = unusedBlobs(file);
  const ring = headerRing(file, ports, problems);
  const commits = file.commits.map((c) => c.commit);
  if (!file.torn && file.header?.head !== headText(toHead(commits)))
    problems.push({ line: 1, reason: "the head is not that of the commits below" });
  if (!file.torn && toCanonicalJson(file.header?.keys ?? []) !== toCanonicalJson([...keyEntries(records, listUsedKeys(commits))]))
    problems.push({ line: 1, reason: "the keys are not those that the commits need" });

  const result = verify({ records, root, ports, head: null, progress: () => {}, torn: file.torn ? ring : null });
  // by place, not by what a line says of itself: a missing one is found where another stands
  const entryLines = Map.groupBy(file.entries, (e) => e.entry.stream);
  const commitLines = Map.groupBy(file.commits, (c) => c.commit.writer);
  const lineFor = (p: VerifyProblem): number =>
    (p.kind === "entry" ? entryLines.get(p.stream)?.[p.seq - 1] : commitLines.get(p.writer)?.[p.commit - 1])?.line ?? file.lines;
  for (const p of result.problems) problems.push({ line: lineFor(p), reason: `${problemName(p)}: ${p.reason}` });
  return { problems, erased: result.counts.erased, textless: result.textless };
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
export const problemName = (p: VerifyProblem): string =>
  p.kind === "entry" ? `entry ${p.seq} of \`${p.stream}\`` : `commit ${p.commit} of \`${p.writer}\``;

function whyBadRoot(root: string, ring: Keyring): LineProblem[] {
  const first = ring.roots[0];
  const same = (first === undefined ? "" : ring.keys.get(first)?.publicKey) === root;
  return same ? [] : [{ line: 1, reason: "the root key is not the one that the keys go back to" }];
}

/** A text that no entry refers to is proved by nothing. */
function unusedBlobs(file: File): LineProblem[] {
  if (file.blobs.size === 0) return [];
  const used = createBlobCounter();
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
  const records = recordsOf(file);
  const keys = createKeyBook(records, root, ports, ring);
  const policies = policyProof(records, ports.hash, file.torn);
  const commits = new Map<string, { root: Digest; ranges: readonly Range[] }>();
  const seals = new Map<WriterId, ReturnType<typeof createSealCheck>>();
  let claimed = 0; // the last entry of the session that a commit names
  for (const { line, commit: c } of file.commits) {
    const seal = seals.get(c.writer) ?? createSealCheck(c.writer, keys, ports);
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
  const chain = createEntryChain(session, ports.hash);
  const blobs = createBlobCheck({ blob: (address) => file.blobs.get(address)?.text ?? null }, ports.hash, file.torn);
  let gone = 0;
  for (const read of file.entries) {
    const { entry: e, line } = read;
    const why = e.stream === session || !isLoose(e.stream) ? ownEntry(e) : looseEntry(e);
    const reason = why ?? whyUnproved(read) ?? policies.check(e);
    if (reason !== null) bad(line, `entry ${e.seq} of \`${e.stream}\`: ${reason}`);
    if (chain.broken()) break;
  }
  function looseEntry(e: StoredEntry): string | null {
    if (e.stream === ERASURES) return erased.add(e, ports.hash);
    return refuseEntry(e, ports.hash) ?? refusePayload(e.kind, e.payload ?? "", (ref: BlobRef) => blobs.check(ref));
  }
  function ownEntry(e: StoredEntry): string | null {
    const why = chain.check(e);
    if (why !== null) return why;
    if (e.payload !== null && e.salt !== null) return refusePayload(e.kind, e.payload, (ref: BlobRef) => blobs.check(ref));
    gone += 1;
    return refuseErasure(e, erased.has(e.seq));
  }
  if (!file.torn && !chain.broken() && claimed > chain.hashes.length)
    bad(file.lines, `entry ${chain.hashes.length + 1} of \`${session}\`: it is missing, though a commit names it`);
  return { problems, erased: gone, textless: policies.textless() };
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

const isLoose = (stream: StreamId): boolean => stream === ERASURES || isPolicyStream(stream);

/** Entries of `erasures` that came along: each proved by its path, none chained to the next, since those between are not here. */
function erasedPlaces(session: StreamId) {
  const ranges: { first: Seq; last: Seq }[] = [];
  return {
    has: (at: Seq) => ranges.some((r) => r.first <= at && at <= r.last),
    add(e: StoredEntry, hash: Hash): string | null {
      const why = refuseEntry(e, hash) ?? refusePayload(e.kind, e.payload ?? "", () => null);
      if (why !== null) return why;
      const event = systemEvent(e.kind, e.payload ?? "");
      if (event?.kind !== "content.erased" || event.stream !== session) return "it is not about this session";
      ranges.push({ first: event.first, last: event.last });
      return null;
    },
  };
}
