/** The lines of an export, and what writing and reading them share. `docs/journal-format.md` has the table. */
import * as z from "zod";
import { KEYS, type KeyId, type SystemEvent, toCanonicalJson, type WriterId } from "../../vocab/index.ts";
import { checkPayload, decodePayload, FORMAT, type PathStep, type StoredCommit, type StoredEntry } from "../codec.ts";
import type { Records } from "../port.ts";
import { isHolder } from "./keys.ts";
import type { Head } from "./seal.ts";

const Text = z.string();
const Count = z.number().int().nonnegative();
export const Header = z.strictObject({
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
  /** Left out where it is empty: one text for one meaning. */
  seen: Text.min(1).optional(),
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
export const ExportLine = z.discriminatedUnion("kind", [Header, CommitLine, EntryLine, BlobLine, EndLine]);
export type ExportLine = z.infer<typeof ExportLine>;

export const exportLine = (line: Readonly<Record<string, unknown>>): string => `${toCanonicalJson(line)}\n`;

export const commitLine = ({ seen, ...c }: StoredCommit): string => exportLine({ kind: "commit", ...c, ...(seen === "" ? {} : { seen }) });

export type InclusionProof = Readonly<{ writer: WriterId; commit: number; path: readonly PathStep[] }>;

export const listUsedKeys = (commits: readonly StoredCommit[]): ReadonlySet<KeyId> => new Set(commits.map((c) => c.key));

export const toHead = (commits: readonly StoredCommit[]): Head =>
  new Map(commits.map((c) => [c.writer, { number: c.number, hash: c.hash }]));

/** Events of system streams hold no long texts, so they decode without blobs. */
export function systemEvent(kind: string, payload: string): SystemEvent | null {
  const decoded = decodePayload(kind, payload, () => null);
  if (decoded.kind !== "event") return null;
  const { event } = decoded;
  const system =
    event.kind === "key.certified" || event.kind === "key.rotated" || event.kind === "key.withdrawn" || event.kind === "content.erased";
  return system ? event : null;
}

export type KeyEntry = Readonly<{ kind: string; payload: string }>;

/** The root keys, their rotations, and the certificates of the given keys. */
export function* keyEntries(records: Records, wanted: ReadonlySet<KeyId>): Generator<KeyEntry> {
  for (const { kind, payload } of records.entries(KEYS)) {
    const event = payload === null ? null : systemEvent(kind, payload);
    if (payload === null || event === null) continue;
    const isRoot = event.kind === "key.certified" && isHolder(event.of) && event.of.kind === "root"; // nothing vouches for its shape yet
    if (event.kind === "key.rotated" || isRoot || (event.kind === "key.certified" && wanted.has(event.key))) yield { kind, payload };
  }
}

export function createBlobCounter() {
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
        else yield exportLine({ kind: "blob", address, text });
      }
    },
  };
}
