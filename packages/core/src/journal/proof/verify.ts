/**
 * Proof that a journal is what its writers wrote, from the stored form and the root's public key alone.
 * J-21 the seals of one writer, or the entries of one stream, cannot be cut off at the end while another writer's seal names them.
 * J-28 a journal that is written to meanwhile verifies like one that rests: what came after the reading began is not held against it.
 *
 * Each entry is hashed twice (payload, header); one signature is checked per seal. One stream is read at a time, and of what seals name no more than
 * MARKS_AT_ONCE is kept: memory grows with streams and writers, not with entries (`bench --only growth`).
 * Rules: J-9, J-11, J-12, J-31.
 */
import { KEYS, type Seq, type StreamId } from "../../vocab/index.ts";
import type { Records } from "../port.ts";
import {
  createBlobCheck,
  createEntryChain,
  createErasureBook,
  createKeyBook,
  type ProofPorts,
  refuseErasure,
  refusePayload,
} from "./checks.ts";
import type { Keyring } from "./keys.ts";
import { type PolicySetWithoutTexts, policyProof } from "./policy-texts.ts";
import type { Head } from "./seal.ts";
import { SealBook, type VerifyProblem } from "./seal-book.ts";
import { isAlwaysSealed } from "./sealing.ts";

export type Verification = Readonly<{
  counts: Readonly<{
    streams: number;
    entries: number;
    seals: number;
    writers: number;
    blobs: number;
    erased: number;
    /** Entries that no seal covers yet: written in the last moments, or before a crash. Chained, but signed by nobody. */
    unsealed: number;
    /** Seals over what a process had left unsealed when it died. */
    recovered: number;
  }>;
  head: Head;
  /** Null: everything is as it was written. */
  firstBad: VerifyProblem | null;
  /** In order, entries before seals; at most MAX_VERIFY_PROBLEMS of each. */
  problems: readonly VerifyProblem[];
  /** Sets that sessions name and whose texts were never stored: a gate in a program's own code. */
  textless: readonly PolicySetWithoutTexts[];
  /** Entries whose erasure is on record while their payload is still stored: an erasure that was cut short. */
  stillThere: number;
}>;

export type Verify = Readonly<{
  records: Records;
  /** The public key of a root key the verifier trusts: any one of the project's, since rotations are signed both ways. */
  root: string;
  ports: ProofPorts;
  /** A head kept elsewhere; null when there is none to compare with. */
  head: Head | null;
  /** Called every few thousand entries. */
  progress: (entries: number) => void;
  /** Of a torn export: the keys it names, since their stream may be what is torn off. What is absent is not held against what is there. */
  torn: Keyring | null;
  /** For tests, which have no journal of that size. */
  marksAtOnce?: number;
}>;

export const MAX_VERIFY_PROBLEMS = 1_000;
/** Some 50 MB. */
const MARKS_AT_ONCE = 200_000;
const PROGRESS_EVERY = 5_000;

type FoundBad = Readonly<{ seq: Seq; reason: string }>;
/** One stream as it was read: what is wrong with it, what seals name beyond its end, and what stands after the last entry that a seal covers. */
type Walked = Readonly<{ stream: StreamId; found: FoundBad[]; missing: readonly FoundBad[]; tail: readonly UnsealedEntry[] }>;
type UnsealedEntry = Readonly<{ seq: Seq; hash: string; always: boolean }>;
/** What reading the streams has counted. */
type Walk = { entries: number; erased: number; stillThere: number };

export function verify({ records, root, ports, head, progress, torn, marksAtOnce = MARKS_AT_ONCE }: Verify): Verification {
  const partial = torn !== null;
  const keys = createKeyBook(records, root, ports, torn);
  const seals = new SealBook({ records, keys, ports, head, most: MAX_VERIFY_PROBLEMS, marksAtOnce });
  seals.read(); // before the entries, so that whatever these seals name is there by then
  const blobs = createBlobCheck(records, ports.hash, partial);
  const policies = policyProof(records, ports.hash, partial);
  const present = new Set(records.streams());
  const walk: Walk = { entries: 0, erased: 0, stillThere: 0 };
  const walkStream = streamWalker({ records, ports, progress, seals, blobs, policies, walk });
  const walked: Walked[] = [];
  for (const part of seals.inParts([...new Set([...present, ...seals.streams()])].sort()))
    for (const stream of part) {
      const one = walkStream(stream);
      if (stream === KEYS || one.found.length + one.missing.length + one.tail.length > 0) walked.push(one);
    }
  progress(walk.entries);
  if (walked.some(({ tail }) => tail.length > 0) || seals.isBehind()) seals.readOn();

  const entryProblems: VerifyProblem[] = [];
  const badKeys = partial ? [] : keys.ring().bad;
  let unsealed = 0;
  for (const { stream, found, missing, tail } of walked) {
    if (stream === KEYS) found.push(...badKeys);
    const left = tail.slice(seals.coveredLater(stream, tail));
    unsealed += left.length;
    if (!partial) {
      const bare = seals.isBroken ? [] : left;
      found.push(
        ...bare
          .filter((e) => e.always)
          .map(({ seq: at }) => ({ seq: at, reason: "no seal covers it, and such an entry is sealed as it is written" })),
      );
      found.push(...missing);
    }
    found.sort((a, b) => a.seq - b.seq);
    for (const f of found) if (entryProblems.length < MAX_VERIFY_PROBLEMS) entryProblems.push({ kind: "entry", stream, ...f });
  }
  if (!partial) seals.checkSeen();
  if (head !== null) seals.checkHead(head);
  const heads = seals.heads();
  const problems = [...entryProblems, ...seals.problems.sort(bySeal)];
  return {
    counts: {
      streams: present.size,
      entries: walk.entries,
      seals: seals.count(),
      writers: heads.size,
      blobs: blobs.count(),
      erased: walk.erased,
      unsealed,
      recovered: seals.recovered(),
    },
    head: heads,
    firstBad: problems[0] ?? null,
    problems,
    textless: policies.textless(),
    stillThere: walk.stillThere,
  };
}

type Walker = Pick<Verify, "records" | "ports" | "progress"> &
  Readonly<{ seals: SealBook; blobs: ReturnType<typeof createBlobCheck>; policies: ReturnType<typeof policyProof>; walk: Walk }>;

/** Reads one stream, entry by entry. */
function streamWalker({ records, ports, progress, seals, blobs, policies, walk }: Walker): (stream: StreamId) => Walked {
  const erasures = createErasureBook(records);
  return (stream) => {
    const found: FoundBad[] = [];
    const tail: UnsealedEntry[] = [];
    const chain = createEntryChain(stream, ports.hash);
    const covered = seals.coveredUpTo(stream);
    for (const e of records.entries(stream)) {
      walk.entries += 1;
      if (walk.entries % PROGRESS_EVERY === 0) progress(walk.entries);
      const at = chain.place();
      const reason = chain.check(e);
      if (reason !== null) found.push({ seq: at, reason });
      if (chain.broken()) break;
      let why: string | null = null;
      if (e.payload === null || e.salt === null) {
        walk.erased += 1;
        why = refuseErasure(e, erasures.cover(stream, at));
      } else if (reason === null) {
        if (erasures.known(stream, at)) walk.stillThere += 1;
        why = refusePayload(e.kind, e.payload, (ref) => {
          const bad = blobs.check(ref);
          // a blob may go together with its payload, right after that was read
          return bad === null || (records.blob(ref.address) === null && erasures.cover(stream, at)) ? null : bad;
        });
        why ??= policies.check(e);
      }
      why ??= seals.whyOther(stream, at, e.entryHash);
      if (why !== null) found.push({ seq: at, reason: why });
      if (at > covered) tail.push({ seq: at, hash: e.entryHash, always: isAlwaysSealed(stream, e.kind) });
    }
    // of a stream whose entries cannot be told apart any more, nothing is said of its end
    return chain.broken()
      ? { stream, found, missing: [], tail: [] }
      : { stream, found, missing: seals.missing(stream, chain.count()), tail };
  };
}

/** By writer and number; of several about one seal, the one that was found first. */
function bySeal(a: VerifyProblem, b: VerifyProblem): number {
  if (a.kind !== "seal" || b.kind !== "seal") return 0;
  return a.writer < b.writer ? -1 : a.writer > b.writer ? 1 : a.seal - b.seal;
}
