/** Answers under idempotency keys as rows in PostgreSQL: every server of the project knows them. A day old ones are forgotten. */
import type { KeptRequest, RequestKeys } from "../store.ts";
import { asUnwritable } from "./faults.ts";
import type { Link } from "./link.ts";
import { fromStoredText, toStoredText } from "./text.ts";

export const REQUESTS_TABLE = `
CREATE TABLE requests (id text COLLATE "C" PRIMARY KEY, digest text NOT NULL, status int, body text NOT NULL, at bigint NOT NULL);
CREATE INDEX requests_by_age ON requests (at);
`;

/** How many servers are at a request that is not answered. */
const AT_IT = "coalesce(nullif(r.body, '')::int, 0)";
const DAY_MS = 86_400_000;
const FORGET_EVERY = 1_000;

export function openRequests(link: Link): RequestKeys {
  const table = `"${link.schema}".requests`;
  let kept = 0;
  const write = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw asUnwritable(error, link.place); // the same request again finds what was written
    }
  };
  return {
    async find(id) {
      const [row] = await link.read<KeptRequest>(`SELECT digest, status, body FROM ${table} WHERE id = $1`, [toStoredText(id)]);
      return row === undefined ? null : { ...row, body: fromStoredText(row.body) };
    },
    begin: (id, digest, now) =>
      write(async () => {
        // the update changes nothing: it makes the row that is there already come back
        const sql = `INSERT INTO ${table} VALUES ($1, $2, NULL, '', $3) ON CONFLICT (id) DO UPDATE SET id = EXCLUDED.id RETURNING digest`;
        const [row] = await link.query<{ digest: string }>(sql, [toStoredText(id), digest, now]);
        return row?.digest ?? digest;
      }),
    enter: (id, digest, now) =>
      write(async () => {
        const counted = `CASE WHEN r.status IS NULL AND r.digest = EXCLUDED.digest THEN (${AT_IT} + 1)::text ELSE r.body END`;
        const sql = `INSERT INTO ${table} AS r VALUES ($1, $2, NULL, '1', $3) ON CONFLICT (id) DO UPDATE SET body = ${counted}
          RETURNING digest, status IS NOT NULL OR body <> '1' AS others`;
        const [row] = await link.query<{ digest: string; others: boolean }>(sql, [toStoredText(id), digest, now]);
        return row ?? { digest, others: false };
      }),
    leave: (id) =>
      write(async () => {
        const sql = `UPDATE ${table} AS r SET body = CASE WHEN status IS NULL THEN greatest(0, ${AT_IT} - 1)::text ELSE body END WHERE id = $1
          RETURNING status IS NOT NULL OR body <> '0' AS others`;
        return (await link.query<{ others: boolean }>(sql, [toStoredText(id)]))[0]?.others ?? false;
      }),
    keep: (id, digest, { status, body }, now) =>
      write(async () => {
        const sql = `INSERT INTO ${table} AS r VALUES ($1, $2, $3, $4, $5) ON CONFLICT (id)
          DO UPDATE SET digest = EXCLUDED.digest, status = EXCLUDED.status, body = EXCLUDED.body, at = EXCLUDED.at WHERE r.status IS NULL RETURNING id`;
        const stored = await link.query(sql, [toStoredText(id), digest, status, toStoredText(body), now]);
        if (kept % FORGET_EVERY === 0) await link.query(`DELETE FROM ${table} WHERE at < $1`, [now - DAY_MS]);
        kept += 1;
        return stored.length > 0;
      }),
    erase: (session) =>
      write(async () => {
        await link.query(`UPDATE ${table} SET status = NULL, body = '' WHERE strpos(body, $1) > 0`, [session]);
        return link.vacuum(table);
      }),
  };
}
