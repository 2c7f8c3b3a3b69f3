/**
 * Rows of the journal that this process has at hand, in a small SQLite database in memory with the tables of `sqlite/schema.ts`, so that the same code
 * reads and proves them. Always there: the streams that give authority, the newest seals of every writer, open unknowns, trusted values, kept counters. Other
 * rows are copied for one look and dropped. PostgreSQL stays the truth: appends are conditional there on what was read here.
 */
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { BOUND_STREAMS } from "@orgate/core/journal";
import { type StreamId, streamId } from "@orgate/core/vocab";
import { toCountSlot } from "../sqlite/proof/count-proof.ts";
import { createTables } from "../sqlite/schema.ts";
import { SEALS_BACK } from "./schema/functions.ts";
import { fromStoredText } from "./text.ts";

type Row = Readonly<Record<string, string | number | boolean | null>>;
/** Rows of one moment, as `functions.ts` returns them. */
export type Pulled = Readonly<{
  streams: readonly Row[];
  appends: readonly Row[];
  seals: readonly Row[];
  blobs: readonly Row[];
  session?: Row | null;
  questions?: readonly Row[];
}>;
export type MirrorRows = Pulled &
  Readonly<{
    tick: number;
    boundSeals: readonly Row[];
    learned: Pulled | null;
    unknowns: readonly Row[] | null;
    known: readonly Row[] | null;
    allKnown: readonly Row[] | null;
    kept: readonly Row[] | null;
    counts: readonly Row[] | null;
  }>;

/** Everything counts as indexed: rows that were copied have their places. */
const ALL_INDEXED = Number.MAX_SAFE_INTEGER;

export class LocalCopy {
  readonly db: DatabaseSync;
  readonly #sql: ReturnType<typeof prepare>;
  /** How often each stream is being looked at. */
  readonly #looks = new Map<StreamId, number>();
  /** Appends that stay: by which sessions have learnt trusted values. */
  readonly #kept = new Set<number>();
  #version = 1;
  #tick = 0;
  #boundAfter = 0;

  constructor() {
    this.db = new DatabaseSync(":memory:");
    createTables(this.db);
    this.db.prepare("UPDATE indexed SET id = ?").run(ALL_INDEXED);
    this.#sql = prepare(this.db);
  }

  /** Changes when rows were copied. */
  get version(): number {
    return this.#version;
  }
  /** How far what is always here is known; parameters of `mirror_since`. */
  get mirrored(): readonly [tick: number, boundAfter: number] {
    return [this.#tick, this.#boundAfter];
  }
  get tick(): number {
    return this.#tick;
  }

  /** A process that takes a writer's name finds here what the one before it has left. */
  setWriter(writer: string, incarnation: number, unsealed: number | null): void {
    this.#sql.writer.run(writer, incarnation, unsealed);
  }

  /** Of two answers that crossed, the later one has everything. */
  mirror(rows: MirrorRows | null): void {
    if (rows === null || rows.tick <= this.#tick) return;
    this.#transact(() => {
      this.#put(rows);
      for (const seal of rows.boundSeals) this.#putSeal(seal);
      if (rows.learned !== null) this.#put(rows.learned);
      this.#mirrorTables(rows);
    });
    for (const { id } of rows.learned?.appends ?? []) this.#kept.add(Number(id));
    for (const { id } of rows.appends) this.#boundAfter = Math.max(this.#boundAfter, Number(id));
    this.#tick = rows.tick;
    this.#version += 1;
    if (this.#version % SEALS_BACK === 0) this.#sql.oldSeals.run(SEALS_BACK);
  }

  /** Copies rows until the result is called. Of two answers that crossed, the older one takes nothing back. */
  hold(pulled: Pulled): () => void {
    const { appends, seals, blobs } = pulled;
    const streams = this.#newer(pulled.streams);
    this.#transact(() => this.#put(streams.length === pulled.streams.length ? pulled : { streams, appends, seals, blobs }));
    const names = pulled.streams.map(({ stream }) => streamId(String(stream)));
    for (const name of names) this.#looks.set(name, (this.#looks.get(name) ?? 0) + 1);
    return () => {
      for (const name of names) this.#drop(name);
      for (const { address } of pulled.blobs) this.#sql.dropBlob.run(String(address));
    };
  }

  close(): void {
    this.db.close();
  }

  #drop(name: StreamId): void {
    const left = (this.#looks.get(name) ?? 1) - 1;
    if (left > 0) return void this.#looks.set(name, left);
    this.#looks.delete(name);
    if (BOUND_STREAMS.includes(name)) return;
    this.#transact(() => {
      for (const row of this.#sql.idsOf.all(name)) {
        if (this.#kept.has(Number(row.id))) continue;
        this.#sql.dropAppend.run(row.id ?? null);
        this.#sql.dropPlace.run(row.no ?? null, row.first ?? null);
      }
      this.#sql.dropStream.run(name);
      this.#sql.dropSession.run(name);
      this.#sql.dropQuestions.run(name);
    });
  }

  #put({ streams, appends, seals, blobs, session = null, questions = [] }: Pulled): void {
    for (const s of streams) this.#sql.stream.run(...cells(s, ["no", "stream", "seq", "hash", "at", "epoch", "holder", "incarnation"]));
    for (const a of appends) {
      this.#sql.append.run(...cells(a, ["id", "count", "stream", "first", "writer", "seal", "hash", "mac", "body"]));
      this.#sql.place.run(...cells(a, ["stream", "first", "id"]));
    }
    for (const s of seals) this.#putSeal(s);
    for (const b of blobs) this.#sql.blob.run(String(b.address), fromStoredText(String(b.text)));
    if (session !== null) {
      this.#sql.session.run(...cells(session, ["session", "state", "agent", "opened_at", "summary"]));
      this.#sql.dropQuestions.run(String(session.session)); // an earlier look may have found some that are answered now
    }
    for (const q of questions) this.#sql.question.run(...cells(q, ["arrival", "session", "approval", "question", "mac"]));
  }

  #newer(streams: readonly Row[]): readonly Row[] {
    return streams.filter(({ stream, seq }) => Number(this.#sql.seqOf.get(String(stream))?.seq ?? 0) <= Number(seq));
  }

  #putSeal(s: Row): void {
    const recovered = s.recovered === true ? 1 : 0;
    this.#sql.seal.run(
      ...cells({ ...s, recovered }, ["writer", "number", "at", "previous", "key", "recovered", "wrote", "seen", "hash", "signature"]),
    );
  }

  #mirrorTables({ unknowns, known, allKnown, kept, counts }: MirrorRows): void {
    if (unknowns !== null) this.db.exec("DELETE FROM unknowns");
    for (const u of unknowns ?? [])
      this.#sql.unknown.run(...texts(u, ["session", "call", "tool", "resource_type", "resource_id", "digest", "cause"]), Number(u.at));
    if (allKnown !== null) this.db.exec("DELETE FROM known_values");
    for (const k of allKnown ?? known ?? [])
      this.#sql.known.run(...texts(k, ["name", "value", "folded", "stream"]), Number(k.at), Number(k.place));
    for (const c of counts ?? []) {
      const [name = "", agent = "", value = ""] = texts(c, ["name", "agent", "value"]);
      const slot = toCountSlot({ name, agent, value });
      this.#sql.count.run(slot, name, agent, value, Number(c.bucket), ...texts(c, ["owner"]), Number(c.n));
    }
    if (kept !== null) this.db.exec("DELETE FROM kept_counts");
    for (const k of kept ?? []) {
      const [name = ""] = texts(k, ["name"]);
      this.#sql.kept.run(name, Number(k.since));
      this.#sql.swept.run(name, Number(k.since));
    }
  }

  #transact(work: () => void): void {
    this.db.exec("BEGIN");
    try {
      work();
    } finally {
      this.db.exec("COMMIT");
    }
  }
}

const cells = (row: Row, names: readonly string[]): SQLInputValue[] => names.map((name) => row[name] as SQLInputValue);
const texts = (row: Row, names: readonly string[]): string[] => names.map((name) => fromStoredText(String(row[name])));

const prepare = (db: DatabaseSync) => ({
  stream: db.prepare(
    "INSERT OR REPLACE INTO streams (no, stream, seq, hash, at, epoch, holder, incarnation) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
  ),
  append: db.prepare(
    "INSERT OR REPLACE INTO appends (id, count, stream, first, writer, seal, hash, mac, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
  ),
  place: db.prepare("INSERT OR REPLACE INTO places VALUES (?, ?, ?)"),
  seal: db.prepare("INSERT OR REPLACE INTO seals VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '')"),
  blob: db.prepare("INSERT OR REPLACE INTO blobs (address, refs, text) VALUES (?, 1, ?)"),
  session: db.prepare("INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?, ?)"),
  question: db.prepare("INSERT OR REPLACE INTO questions (arrival, session, approval, question, mac) VALUES (?, ?, ?, ?, ?)"),
  unknown: db.prepare("INSERT OR REPLACE INTO unknowns VALUES (?, ?, ?, ?, ?, ?, ?, ?)"),
  known: db.prepare("INSERT OR REPLACE INTO known_values VALUES (?, ?, ?, ?, ?, ?)"),
  count: db.prepare("INSERT OR REPLACE INTO counts VALUES (?, ?, ?, ?, ?, ?, ?)"),
  kept: db.prepare("INSERT OR REPLACE INTO kept_counts VALUES (?, ?)"),
  swept: db.prepare("DELETE FROM counts WHERE name = ? AND bucket < ?"),
  writer: db.prepare("INSERT OR REPLACE INTO writers (writer, incarnation, unsealed) VALUES (?, ?, ?)"),
  oldSeals: db.prepare(
    `DELETE FROM seals WHERE number < (SELECT max(number) FROM seals AS s WHERE s.writer = seals.writer) - ?
     AND (writer, number) NOT IN (SELECT writer, seal FROM appends)`,
  ),
  seqOf: db.prepare("SELECT seq FROM streams WHERE stream = ?"),
  idsOf: db.prepare("SELECT a.id, a.first, s.no FROM streams AS s JOIN appends AS a ON a.stream = s.no WHERE s.stream = ?"),
  dropAppend: db.prepare("DELETE FROM appends WHERE id = ?"),
  dropPlace: db.prepare("DELETE FROM places WHERE stream = ? AND first = ?"),
  dropStream: db.prepare("DELETE FROM streams WHERE stream = ? AND no NOT IN (SELECT stream FROM appends)"),
  dropSession: db.prepare("DELETE FROM sessions WHERE session = ?"),
  dropQuestions: db.prepare("DELETE FROM questions WHERE session = ?"),
  dropBlob: db.prepare("DELETE FROM blobs WHERE address = ?"),
});
