/** Processes of a journal in PostgreSQL, as their leases show them to whoever looks. */
import { hostname } from "node:os";
import { millis, type SessionId, writerId } from "@orgate/core/vocab";
import type { ProcessFigures, ProcessRole, WriterProcess } from "../store.ts";
import { type DatabaseOptions, type Link, openLink } from "./link.ts";

type ProcessRow = Readonly<{
  writer: string;
  host: string;
  pid: number;
  version: string;
  role: ProcessRole | "";
  holds: string;
  heard: string;
  batch: string;
  appends: string;
  told: ProcessFigures | null;
  quietest: readonly Readonly<{ session: SessionId; at: number }>[] | null;
}>;
/** How long ago a lease was renewed, by the only clock that says when it ends. */
const HEARD = "greatest(0, w.lease_ms - extract(epoch FROM w.lease_until - clock_timestamp()) * 1000)";
/** How many sessions of a process are named. */
const NAMED = 20;

/** Processes whose lease runs, and what each holds and has committed. */
export async function leasedProcesses(link: Link): Promise<readonly WriterProcess[]> {
  const held = `"${link.schema}".streams AS s WHERE s.holder = w.writer AND s.incarnation = w.incarnation`;
  const rows = await link.read<ProcessRow>(
    `SELECT w.writer, w.host, w.pid, w.version, w.role, w.batch, w.appends,
       CASE WHEN (w.told->>'incarnation')::bigint = w.incarnation THEN w.told END AS told, (SELECT count(*) FROM ${held}) AS holds,
       (SELECT json_agg(q) FROM (SELECT s.stream AS session, s.at FROM ${held} ORDER BY s.at LIMIT ${NAMED}) AS q) AS quietest,
       ${HEARD} AS heard
     FROM "${link.schema}".writers AS w WHERE w.lease_until > clock_timestamp() ORDER BY length(w.writer), w.writer`,
  );
  return rows.map(({ writer, host, pid, version: its, role, holds, heard, batch, appends, told, quietest }) => ({
    ...{ writer: writerId(writer), place: `process ${pid} on ${host}`, role: role === "" ? null : role, version: its === "" ? null : its },
    ...{ holds: Number(holds), heardMs: Math.round(Number(heard)), commits: Number(batch), appends: Number(appends) },
    figures: told === null ? null : toFigures(told),
    quietest: (quietest ?? []).map(({ session, at }) => ({ session, at: millis(at) })),
  }));
}

const toFigures = ({ driven, queued, lag, delayMs, rssBytes }: ProcessFigures): ProcessFigures => ({
  driven,
  queued,
  lag,
  delayMs,
  rssBytes,
});

/** `heardMs`: how long ago it renewed its lease. */
export type LocalWorker = Readonly<{ writer: string; pid: number; heardMs: number }>;

/** Workers of this machine (of this pod or container, where it has a name of its own) whose lease runs. Nothing is read but leases: a probe asks often. */
export async function localWorkersOf(options: DatabaseOptions): Promise<readonly LocalWorker[]> {
  const link = await openLink({ ...options, poolSize: 1 });
  try {
    const rows = await link.read<{ writer: string; pid: number; heard: string }>(
      `SELECT w.writer, w.pid, ${HEARD} AS heard FROM "${link.schema}".writers AS w
       WHERE w.host = $1 AND w.role = 'worker' AND w.lease_until > clock_timestamp() ORDER BY heard`,
      [hostname()],
    );
    return rows.map(({ writer, pid, heard }) => ({ writer, pid, heardMs: Math.round(Number(heard)) }));
  } finally {
    await link.close();
  }
}
