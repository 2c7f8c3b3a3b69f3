/**
 * Texts of policies as part of the proof: each stored once in a stream named by its digest, and named by the entries of the `policy` stream.
 * J-27 a set that a session names and whose texts were never stored (an older journal, a gate in a program's own code) is listed, never passed over.
 */
import {
  type Digest,
  type FileDigest,
  type Hash,
  isTextStream,
  type JournalEvent,
  POLICY,
  type Seq,
  type StreamId,
  textStream,
  toCanonicalJson,
} from "../../vocab/index.ts";
import { decodePayload, type StoredEntry } from "../codec.ts";
import type { Records } from "../port.ts";

/** A set without texts, and the first entry that names it. */
export type PolicySetWithoutTexts = Readonly<{ digest: Digest; stream: StreamId; seq: Seq }>;
type Stored = Pick<Records, "entries" | "blob">;

export const isPolicyStream = (stream: StreamId): boolean => stream === POLICY || isTextStream(stream);

/** The digest of the set that a session runs under from this entry on; null for every other entry. */
export function findPolicySet({ kind, payload }: Pick<StoredEntry, "kind" | "payload">): Digest | null {
  if (payload === null || !/^(?:session\.opened|agent\.changed)(?:@|$)/.test(kind)) return null;
  try {
    const { agent } = JSON.parse(payload) as { readonly agent?: { readonly policies?: unknown } };
    return typeof agent?.policies === "string" ? (agent.policies as Digest) : null;
  } catch {
    return null; // bad in other ways, and named for them
  }
}

/** `partial`: a torn export, where what is absent is not held against what is there. */
export function policyProof(records: Stored, hash: Hash, partial: boolean) {
  const known = new Map<Digest, string | null>(); // a text that many sets share is hashed once
  const named = new Map<Digest, PolicySetWithoutTexts>();
  const stored = new Set<Digest>();

  const readText = (of: Digest): string | null => {
    for (const e of records.entries(textStream(of))) {
      const event = eventOf(e, records);
      return event?.kind === "policy.stored" && typeof event.text === "string" ? event.text : null; // a changed payload may have any form
    }
    return null;
  };
  const whyBadText = (of: Digest): string | null => {
    const before = known.get(of);
    if (before !== undefined) return before;
    const text = readText(of);
    const why = text === null ? (partial ? null : "is missing") : hash(text) === of ? null : "is not what its digest says";
    known.set(of, why);
    return why;
  };
  const whyBadFiles = (files: readonly FileDigest[]): string | null => {
    for (const { path, digest } of files) {
      const why = whyBadText(digest);
      if (why !== null) return `the text of \`${path}\` (${digest.slice(0, 12)}) ${why}`;
    }
    return null;
  };
  const whyBadList = (of: Digest): string | null => {
    const why = whyBadText(of);
    if (why !== null) return `the list of files of set \`${of.slice(0, 12)}\` ${why}`;
    const text = readText(of);
    return text === null ? null : whyBadFiles(listPolicyFiles(text) ?? []);
  };
  const whyBadEvent = (e: StoredEntry, event: JournalEvent | null): string | null => {
    if (event === null) return null; // its blob is missing, which was named, or torn off
    if (isTextStream(e.stream)) {
      if (event.kind !== "policy.stored" || e.seq !== 1) return "it is not the one text that this stream is named after";
      return textStream(event.digest) === e.stream && hash(event.text) === event.digest ? null : "its text is not what its digest says";
    }
    if (event.kind === "policy.loaded" && event.texts) {
      stored.add(event.digest);
      return whyBadFiles(event.files);
    }
    return event.kind === "policy.applied" && event.texts ? (whyBadList(event.files) ?? whyBadList(event.before)) : null;
  };

  return {
    /** Why an entry whose hashes are good is bad all the same; null when it is not. */
    check(e: StoredEntry): string | null {
      const set = findPolicySet(e);
      if (set !== null && !named.has(set)) named.set(set, { digest: set, stream: e.stream, seq: e.seq });
      return isPolicyStream(e.stream) ? whyBadEvent(e, eventOf(e, records)) : null;
    },
    textless: (): readonly PolicySetWithoutTexts[] => [...named.values()].filter(({ digest }) => !stored.has(digest)),
  };
}

/** The entries that prove the sets of these digests: where each was loaded, and its texts. Where a set was loaded again with the same files, the first. */
export function policyEntries(records: Stored, sets: ReadonlySet<Digest>): readonly StoredEntry[] {
  const found = new Map<string, StoredEntry>();
  const texts = new Set<Digest>();
  for (const e of sets.size === 0 ? [] : records.entries(POLICY)) {
    const event = eventOf(e, records);
    if (event?.kind !== "policy.loaded" || !event.texts || !sets.has(event.digest)) continue;
    const set = toCanonicalJson([event.digest, event.files]);
    if (!found.has(set)) found.set(set, e);
    for (const { digest } of event.files) texts.add(digest);
  }
  // texts first: a bad one is named before the set that needs it
  return [...[...texts].sort().flatMap((of) => [...records.entries(textStream(of))]), ...found.values()];
}

function eventOf(e: StoredEntry, { blob }: Pick<Records, "blob">): JournalEvent | null {
  if (e.payload === null) return null;
  const decoded = decodePayload(e.kind, e.payload, blob);
  return decoded.kind === "event" ? decoded.event : null;
}

/** The text that the files of a set are listed in: its digest is the set's. */
export const policyFileList = (files: readonly FileDigest[]): string => toCanonicalJson(files);

export function listPolicyFiles(text: string): readonly FileDigest[] | null {
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) && list.every(isFile) ? list : null;
  } catch {
    return null;
  }
}
const isFile = (one: unknown): one is FileDigest =>
  typeof one === "object" && one !== null && typeof Reflect.get(one, "path") === "string" && typeof Reflect.get(one, "digest") === "string";
