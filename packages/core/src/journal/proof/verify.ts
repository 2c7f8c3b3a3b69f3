/**
 * Proof that a journal is what its writers wrote, from the stored form and the root's public key alone.
 * J-21 the commits of one writer, or the entries of one stream, cannot be cut off at the end while another writer's seal names them.
 * J-28 a journal that is written to meanwhile verifies like one that rests: what came after the reading began is not held against it.
 *
 * Each entry is hashed twice (payload, header), and once more in its commit's tree; one signature is checked per commit.
 * Rules: J-9, J-11, J-12.
 */
import { type Digest, KEYS, type Seq, type StreamId, seq, type WriterId } from "../../vocab/index.ts";
import { merkleRoot, parseRanges, type Range, type StoredCommit } from "../codec.ts";
import type { Records } from "../port.ts";
import {
  type CommitChain,
  createBlobCheck,
  createCommitChain,
  createEntryChain,
  createErasureBook,
  createKeyBook,
  type EntryChain,
  type KeyBook,
  type ProofPorts,
  refuseErasure,
  refusePayload,
} from "./checks.ts";
import type { Keyring } from "./keys.ts";
import { type PolicySetWithoutTexts, policyProof } from "./policy-texts.ts";
import type { Head, WriterHead } from "./seal.ts";
import { parseSeen, type SeenPlace, seenName } from "./seen.ts";

export type VerifyProblem =
  | Readonly<{ kind: "entry"; stream: StreamId; seq: Seq; reason: string }>
  | Readonly<{ kind: "commit"; writer: WriterId; commit: number; reason: string }>;

export type Verification = Readonly<{
  counts: Readonly<{ streams: number; entries: number; commits: number; writers: number; blobs: number; erased: number }>;
  head: Head;
  /** Null: everything is as it was written. */
  firstBad: VerifyProblem | null;
  /** In order, entries before commits; at most MOST_PROBLEMS of each. */
  problems: readonly VerifyProblem[];
  /** Sets that sessions name and whose texts were never stored: an older journal, or a gate in a program's own code. */
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
}>;

export const MAX_VERIFY_PROBLEMS = 1_000;
const PROGRESS_EVERY = 5_000;

/** `late`: of a commit that was read after the entries were, and may name some that came later still. */
type Claim = Readonly<{ first: Seq; count: number; writer: WriterId; number: number; late: boolean }>;
type Sealed = Readonly<{ writer: WriterId; number: number; ranges: readonly Range[]; root: Digest }>;
type Walked = Readonly<{ stream: StreamId; found: { seq: Seq; reason: string }[]; chain: EntryChain }>;

export function verify({ records, root, ports, head, progress, torn }: Verify): Verification {
  const partial = torn !== null;
  const commits = readCommits(records, createKeyBook(records, root, ports, torn), ports, head);
  commits.read(false); // before the entries, so that whatever these commits name is there by then
  const erasures = createErasureBook(records);
  const blobs = createBlobCheck(records, ports.hash, partial);
  const policies = policyProof(records, ports.hash, partial);
  const present = new Set(records.streams());
  const walked: Walked[] = [];
  let entries = 0;
  let erased = 0;
  let stillThere = 0;
  for (const stream of [...new Set([...present, ...commits.claims.keys()])].sort()) {
    const found: { seq: Seq; reason: string }[] = [];
    const chain = createEntryChain(stream, ports.hash);
    for (const e of records.entries(stream)) {
      entries += 1;
      if (entries % PROGRESS_EVERY === 0) progress(entries);
      const at = chain.place();
      const reason = chain.check(e);
      if (reason !== null) found.push({ seq: at, reason });
      if (chain.broken()) break;
      let why: string | null = null;
      if (e.payload === null || e.salt === null) {
        erased += 1;
        why = refuseErasure(e, erasures.cover(stream, at));
      } else if (reason === null) {
        if (erasures.known(stream, at)) stillThere += 1;
        why = refusePayload(e.kind, e.payload, (ref) => {
          const bad = blobs.check(ref);
          // a blob may go together with its payload, right after that was read
          return bad === null || (records.blob(ref.address) === null && erasures.cover(stream, at)) ? null : bad;
        });
        why ??= policies.check(e);
      }
      if (why !== null) found.push({ seq: at, reason: why });
    }
    walked.push({ stream, found, chain });
  }
  progress(entries);

  const isAhead = ({ stream, chain }: Walked): boolean => {
    const claimed = (commits.claims.get(stream) ?? []).reduce((last, c) => Math.max(last, c.first + c.count - 1), 0);
    return !chain.broken() && chain.hashes.length > claimed;
  };
  if (walked.some(isAhead) || commits.isBehind()) commits.read(true);

  const entryProblems: VerifyProblem[] = [];
  const leaves = new Map<StreamId, readonly Digest[]>();
  const badKeys = partial ? [] : commits.ring().bad;
  for (const { stream, found, chain } of walked) {
    if (stream === KEYS) found.push(...badKeys);
    if (!chain.broken()) found.push(...coverage(commits.claims.get(stream) ?? [], chain.hashes.length, partial));
    found.sort((a, b) => a.seq - b.seq);
    for (const f of found) if (entryProblems.length < MAX_VERIFY_PROBLEMS) entryProblems.push({ kind: "entry", stream, ...f });
    leaves.set(stream, chain.hashes);
  }
  for (const c of commits.sealed) {
    const tree = c.ranges.flatMap((r) => (leaves.get(r.stream) ?? []).slice(r.first - 1, r.first - 1 + r.count));
    // entries that are missing were named above; without them there is no root to compare
    if (tree.length !== c.ranges.reduce((sum, r) => sum + r.count, 0)) continue;
    if (merkleRoot(tree, ports.hash) !== c.root) commits.bad(c.writer, c.number, "its entries are not those it was sealed over");
  }
  if (!partial) for (const p of missed(commits, leaves)) (p.kind === "entry" ? entryProblems : commits.problems).push(p);
  const heads = commits.heads();
  if (head !== null) checkHead(head, heads, commits.bad);
  const problems = [...entryProblems.sort(byEntry), ...commits.problems.sort(byCommit)];
  return {
    counts: { streams: present.size, entries, commits: commits.count(), writers: heads.size, blobs: blobs.count(), erased },
    head: heads,
    firstBad: problems[0] ?? null,
    problems,
    textless: policies.textless(),
    stillThere,
  };
}

/** The writers' chains, as far as they have been read: reading again goes on where the last reading ended. */
function readCommits(records: Records, keys: KeyBook, ports: ProofPorts, head: Head | null) {
  const chains = new Map<WriterId, { readonly chain: CommitChain; taken: number }>();
  const hashes = new Map<WriterId, Digest[]>();
  const seen = new Map<string, Sighting>();
  const claims = new Map<StreamId, Claim[]>();
  const sealed: Sealed[] = [];
  const problems: VerifyProblem[] = [];
  const bad = (writer: WriterId, commit: number, reason: string): void => {
    if (problems.length < MAX_VERIFY_PROBLEMS) problems.push({ kind: "commit", writer, commit, reason });
  };
  function take(writer: WriterId, c: StoredCommit, chain: CommitChain, late: boolean): void {
    const reason = chain.check(c);
    if (reason !== null) bad(writer, chain.place(), reason);
    const expected = head?.get(writer);
    if (expected?.number === c.number && expected.hash !== c.hash) bad(writer, c.number, "it is not the commit of the given head");
    const own = hashes.get(writer);
    if (own === undefined) hashes.set(writer, [c.hash]);
    else own.push(c.hash);
    if (!late)
      for (const one of parseSeen(c.seen) ?? [])
        if (one.kind !== "sum") seen.set(`${seenName(one)}${one.number}`, { ...one, by: { writer, number: c.number } });
    const ranges = parseRanges(c.ranges);
    if (ranges === null) return;
    sealed.push({ writer, number: c.number, ranges, root: c.root });
    for (const { stream, first, count } of ranges) {
      const claim = { first, count, writer, number: c.number, late };
      const list = claims.get(stream);
      if (list === undefined) claims.set(stream, [claim]);
      else list.push(claim);
    }
  }
  return {
    claims,
    sealed,
    problems,
    bad,
    seen,
    hashes,
    /** Of a journal that is written to meanwhile: a writer read later names commits of one that was read before. */
    isBehind: () => [...seen.values()].some((one) => one.kind === "writer" && one.number > (hashes.get(one.name)?.length ?? 0)),
    ring: keys.ring,
    count: () => [...chains.values()].reduce((sum, c) => sum + c.taken, 0),
    heads(): Head {
      const heads = new Map<WriterId, WriterHead>();
      for (const [writer, { chain }] of chains) {
        const last = chain.head();
        if (last !== null) heads.set(writer, last);
      }
      return heads;
    },
    read(late: boolean): void {
      for (const writer of [...records.writers()].sort()) {
        const known = chains.get(writer) ?? { chain: createCommitChain(writer, keys, ports), taken: 0 };
        chains.set(writer, known);
        let place = 0;
        for (const c of records.commits(writer)) {
          place += 1;
          if (place > known.taken) take(writer, c, known.chain, late);
        }
        known.taken = Math.max(known.taken, place);
      }
    },
  };
}

/** A claim of one commit about another writer or stream. */
type Sighting = SeenPlace & Readonly<{ by: Readonly<{ writer: WriterId; number: number }> }>;

/** Commits and entries that a seal names and that are missing or different. */
function* missed(
  { seen, hashes }: Readonly<{ seen: ReadonlyMap<string, Sighting>; hashes: ReadonlyMap<WriterId, readonly Digest[]> }>,
  leaves: ReadonlyMap<StreamId, readonly Digest[]>,
): Generator<VerifyProblem> {
  for (const one of seen.values()) {
    const found = (one.kind === "writer" ? hashes.get(one.name) : leaves.get(one.name))?.[one.number - 1];
    if (found === one.hash) continue;
    const by = `commit ${one.by.number} of writer \`${one.by.writer}\` names`;
    const reason = found === undefined ? `it is missing: ${by} it` : `it is not the one that ${by}`;
    if (one.kind === "writer") yield { kind: "commit", writer: one.name, commit: one.number, reason };
    else yield { kind: "entry", stream: one.name, seq: seq(one.number), reason };
  }
}

/** By writer and number; of several about one commit, the one that was found first. */
function byCommit(a: VerifyProblem, b: VerifyProblem): number {
  if (a.kind !== "commit" || b.kind !== "commit") return 0;
  return a.writer < b.writer ? -1 : a.writer > b.writer ? 1 : a.commit - b.commit;
}

function byEntry(a: VerifyProblem, b: VerifyProblem): number {
  if (a.kind !== "entry" || b.kind !== "entry") return 0;
  return a.stream < b.stream ? -1 : a.stream > b.stream ? 1 : a.seq - b.seq;
}

/** Every writer is at or after the given head, and what it has there is what it had then. */
function checkHead(given: Head, heads: Head, bad: (writer: WriterId, commit: number, reason: string) => void): void {
  for (const [writer, { number }] of given) {
    const now = heads.get(writer);
    if (now === undefined) bad(writer, 1, `it is missing: the given head has commit ${number} of this writer`);
    else if (now.number < number)
      bad(writer, now.number + 1, `it is missing: the given head has commit ${number}, the journal ends before it`);
  }
}

/** Where a stream's entries and the commits' claims on them part. `count` entries are there. */
function coverage(claims: Claim[], count: number, partial: boolean): { seq: Seq; reason: string }[] {
  const found: { seq: Seq; reason: string }[] = [];
  let next = 1;
  for (const c of claims.sort((a, b) => a.first - b.first || (a.writer < b.writer ? -1 : 1))) {
    const by = `commit ${c.number} of writer \`${c.writer}\``;
    if (c.first < next) found.push({ seq: c.first, reason: `${by} claims it, and so does another commit` });
    if (c.first > next && next <= count && !partial) found.push({ seq: seq(next), reason: "no commit covers it" });
    const end = c.first + c.count;
    if (end - 1 > count && !partial && !c.late)
      found.push({ seq: seq(Math.max(count + 1, c.first)), reason: `it is missing: ${by} names it` });
    next = Math.max(next, end);
  }
  if (next <= count && !partial) found.push({ seq: seq(next), reason: "no commit covers it" });
  return found;
}
