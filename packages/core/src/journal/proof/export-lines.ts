/** The lines of an export, and what writing and reading them share. `docs/journal-format.md` has the table. */
import * as z from "zod";
import { KEYS, type KeyId, lazily, type SystemEvent, toCanonicalJson, type WriterId } from "../../vocab/index.ts";
import { checkPayload, decodePayload, FORMAT, type StoredEntry, type StoredSeal } from "../codec.ts";
import type { Records } from "../port.ts";
import { isHolder } from "./keys.ts";
import type { Head } from "./seal.ts";

/** Built when a file is first read: most processes never do. */
export const exportLineSchema = lazily(() => {
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
    /** The certificates and rotations that the seals need. They prove themselves. */
    keys: z.array(z.strictObject({ kind: Text, payload: Text })),
  });
  const SealLine = z.strictObject({
    kind: z.literal("seal"),
    writer: Text,
    number: Count,
    at: Count,
    previous: Text,
    key: Text,
    recovered: z.boolean(),
    wrote: Text,
    seen: Text,
    hash: Text,
    signature: Text,
  });
  const Link = z.strictObject({ at: Count, event: Text, payloadHash: Text });
  const Proof = z.strictObject({ writer: Text, number: Count, links: z.array(Link) });
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
  const EndLine = z.strictObject({ kind: z.literal("end"), seals: Count, entries: Count, blobs: Count });
  return z.discriminatedUnion("kind", [Header, SealLine, EntryLine, BlobLine, EndLine]);
});
export type ExportLine = z.infer<ReturnType<typeof exportLineSchema>>;
export type ExportHeader = Extract<ExportLine, { kind: "header" }>;

export const exportLine = (line: Readonly<Record<string, unknown>>): string => `${toCanonicalJson(line)}\n`;

export const sealLine = (s: StoredSeal): string => exportLine({ kind: "seal", ...s });

/** The header of an entry whose content is not in the file. */
export type EntryLink = Readonly<{ at: number; event: string; payloadHash: string }>;
/** An entry without its neighbours: the entries after it up to one that this seal names. */
export type LinkedProof = Readonly<{ writer: WriterId; number: number; links: readonly EntryLink[] }>;

export const listUsedKeys = (seals: readonly StoredSeal[]): ReadonlySet<KeyId> => new Set(seals.map((s) => s.key));

export const toHead = (seals: readonly StoredSeal[]): Head => new Map(seals.map((s) => [s.writer, { number: s.number, hash: s.hash }]));

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
