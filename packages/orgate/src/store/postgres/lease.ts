/**
 * The lease of a writer's name. It stands for the life of a process, which no other machine can see: holds are valid while the lease of their holder runs.
 * Only PostgreSQL's clock says when it ends. A process counts for itself, from before each renewal was sent: by a clock that nobody sets and, because that one
 * stands still while a machine sleeps, by the one on the wall too. So it stops being sure of its holds before anybody else may take them.
 * A process that is killed loses its connections at once, while one that is busy or stopped keeps them: beside its lease it holds a lock on the connection that
 * listens. Where that is gone and nothing was heard of the process for a moment, another ends its lease early (`renew_lease`).
 * J-4 a session is held by one process; a new hold has a new epoch.
 */
import { hostname } from "node:os";
import { type Epoch, epoch, type Fault, FaultError, type SessionId, type WriterId, writerId } from "@orgate/core/vocab";
import { version } from "../../node/version.ts";
import type { Holding, HoldingChange } from "../sealer.ts";
import type { ProcessRole, Telling } from "../store.ts";
import { asUnwritable, isConnectionLost, mayRetry } from "./faults.ts";
import { type Link, SILENCE_MS } from "./link.ts";
import { SILENT_MS } from "./schema/functions.ts";

export type WriterLease = Readonly<{
  writer: WriterId;
  incarnation: number;
  /** After this append of an earlier process under the name nothing was sealed; null when all is. */
  unsealed: number | null;
  /** How long the connection that stands for this process has been there; 0: it is not. Until this is called it is not. */
  liveBy(connectedMs: () => number): void;
  /** Call before something is sent that renews the lease, and `renewed` when it has. */
  begin(): Readonly<{ renewed(): void }>;
  /** Renews it, also when it had run out: what others have taken meanwhile is not held any more. Throws when the name is another's. */
  renew(): Promise<void>;
  /** Others list this process with its role, and with what it tells at each renewal. */
  play(role: ProcessRole, tell?: () => Telling | null): Promise<void>;
  /** Told of appends that were committed: the next renewal tells others. */
  count(appends: number): void;
  holding: Holding;
  /** Ends the lease: others may take the name and its sessions at once. */
  end(): Promise<void>;
  /** Stops renewing it, as a process does that dies. */
  abandon(): void;
}>;

type WriterRow = Readonly<{ writer: string; incarnation: string; unsealed: string | null }>;
type Taken = Readonly<{ kind: "taken"; epoch: number } | { kind: "held"; by: string; host: string; pid: number } | { kind: "lapsed" }>;
/** `at`: the database's clock. `kept`: sessions that this process still holds, where the lease had run out. */
type Renewed = Readonly<{ kind: "renewed"; at: number; kept: readonly SessionId[] | null } | { kind: "lost" }>;

/** Approvals, retries and schedules are due by the clock of whoever drives: one that is far off would be early or late with all of them. */
const MOST_SKEW_MS = 60_000;
/** Twice within the time after which a process without a connection is taken for gone. */
const RENEW_MS = SILENT_MS / 2;
/** When the database has been away, all others are given the time to come back. */
const SETTLED_MS = 3_000;

export async function leaseWriter(link: Link, leaseMs: number): Promise<WriterLease> {
  const { schema } = link;
  let until = inFuture(leaseMs);
  let appends = 0;
  let connectedMs = (): number => 0;
  let told = (): Telling | null => null;
  const [row] = await withWriteFault(link, () =>
    link.query<WriterRow>(`SELECT * FROM "${schema}".claim_writer($1, $2, $3)`, [leaseMs, hostname(), process.pid]),
  );
  if (row === undefined) throw new Error("claim_writer answers");
  const [writer, incarnation] = [writerId(row.writer), Number(row.incarnation)];
  const describe = async (role: ProcessRole | ""): Promise<void> => {
    await link.query(`UPDATE "${schema}".writers SET version = $3, role = $4 WHERE writer = $1 AND incarnation = $2`, [
      ...[writer, incarnation, version(), role],
    ]);
  };
  await withWriteFault(link, () => describe("")); // the name may have been that of another process
  const begin = () => {
    const sent = inFuture(leaseMs);
    const renewed = (): void => {
      if (sent.steady > until.steady) until = sent;
    };
    return { renewed };
  };
  const listeners = new Set<(change: HoldingChange) => void>();
  const tell = (change: HoldingChange): void => {
    for (const listener of listeners) listener(change);
  };
  const renew = async (): Promise<void> => {
    const begun = begin();
    const sent = Date.now();
    const tells = told();
    const values = [writer, incarnation, appends, connectedMs() > SETTLED_MS, tells === null ? null : JSON.stringify(tells)];
    const [row] = await link.query<{ answer: Renewed }>(`SELECT "${schema}".renew_lease($1, $2, $3, $4, $5) AS answer`, values, SILENCE_MS);
    const fault = row?.answer.kind === "renewed" ? findSkew(row.answer.at, sent, link.place) : LOST_NAME;
    if (fault !== null) {
      tell({ kind: "lost", fault });
      throw new FaultError(fault);
    }
    if (row?.answer.kind === "renewed" && row.answer.kept !== null) tell({ kind: "lapsed", kept: new Set(row.answer.kept) });
    begun.renewed();
  };
  const timer = setInterval(() => void renew().catch(() => {}), Math.min(leaseMs / 3, RENEW_MS)).unref(); // an append reports what is wrong; until then the lease runs down

  const take = createTaking(link, { writer, incarnation, renew, stop: (fault) => tell({ kind: "lost", fault }) });
  await withWriteFault(link, renew); // the clocks are compared before anything is done
  const isSure = (): boolean => {
    const less = connectedMs() > 0 ? 0 : Math.max(0, leaseMs - SILENT_MS); // without the connection others may end it that much earlier
    return performance.now() < until.steady - less && Date.now() < until.wall - less;
  };
  const abandon = (): void => clearInterval(timer);
  return {
    writer,
    incarnation,
    unsealed: row.unsealed === null ? null : Number(row.unsealed),
    liveBy(connected) {
      connectedMs = connected;
    },
    begin,
    renew,
    async play(role, tell) {
      if (tell !== undefined) told = tell;
      await withWriteFault(link, () => describe(role));
    },
    count: (committed) => {
      appends += committed;
    },
    holding: { take, isSure, onChange: (listener) => void listeners.add(listener) },
    abandon,
    async end() {
      abandon();
      await link.query(`UPDATE "${schema}".writers SET lease_until = clock_timestamp() WHERE writer = $1 AND incarnation = $2`, [
        writer,
        incarnation,
      ]);
    },
  };
}

type TakingNeeds = Pick<WriterLease, "writer" | "incarnation" | "renew"> & Readonly<{ stop(fault: Fault): void }>;

/**
 * Takes sessions, one at a time each. J-3 where the database refuses for a reason that does not pass by itself (its disk is full), the process stops as it does
 * with an append: otherwise each look of a worker would try every session again.
 */
function createTaking(link: Link, { writer, incarnation, renew, stop }: TakingNeeds): Holding["take"] {
  const taking = new Set<SessionId>();
  const heldBy = (session: SessionId, by: string): FaultError => new FaultError({ kind: "session-held", session, by });

  return async (session: SessionId, isHeld: boolean): Promise<Epoch> => {
    if (taking.has(session)) throw heldBy(session, `writer \`${writer}\` (this process)`);
    taking.add(session);
    try {
      for (;;) {
        const sql = `SELECT "${link.schema}".take_session($1, $2, $3, $4) AS taken`;
        const [answer] = await link.query<{ taken: Taken }>(sql, [session, writer, incarnation, isHeld]).catch((error: unknown) => {
          const failed = asUnwritable(error, link.place);
          if (!isConnectionLost(error) && !mayRetry(error)) stop(failed.fault);
          throw failed;
        });
        const taken = answer?.taken;
        if (taken?.kind === "taken") return epoch(taken.epoch);
        if (taken?.kind === "held") throw heldBy(session, `writer \`${taken.by}\` (process ${taken.pid} on ${taken.host})`);
        await withWriteFault(link, renew);
      }
    } finally {
      taking.delete(session);
    }
  };
}

export const LOST_NAME: Fault = Object.freeze({
  kind: "journal-unwritable",
  detail: "another process has taken over the name of this writer, because its lease had run out: start this process again",
});

/** Null unless the clock of this machine is further from the database's than the time that an answer took explains. */
export function findSkew(at: number, sent: number, place: string): Fault | null {
  const skew = at < sent ? sent - at : at > Date.now() ? Date.now() - at : 0;
  if (Math.abs(skew) <= MOST_SKEW_MS) return null;
  const far = `${Math.round(Math.abs(skew) / 1_000)} s ${skew > 0 ? "ahead of" : "behind"}`;
  return {
    kind: "journal-unwritable",
    detail: `the clock of this machine is ${far} that of ${place}: set it (NTP), then start this process again`,
  };
}

const inFuture = (ms: number) => ({ steady: performance.now() + ms, wall: Date.now() + ms });

async function withWriteFault<T>(link: Link, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw asUnwritable(error, link.place);
  }
}
