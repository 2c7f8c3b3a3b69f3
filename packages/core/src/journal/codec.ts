/**
 * Events as stored bytes, strict and versioned. What is stored is what was hashed; upcasters work in memory only.
 *
 * payloadHash = H("orgate-payload-1" · salt · payload)            salted, so that an erased payload cannot be guessed from its hash
 * entryHash   = H("orgate-entry-1" · previous · stream · seq · at · kind · payloadHash)
 * (parts joined by line feeds; `docs/journal-format.md` has a worked example)
 *
 * The version of a payload is part of the stored kind, so it is hashed: `note` is version 1, `note@2` version 2.
 *
 * Strings of more than BLOB_MIN characters are kept as blobs; a `{"$blob":…}` stands in their place.
 * A key of the event's own that looks like `$blob` gets one more `$`, so that no text of a model or a tool can name a blob.
 */
import {
  type Digest,
  deepFreeze,
  type EventKind,
  type Hash,
  isEventKind,
  type JournalEvent,
  type Json,
  type JsonObject,
  type KeyId,
  type Millis,
  type Seq,
  type StreamId,
  toCanonicalJson,
  toCanonicalJsonWithout,
  type WriterId,
} from "../vocab/index.ts";
import { UPCASTS, type Upcast, type Upcasts } from "./upcasts.ts";

export { EVENT_KINDS } from "../vocab/index.ts";

export const FORMAT = 2;
export const BLOB_MIN = 16_384;

export type StoredEntry = Readonly<{
  stream: StreamId;
  seq: Seq;
  at: Millis;
  /** As stored: the event's kind, and `@<version>` from version 2 on. */
  kind: string;
  previous: Digest;
  payloadHash: Digest;
  entryHash: Digest;
  /** Both null once erased. */
  salt: string | null;
  payload: string | null;
}>;

/** What one writer added to one stream in one go: one row of a store. */
export type StoredAppend = Readonly<{
  stream: StreamId;
  first: Seq;
  count: number;
  /** Who wrote it, and the number of the writer's seal that covers it, or will. */
  writer: WriterId;
  seal: number;
  /** `entryHash` of its last entry. */
  hash: Digest;
  /** Its entries, a line each (`body.ts`). */
  body: string;
}>;

/** A signed statement of one writer, chained per writer: how far it has written which streams, and how far it has seen others. */
export type StoredSeal = Readonly<{
  writer: WriterId;
  number: number;
  at: Millis;
  previous: Digest;
  key: KeyId;
  /** It covers what an earlier process under the writer's name had left unsealed when it died. */
  recovered: boolean;
  /** Marks of the streams it has written (`marksText`). */
  wrote: string;
  /** How far its writer had seen others (`seen.ts`); empty when it does not say. */
  seen: string;
  hash: Digest;
  signature: string;
}>;

export type BlobRef = Readonly<{ address: string; sha256: Digest; chars: number }>;
/** Puts a long string away; gives back where it is. */
export type PutBlob = (text: string) => BlobRef;
/** Null when it is missing; throws when it is not what `sha256` names. */
export type GetBlob = (address: string, sha256: Digest) => string | null;

/** The payload is the event without its kind, which stands in the header (an erased entry still says what it was). */
export function encodePayload(event: JournalEvent, putBlob: PutBlob): string {
  const text = toCanonicalJsonWithout(event, "kind");
  // a text that is no longer than a blob's least length holds no string that is, and every special key ends like this
  if (text.length <= BLOB_MIN && !text.includes('$blob":')) return text;
  const { kind: _, ...payload } = event;
  return hasSpecial(payload) ? toCanonicalJson(outward(payload as unknown as Json, putBlob)) : text;
}

export type Decoded = Readonly<{ kind: "event"; event: JournalEvent } | { kind: "bad"; detail: string }>;

/** How a kind is stored today. One text for all entries of a kind: a journal in memory keeps every one of them. */
export function storedKind(kind: EventKind, upcasts: Upcasts = UPCASTS): string {
  const known = upcasts === UPCASTS ? stored.get(kind) : undefined;
  if (known !== undefined) return known;
  const version = (upcasts[kind]?.length ?? 0) + 1;
  const text = version === 1 ? kind : `${kind}@${version}`;
  if (upcasts === UPCASTS) stored.set(kind, text);
  return text;
}
const stored = new Map<EventKind, string>();

export function decodePayload(kind: string, payload: string, getBlob: GetBlob, upcasts: Upcasts = UPCASTS): Decoded {
  const stored = readKind(kind, upcasts);
  if (stored === null) return { kind: "bad", detail: `unknown kind \`${kind}\`: written by a newer version?` };
  try {
    const value = payloadFields(payload);
    const fields = payload.includes('blob":') ? (inward(value, getBlob) as JsonObject) : value;
    const now = stored.steps.reduce((old, step) => step(old), fields);
    return { kind: "event", event: deepFreeze({ ...now, kind: stored.kind }) as unknown as JournalEvent };
  } catch (error) {
    return { kind: "bad", detail: error instanceof Error ? error.message : String(error) };
  }
}

export type PayloadCheck = Readonly<{ kind: "good"; blobs: readonly BlobRef[] } | { kind: "bad"; detail: string }>;

/** Checks of a payload in verify: one text per value (so nothing stands twice), a kind that is known, well-formed references to blobs. */
export function checkPayload(kind: string, payload: string): PayloadCheck {
  if (readKind(kind, UPCASTS) === null) return { kind: "bad", detail: `unknown kind \`${kind}\`: written by a newer version?` };
  try {
    const value = payloadFields(payload);
    if (toCanonicalJson(value) !== payload) return { kind: "bad", detail: "the payload is not canonical JSON" };
    const blobs: BlobRef[] = [];
    if (payload.includes('"$blob":')) collectBlobs(value, blobs);
    return { kind: "good", blobs };
  } catch (error) {
    return { kind: "bad", detail: error instanceof Error ? error.message : String(error) };
  }
}

/** False for a kind or a version of one that only a newer program writes. */
export const isReadableKind = (stored: string): boolean => readKind(stored, UPCASTS) !== null;

function readKind(stored: string, upcasts: Upcasts): { kind: EventKind; steps: readonly Upcast[] } | null {
  const at = stored.indexOf("@");
  const kind = at === -1 ? stored : stored.slice(0, at);
  if (!isEventKind(kind)) return null;
  const steps = upcasts[kind] ?? [];
  const version = at === -1 ? 1 : Number(stored.slice(at + 1));
  // version 1 is never spelled out: one text per version
  if (at !== -1 && (!/^[1-9]\d{0,3}$/.test(stored.slice(at + 1)) || version < 2)) return null;
  return version > steps.length + 1 ? null : { kind, steps: steps.slice(version - 1) };
}

function payloadFields(payload: string): JsonObject {
  const value = JSON.parse(payload) as Json;
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error("the payload is not an object");
  // the header says what happened; a second kind in here would let the two disagree
  if (Object.hasOwn(value, "kind")) throw new Error("the payload names a kind of its own");
  return value as JsonObject;
}

export const payloadHash = (salt: string, payload: string, hash: Hash): Digest => hash(`orgate-payload-1\n${salt}\n${payload}`);

export function entryHash(e: Omit<StoredEntry, "entryHash" | "salt" | "payload">, hash: Hash): Digest {
  return hash(`orgate-entry-1\n${e.previous}\n${e.stream}\n${e.seq}\n${e.at}\n${e.kind}\n${e.payloadHash}`);
}

/** The seal's hash covers everything but itself and the signature. */
export function sealHash(s: Omit<StoredSeal, "hash" | "signature">, hash: Hash): Digest {
  const how = s.recovered ? "recovered" : "own";
  return hash(`orgate-seal-2\n${s.writer}\n${s.number}\n${s.at}\n${s.previous}\n${s.key}\n${how}\n${s.wrote}\n${s.seen}`);
}
export const signedText = (hash: Digest): string => `orgate-signed-2\n${hash}`;

/** One entry by its hash: a seal that names it covers every entry of the stream up to it. */
export type Mark = Readonly<{ stream: StreamId; seq: Seq; hash: Digest }>;

/** `<stream>#<seq>:<hash>`, sorted, joined by commas. */
export const marksText = (marks: readonly Mark[]): string =>
  marks
    .map((m) => `${m.stream}#${m.seq}:${m.hash}`)
    .sort()
    .join(",");

export function parseMarks(text: string): readonly Mark[] | null {
  if (text === "") return [];
  const marks: Mark[] = [];
  for (const part of text.split(",")) {
    const m = /^([\w.-]{1,100}(?::[\w.-]{1,100})?)#([1-9]\d{0,14}):([0-9a-f]{64})$/.exec(part);
    if (m === null) return null;
    marks.push({ stream: m[1] as StreamId, seq: Number(m[2]) as Seq, hash: m[3] as Digest });
  }
  return marksText(marks) === text ? marks : null; // one text for one meaning
}

/** Names stand in texts that are hashed, between line feeds, commas and colons: none of these may be in them. */
export const isStreamName = (text: string): boolean => /^[\w.-]{1,100}(:[\w.-]{1,100})?$/.test(text);
export const isWriterName = (text: string): boolean => /^[\w.-]{1,100}$/.test(text);

const SPECIAL = /^\$+blob$/;

function hasSpecial(value: unknown): boolean {
  if (typeof value === "string") return value.length > BLOB_MIN;
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some(hasSpecial);
  for (const key in value) if (SPECIAL.test(key) || hasSpecial((value as Record<string, unknown>)[key])) return true;
  return false;
}

function outward(value: Json, putBlob: PutBlob): Json {
  if (typeof value === "string") return value.length > BLOB_MIN ? { $blob: putBlob(value.toWellFormed()) } : value;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((v) => outward(v as Json, putBlob));
  return mapRecord(value as Readonly<Record<string, Json>>, (key, v) => [SPECIAL.test(key) ? `$${key}` : key, outward(v, putBlob)]);
}

function inward(value: Json, getBlob: GetBlob): Json {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((v) => inward(v as Json, getBlob));
  const fields = value as Readonly<Record<string, Json>>;
  if ("$blob" in fields) return fetchBlob(blobRef(fields), getBlob);
  return mapRecord(fields, (key, v) => [SPECIAL.test(key) ? key.slice(1) : key, inward(v, getBlob)]);
}

function collectBlobs(value: Json, into: BlobRef[]): void {
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) for (const inner of value) collectBlobs(inner as Json, into);
  else if ("$blob" in value) into.push(blobRef(value as JsonObject));
  else for (const inner of Object.values(value)) collectBlobs(inner as Json, into);
}

function blobRef(fields: JsonObject): BlobRef {
  const ref = fields.$blob;
  const shaped = typeof ref === "object" && ref !== null && !Array.isArray(ref) ? (ref as JsonObject) : {};
  const { address, sha256, chars } = shaped;
  const whole = Object.keys(fields).length === 1 && Object.keys(shaped).length === 3;
  if (!whole || typeof address !== "string" || typeof sha256 !== "string" || typeof chars !== "number")
    throw new Error("a reference to a blob is malformed");
  return { address, sha256: sha256 as Digest, chars };
}

function fetchBlob(ref: BlobRef, getBlob: GetBlob): string {
  const text = getBlob(ref.address, ref.sha256);
  if (text === null) throw new Error(`blob ${ref.address} is missing`);
  if (text.length !== ref.chars) throw new Error(`blob ${ref.address} is not what was stored`);
  return text;
}

function mapRecord(fields: Readonly<Record<string, Json>>, map: (key: string, value: Json) => [string, Json]): Json {
  const out: Record<string, Json> = Object.create(null);
  for (const [key, value] of Object.entries(fields)) {
    const [name, mapped] = map(key, value);
    out[name] = mapped;
  }
  return out;
}
