/**
 * The conversations of a shell: each one a session that is followed, folded as everybody folds it.
 * S-19 what is shown of a session is a fold of the entries that were told, from the first; there is no state of the shell's own beside it.
 */
import { type SessionView, sessionFold } from "@orgate/core/journal/view";
import type { JournalEvent, SessionId } from "@orgate/core/vocab";
import type { Link, Problem } from "@orgate/core/wire";

export type Conversation = Readonly<{
  session: SessionId;
  view: SessionView;
  /** How many of its items stand in the scrollback. */
  settled(): number;
  settle(upTo: number): void;
  /** All that there was when it was begun to be followed has been told. */
  isCaughtUp(): boolean;
  ended(): Problem | "closed" | null;
  /** Tokens of the last request and its reply: what the next one begins with. */
  contextTokens(): number;
  /** The model that somebody chose for the turns to come; null: the agent's own. */
  chosenModel(): string | null;
}>;
export type Conversations = Readonly<{
  all(): readonly Conversation[];
  /** Those who work for them, while they do: what they ask is asked here; what they say is their session's. */
  subAgents(): readonly Conversation[];
  find(session: SessionId): Conversation | null;
  /** The same again is the same one. */
  follow(session: SessionId): Conversation;
  drop(session: SessionId): void;
}>;

export function openConversations(link: Pick<Link, "follow">, changed: () => void): Conversations {
  type Followed = Readonly<{ talk: Conversation; stop: () => void }>;
  const talks = new Map<SessionId, Followed>();
  const aside = new Map<SessionId, Followed>();

  function leave(session: SessionId): void {
    aside.get(session)?.stop();
    aside.delete(session);
  }

  function begin(session: SessionId, into: Map<SessionId, Followed>): Conversation {
    const working = new Set<SessionId>();
    const see = (event: JournalEvent): void => {
      if (event.kind === "child.opened") working.add(event.child);
      if (event.kind !== "child.ended") return;
      working.delete(event.child);
      leave(event.child);
    };
    const lookAside = (): void => {
      for (const child of working) if (!aside.has(child) && !talks.has(child)) begin(child, aside);
    };
    const fold = sessionFold(session);
    let [settled, caughtUp, context] = [0, false, 0];
    let chosen: string | null = null;
    let ended: Problem | "closed" | null = null;
    const stop = link.follow(
      { kind: "session", session },
      { after: 0 },
      {
        entries(items) {
          for (const item of items) {
            if (item.kind !== "entry")
              fold.miss(item, item.kind === "erased" ? "an entry was erased on request" : `an entry cannot be read: ${item.detail}`);
            else {
              fold.add(item.entry);
              see(item.entry.event);
              const { event } = item.entry;
              if (event.kind === "model.replied") context = event.usage.input + event.usage.output;
              if (event.kind === "context.cleared") context = 0;
              if (event.kind === "model.chosen") chosen = event.model;
            }
          }
          if (caughtUp) lookAside();
          changed();
        },
        preview({ iteration, attempt, preview }) {
          fold.preview({ iteration, attempt, preview });
          changed();
        },
        caughtUp() {
          caughtUp = true;
          lookAside();
          changed();
        },
        ended(problem) {
          [ended, caughtUp] = [problem ?? "closed", true];
          changed();
        },
      },
    );
    const talk: Conversation = {
      session,
      view: fold.view,
      settled: () => settled,
      settle: (upTo) => {
        settled = upTo;
      },
      isCaughtUp: () => caughtUp,
      ended: () => ended,
      contextTokens: () => context,
      chosenModel: () => chosen,
    };
    into.set(session, { talk, stop });
    return talk;
  }
  return {
    all: () => [...talks.values()].map(({ talk }) => talk),
    find: (session) => talks.get(session)?.talk ?? null,
    subAgents: () => [...aside.values()].map(({ talk }) => talk),
    follow: (session) => talks.get(session)?.talk ?? begin(session, talks),
    drop(session) {
      talks.get(session)?.stop();
      talks.delete(session);
    },
  };
}
