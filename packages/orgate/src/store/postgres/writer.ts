/**
 * Writes batches to PostgreSQL, one round trip each.
 * J-3 a batch whose connection was lost is looked for before anything is said of it: under the lock of all batches, by stream, place and hash, and with its
 * number used up, so that a copy that is still on its way is refused. What was not written is sent again, as it was; nothing is written twice.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Fault, SessionId } from "@orgate/core/vocab";
import { FaultError } from "@orgate/core/vocab";
import type { Owner } from "../sqlite/append-writer.ts";
import type { Batch, BatchResult } from "../sqlite/writer.ts";
import { batchText, fromStoredFault } from "./batch.ts";
import type { LocalCopy, MirrorRows } from "./copy.ts";
import { asUnwritable, explain, isConnectionLost, mayRetry } from "./faults.ts";
import { LOST_NAME, type WriterLease } from "./lease.ts";
import { type Link, SILENCE_MS } from "./link.ts";

type Answer = Readonly<
  | { kind: "done"; mirror: MirrorRows | null }
  | { kind: "refused"; index: number; fault: Fault; mirror: MirrorRows | null }
  | { kind: "lost" }
  | { kind: "lapsed" }
>;
type Written = Extract<Answer, { kind: "done" | "refused" }>;
type Fate = "written" | "not written" | "lost";

const PAUSE_MS = 200;

/** Nobody here knows whether the batch was written: whoever takes its sessions next reads what there is. */
const openFate = (error: unknown, place: string): FaultError =>
  new FaultError(
    {
      kind: "journal-unwritable",
      detail: `${explain(error, place)}; whether the last appends were written shows when their sessions are taken again`,
    },
    error,
  );

export type BatchWriter = Readonly<{
  commit(batch: Batch): Promise<BatchResult>;
  release(session: SessionId, at: number, owner: Owner): Promise<void>;
}>;

type Needs = Readonly<{ link: Link; copy: LocalCopy; lease: WriterLease }>;

export function openBatchWriter({ link, copy, lease }: Needs): BatchWriter {
  const { schema } = link;
  let next = 0;

  /** Tries until it works, for as long as the trouble may pass by itself. */
  async function patiently<T>(step: () => Promise<T>, onLost: () => Promise<T>): Promise<T> {
    let until = Number.POSITIVE_INFINITY;
    for (let work = step; ; ) {
      try {
        return await work();
      } catch (error) {
        until = Math.min(until, performance.now() + link.patienceMs); // waiting for an answer that did not come was no try
        const isOpen = isConnectionLost(error);
        if (!isOpen && !mayRetry(error)) throw asUnwritable(error, link.place);
        if (isOpen) work = onLost;
        if (performance.now() > until) throw work === onLost ? openFate(error, link.place) : asUnwritable(error, link.place);
        await sleep(PAUSE_MS);
      }
    }
  }

  async function send(batch: Batch): Promise<Written> {
    const text = batchText(batch, { batch: next, lockMs: link.lockTimeoutMs });
    const begun = lease.begin();
    const sql = `SELECT "${schema}".commit_batch($1, $2, $3) AS answer`;
    const [row] = await link.query<{ answer: Answer }>(sql, [text, ...copy.mirrored], link.lockTimeoutMs + SILENCE_MS);
    if (row === undefined) throw new Error("commit_batch answers");
    const { answer } = row;
    if (answer.kind === "lost") throw new FaultError(LOST_NAME);
    if (answer.kind === "lapsed") {
      await lease.renew(); // what is not held any more is refused where it is sent again
      return send(batch);
    }
    begun.renewed();
    next += 1;
    return answer;
  }

  /** The connection was lost while the batch was under way. */
  async function findOut(batch: Batch): Promise<Written> {
    const { owner, appends, seal } = batch;
    const [first] = appends;
    const place = first === undefined ? [null, null, seal?.hash ?? null] : [first.stream, first.row.first, first.row.hash];
    const [row] = await link.query<{ fate: Fate; mirror: MirrorRows | null }>(
      `SELECT "${schema}".has_batch($1, $2, $3, $4, $5, $6, $7) AS fate`,
      [owner.writer, owner.incarnation, next, ...place, first === undefined ? seal?.number : null],
    );
    if (row === undefined || row.fate === "lost") throw new FaultError(LOST_NAME);
    next += 1;
    if (row.fate === "not written") return send(batch);
    const [now] = await link.query<{ mirror: MirrorRows | null }>(`SELECT "${schema}".mirror_since($1, $2) AS mirror`, copy.mirrored);
    return { kind: "done", mirror: now?.mirror ?? null };
  }

  return {
    async commit(batch) {
      const answer = await patiently(
        () => send(batch),
        () => findOut(batch),
      );
      copy.mirror(answer.mirror);
      if (answer.kind === "done") lease.count(batch.appends.length);
      return answer.kind === "done" ? { kind: "done" } : { kind: "refused", index: answer.index, fault: fromStoredFault(answer.fault) };
    },
    release: (session, at, owner) => {
      const free = async (): Promise<void> => {
        await link.query(
          `UPDATE "${schema}".streams SET holder = NULL, incarnation = NULL WHERE stream = $1 AND epoch = $2 AND holder = $3 AND incarnation = $4`,
          [session, at, owner.writer, owner.incarnation],
        );
      };
      return patiently(free, free);
    },
  };
}
