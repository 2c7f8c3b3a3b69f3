/**
 * Whether counters over hours and days are those that this project has written.
 * J-24 rows lie in slots. Each slot has a keyed sum over its rows, and each writer keeps its part of a keyed sum over all slots beside its newest seal, masked, so that
 *      the sums reveal nothing without the key, which lies outside the database. The writer moves sums by what it changes and never makes them
 *      again from what it finds: a row that somebody else changed stays found. A read checks one slot; opening checks the slots, whatever they hold.
 */
import { createHmac, hash, randomBytes } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { FaultError, type WriterId, ZERO } from "@orgate/core/vocab";
import type { Alarms } from "./alarms.ts";
import { assertSealed, type SealedSums } from "./sums.ts";

const SLOTS = 64;
/** The slot of the names that are kept. */
export const KEPT_SLOT = "kept";
export const toCountSlot = ({ name, agent, value }: Readonly<{ name: string; agent: string; value: string }>): string =>
  String(Number.parseInt(hash("sha256", `${name}\n${agent}\n${value}`, "hex").slice(0, 4), 16) % SLOTS);

/** A row of `counts` or of `kept_counts`, as an array of its columns. */
type Cells = readonly unknown[];

export type CountKeys = Readonly<{
  /** One row's part of the sum of its slot. */
  ofRow(cells: Cells): bigint;
  /** One slot's part of the sum over all. */
  ofSlot(slot: string, text: string): bigint;
  mask(place: string, sum: bigint, nonce: string): string;
  /** Null for what is no masked sum. */
  unmask(place: string, text: string): bigint | null;
}>;

const MOST_KNOWN = 20_000;
const BITS = 128n; // nobody without the key sees a sum or a part of one: none can be put together from others
const wrap = (sum: bigint): bigint => BigInt.asUintN(Number(BITS), sum);

export function countKeys(key: string | Uint8Array): CountKeys {
  const known = new Map<string, bigint>();
  const keyed = (text: string): bigint => BigInt(`0x${createHmac("sha256", key).update(text).digest("hex").slice(0, 32)}`);
  function remembered(text: string): bigint {
    const found = known.get(text) ?? keyed(text);
    if (known.size > MOST_KNOWN) known.clear();
    known.set(text, found);
    return found;
  }
  const maskOf = (place: string, nonce: string): bigint => keyed(`orgate-count-mask-1\n${place}\n${nonce}`);
  return {
    ofRow: (cells) => remembered(`orgate-count-1\n${JSON.stringify(cells)}`),
    ofSlot: (slot, text) => remembered(`orgate-count-slot-1\n${slot}\n${text}`),
    mask: (place, sum, nonce) => `${nonce}.${toText(wrap(sum + maskOf(place, nonce)))}`,
    unmask(place, text) {
      const [, nonce, masked] = MASKED.exec(text) ?? [];
      return nonce === undefined || masked === undefined ? null : wrap(fromText(masked) - maskOf(place, nonce));
    },
  };
}
const MASKED = /^([\w-]{1,16})\.([\w-]{22})$/;
const toText = (sum: bigint): string => Buffer.from(sum.toString(16).padStart(32, "0"), "hex").toString("base64url");
const fromText = (text: string): bigint => BigInt(`0x${Buffer.from(text, "base64url").toString("hex")}`);
/** Never the same mask twice: two sums under one would tell their difference. A seal's own place is such a nonce already. */
const newNonce = (): string => randomBytes(12).toString("base64url");
const NO_NONCE = "0";

/** Throws, and raises an alarm, unless both are the same. */
const mustBeSame = (sealed: bigint, found: bigint, alarms: Pick<Alarms, "raise">): void =>
  assertSealed("counts", { sealed: wrap(sealed) << BITS, found: wrap(found) << BITS }, alarms); // what is shown of a difference is where it begins

/** Where a writer's seals end, and its part of the sum over all slots there. */
export type CountPart = Readonly<{ writer: WriterId; number: number; hash: string; sum: bigint }>;
type PartPlace = Omit<CountPart, "sum">;
const placeOf = ({ writer, number, hash: at }: PartPlace): string => `seal ${writer} ${number} ${at}`;
/** Of a writer that has not sealed anything yet: its part lies among the slots. */
const firstOf = (writer: string): string => `first ${writer}`;
const isSlot = (name: string): boolean => !name.startsWith("first ");

export type CountLedger = Readonly<{
  /** Inside a transaction; forgets what one that failed had begun. */
  begin(): void;
  move(slot: string, by: bigint): void;
  /** Writes the slots that have moved, and returns this writer's part as of that seal, to be stored with it. */
  settle(place: PartPlace): string;
  /** The same without a seal of its own: stored with this writer's newest. */
  settleLast(): void;
  /** The transaction is durable. */
  done(): void;
}>;

/** The process itself has written this part and never reads it again: its removal from the database is found. */
export function openCountLedger(db: DatabaseSync, keys: CountKeys, start: CountPart): CountLedger {
  const slotRow = db.prepare("SELECT sum FROM count_slots WHERE slot = ?");
  const putSlot = db.prepare("INSERT OR REPLACE INTO count_slots VALUES (?, ?)");
  const dropSlot = db.prepare("DELETE FROM count_slots WHERE slot = ?");
  const putPart = db.prepare("UPDATE seals SET counts = ? WHERE writer = ? AND number = ?");
  const moves = new Map<string, bigint>();
  let own = start;
  let next = start;

  function settleSlots(): bigint {
    let by = 0n;
    for (const [slot, move] of moves) {
      const before = slotRow.get(slot)?.sum;
      const sum = before === undefined ? 0n : (keys.unmask(`slot ${slot}`, String(before)) ?? 0n);
      const text = keys.mask(`slot ${slot}`, sum + move, newNonce());
      putSlot.run(slot, text);
      by += keys.ofSlot(slot, text) - (before === undefined ? 0n : keys.ofSlot(slot, String(before)));
    }
    moves.clear();
    return by;
  }
  return {
    begin() {
      moves.clear();
      next = own;
    },
    move: (slot, by) => void moves.set(slot, (moves.get(slot) ?? 0n) + by),
    settle(place) {
      next = { ...place, sum: wrap(own.sum + settleSlots()) };
      if (own.number === 0) dropSlot.run(firstOf(own.writer));
      return keys.mask(placeOf(place), next.sum, NO_NONCE);
    },
    settleLast() {
      if (moves.size === 0) return;
      next = { ...own, sum: wrap(own.sum + settleSlots()) };
      const text = keys.mask(placeOf(own), next.sum, newNonce());
      if (own.number === 0) putSlot.run(firstOf(own.writer), text);
      else if (putPart.run(text, own.writer, own.number).changes !== 1)
        throw new Error(`seal ${own.number} of writer \`${own.writer}\` is gone`);
    },
    done() {
      own = next;
    },
  };
}

/** In a copy without counters, every writer's part is nothing: they are counted again from the entries when somebody keeps them. */
export function restartCounts(db: DatabaseSync, keys: CountKeys): void {
  const newest = db.prepare("SELECT writer, max(number) AS number, hash FROM seals GROUP BY writer").all();
  const putPart = db.prepare("UPDATE seals SET counts = ? WHERE writer = ? AND number = ?");
  for (const row of newest) {
    const place = { writer: String(row.writer) as WriterId, number: Number(row.number), hash: String(row.hash) };
    putPart.run(keys.mask(placeOf(place), 0n, newNonce()), place.writer, place.number);
  }
}

export type CountProof = Readonly<{
  /** Throws, and raises an alarm, unless the slots are those that the writers have put. At one moment of the database, like `checkSlot`. */
  check(): void;
  /** The same of the rows of one slot, and of the names that are kept. */
  checkSlot(slot: string): void;
  /** As it is stored; `check` says whether it is to be believed. */
  partOf(writer: WriterId): CountPart;
}>;

type Needs = Readonly<{ db: DatabaseSync; version: () => number; keys: CountKeys; sealed: SealedSums; alarms: Pick<Alarms, "raise"> }>;

export function openCountProof({ db, version, keys, sealed, alarms }: Needs): CountProof {
  const slots = db.prepare("SELECT slot, sum FROM count_slots");
  const slotRow = db.prepare("SELECT sum FROM count_slots WHERE slot = ?");
  const nextWriter = db.prepare("SELECT writer FROM seals WHERE writer > ? ORDER BY writer LIMIT 1");
  const newest = db.prepare("SELECT number, hash, counts FROM seals WHERE writer = ? ORDER BY number DESC LIMIT 1");
  const rowsIn = db.prepare("SELECT name, agent, value, bucket, owner, n FROM counts WHERE slot = ?");
  const kept = db.prepare("SELECT name, since FROM kept_counts");
  for (const statement of [rowsIn, kept]) statement.setReturnArrays(true);
  const saying = new Set<string>(); // writers whose seals say that they keep a part: they do from then on
  const good = new Set<string>();
  let checked = -1;

  const says = (writer: WriterId): boolean => {
    if (!saying.has(writer) && sealed.by(writer, "counts") !== null) saying.add(writer);
    return saying.has(writer);
  };
  function readPart(writer: WriterId): CountPart & Readonly<{ isMissing: boolean }> {
    const row = newest.get(writer);
    const place = { writer, number: Number(row?.number ?? 0), hash: String(row?.hash ?? ZERO) };
    const text = row === undefined ? slotRow.get(firstOf(writer))?.sum : row.counts;
    const sum = keys.unmask(placeOf(place), String(text ?? ""));
    return { ...place, sum: sum ?? 0n, isMissing: sum === null && row !== undefined };
  }
  function provedPart(writer: WriterId): bigint {
    const { number, sum, isMissing } = readPart(writer);
    if (isMissing && says(writer)) {
      const [what, detail] = [`seal ${number} of writer \`${writer}\``, "its sum over counters was taken away"];
      if (alarms.raise(what, detail)) throw new FaultError({ kind: "journal-doubted", what, detail });
    }
    return sum;
  }
  function sumOfParts(first: readonly string[]): bigint {
    let sum = 0n;
    for (const writer of first) if (newest.get(writer) === undefined) sum += readPart(writer as WriterId).sum;
    for (let row = nextWriter.get(""); row !== undefined; row = nextWriter.get(String(row.writer)))
      sum += provedPart(String(row.writer) as WriterId);
    return wrap(sum);
  }
  function check(): void {
    const now = version(); // changes with whatever anybody else writes
    if (now === checked) return;
    good.clear();
    const rows = slots.all().map((row) => ({ slot: String(row.slot), sum: String(row.sum) }));
    const first = rows.filter(({ slot }) => !isSlot(slot)).map(({ slot }) => slot.slice("first ".length));
    const found = rows.reduce((sum, { slot, sum: text }) => (isSlot(slot) ? sum + keys.ofSlot(slot, text) : sum), 0n);
    mustBeSame(sumOfParts(first), found, alarms);
    checked = now;
  }
  function checkRows(slot: string, rows: () => Iterable<unknown>): void {
    if (good.has(slot)) return;
    const text = slotRow.get(slot)?.sum;
    let found = 0n;
    for (const row of rows()) found += keys.ofRow(row as Cells);
    mustBeSame(text === undefined ? 0n : (keys.unmask(`slot ${slot}`, String(text)) ?? 0n), found, alarms);
    good.add(slot);
  }
  return {
    check,
    checkSlot(slot) {
      check();
      checkRows(KEPT_SLOT, () => kept.iterate());
      checkRows(slot, () => rowsIn.iterate(slot));
    },
    partOf(writer) {
      const { isMissing: _, ...part } = readPart(writer);
      return part;
    },
  };
}
