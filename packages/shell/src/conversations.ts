/**
 * The conversations of a shell: sessions that are followed, folded like everywhere else.
 * S-19 what is shown of a session is a fold of its entries from the first; the shell keeps no state beside it.
 */

import type { JournalEvent, SessionId } from "@orgate/core/vocab";
import type { Follower, Link, Problem } from "@orgate/protocol";
import { createSessionFold, type SessionView } from "@orgate/protocol/view";

export type Conversation = Readonly<{
  session: SessionId;
  view: SessionView;
  /** How many of its items were printed into the scrollback. */
  settled(): number;
  settle(upTo: number): void;
  /** All entries that existed when following began have arrived. */
  isCaughtUp(): boolean;
  ended(): Problem | "closed" | null;
  /** Tokens of the last request and its reply: the next request begins with them. */
  contextTokens(): number;
  /** The model chosen for later turns; null: the agent's own. */
  chosenModel(): string | null;
}>;
export type Conversations = Readonly<{
  all(): readonly Conversation[];
  /** Running sub-agents: their approval requests are shown here, their text stays in their own session. */
  subAgents(): readonly Conversation[];
  find(session: SessionId): Conversation | null;
  /** Following a session twice returns the same conversation. */
  follow(session: SessionId): Conversation;
}>;

export function openConversations(link: Pick<Link, "follow">, changed: () => void): Conversations {
  const conversations = new Map<SessionId, FollowedSession>();
  const subAgents = new Map<SessionId, FollowedSession>();
  const hooks: Hooks = {
    changed,
    childrenRunning(children) {
      for (const child of children) if (!subAgents.has(child) && !conversations.has(child)) subAgents.set(child, begin(child));
    },
    childEnded(child) {
      subAgents.get(child)?.stop();
      subAgents.delete(child);
    },
  };
  const begin = (session: SessionId): FollowedSession => new FollowedSession(session, link, hooks);
  return {
    all: () => [...conversations.values()],
    find: (session) => conversations.get(session) ?? null,
    subAgents: () => [...subAgents.values()],
    follow(session) {
      const found = conversations.get(session) ?? begin(session);
      conversations.set(session, found);
      return found;
    },
  };
}

type Hooks = Readonly<{ changed(): void; childrenRunning(children: Iterable<SessionId>): void; childEnded(child: SessionId): void }>;

class FollowedSession implements Conversation {
  readonly session: SessionId;
  readonly view: SessionView;
  readonly stop: () => void;
  readonly #fold: ReturnType<typeof createSessionFold>;
  readonly #hooks: Hooks;
  readonly #children = new Set<SessionId>();
  #settled = 0;
  #isCaughtUp = false;
  #contextTokens = 0;
  #chosenModel: string | null = null;
  #ended: Problem | "closed" | null = null;

  constructor(session: SessionId, link: Pick<Link, "follow">, hooks: Hooks) {
    this.session = session;
    this.#hooks = hooks;
    this.#fold = createSessionFold(session);
    this.view = this.#fold.view;
    this.stop = link.follow({ kind: "session", session }, { after: 0 }, this.#follower());
  }

  settled(): number {
    return this.#settled;
  }
  settle(upTo: number): void {
    this.#settled = upTo;
  }
  isCaughtUp(): boolean {
    return this.#isCaughtUp;
  }
  ended(): Problem | "closed" | null {
    return this.#ended;
  }
  contextTokens(): number {
    return this.#contextTokens;
  }
  chosenModel(): string | null {
    return this.#chosenModel;
  }

  #follower(): Follower {
    return {
      entries: (items) => {
        for (const item of items)
          if (item.kind === "entry") {
            this.#fold.add(item.entry);
            this.#note(item.entry.event);
          } else
            this.#fold.miss(item, item.kind === "erased" ? "an entry was erased on request" : `an entry cannot be read: ${item.detail}`);
        if (this.#isCaughtUp) this.#hooks.childrenRunning(this.#children);
        this.#hooks.changed();
      },
      preview: ({ iteration, attempt, preview }) => {
        this.#fold.preview({ iteration, attempt, preview });
        this.#hooks.changed();
      },
      caughtUp: () => {
        this.#isCaughtUp = true;
        this.#hooks.childrenRunning(this.#children);
        this.#hooks.changed();
      },
      ended: (problem) => {
        [this.#ended, this.#isCaughtUp] = [problem ?? "closed", true];
        this.#hooks.changed();
      },
    };
  }

  #note(event: JournalEvent): void {
    if (event.kind === "model.replied") this.#contextTokens = event.usage.input + event.usage.output;
    if (event.kind === "context.cleared") this.#contextTokens = 0;
    if (event.kind === "model.chosen") this.#chosenModel = event.model;
    if (event.kind === "child.opened") this.#children.add(event.child);
    if (event.kind !== "child.ended") return;
    this.#children.delete(event.child);
    this.#hooks.childEnded(event.child);
  }
}
