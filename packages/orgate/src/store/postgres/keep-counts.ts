/** Counters that somebody begins to keep: counted from the entries of the last day while no batch is written, so that each start is counted once (G-24). */
import { BUCKET_MS, type Count, type Journal, listCounts, toBucket, toBucketSpan } from "@orgate/core/journal";
import { isSessionStream, type SessionId, seq, streamId } from "@orgate/core/vocab";
import { assertProved } from "../sqlite/counts.ts";
import type { SqliteReader } from "../sqlite/reader.ts";
import { eventsOfStream } from "../sqlite/side-table.ts";
import { counterName } from "./batch.ts";
import type { LocalCopy, Pulled } from "./copy.ts";
import { asUnwritable } from "./faults.ts";
import type { Link, RunStatement } from "./link.ts";
import { toStoredText } from "./text.ts";

type Needs = Readonly<{ link: Link; copy: LocalCopy; reader: SqliteReader; catchUp: () => Promise<void> }>;

export function remoteCountKeeper({ link, copy, reader, catchUp }: Needs): Journal["keepCounts"] {
  const table = (name: string): string => `"${link.schema}".${name}`;

  /** What a session's proved entries of the last day count. */
  async function countSession(run: RunStatement, session: SessionId, day: number): Promise<readonly Count[]> {
    const [row] = await run<{ pulled: Pulled }>(`SELECT ${table("pull_stream")}($1, $2, NULL) AS pulled`, [session, seq(0)]);
    if (row === undefined) return [];
    const drop = copy.hold(row.pulled);
    try {
      assertProved(session, [reader.chunk(session, seq(0), Number.MAX_SAFE_INTEGER)], reader.seals.alarms);
      return [...listCounts(eventsOfStream(session, reader.records), day)];
    } finally {
      drop();
    }
  }

  return async (names, now) => {
    const { day } = toBucketSpan(now);
    await catchUp();
    const isKept = copy.db.prepare("SELECT 1 FROM kept_counts WHERE name = ? AND since <= ?");
    if (names.every((name) => isKept.get(name, day) !== undefined)) return;
    try {
      await link.transact("BEGIN", async (run) => {
        const [{ tick } = { tick: "0" }] = await run<{ tick: string }>(`SELECT ${table("begin_change")}() AS tick`);
        const kept = await run<{ name: string; since: string }>(`SELECT * FROM ${table("kept_counts")} WHERE name = ANY($1)`, [
          names.map(toStoredText),
        ]);
        const sinceOf = new Map(kept.map(({ name, since }) => [name, Number(since)]));
        const missing = new Map(names.map((name) => [name, sinceOf.get(toStoredText(name)) ?? Number.MAX_SAFE_INTEGER]));
        for (const [name, upTo] of missing) if (upTo <= day) missing.delete(name);
        if (missing.size === 0) return;
        const sessions = await run<{ stream: string }>(`SELECT stream FROM ${table("streams")} WHERE at >= $1`, [day * BUCKET_MS]);
        const rows = [];
        for (const session of sessions.map(({ stream }) => streamId(stream)).filter(isSessionStream))
          for (const one of await countSession(run, session, day))
            if (toBucket(one.at) < (missing.get(one.name) ?? 0)) rows.push({ ...counterName(one), bucket: toBucket(one.at), n: one.by });
        for (const [name, upTo] of missing)
          await run(`DELETE FROM ${table("counts")} WHERE name = $1 AND bucket < $2`, [toStoredText(name), upTo]);
        await run(
          `INSERT INTO ${table("counts")} SELECT name, agent, value, bucket, '', sum(n), $2 FROM jsonb_to_recordset($1)
           AS c(name text, agent text, value text, bucket bigint, n bigint) GROUP BY name, agent, value, bucket`,
          [JSON.stringify(rows), tick],
        );
        for (const name of missing.keys())
          await run(`INSERT INTO ${table("kept_counts")} VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET since = excluded.since`, [
            toStoredText(name),
            day,
          ]);
        await run(`UPDATE ${table("moved")} SET counts = $1, latest = $1`, [tick]);
      });
    } catch (error) {
      throw asUnwritable(error, link.place);
    }
    await catchUp();
  };
}
