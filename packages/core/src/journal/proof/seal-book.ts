/** The seals of all writers as a verifier reads them: their chains, and what they say of streams and of each other. */
import { type Digest, type Seq, type StreamId, seq, type WriterId } from "../../vocab/index.ts";
import { type Mark, parseMarks, type StoredSeal } from "../codec.ts";
import type { Records } from "../port.ts";
import { createSealChain, type KeyBook, type ProofPorts, type SealChain } from "./checks.ts";
import type { Head, WriterHead } from "./seal.ts";
import { parseSeen } from "./seen.ts";

export type VerifyProblem =
  | Readonly<{ kind: "entry"; stream: StreamId; seq: Seq; reason: string }>
  | Readonly<{ kind: "seal"; writer: WriterId; seal: number; reason: string }>;

type BookParts = Readonly<{ records: Records; keys: KeyBook; ports: ProofPorts; head: Head | null; most: number; marksAtOnce: number }>;
/** One entry that a seal names, and which seal. */
type Named = Readonly<{ hash: Digest; by: string }>;
type NamedSeal = Named & Readonly<{ writer: WriterId; number: number }>;
/** Seals of one writer, as far as others name them. */
type SealRange = Readonly<{ writer: WriterId; from: number; to: number }>;

/**
 * What seals name is kept while it is little. A journal with more is read in parts, its seals once more for each part without checking them again, so that
 * memory grows with streams and writers and not with entries.
 */
export class SealBook {
  readonly problems: VerifyProblem[] = [];
  readonly #parts: BookParts;
  readonly #chains = new Map<WriterId, { readonly chain: SealChain; count: number }>();
  /** Places of each stream that seals name: how many, and those of the part that is being read. */
  readonly #marks = new Map<StreamId, number>();
  readonly #named = new Map<StreamId, Map<number, Named>>();
  readonly #covered = new Map<StreamId, number>();
  /** Marks of seals that were read after the entries. */
  readonly #later = new Map<StreamId, Map<number, Digest>>();
  readonly #seenUpTo = new Map<WriterId, number>();
  readonly #seenSeals = new Map<string, NamedSeal>();
  readonly #badSeals = new Set<string>();
  #kept = 0;
  #recovered = 0;

  constructor(parts: BookParts) {
    this.#parts = parts;
  }

  read(): void {
    this.#readAll((s) => this.#note(s));
  }

  /** Goes on where the last reading ended. What these seals name may have come after the entries were read. */
  readOn(): void {
    this.#readAll(({ wrote }) => {
      for (const { stream, seq: at, hash } of parseMarks(wrote) ?? []) {
        const marks = this.#later.get(stream) ?? new Map<number, Digest>();
        this.#later.set(stream, marks.set(at, hash));
      }
    });
  }

  streams(): Iterable<StreamId> {
    return this.#marks.keys();
  }

  /** These streams in parts, in order; while one is being read, `whyOther` and `missing` know what seals name in its streams. */
  *inParts(streams: readonly StreamId[]): Iterable<readonly StreamId[]> {
    if (this.#isAllKept()) {
      yield streams;
      return;
    }
    for (const part of cut(streams, (stream) => this.#marks.get(stream) ?? 0, this.#parts.marksAtOnce)) {
      const wanted = new Set(part);
      this.#named.clear();
      for (const s of this.#goodSeals()) this.#nameEntries(s, parseMarks(s.wrote) ?? [], (stream) => wanted.has(stream));
      yield part;
    }
    this.#named.clear();
  }

  /** True while a seal is bad: what it covered cannot be told from what none covers. */
  get isBroken(): boolean {
    return this.#badSeals.size > 0;
  }

  /** The last entry of the stream that a seal covers; 0 where none does. */
  coveredUpTo(stream: StreamId): number {
    return this.#covered.get(stream) ?? 0;
  }

  /** How many entries of the tail are covered by seals that came while the entries were read. */
  coveredLater(stream: StreamId, tail: readonly Readonly<{ seq: Seq; hash: string }>[]): number {
    const marks = this.#later.get(stream);
    return marks === undefined ? 0 : tail.findLastIndex((e) => marks.get(e.seq) === e.hash) + 1;
  }

  /** Why the entry is not the one that a seal names; null where no seal names another. */
  whyOther(stream: StreamId, at: Seq, hash: Digest): string | null {
    const named = this.#named.get(stream)?.get(at);
    return named === undefined || named.hash === hash ? null : `it is not the one that ${named.by} names`;
  }

  /** Entries that seals name beyond the stream's end. */
  missing(stream: StreamId, count: number): readonly Readonly<{ seq: Seq; reason: string }>[] {
    let nearest: readonly [number, Named] | null = null;
    for (const [at, named] of this.#named.get(stream) ?? []) if (at > count && (nearest === null || at < nearest[0])) nearest = [at, named];
    return nearest === null
      ? []
      : [
          {
            seq: seq(count + 1),
            reason: `it is missing: ${nearest[1].by} names ${nearest[0] === count + 1 ? "it" : `entry ${nearest[0]}`}`,
          },
        ];
  }

  /** True when a seal names one of another writer that had not been read by then: the journal was written to meanwhile. */
  isBehind(): boolean {
    return [...this.#seenUpTo].some(([writer, number]) => number > (this.#chains.get(writer)?.count ?? 0));
  }

  /** Seals that another writer's seal names are there. */
  checkSeen(): void {
    if (this.#isAllKept()) {
      this.#compareSeals(this.#seenSeals);
      return;
    }
    const most = this.#parts.marksAtOnce;
    const ranges = [...this.#seenUpTo].flatMap(([writer, upTo]) =>
      Array.from(
        { length: Math.ceil(upTo / most) },
        (_, i): SealRange => ({ writer, from: 1 + i * most, to: Math.min(upTo, (i + 1) * most) }),
      ),
    );
    for (const part of cut(ranges, ({ from, to }) => to - from + 1, most)) {
      const found = new Map<string, NamedSeal>();
      const isWanted = (writer: WriterId, at: number): boolean => part.some((r) => r.writer === writer && r.from <= at && at <= r.to);
      for (const s of this.#goodSeals()) nameSeals(s, (key, one) => void (isWanted(one.writer, one.number) && found.set(key, one)));
      this.#compareSeals(found);
    }
  }

  #compareSeals(named: ReadonlyMap<string, NamedSeal>): void {
    for (const [writer, all] of Map.groupBy(named.values(), (one) => one.writer)) {
      const left = Map.groupBy(all, (one) => one.number);
      let place = 0;
      for (const { hash } of this.#parts.records.seals(writer)) {
        place += 1;
        for (const one of left.get(place) ?? []) if (one.hash !== hash) this.#bad(writer, place, `it is not the one that ${one.by} names`);
        left.delete(place);
      }
      for (const [number, ones] of left) for (const { by } of ones) this.#bad(writer, number, `it is missing: ${by} names it`);
    }
  }

  /** Every writer is at or after the given head; `read` has compared what it has there. */
  checkHead(given: Head): void {
    for (const [writer, { number }] of given) {
      const now = this.#chains.get(writer)?.chain.head() ?? null;
      if (now === null) this.#bad(writer, 1, `it is missing: the given head has seal ${number} of this writer`);
      else if (now.number < number)
        this.#bad(writer, now.number + 1, `it is missing: the given head has seal ${number}, the journal ends before it`);
    }
  }

  heads(): Head {
    const heads = new Map<WriterId, WriterHead>();
    for (const [writer, { chain }] of this.#chains) {
      const last = chain.head();
      if (last !== null) heads.set(writer, last);
    }
    return heads;
  }

  count(): number {
    return [...this.#chains.values()].reduce((sum, { count }) => sum + count, 0);
  }

  recovered(): number {
    return this.#recovered;
  }

  #bad(writer: WriterId, number: number, reason: string): void {
    if (this.problems.length < this.#parts.most) this.problems.push({ kind: "seal", writer, seal: number, reason });
  }

  #isAllKept(): boolean {
    return this.#kept <= this.#parts.marksAtOnce;
  }

  #readAll(note: (s: StoredSeal) => void): void {
    const { records, keys, ports, head } = this.#parts;
    for (const writer of [...records.writers()].sort()) {
      const known = this.#chains.get(writer) ?? { chain: createSealChain(writer, keys, ports), count: 0 };
      this.#chains.set(writer, known);
      let place = 0;
      for (const s of records.seals(writer)) {
        place += 1;
        if (place <= known.count) continue;
        const reason = known.chain.check(s);
        if (reason !== null) this.#bad(writer, known.chain.place(), reason);
        const expected = head?.get(writer);
        if (expected?.number === s.number && expected.hash !== s.hash) this.#bad(writer, s.number, "it is not the seal of the given head");
        known.count += 1;
        if (s.recovered) this.#recovered += 1;
        if (reason === null) note(s);
        else this.#badSeals.add(`${writer} ${place}`); // what a bad seal says is not followed
      }
    }
  }

  /** The good ones among those that were read, again. */
  *#goodSeals(): Iterable<StoredSeal> {
    for (const [writer, { count }] of this.#chains) {
      let place = 0;
      for (const s of this.#parts.records.seals(writer)) {
        place += 1;
        if (place > count) break;
        if (!this.#badSeals.has(`${writer} ${place}`)) yield s;
      }
    }
  }

  #note(s: StoredSeal): void {
    const marks = parseMarks(s.wrote) ?? [];
    for (const { stream, seq: at } of marks) this.#covered.set(stream, Math.max(at, this.#covered.get(stream) ?? 0));
    this.#nameEntries(s, marks, (stream) => {
      this.#marks.set(stream, (this.#marks.get(stream) ?? 0) + 1);
      this.#kept += 1;
      return this.#isAllKept();
    });
    nameSeals(s, (key, one) => {
      this.#seenUpTo.set(one.writer, Math.max(one.number, this.#seenUpTo.get(one.writer) ?? 0));
      if (!this.#seenSeals.has(key)) this.#kept += 1;
      if (this.#isAllKept()) this.#seenSeals.set(key, one);
    });
    if (this.#isAllKept()) return;
    this.#named.clear();
    this.#seenSeals.clear();
  }

  #nameEntries({ writer, number, seen }: StoredSeal, marks: readonly Mark[], isWanted: (stream: StreamId) => boolean): void {
    const by = `seal ${number} of writer \`${writer}\``;
    for (const { stream, seq: at, hash } of marks) if (isWanted(stream)) this.#name(stream, at, { hash, by });
    for (const one of parseSeen(seen) ?? [])
      if (one.kind === "stream" && isWanted(one.name)) this.#name(one.name, one.number, { hash: one.hash, by });
  }

  /** Two seals that name different entries in one place: the entry that is there is not the one that one of them names. */
  #name(stream: StreamId, at: number, named: Named): void {
    const places = this.#named.get(stream) ?? new Map<number, Named>();
    this.#named.set(stream, places);
    const before = places.get(at);
    if (before === undefined) places.set(at, named);
    else if (before.hash !== named.hash) places.set(at, { hash: "neither" as Digest, by: `${before.by} or ${named.by}` });
  }
}

/** Seals of other writers that this one names. */
function nameSeals({ writer, number, seen }: StoredSeal, name: (key: string, one: NamedSeal) => void): void {
  for (const one of parseSeen(seen) ?? [])
    if (one.kind === "writer")
      name(`${one.name}@${one.number}:${one.hash}`, {
        ...{ writer: one.name, number: one.number, hash: one.hash },
        by: `seal ${number} of writer \`${writer}\``,
      });
}

/** In parts of at most this size, in order; what is larger by itself is a part of its own. */
function* cut<T>(all: Iterable<T>, sizeOf: (one: T) => number, most: number): Iterable<readonly T[]> {
  let part: T[] = [];
  let size = 0;
  for (const one of all) {
    if (part.length > 0 && size + sizeOf(one) > most) {
      yield part;
      part = [];
      size = 0;
    }
    part.push(one);
    size += sizeOf(one);
  }
  if (part.length > 0) yield part;
}
