/** Sessions that want driving, as rows in PostgreSQL (`schema/claims.ts`): each is handed to one process at a time. */
import type { SessionId } from "@orgate/core/vocab";
import type { SessionClaims } from "../store.ts";
import type { Watchers } from "../watchers.ts";
import { asUnwritable } from "./faults.ts";
import type { Link } from "./link.ts";

/** Long enough to take a session after it was handed out, short enough that nobody waits for a process that dies in between. */
export const CLAIM_MS = 2_000;

type Claimed = Readonly<{ sessions: readonly SessionId[]; more: boolean; next_ms: number | null }>;

export function openClaims(link: Link, watchers: Watchers, claimMs = CLAIM_MS): SessionClaims {
  const call = async <T>(sql: string, values: readonly unknown[]): Promise<T | undefined> => {
    try {
      return (await link.query<{ answer: T }>(`SELECT "${link.schema}".${sql} AS answer`, values))[0]?.answer;
    } catch (error) {
      throw asUnwritable(error, link.place);
    }
  };
  return {
    async claim(most) {
      const claimed = await call<Claimed>("claim_sessions($1, $2)", [most, claimMs]);
      if (claimed === undefined) throw new Error("claim_sessions answers");
      return { sessions: claimed.sessions, isMore: claimed.more, nextMs: claimed.next_ms };
    },
    leave: async (session, due, isUntaken) => void (await call("leave_session($1, $2, $3)", [session, due, isUntaken])),
    fill: async () => void (await call("fill_claims()", [])),
    watch: (due) => watchers.due(due),
  };
}
