/** How sessions with something left to do stood when they were last left: until something comes for one, driving it again would do nothing. */
import {
  callsIn,
  type EventKind,
  type Inbox,
  isFault,
  type Journal,
  type Millis,
  millis,
  nextRetry,
  readTurn,
  type Seq,
  type SessionId,
  seq,
} from "@orgate/core";
import { NODE } from "../../runtime/ports/outside.ts";

type Ports = Readonly<{ journal: Journal; inbox: Pick<Inbox, "pending"> }>;
type Standing = Readonly<{ text: string; pending: readonly string[] }>;
/**
 * `standing`: the last entry that says anything new, and its pending intents. `isSeen`: each of these was there when it was left before, too, so that a driver
 * has seen it: one that came in the last moment has been seen by nobody. `due`: when something about it is due by itself.
 */
type Left = Readonly<{ kind: "stands"; standing: Standing; isSeen: boolean; due: Millis | null } | { kind: "unreadable"; bad: Seq }>;

/** What a driver writes that finds nothing to do. */
const TAKINGS: ReadonlySet<EventKind> = new Set(["hold.taken", "agent.changed"]);
const PAGE = 8;
/** What cannot be read here is for a newer version, which may start at any time and finds it no later than this. */
const UNREADABLE_MS = 10_000;

export class LeftSessions {
  readonly #ports: Ports;
  readonly #left = new Map<SessionId, Left>();

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /**
   * `since`: when its driver began. `bad`: an entry that cannot be read here, as one that a newer version has written; until it can be, nothing that
   * comes changes that.
   */
  async remember(session: SessionId, since: Millis, bad: Seq | null = null): Promise<void> {
    if (bad !== null) {
      this.#left.set(session, { kind: "unreadable", bad });
      return;
    }
    const standing = await this.#standing(session).catch(() => null);
    if (standing === null) {
      this.#left.delete(session);
      return;
    }
    const before = this.#left.get(session);
    const seen = before?.kind === "stands" ? before.standing.pending : [];
    const isSeen = standing.pending.every((id) => seen.includes(id));
    this.#left.set(session, { kind: "stands", standing, isSeen, due: await this.due(session, since).catch(() => null) });
  }

  async isAsLeft(session: SessionId): Promise<boolean> {
    const left = this.#left.get(session);
    if (left?.kind === "unreadable") return this.#isBad(session, left.bad);
    if (left === undefined || !left.isSeen || (left.due !== null && NODE.clock.now() >= left.due)) return false;
    try {
      return left.standing.text === (await this.#standing(session))?.text;
    } catch (error) {
      if (isFault(error, "entry-bad")) return false; // a newer version has driven it on: whoever drives it here learns that, and holds up no other session
      throw error;
    }
  }

  /** When something is due in a session that was left, as far as is known. */
  dueOf(session: SessionId): Millis | null {
    const left = this.#left.get(session);
    return left?.kind === "unreadable" ? millis(NODE.clock.now() + UNREADABLE_MS) : (left?.due ?? null);
  }

  async #isBad(session: SessionId, bad: Seq): Promise<boolean> {
    try {
      await this.#ports.journal.read(session, seq(bad - 1), 1);
      return false;
    } catch (error) {
      if (isFault(error, "entry-bad")) return true;
      throw error;
    }
  }

  /** Null where nothing is left to do. */
  async #standing(session: SessionId): Promise<Standing | null> {
    const { journal, inbox } = this.#ports;
    const at = await journal.session(session);
    const pending = (await inbox.pending(session)).map(({ intent }) => intent.id);
    return at === null || (at.state !== "running" && pending.length === 0)
      ? null
      : { text: [await this.#lastNews(session, at.seq), ...pending].join(" "), pending };
  }

  /** Processes that take each other's sessions up would otherwise do so for ever: each would find that something has been written since. */
  async #lastNews(session: SessionId, last: Seq): Promise<number> {
    for (let end: number = last; ; ) {
      const start = Math.max(0, end - PAGE);
      const page = await this.#ports.journal.read(session, seq(start), end - start);
      const news = page.findLast(({ event }) => !TAKINGS.has(event.kind));
      if (news !== undefined || start === 0) return news?.seq ?? 0;
      end = start;
    }
  }

  /**
   * When a deferred decision is to be made again, an approval request expires, or a model or a call may be tried again; null where nothing is due by itself.
   * A retry that was due before `since` waits for something else: a driver that began then has seen to it.
   */
  async due(session: SessionId, since: Millis): Promise<Millis | null> {
    const { turn } = await readTurn({ journal: this.#ports.journal }, session);
    if (turn === null) return null;
    const gated = [...callsIn(turn).map((call) => call.gated), turn.model, turn.respond, turn.summary.gated];
    const asked = [...turn.questions.values()].flatMap((q) => (q.answer === null && q.expiresAt !== null ? [q.expiresAt] : []));
    const retry = nextRetry(turn, since);
    const dues = [...gated.flatMap((one) => (one.kind === "deferred" ? [one.due] : [])), ...asked, ...(retry === null ? [] : [retry])];
    return dues.length === 0 ? null : millis(Math.min(...dues));
  }
}
