/**
 * The sets of policies as the journal has them: which was in force since when, who applied it and why, and what it said.
 * G-21 a set is found by its digest, by a time, or by an entry of a session; its texts come from the journal, never from the files of today.
 */
import {
  type Digest,
  digestJson,
  type Entry,
  type FileChange,
  type FileDigest,
  isFault,
  type Journal,
  type Millis,
  millis,
  POLICY,
  principalName,
  type Seq,
  type StreamId,
  seq,
  textStream,
} from "@orgate/core";
import { readRule } from "@orgate/core/gate";
import { eachEntry, listPolicyFiles } from "@orgate/core/journal";
import { decisionsIn, usageFault } from "@orgate/core/vocab";
import { countSet, type SetCounts } from "@orgate/protocol/view";
import { sha256 } from "../node/crypto.ts";
import { findStreamEnd } from "../store/stream-end.ts";
import type { SetFile } from "./policies.ts";

type Reads = Pick<Journal, "read" | "streams">;

/** A set, and the entry that says most about it. `digest` is what sessions name; null for a set that was applied and never loaded. */
export type KnownSet = Readonly<{ seq: Seq; at: Millis; by: string; digest: Digest | null; files: Digest; list: readonly FileDigest[] }>;

/** One entry of the history. `changes`: against the set loaded before it, or as it was applied. */
export type HistoryRow = Readonly<{
  seq: Seq;
  at: Millis;
  kind: "loaded" | "applied" | "refused";
  by: string;
  digest: Digest | null;
  files: Digest | null;
  /** Null where the list of its files was not stored. */
  counts: SetCounts | null;
  /** Its texts can be shown. */
  stored: boolean;
  changes: readonly FileChange[];
  reason: string;
  problems: readonly string[];
}>;

const PAGE = 200;
const LATEST = millis(Number.MAX_SAFE_INTEGER);

/** Newest first. `next` is null when there is nothing older. */
export async function policyHistory(
  journal: Reads,
  { before, limit }: Readonly<{ before: number | null; limit: number }>,
): Promise<Readonly<{ rows: readonly HistoryRow[]; next: number | null }>> {
  const end = Math.min(before === null ? Number.MAX_SAFE_INTEGER : before - 1, await findStreamEnd(journal, POLICY));
  const first = Math.max(0, end - limit);
  let last = await loadedBefore(journal, first);
  const rows: HistoryRow[] = [];
  for (const entry of end > first ? await journal.read(POLICY, seq(first), end - first) : []) {
    const row = await rowOf(journal, entry, last);
    if (row !== null) rows.push(row);
    if (entry.event.kind === "policy.loaded") last = entry.event.files;
  }
  return { rows: rows.reverse(), next: first > 0 ? first + 1 : null };
}

async function rowOf(journal: Reads, { seq: place, at, event: e }: Entry, last: readonly FileDigest[]): Promise<HistoryRow | null> {
  switch (e.kind) {
    case "policy.loaded": {
      const facts = { digest: e.digest, files: digestJson(e.files, sha256), counts: countsOf(e.files), stored: e.texts };
      const changes = diffFileDigests(last, e.files);
      return { seq: place, at, kind: "loaded", by: principalName(e.by), ...facts, changes, reason: "", problems: [] };
    }
    case "policy.applied": {
      const list = e.texts ? await listed(journal, e.files) : null;
      const facts = { digest: null, files: e.files, counts: list === null ? null : countsOf(list), stored: list !== null };
      return { seq: place, at, kind: "applied", by: principalName(e.by), ...facts, changes: e.changes, reason: e.reason, problems: [] };
    }
    case "policy.refused": {
      const facts = { digest: null, files: e.files, counts: null, stored: false };
      return { seq: place, at, kind: "refused", by: principalName(e.by), ...facts, changes: [], reason: "", problems: e.problems };
    }
    default:
      return null;
  }
}

const countsOf = (files: readonly FileDigest[]): SetCounts => countSet(files.map(({ path }) => path));

async function loadedBefore(journal: Reads, end: number): Promise<readonly FileDigest[]> {
  for (let to = end; to > 0; to -= PAGE) {
    const from = Math.max(0, to - PAGE);
    const found = (await journal.read(POLICY, seq(from), to - from)).findLast(({ event }) => event.kind === "policy.loaded")?.event;
    if (found?.kind === "policy.loaded") return found.files;
  }
  return [];
}

export function diffFileDigests(before: readonly FileDigest[], after: readonly FileDigest[]): readonly FileChange[] {
  const [old, next] = [before, after].map((files) => new Map(files.map(({ path, digest }) => [path, digest])));
  return [...new Set([...before, ...after].map(({ path }) => path))].sort().flatMap((path): readonly FileChange[] => {
    const [was, is] = [old?.get(path), next?.get(path)];
    if (was === is) return [];
    return [{ path, change: was === undefined ? "added" : is === undefined ? "removed" : "changed" }];
  });
}

/** Every set that was ever loaded or applied, oldest first. */
async function* knownSets(journal: Reads): AsyncGenerator<KnownSet> {
  for await (const { seq: place, at, event: e } of eachEntry(journal, POLICY)) {
    if (e.kind === "policy.loaded") {
      const files = digestJson(e.files, sha256);
      yield { seq: place, at, by: principalName(e.by), digest: e.digest, files, list: e.files };
    } else if (e.kind === "policy.applied" && e.texts) {
      for (const files of [e.before, e.files])
        yield { seq: place, at, by: principalName(e.by), digest: null, files, list: (await listed(journal, files)) ?? [] };
    }
  }
}

/**
 * By the first characters of either digest: of the set as sessions name it, or of its files. Sets that differ in comments alone decide alike and share
 * the first: of those, the one loaded last before `at`; by the digest of its files each is found.
 */
export async function findSet(journal: Reads, wanted: string, at: Millis = LATEST): Promise<KnownSet> {
  if (!/^[0-9a-f]{6,64}$/.test(wanted))
    throw usageFault(`\`${wanted}\` is no digest`, "give at least 6 of its characters: `orgate policy history`");
  const found = new Map<string, KnownSet>();
  for await (const set of knownSets(journal))
    for (const digest of [set.digest, set.files])
      if (digest?.startsWith(wanted) === true && (!found.has(digest) || (set.digest !== null && set.at <= at))) found.set(digest, set);
  const [one, ...others] = new Map([...found.values()].map((set) => [set.files, set])).values();
  if (one === undefined) throw usageFault(`no set of policies has the digest \`${wanted}\``, "`orgate policy history` lists them");
  if (others.length > 0) throw usageFault(`several sets begin with \`${wanted}\``, "give more of its characters");
  return one;
}

/** The set that was loaded last at that time. */
export async function findSetAt(journal: Reads, at: Millis): Promise<KnownSet> {
  let found: KnownSet | null = null;
  for await (const set of knownSets(journal)) if (set.digest !== null && set.at <= at) found = set;
  if (found === null) throw usageFault("no policies were loaded by then", "`orgate policy history` tells since when there are any");
  return found;
}

/** The digest of the set that a session ran under at one of its entries, what it was opened with or told last, and when that entry was written. */
export async function findSetDigestAt(
  journal: Pick<Journal, "read">,
  stream: StreamId,
  end: Seq,
): Promise<Readonly<{ digest: Digest; at: Millis }> | null> {
  let [digest, at]: [Digest | null, Millis] = [null, millis(0)];
  for (let after = seq(0); after < end; ) {
    const page = await journal.read(stream, after, Math.min(2_000, end - after));
    for (const entry of page) {
      [after, at] = [entry.seq, entry.at];
      if (entry.event.kind === "session.opened" || entry.event.kind === "agent.changed") digest = entry.event.agent.policies;
    }
    if (page.length === 0) break;
  }
  return digest === null ? null : { digest, at };
}

/** The set that a session ran under at one of its entries. `files` null: nobody recorded its files. */
export async function findSetOfEntry(
  journal: Reads,
  stream: StreamId,
  end: Seq,
): Promise<Readonly<{ digest: Digest | null; files: Digest | null }>> {
  const named = await findSetDigestAt(journal, stream, end);
  if (named === null) return { digest: null, files: null };
  return { digest: named.digest, files: await ifStored(async () => (await findSet(journal, named.digest, named.at)).files, null) };
}

/** The files of a set with their texts. */
export async function readSet(journal: Reads, { list, files }: Pick<KnownSet, "list" | "files">): Promise<readonly SetFile[]> {
  return Promise.all(
    list.map(async (file) => {
      const text = await textOf(journal, file.digest);
      if (text !== null) return { ...file, text };
      throw usageFault(
        `the text of \`${file.path}\` in set \`${files.slice(0, 12)}\` is not in the journal`,
        "it was loaded before texts were stored; sets that are loaded or applied from now on are kept",
      );
    }),
  );
}

/** A rule as it was written when it decided. `text` null: its set's texts were not stored then. */
export type PastRule = Readonly<{ policy: string; path: string | null; line: number | null; text: string | null }>;
export type PastRules = Readonly<{ set: Digest; rules: readonly PastRule[] }>;

/** The set that the last decision on an action was made under, and the rules that decided it, as they stood then. */
export async function readRulesThen(journal: Reads, session: StreamId, action: string): Promise<PastRules | null> {
  let [set, found]: [Digest | null, { readonly set: Digest; readonly at: Millis; readonly because: readonly string[] } | null] = [
    null,
    null,
  ];
  for await (const { at, event: e } of eachEntry(journal, session)) {
    if (e.kind === "session.opened" || e.kind === "agent.changed") set = e.agent.policies;
    const decided = decisionsIn(e).findLast(({ id }) => id === action);
    if (decided !== undefined && set !== null) found = { set, at, because: decided.verdict.because };
  }
  if (found === null) return null;
  const { set: digest, at } = found;
  const files = await ifStored(async () => readSet(journal, await findSet(journal, digest, at)), []);
  return { set: found.set, rules: found.because.map((policy) => ruleOf(policy, files)) };
}

/** `otherwise` for a set from before texts were stored, and for a gate in a program's own code. */
async function ifStored<T>(work: () => Promise<T>, otherwise: T): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isFault(error, "usage")) return otherwise;
    throw error;
  }
}

function ruleOf(policy: string, files: readonly SetFile[]): PastRule {
  for (const { path, text } of files) {
    const name = path.replace(/\.cedar$|#.*$/, "");
    const rule = policy.startsWith(`${name}/`) ? readRule(text, policy.slice(name.length + 1)) : null;
    if (rule !== null) return { policy, path, ...rule };
  }
  return { policy, path: null, line: null, text: null };
}

async function textOf(journal: Reads, digest: Digest): Promise<string | null> {
  const [entry] = await journal.read(textStream(digest), seq(0), 1);
  return entry?.event.kind === "policy.stored" ? entry.event.text : null;
}

async function listed(journal: Reads, files: Digest): Promise<readonly FileDigest[] | null> {
  const text = await textOf(journal, files);
  return text === null ? null : listPolicyFiles(text);
}

/** The files of a set below `policies/`: rules in agents' own files change with their agents. */
export const listAppliableFiles = (files: readonly SetFile[]): readonly SetFile[] =>
  files.filter(({ path }) => /\.(?:cedar|cases\.json)$/.test(path));
