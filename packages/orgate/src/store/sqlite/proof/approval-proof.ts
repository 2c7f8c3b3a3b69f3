/**
 * Whether the rows of approval requests are those that this project has written.
 * J-24 each row carries a keyed hash of all that it shows, and each writer seals the sum of the hashes that it has put and taken away. The key lies outside
 *      the database. A row that was altered or put there is found whenever it is read; one that is missing, or was put back, whenever the list is read to
 *      its end. Reading a page costs the same whatever waits.
 */
import { createHmac } from "node:crypto";
import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import { computeApprovalChanges, type PendingApproval, type PendingApprovals } from "@orgate/core/journal";
import { type ApprovalId, FaultError, type Json, toCanonicalJson } from "@orgate/core/vocab";
import type { Alarms } from "./alarms.ts";
import { assertSealed, type SealedSums, toSum } from "./sums.ts";

/** A row to be written: the text and its keyed hash. */
export type ApprovalRequestRow = Readonly<{ approval: ApprovalId; question: string; mac: string }>;
export type ApprovalRequestRows = Readonly<{ gone: readonly ApprovalId[]; put: readonly ApprovalRequestRow[] }>;
export const NO_QUESTION_ROWS: ApprovalRequestRows = Object.freeze({ gone: [], put: [] });

export type ApprovalMacs = Readonly<{
  toRow(question: PendingApproval): ApprovalRequestRow;
  isGenuine(row: Record<string, SQLOutputValue>): boolean;
  /** The rows to write when one set of requests of a session becomes another, and by how much that moves the sum over the table. */
  change(before: PendingApprovals, after: PendingApprovals): Readonly<{ rows: ApprovalRequestRows; moves: bigint }>;
}>;

export function questionMacs(key: string | Uint8Array): ApprovalMacs {
  const macOf = (session: string, approval: string, text: string): string =>
    createHmac("sha256", key)
      .update(`orgate-question-1\n${JSON.stringify([session, approval, text])}`)
      .digest("hex");
  function toRow(q: PendingApproval): ApprovalRequestRow {
    const question = toCanonicalJson(q as unknown as Json);
    return { approval: q.approval, question, mac: macOf(q.session, q.approval, question) };
  }
  const sumOf = (rows: readonly ApprovalRequestRow[]): bigint => rows.reduce((sum, { mac }) => sum + toSum(mac), 0n);
  return {
    toRow,
    isGenuine: ({ session, approval, question, mac }) => mac === macOf(String(session), String(approval), String(question)),
    change(before, after) {
      const { gone, put } = computeApprovalChanges(before, after);
      const rows = put.map(toRow);
      const replaced = [...gone, ...put.map((q) => q.approval)].flatMap((id) => before.get(id) ?? []).map(toRow);
      return { rows: { gone, put: rows }, moves: sumOf(rows) - sumOf(replaced) };
    },
  };
}

export type ApprovalProof = Readonly<{
  /** Throws, and raises an alarm, for a row that this project did not write; false when an operator has acknowledged it: it is not shown. */
  isGenuine(row: Record<string, SQLOutputValue>): boolean;
  /** Throws, and raises an alarm, unless these are all the rows that were sealed. */
  areAll(rows: readonly Record<string, SQLOutputValue>[]): void;
  /** The same of the whole table. */
  check(): void;
  sum(): bigint;
}>;

type Needs = Readonly<{ db: DatabaseSync; version: () => number; macs: ApprovalMacs; sealed: SealedSums; alarms: Pick<Alarms, "raise"> }>;

export function openQuestionProof({ db, version, macs, sealed, alarms }: Needs): ApprovalProof {
  const all = db.prepare("SELECT mac FROM questions");
  let checked = -1;
  const sumOf = (rows: Iterable<Record<string, SQLOutputValue>>): bigint => {
    let sum = 0n;
    for (const { mac } of rows) sum += HEX.test(String(mac)) ? toSum(String(mac)) : 1n; // what is no hash is not what was sealed
    return sum;
  };
  return {
    isGenuine(row) {
      if (macs.isGenuine(row)) return true;
      const [what, detail] = [`row ${row.session}/${row.approval} of table \`questions\``, "it is not what this project has written"];
      if (alarms.raise(what, detail)) throw new FaultError({ kind: "journal-doubted", what, detail });
      return false;
    },
    areAll: (rows) => assertSealed("questions", { sealed: sealed.of("questions"), found: sumOf(rows) }, alarms),
    check() {
      const now = version(); // changes with whatever anybody else writes: an id that is not there costs one look
      if (now === checked) return;
      assertSealed("questions", { sealed: sealed.of("questions"), found: sumOf(all.iterate()) }, alarms);
      checked = now;
    },
    sum: () => sumOf(all.iterate()),
  };
}
const HEX = /^[0-9a-f]{64}$/;

export const questionIn = (row: Record<string, SQLOutputValue>): PendingApproval => JSON.parse(String(row.question)) as PendingApproval;
