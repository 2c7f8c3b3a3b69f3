/** Finds sessions that want driving. */
import type { Journal, Millis, SessionId } from "@orgate/core";
import type { ListedApproval, SessionSummary } from "@orgate/core/journal";
import { yieldToEventLoop } from "../../store/journal-reads.ts";
import type { StoreInbox } from "../../store/store.ts";

const PAGE = 500;

type Ports = Readonly<{ journal: Pick<Journal, "session" | "sessions" | "expired">; inbox: Pick<StoreInbox, "waiting"> }>;
export type FindUnattended = (now: Millis, also?: "interrupted") => Promise<ReadonlySet<SessionId>>;

/** Finds sessions that an intent has come for or whose approval request has expired; with `interrupted` also turns that nobody drives. */
export function createUnattendedFinder({ journal, inbox }: Ports): FindUnattended {
  return async (now, also) => {
    const found = new Set<SessionId>();
    if (also === "interrupted") for await (const { session } of findInterrupted(journal)) found.add(session);
    for (const session of await inbox.waiting()) found.add(session);
    for await (const session of expired(journal, now)) found.add(session);
    return found;
  };
}

/** Turns that want driving, driven or not; a parent is found through its sub-agents. */
export async function* findInterrupted(journal: Pick<Journal, "session" | "sessions">): AsyncGenerator<SessionSummary> {
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
async function findTop(journal: Pick<Journal, "session">, one: SessionSummary): Promise<SessionSummary> {
  const above = one.parent === null || one.turns > 1 ? null : await journal.session(one.parent);
  return above === null || above.state !== "running" ? one : findTop(journal, above);
}

/** Sessions whose approval request has expired: ten thousand that only wait cost nothing (rule 10). */
async function* expired(journal: Ports["journal"], by: Millis): AsyncGenerator<SessionId> {
  for (let after: ListedApproval | null = null; ; ) {
    const page: readonly ListedApproval[] = await journal.expired({ by, after, most: PAGE });
    for (const { session } of page) yield session;
    after = page.at(-1) ?? null;
    if (page.length < PAGE) return;
    await yieldToEventLoop(); // a page is read in one go
  }
}
