/**
 * Whether a table beside the entries is the one that the writers have sealed.
 * J-24 a row of an open unknown that was deleted or changed is noticed before a decision rests on the table: each writer seals a keyed sum over the rows that
 *      it has put and taken away, and all sums together must be that of the rows there are. The key lies outside the database.
 */
import { createHmac } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { FULL_EVERY, type OpenUnknowns, parseSeen, type Seen, type SummedTable, type Trust } from "@orgate/core/journal";
import { digest, FaultError, type WriterId, ZERO } from "@orgate/core/vocab";
import type { Alarms } from "./alarms.ts";
import { toSeal } from "./seal-row.ts";

const MODULUS = 1n << 256n;
export const wrap = (sum: bigint): bigint => ((sum % MODULUS) + MODULUS) % MODULUS;

export const toSum = (hash: string): bigint => BigInt(`0x${hash}`);

/** By how much changes move the sums of their writer. */
export type Moves = Readonly<Record<MovedTable, bigint>>;
type MovedTable = Exclude<SummedTable, "counts">;
const MOVED: readonly MovedTable[] = ["questions", "unknowns"];
const TABLES: readonly SummedTable[] = [...MOVED, "counts"];

export type SealedSums = Readonly<{
  /** The sum that all writers have sealed for this table, together; null where none of them has ever said anything of it. */
  of(table: SummedTable): bigint | null;
  by(writer: WriterId, table: SummedTable): bigint | null;
}>;

/** Reads a few seals of each writer, and later only those that came since. */
export function openSealedSums(db: DatabaseSync, trust: () => Trust): SealedSums {
  const newer = db.prepare(`SELECT * FROM seals WHERE writer = ? AND number > ? ORDER BY number DESC LIMIT ${FULL_EVERY}`);
  const nextWriter = db.prepare("SELECT writer FROM seals WHERE writer > ? ORDER BY writer LIMIT 1");
  const stated = new Map<string, Readonly<{ number: number; sums: ReadonlyMap<SummedTable, bigint> }>>();

  function statementOf(writer: string): ReadonlyMap<SummedTable, bigint> {
    const before = stated.get(writer) ?? { number: 0, sums: new Map() };
    const sums = new Map(before.sums);
    const wanted = new Set(TABLES);
    let number = before.number;
    for (const row of newer.iterate(writer, before.number)) {
      const seal = toSeal(row);
      number = Math.max(number, seal.number);
      const saying = [...wanted].filter((table) => seal.seen.includes(`${table}=`));
      if (saying.length === 0 || trust().whyBadSeal(seal) !== null) continue;
      for (const one of parseSeen(seal.seen) ?? []) if (one.kind === "sum" && wanted.delete(one.name)) sums.set(one.name, toSum(one.hash));
      if (wanted.size === 0) break;
    }
    stated.set(writer, { number, sums });
    return sums;
  }

  return {
    of(table) {
      let [sum, isSaid] = [0n, false];
      for (let row = nextWriter.get(""); row !== undefined; row = nextWriter.get(String(row.writer))) {
        const one = statementOf(String(row.writer)).get(table);
        if (one === undefined) continue;
        sum += one;
        isSaid = true;
      }
      return isSaid ? wrap(sum) : null;
    },
    by: (writer, table) => statementOf(writer).get(table) ?? null,
  };
}

/** Throws, and raises an alarm, unless the rows that were found are those that were sealed. */
export function assertSealed(
  table: SummedTable,
  { sealed, found }: Readonly<{ sealed: bigint | null; found: bigint }>,
  alarms: Pick<Alarms, "raise">,
): void {
  if (sealed === null || sealed === wrap(found)) return;
  // the difference stays while both go on: what was acknowledged as it is stays so, and a further change is another alarm
  const off = toHash(found - sealed).slice(0, 16);
  const [what, detail] = [
    `table \`${table}\` (off by ${off})`,
    "its rows are not those that the writers have sealed: one was deleted, added or changed",
  ];
  if (alarms.raise(what, detail)) throw new FaultError({ kind: "journal-doubted", what, detail });
}

export type Sums = Readonly<{
  /** By how much these changes of open unknowns move their sum. */
  delta(before: OpenUnknowns, after: OpenUnknowns): bigint;
  /** Table sums that the next seal names: all with a process's first seal and at intervals, otherwise those that moved. */
  toSay(number: number, moves: Moves): readonly Seen[];
  said(moves: Moves): void;
  /** Throws, and raises an alarm, unless the rows of open unknowns are those that were sealed. */
  check(): void;
}>;

type Needs = Readonly<{
  db: DatabaseSync;
  /** Changes when the rows may have changed. */
  version: () => number;
  /** Says with its seals that this writer keeps a sum over counters beside them. */
  sumsCounts: boolean;
  owner: WriterId;
  key: string | Uint8Array;
  sealed: SealedSums;
  sumOfQuestions: () => bigint;
  alarms: Alarms;
}>;

export function openSums({ db, version, sumsCounts, owner, key, sealed, sumOfQuestions, alarms }: Needs): Sums {
  const rows = db.prepare("SELECT * FROM unknowns");
  const known = new Map<string, bigint>();
  let own: Moves | null = null;
  let isFirst = true;
  let seen = -1;

  function sumOf(row: readonly unknown[]): bigint {
    const text = `orgate-unknown-1\n${JSON.stringify(row)}`;
    const found = known.get(text) ?? BigInt(`0x${createHmac("sha256", key).update(text).digest("hex")}`);
    if (known.size > 10_000) known.clear();
    known.set(text, found);
    return found;
  }
  const sumOfAll = (all: OpenUnknowns): bigint =>
    [...all.values()].reduce(
      (sum, u) => sum + sumOf([u.session, u.call, u.tool, u.resource.type, u.resource.id, u.digest, u.cause, u.at]),
      0n,
    );
  const sumOfRows = (): bigint =>
    rows.all().reduce((sum, r) => sum + sumOf([r.session, r.call, r.tool, r.resource_type, r.resource_id, r.digest, r.cause, r.at]), 0n);

  function snapshot<T>(look: () => T): T {
    if (db.isTransaction) return look();
    db.exec("BEGIN");
    try {
      return look();
    } finally {
      if (db.isTransaction) db.exec("COMMIT");
    }
  }
  /** A journal from before there were sums: what is there now is where they begin. */
  const begin = (table: MovedTable, now: () => bigint): bigint =>
    sealed.of(table) === null ? wrap(now()) : (sealed.by(owner, table) ?? 0n);
  const ownNow = (): Moves =>
    (own ??= snapshot(() => ({ questions: begin("questions", sumOfQuestions), unknowns: begin("unknowns", sumOfRows) })));

  return {
    delta: (before, after) => (before === after ? 0n : sumOfAll(after) - sumOfAll(before)),
    toSay(number, moves) {
      const before = ownNow();
      const isFull = isFirst || number % FULL_EVERY === 0;
      const due = MOVED.filter((table) => isFull || moves[table] !== 0n);
      const said = due.map((name): Seen => ({ kind: "sum", name, number: 0, hash: toHash(before[name] + moves[name]) }));
      return isFull && sumsCounts ? [...said, { kind: "sum", name: "counts", number: 0, hash: ZERO }] : said; // that it keeps its part beside its newest seal (J-24)
    },
    said(moves) {
      const before = ownNow();
      own = { questions: wrap(before.questions + moves.questions), unknowns: wrap(before.unknowns + moves.unknowns) };
      isFirst = false;
    },
    check() {
      const now = version();
      if (now === seen) return;
      assertSealed(
        "unknowns",
        snapshot(() => ({ sealed: sealed.of("unknowns"), found: sumOfRows() })),
        alarms,
      );
      seen = now;
    },
  };
}

const toHash = (sum: bigint) => digest(wrap(sum).toString(16).padStart(64, "0"));
