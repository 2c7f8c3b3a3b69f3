/** Removes payloads for good; hashes stay. What PostgreSQL keeps of old rows goes with its next vacuum, and with its backups (docs/guide). */
import { eraseFromBody, type StoredAppend } from "@orgate/core/journal";
import { isSessionStream, type Seq, type StreamId } from "@orgate/core/vocab";
import { sha256 } from "../../node/crypto.ts";
import { listBlobs } from "../sqlite/writer.ts";
import type { Erased } from "../store.ts";
import { asUnwritable } from "./faults.ts";
import type { Link } from "./link.ts";

type AppendCells = Readonly<{ id: string; count: number; first: string; writer: string; seal: string; hash: string; body: string }>;

export async function erasePayloads(link: Link, stream: StreamId, { first, last }: Readonly<{ first: Seq; last: Seq }>): Promise<Erased> {
  const table = (name: string): string => `"${link.schema}".${name}`;
  try {
    const result = await link.transact("BEGIN", async (run) => {
      const [{ tick } = { tick: "0" }] = await run<{ tick: string }>(`SELECT ${table("begin_change")}() AS tick`);
      const rows = await run<AppendCells>(
        `SELECT a.* FROM ${table("appends")} AS a JOIN ${table("streams")} AS s ON s.no = a.stream WHERE s.stream = $1 AND a.first <= $3 AND a.first + a.count > $2`,
        [stream, first, last],
      );
      const blobs: string[] = [];
      let entries = 0;
      for (const row of rows) {
        const append = { ...row, stream, first: Number(row.first), seal: Number(row.seal) } as unknown as StoredAppend;
        const erased = eraseFromBody(append, { first, last }, sha256);
        const [before, after] = [append.body.split("\n"), erased.split("\n")];
        const gone = before.filter((line, i) => line !== after[i]);
        for (const line of gone) blobs.push(...listBlobs(line));
        entries += gone.length;
        if (gone.length > 0) await run(`UPDATE ${table("appends")} SET body = $1 WHERE id = $2`, [erased, row.id]);
      }
      if (isSessionStream(stream)) {
        await run(`DELETE FROM ${table("dead_letters")} WHERE session = $1`, [stream]);
        await run(`SELECT ${table("end_erased")}($1)`, [stream]);
      }
      await run(`DELETE FROM ${table("known_values")} WHERE stream = $1`, [stream]);
      await run(`UPDATE ${table("moved")} SET known = $1, forgot = $1, tightened = $1, latest = $1`, [tick]);
      for (const address of blobs) await run(`UPDATE ${table("blobs")} SET refs = refs - 1 WHERE address = $1`, [address]);
      const dropped = await run(`DELETE FROM ${table("blobs")} WHERE address = ANY($1) AND refs <= 0 RETURNING 1 AS gone`, [blobs]);
      const intents = await run(
        `UPDATE ${table("inbox")} SET intent = NULL WHERE session = $1 AND intent IS NOT NULL RETURNING 1 AS gone`,
        [stream],
      );
      return { entries, blobs: dropped.length, files: 0, intents: intents.length };
    });
    return { ...result, truncated: await link.vacuum(table("appends"), table("blobs"), table("inbox")) };
  } catch (error) {
    throw asUnwritable(error, link.place);
  }
}
