/**
 * A seal says how far its writer has seen others: the newest seal of every other writer and the newest entry of every stream that gives authority, as
 * its writer had seen them. A tail that is cut off one writer or one such stream is then missed by somebody else's seal.
 *
 * A seal names what has moved since its writer's seal before; each FULL_EVERYth seal names everything, so that a search for the newest word on
 * each reads a few seals per writer, whatever the length of the journal.
 */
import {
  ACCESS,
  type Digest,
  digest,
  ERASURES,
  GRANTS,
  HALT,
  KEYS,
  POLICY,
  type StreamId,
  TRUST,
  TRUSTED_VALUES,
  type WriterId,
} from "../../vocab/index.ts";

/** A seal of another writer, or an entry of a stream that gives authority. */
export type SeenPlace =
  | Readonly<{ kind: "writer"; name: WriterId; number: number; hash: Digest }>
  | Readonly<{ kind: "stream"; name: StreamId; number: number; hash: Digest }>;

export type Seen =
  | SeenPlace
  /** Not of others: a sum over the rows of one table that this writer has put and taken away, keyed, so that only the project itself can check it. */
  | Readonly<{ kind: "sum"; name: SummedTable; number: 0; hash: Digest }>;

/**
 * Tables beside the entries whose rows are summed: open unknowns, approval requests that wait for a person, and counters. Of counters it says only that
 * there is a sum: it moves with what the transaction finds, so it lies beside the seal, bound to it by the project's key.
 */
export type SummedTable = "unknowns" | "questions" | "counts";

export const FULL_EVERY = 32;

/** Streams whose end decides what people and programs may do. */
export const BOUND_STREAMS: readonly StreamId[] = Object.freeze([ACCESS, ERASURES, GRANTS, HALT, KEYS, TRUSTED_VALUES, POLICY, TRUST]);

const MARK = { writer: "@", stream: "#", sum: "=" } as const;
export const seenName = ({ kind, name }: Pick<Seen, "kind" | "name">): string => `${name}${MARK[kind]}`;

/** `<writer>@<number>:<hash>`, `<stream>#<seq>:<hash>` and `<table>=0:<sum>`, sorted, joined by commas; empty when there is nothing to say. */
export const seenText = (all: readonly Seen[]): string =>
  all
    .map((one) => `${seenName(one)}${one.number}:${one.hash}`)
    .sort()
    .join(",");

export function parseSeen(text: string): readonly Seen[] | null {
  if (text === "") return [];
  const all: Seen[] = [];
  for (const part of text.split(",")) {
    const sum = /^(unknowns|questions|counts)=0:([0-9a-f]{64})$/.exec(part);
    if (sum?.[2] !== undefined) {
      all.push({ kind: "sum", name: sum[1] as SummedTable, number: 0, hash: digest(sum[2]) });
      continue;
    }
    const m = /^([\w.-]{1,100})([@#])([1-9]\d{0,14}):([0-9a-f]{64})$/.exec(part);
    if (m?.[1] === undefined || m[4] === undefined) return null;
    const at = { number: Number(m[3]), hash: digest(m[4]) };
    all.push(m[2] === "@" ? { kind: "writer", name: m[1] as WriterId, ...at } : { kind: "stream", name: m[1] as StreamId, ...at });
  }
  return seenText(all) === text ? all : null; // one text for one meaning
}

/** The parts to say in the next seal: everything at times, otherwise what is not as it was said last. */
export function listNewlySeen(now: readonly SeenPlace[], said: ReadonlyMap<string, Digest>, number: number): readonly SeenPlace[] {
  return number % FULL_EVERY === 0 ? now : now.filter((one) => said.get(seenName(one)) !== one.hash);
}
