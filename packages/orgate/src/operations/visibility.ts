/** The streams of the journal that one caller may see, decided each time: a changed policy or a revoked key acts at once. */
import { isSessionStream, type Journal, type SessionId, type StreamId } from "@orgate/core";
import { requesterName } from "../identity/requester.ts";
import type { Permissions } from "./access.ts";
import { act, type Caller } from "./access.ts";

/** Whose a session is: what the policies are asked about it. */
export type AboutStream = Readonly<{ agent: string; requester: string }>;
export type Whose = (session: SessionId) => Promise<AboutStream | null>;

const MOST_KNOWN = 10_000;

/** A session's agent and person stay the same: looked up once, and forgotten with the oldest. */
export function openOwners(journal: Pick<Journal, "session">): Whose {
  const known = new Map<SessionId, AboutStream>();
  return async (session) => {
    const found = known.get(session);
    if (found !== undefined) return found;
    const summary = await journal.session(session);
    if (summary === null) return null;
    const about = { agent: summary.agent, requester: requesterName(summary.principal) };
    if (known.size >= MOST_KNOWN) known.delete(known.keys().next().value ?? session);
    known.set(session, about);
    return about;
  };
}

export type MayReadStream = (stream: StreamId) => Promise<boolean>;

export const makeVisibility =
  ({ mayDo }: Pick<Permissions, "mayDo">, caller: Caller, whose: Whose): MayReadStream =>
  async (stream) => {
    if (!isSessionStream(stream)) return mayDo(caller, act("read-journal", "project")) === null;
    const about = await whose(stream);
    return about !== null && mayDo(caller, act("read-journal", "session", { session: stream, ...about })) === null;
  };
