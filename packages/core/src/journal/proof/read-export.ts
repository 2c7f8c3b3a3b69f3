/** An export read back and checked, with the file and the root's public key alone (J-13). */
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
import { type BlobRef, checkPayload, entryHash, type Mark, parseMarks, type StoredEntry, type StoredSeal } from "../codec.ts";
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
  type ExportHeader,
  type ExportLine,
  exportLineSchema,
  type KeyEntry,
  keyEntries,
  type LinkedProof,
  listUsedKeys,
  systemEvent,
  toHead,
} from "./export-lines.ts";
import { foldKeys, type Keyring, NO_KEYS } from "./keys.ts";
import { isPolicyStream, type PolicySetWithoutTexts, policyProof } from "./policy-texts.ts";
import { headText } from "./seal.ts";
import type { VerifyProblem } from "./seal-book.ts";
import { isAlwaysSealed } from "./sealing.ts";
import { verify } from "./verify.ts";

export type LineProblem = Readonly<{ line: number; reason: string }>;

export type ExportRead = Readonly<{
  what: "journal" | "session";
  stream: StreamId | null;
  /** The end is missing; what is there was checked. */
  torn: boolean;
  counts: Readonly<{ seals: number; entries: number; blobs: number; erased: number; unsealed: number }>;
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
    counts: {
      seals: file.seals.length,
      entries: file.entries.length,
      blobs: file.blobs.size,
      erased: checked.erased,
      unsealed: checked.unsealed,
    },
    head: file.header?.head ?? null,
    firstBad: problems[0] ?? null,
    problems,
    textless: checked.textless,
    records,
  };
}

type ReadEntry = Readonly<{ line: number; entry: StoredEntry; proof: LinkedProof | null }>;
type ReadSeal = Readonly<{ line: number; seal: StoredSeal }>;
type File = {
  header: ExportHeader | null;
  seals: ReadSeal[];
  entries: ReadEntry[];
  blobs: Map<string, { line: number; text: string }>;
  torn: boolean;
  lines: number;
  problems: LineProblem[];
};

function readLines(pieces: Iterable<string>): File {
  const file: File = { header: null, seals: [], entries: [], blobs: new Map(), torn: true, lines: 0, problems: [] };
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
  const line = exportLineSchema().safeParse(json.value);
  return line.success ? line.data : `the line is malformed: ${line.error.issues[0]?.path.join(".") || "kind"}`;
}

const ORDER: Readonly<Record<ExportLine["kind"], number>> = { header: 0, seal: 1, entry: 2, blob: 3, end: 4 };

function place(file: File, line: number, read: ExportLine): void {
  const bad = (reason: string) => file.problems.push({ line, reason });
  if ((read.kind === "header") !== (line === 1)) return void bad("a header stands in the first line, and nowhere else");
  if (!file.torn) return void bad("nothing stands after the end line");
  const before = file.blobs.size > 0 ? "blob" : file.entries.length > 0 ? "entry" : "seal";
  if (read.kind !== "header" && ORDER[read.kind] < ORDER[before]) return void bad(`a ${read.kind} stands after the first ${before}`);
  switch (read.kind) {
    case "header":
      file.header = read;
      return;
    case "seal": {
      const { kind: _, ...seal } = read;
      file.seals.push({ line, seal: seal as StoredSeal });
      return;
    }
    case "entry": {
      const { kind: _, event: kind, proof, ...entry } = read;
      const isLoose = file.header?.what === "session" && read.stream !== file.header.stream;
      if (isLoose !== (proof !== null)) bad("an entry without its neighbours comes with its proof, and no other");
      file.entries.push({ line, entry: { ...entry, kind } as StoredEntry, proof: proof as LinkedProof | null });
      return;
    }
    case "blob":
      if (file.blobs.has(read.address)) bad("the blob stands in the file twice");
      file.blobs.set(read.address, { line, text: read.text });
      return;
    case "end": {
      file.torn = false;
      const counted = read.seals === file.seals.length && read.entries === file.entries.length && read.blobs === file.blobs.size;
      if (!counted) bad("the counts are not those of the lines above");
    }
  }
}

function recordsOf(file: File): Records {
  const entries = Map.groupBy(
    file.entries.map((e) => e.entry),
    (e) => e.stream,
  );
  const seals = Map.groupBy(
    file.seals.map((s) => s.seal),
    (s) => s.writer,
  );
  return {
    streams: () => entries.keys(),
    entries: (stream) => entries.get(stream) ?? [],
    writers: () => seals.keys(),
    seals: (writer) => seals.get(writer) ?? [],
    blob: (address) => file.blobs.get(address)?.text ?? null,
  };
}

type Checked = Readonly<{ problems: readonly LineProblem[]; erased: number; unsealed: number; textless: readonly PolicySetWithoutTexts[] }>;

function checkJournal(file: File, records: Records, root: string, ports: ProofPorts): Checked {
  const problems: LineProblem[] = unusedBlobs(file);
  const ring = headerRing(file, ports, problems);
  const seals = file.seals.map((s) => s.seal);
  if (!file.torn && file.header?.head !== headText(toHead(seals)))
    problems.push({ line: 1, reason: "the head is not that of the seals below" });
  if (!file.torn && toCanonicalJson(file.header?.keys ?? []) !== toCanonicalJson([...keyEntries(records, listUsedKeys(seals))]))
    problems.push({ line: 1, reason: "the keys are not those that the seals need" });

  const result = verify({ records, root, ports, head: null, progress: () => {}, torn: file.torn ? ring : null });
  // by place, not by what a line says of itself: a missing one is found where another stands
  const entryLines = Map.groupBy(file.entries, (e) => e.entry.stream);
  const sealLines = Map.groupBy(file.seals, (s) => s.seal.writer);
  const lineFor = (p: VerifyProblem): number =>
    (p.kind === "entry" ? entryLines.get(p.stream)?.[p.seq - 1] : sealLines.get(p.writer)?.[p.seal - 1])?.line ?? file.lines;
  for (const p of result.problems) problems.push({ line: lineFor(p), reason: `${problemName(p)}: ${p.reason}` });
  return { problems, erased: result.counts.erased, unsealed: result.counts.unsealed, textless: result.textless };
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

/** `entry 3 of s_…`, `seal 2 of w…`. */
export const problemName = (p: VerifyProblem): string =>
  p.kind === "entry" ? `entry ${p.seq} of \`${p.stream}\`` : `seal ${p.seal} of \`${p.writer}\``;

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
  const policies = policyProof(records, ports.hash, file.torn);
  const { marks, own } = checkSeals(file, { session, keys: createKeyBook(records, root, ports, ring), ports, bad });
  const covered = Math.max(0, ...own.keys());

  /** An entry without its neighbours: the links after it lead to an entry that its seal names. */
  const whyUnlinked = ({ entry: e, proof }: ReadEntry): string | null => {
    if (proof === null) return null; // named where the line was read
    const end = proof.links.reduce(
      ({ seq: at, hash }, l): Pick<Mark, "seq" | "hash"> => {
        const next = {
          stream: e.stream,
          seq: seq(at + 1),
          at: millis(l.at),
          kind: l.event,
          previous: hash,
          payloadHash: l.payloadHash as Digest,
        };
        return { seq: next.seq, hash: entryHash(next, ports.hash) };
      },
      { seq: e.seq, hash: e.entryHash } as Pick<Mark, "seq" | "hash">,
    );
    const named = marks.get(`${proof.writer}@${proof.number}`) ?? [];
    return named.some((m) => m.stream === e.stream && m.seq === end.seq && m.hash === end.hash)
      ? null
      : "its links do not lead to an entry that its seal names";
  };
  const erased = erasedPlaces(session);
  const chain = createEntryChain(session, ports.hash);
  const blobs = createBlobCheck({ blob: (address) => file.blobs.get(address)?.text ?? null }, ports.hash, file.torn);
  let gone = 0;
  for (const read of file.entries) {
    const { entry: e, line } = read;
    const why = e.stream === session || !isLoose(e.stream) ? ownEntry(e) : (looseEntry(e) ?? whyUnlinked(read));
    const reason = why ?? policies.check(e);
    if (reason !== null) bad(line, `entry ${e.seq} of \`${e.stream}\`: ${reason}`);
    if (chain.broken()) break;
  }
  function looseEntry(e: StoredEntry): string | null {
    if (e.stream === ERASURES) return erased.add(e, ports.hash);
    return refuseEntry(e, ports.hash) ?? refusePayload(e.kind, e.payload ?? "", (ref: BlobRef) => blobs.check(ref));
  }
  function ownEntry(e: StoredEntry): string | null {
    const why = chain.check(e) ?? whyNotSealed(e);
    if (why !== null) return why;
    if (e.payload !== null && e.salt !== null) return refusePayload(e.kind, e.payload, (ref: BlobRef) => blobs.check(ref));
    gone += 1;
    return refuseErasure(e, erased.has(e.seq));
  }
  function whyNotSealed(e: StoredEntry): string | null {
    const named = own.get(e.seq);
    if (named !== undefined && named !== e.entryHash) return "it is not the one that its seal names";
    return e.seq > covered && isAlwaysSealed(session, e.kind) && !file.torn
      ? "no seal covers it, and such an entry is sealed as it is written"
      : null;
  }
  if (!file.torn && !chain.broken() && covered > chain.count())
    bad(file.lines, `entry ${chain.count() + 1} of \`${session}\`: it is missing, though a seal names it`);
  return { problems, erased: gone, unsealed: Math.max(0, chain.count() - covered), textless: policies.textless() };
}

type SealChecks = Readonly<{
  session: StreamId;
  keys: ReturnType<typeof createKeyBook>;
  ports: ProofPorts;
  bad: (line: number, reason: string) => void;
}>;

/** Each seal by itself: those between are not here. `marks` by seal, `own` of the session alone. */
function checkSeals(file: File, { session, keys, ports, bad }: SealChecks) {
  const checks = new Map<WriterId, ReturnType<typeof createSealCheck>>();
  const marks = new Map<string, readonly Mark[]>();
  const own = new Map<number, Digest>();
  for (const { line, seal: s } of file.seals) {
    const check = checks.get(s.writer) ?? createSealCheck(s.writer, keys, ports);
    checks.set(s.writer, check);
    const id = `${s.writer}@${s.number}`;
    const why = marks.has(id) ? "it stands in the file twice" : check(s);
    if (why !== null) bad(line, `seal ${s.number} of \`${s.writer}\`: ${why}`);
    const named = parseMarks(s.wrote) ?? [];
    marks.set(id, named);
    for (const m of named) if (m.stream === session) own.set(m.seq, m.hash);
  }
  return { marks, own };
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

/** Entries of `erasures` that came along: each proved by its links, none chained to the next, since those between are not here. */
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
