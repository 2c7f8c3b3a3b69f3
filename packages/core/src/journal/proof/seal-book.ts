/** The seals of all writers as a verifier reads them: their chains, and what they say of streams and of each other. */
import { type Digest, type Seq, type StreamId, seq, type WriterId } from "../../vocab/index.ts";
import { parseMarks, type StoredSeal } from "../codec.ts";
import type { Records } from "../port.ts";
import { createSealChain, type KeyBook, type ProofPorts, type SealChain } from "./checks.ts";
import type { Head, WriterHead } from "./seal.ts";
import { parseSeen } from "./seen.ts";

export type VerifyProblem =
  | Readonly<{ kind: "entry"; stream: StreamId; seq: Seq; reason: string }>
  | Readonly<{ kind: "seal"; writer: WriterId; seal: number; reason: string }>;

type BookParts = Readonly<{ records: Records; keys: KeyBook; ports: ProofPorts; head: Head | null; most: number }>;
/** One entry that a seal names, and which seal. */
type Named = Readonly<{ hash: Digest; by: string }>;
type NamedSeal = Named & Readonly<{ writer: WriterId; number: number }>;

export class SealBook {
  readonly problems: VerifyProblem[] = [];
  readonly #parts: BookParts;
  readonly #chains = new Map<WriterId, { readonly chain: SealChain; readonly hashes: Digest[] }>();
  readonly #named = new Map<StreamId, Map<number, Named>>();
  readonly #covered = new Map<StreamId, number>();
  /** Marks of seals that were read after the entries. */
  readonly #later = new Map<StreamId, Map<number, Digest>>();
  readonly #seenSeals = new Map<string, NamedSeal>();
  #recovered = 0;
  #isBroken = false;

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
    return this.#named.keys();
  }

  /** True while a seal is bad: what it covered cannot be told from what none covers. */
  get isBroken(): boolean {
    return this.#isBroken;
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
    return [...this.#seenSeals.values()].some(({ writer, number }) => number > (this.#chains.get(writer)?.hashes.length ?? 0));
  }

  /** Seals that another writer's seal names are there. */
  checkSeen(): void {
    for (const { writer, number, hash, by } of this.#seenSeals.values()) {
      const found = this.#chains.get(writer)?.hashes[number - 1];
      if (found !== hash)
        this.#bad(writer, number, found === undefined ? `it is missing: ${by} names it` : `it is not the one that ${by} names`);
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
    return [...this.#chains.values()].reduce((sum, { hashes }) => sum + hashes.length, 0);
  }

  recovered(): number {
    return this.#recovered;
  }

  #bad(writer: WriterId, number: number, reason: string): void {
    if (this.problems.length < this.#parts.most) this.problems.push({ kind: "seal", writer, seal: number, reason });
  }

  #readAll(note: (s: StoredSeal) => void): void {
    const { records, keys, ports, head } = this.#parts;
    for (const writer of [...records.writers()].sort()) {
      const known = this.#chains.get(writer) ?? { chain: createSealChain(writer, keys, ports), hashes: [] };
      this.#chains.set(writer, known);
      let place = 0;
      for (const s of records.seals(writer)) {
        place += 1;
        if (place <= known.hashes.length) continue;
        const reason = known.chain.check(s);
        if (reason !== null) this.#bad(writer, known.chain.place(), reason);
        const expected = head?.get(writer);
        if (expected?.number === s.number && expected.hash !== s.hash) this.#bad(writer, s.number, "it is not the seal of the given head");
        known.hashes.push(s.hash);
        if (s.recovered) this.#recovered += 1;
        if (reason === null) note(s);
        else this.#isBroken = true; // what a bad seal says is not followed
      }
    }
  }

  #note(s: StoredSeal): void {
    const by = `seal ${s.number} of writer \`${s.writer}\``;
    for (const { stream, seq: at, hash } of parseMarks(s.wrote) ?? []) {
      this.#name(stream, at, { hash, by });
      this.#covered.set(stream, Math.max(at, this.#covered.get(stream) ?? 0));
    }
    for (const one of parseSeen(s.seen) ?? []) {
      if (one.kind === "stream") this.#name(one.name, one.number, { hash: one.hash, by });
      else if (one.kind === "writer")
        this.#seenSeals.set(`${one.name}@${one.number}:${one.hash}`, { writer: one.name, number: one.number, hash: one.hash, by });
    }
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
