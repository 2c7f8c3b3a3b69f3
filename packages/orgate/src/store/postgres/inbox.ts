/** The inbox as rows in PostgreSQL. Whoever watches is told by NOTIFY, in whichever process. */
import { millis, type SessionId, toCanonicalJson } from "@orgate/core/vocab";
import { type OpenInbox, toIntent } from "../inbox.ts";
import type { Watchers } from "../watchers.ts";
import { asUnwritable } from "./faults.ts";
import type { Link } from "./link.ts";

type IntentRow = Readonly<{ id: string; session: string; intent: string; arrived_at: string }>;

/** `check` throws while nothing may be written. */
export function openPostgresInbox(link: Link, watchers: Watchers, check: () => void): OpenInbox {
  const table = `"${link.schema}".inbox`;
  return {
    async put(intent) {
      check();
      try {
        const values = [intent.id, intent.session, toCanonicalJson(intent)];
        const [row] = await link.query<{ isNew: boolean }>(`SELECT "${link.schema}".put_intent($1, $2, $3) AS "isNew"`, values);
        if (row?.isNew !== true) return "known";
        watchers.wake(intent.session);
        return "new";
      } catch (error) {
        throw asUnwritable(error, link.place); // the same id sent again is the same intent (I-1), whatever became of this
      }
    },
    async pending(session) {
      const sql = `SELECT id, session, intent, arrived_at FROM ${table} WHERE session = $1 AND intent IS NOT NULL ORDER BY arrival`;
      const rows = await link.read<IntentRow>(sql, [session]);
      return rows.map((row) => ({ intent: toIntent(row), arrivedAt: millis(Number(row.arrived_at)) }));
    },
    async state(id) {
      const [row] = await link.read<{ pending: boolean }>(`SELECT intent IS NOT NULL AS pending FROM ${table} WHERE id = $1`, [id]);
      return row === undefined ? "absent" : row.pending ? "pending" : "taken";
    },
    async waiting() {
      const rows = await link.read<{ session: string }>(`SELECT DISTINCT session FROM ${table} WHERE intent IS NOT NULL`);
      return rows.map(({ session }) => session as SessionId);
    },
    watch: (session, arrived) => watchers.session(session, arrived),
    watchChanges: (changed) => watchers.anything(changed),
    wake: (session) => watchers.wake(session),
    close: () => {},
  };
}
