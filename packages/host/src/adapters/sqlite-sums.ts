/**
 * Whether the table of open unknowns is the one that the writers have sealed.
 * J316 a row of an open unknown that was deleted or changed is noticed before a decision rests on the table: each writer seals a keyed sum over the rows that
 *      it has put and taken away, and all sums together must be that of the rows there are. The key lies outside the database.
 */
import { createHmac } from "node:crypto";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { FULL_EVERY, type OpenUnknowns, parseSeen, type Seen, type StoredCommit, type Trust, UNKNOWNS } from "@orgate/core/journal";
import { digest, FaultError, type WriterId } from "@orgate/core/vocab";
import type { Alarms } from "./sqlite-alarms.ts";

const MODULUS = 1n << 256n;
const wrap = (sum: bigint): bigint => ((sum % MODULUS) + MODULUS) % MODULUS;

export type Sums = Readonly<{
  /** By how much these changes move the sum of whoever writes them. */
  delta(before: OpenUnknowns, after: OpenUnknowns): bigint;
  /** What the next commit seals of it: always with the first of a process and at times, otherwise when it moves. */
  toSay(number: number, delta: bigint): readonly Seen[];
  said(delta: bigint): void;
  /** Throws, and raises an alarm, unless the rows are those that were sealed. */
  check(): void;
}>;

type Needs = Readonly<{ db: DatabaseSync; owner: WriterId; key: string | Uint8Array; trust: Trust; alarms: Alarms }>;

export function openSums({ db, owner, key, trust, alarms }: Needs): Sums {
  const version = db.prepare("PRAGMA data_version");
  const rows = db.prepare("SELECT * FROM unknowns");
  const newer = db.prepare(`SELECT * FROM commits WHERE writer = ? AND number > ? ORDER BY number DESC LIMIT ${FULL_EVERY}`);
  const nextWriter = db.prepare("SELECT writer FROM commits WHERE writer > ? ORDER BY writer LIMIT 1");
  const stated = new Map<string, Readonly<{ number: number; sum: bigint | null }>>();
  const known = new Map<string, bigint>();
  let own: bigint | null = null;
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
    wrap(
      rows.all().reduce((sum, r) => sum + sumOf([r.session, r.call, r.tool, r.resource_type, r.resource_id, r.digest, r.cause, r.at]), 0n),
    );

  /** What all writers have sealed, together; null where none of them has ever said anything of it. */
  function sealed(): bigint | null {
    let [sum, isSaid] = [0n, false];
    for (let row = nextWriter.get(""); row !== undefined; row = nextWriter.get(String(row.writer))) {
      const one = statementOf(String(row.writer), newer);
      if (one.sum === null) continue;
      sum += one.sum;
      isSaid = true;
    }
    return isSaid ? wrap(sum) : null;
  }
  function statementOf(writer: string, after: StatementSync): Readonly<{ number: number; sum: bigint | null }> {
    const before = stated.get(writer) ?? { number: 0, sum: null };
    const commits = after.all(writer, before.number).map((row) => ({ ...row }) as unknown as StoredCommit);
    const saying = commits.find((c) => c.seen.includes(`${UNKNOWNS}=`) && trust.whyBadSeal(c) === null);
    const said = saying === undefined ? undefined : parseSeen(saying.seen)?.find(({ kind }) => kind === "sum");
    const now = { number: commits[0]?.number ?? before.number, sum: said === undefined ? before.sum : BigInt(`0x${said.hash}`) };
    stated.set(writer, now);
    return now;
  }
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
  function begin(): bigint {
    return snapshot(() => (sealed() === null ? sumOfRows() : (stated.get(owner)?.sum ?? 0n)));
  }

  return {
    delta: (before, after) => (before === after ? 0n : sumOfAll(after) - sumOfAll(before)),
    toSay(number, delta) {
      own ??= begin();
      if (!isFirst && delta === 0n && number % FULL_EVERY !== 0) return [];
      return [
        {
          kind: "sum",
          name: UNKNOWNS,
          number: 0,
          hash: digest(
            wrap(own + delta)
              .toString(16)
              .padStart(64, "0"),
          ),
        },
      ];
    },
    said(delta) {
      own = wrap((own ?? 0n) + delta);
      isFirst = false;
    },
    check() {
      const now = Number(version.get()?.data_version);
      const [expected, found] = now === seen ? [0n, 0n] : snapshot(() => [sealed(), sumOfRows()]);
      if (expected === null || expected === found) {
        seen = now;
        return;
      }
      const detail = "its rows are not those that the writers have sealed: one was deleted, added or changed";
      if (alarms.raise("table `unknowns`", detail)) throw new FaultError({ kind: "journal-doubted", what: "table `unknowns`", detail });
    },
  };
}
