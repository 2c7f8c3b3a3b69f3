/** Finds sessions that want driving. */
import type { Journal, Millis, SessionId } from "@orgate/core";
import type { SessionSummary } from "@orgate/core/journal";
import type { Inbox } from "../../store/inbox.ts";
import { yieldToEventLoop } from "../../store/journal-reads.ts";

const PAGE = 500;

type Ports = Readonly<{ journal: Pick<Journal, "session" | "sessions" | "questions">; inbox: Pick<Inbox, "waiting"> }>;
export type FindUnattended = (now: Millis, also?: "interrupted") => Promise<ReadonlySet<SessionId>>;

/** Finds sessions that an intent has come for or whose approval request has expired; with `interrupted` also turns that nobody drives. */
export function createUnattendedFinder({ journal, inbox }: Ports): FindUnattended {
  const findExpired = createExpiryFinder(journal);
  return async (now, also) => {
    const found = new Set<SessionId>();
    if (also === "interrupted") for await (const { session } of interrupted(journal)) found.add(session);
    for (const session of await inbox.waiting()) found.add(session);
    for (const session of await findExpired(now)) found.add(session);
    return found;
  };
}

/** A parent is found through its sub-agents. */
async function* interrupted(journal: Ports["journal"]): AsyncGenerator<SessionSummary> {
  for (let before: SessionSummary | null = null; ; ) {
    const page: readonly SessionSummary[] = await journal.sessions({ state: "running", agent: null, before, most: PAGE });
    for (const one of page) if (one.children.length === 0) yield await findTop(journal, one);
    before = page.at(-1) ?? null;
    if (page.length < PAGE) return;
  }
}

/**
 * The session that a sub-agent works for in the end: driving it drives all below it, and cancels what is no longer wanted (S-16).
 * From its second turn on, a sub-agent's session is driven for itself.
 */
async function findTop(journal: Ports["journal"], one: SessionSummary): Promise<SessionSummary> {
  const above = one.parent === null || one.turns > 1 ? null : await journal.session(one.parent);
  return above === null || above.state !== "running" ? one : findTop(journal, above);
}

/** A list that was made again, or a row that changed in its place, is noticed after this time at the latest. */
const WALK_EVERY_MS = 600_000;

/**
 * Sessions whose approval request has expired. Ten thousand that only wait must cost nothing (rule 10), and a look comes with every write of another
 * process: between walks through the whole list it reads what came since, and remembers when the first of all is due.
 */
function createExpiryFinder(journal: Pick<Journal, "questions">): (now: Millis) => Promise<ReadonlySet<SessionId>> {
  let [last, due, walkAt] = [0, Number.POSITIVE_INFINITY, 0];
  return async (now) => {
    if (now >= Math.min(due, walkAt) || now < walkAt - WALK_EVERY_MS)
      [last, due, walkAt] = [0, Number.POSITIVE_INFINITY, now + WALK_EVERY_MS];
    const found = new Set<SessionId>();
    for (let isMore = true; isMore; ) {
      const page = await journal.questions({ after: last, most: PAGE });
      for (const { session, expiresAt } of page) {
        if (expiresAt === null) continue;
        due = Math.min(due, expiresAt);
        if (now >= expiresAt) found.add(session);
      }
      last = page.at(-1)?.arrival ?? last;
      isMore = page.length === PAGE;
      if (isMore) await yieldToEventLoop(); // a page is read in one go
    }
    return found;
  };
}
