/**
 * One connection of `/ws/chat`: the older protocol, over the same wishes and the same journal as everything else. A `ChatSend` is a follow-up in the
 * person's conversation; what it brings is told from the entries of its turn, at the pace at which the other end reads.
 *
 * W-27 the server makes one `request_id` per turn, from the wish that begins it. The same `id` twice is one turn: a short one (a counter) on its own connection,
 *     one of 16 characters or more wherever it comes from, so that a client that comes back gets the turn it asked for.
 * W-27 a second `ChatSend` during a turn follows it, under a `request_id` of its own; nothing waits unread, pings included.
 */
import { FaultError, type IntentId, intentId, type Journal, type Millis, principalName, type SessionId } from "@orgate/core";
import { type ChatServerMessage, CLOSE, chatDropped, chatError, chatTurn, type Problem, readChatMessage } from "@orgate/protocol";
import { sha256 } from "../../node/crypto.ts";
import { act, type Caller } from "../../operations/access.ts";
import { problemIn } from "../../operations/refusal.ts";
import type { SessionDriver } from "../../operations/session-driver.ts";
import type { Subscribe } from "../../runtime/subscribe.ts";
import { createFrameLimit, type FrameLimits } from "../http/frame-limit.ts";
import type { Access } from "../identity/authentication.ts";
import type { Connection, Duplex } from "./connection.ts";

export type ChatPorts = Readonly<{
  access: Pick<Access, "mayDo">;
  sessionDriver: Pick<SessionDriver, "send">;
  journal: Pick<Journal, "session">;
  subscribe: Subscribe;
  /** Whom these connections talk to. */
  agent: string;
  /** Opens a session of this agent's under an id of the caller's own, or finds the one that has it. */
  open(agent: string, external: string, caller: Caller): Promise<SessionId>;
  now(): Millis;
  unforeseen(error: unknown): void;
}>;

/** Requests of one connection that are remembered as told. */
const MOST_KNOWN = 1_000;
/** An id that nobody makes twice by counting. */
const LASTING = 16;

export function openChat(ports: ChatPorts, caller: Caller, id: string, duplex: Duplex, rates: FrameLimits): Connection {
  let isClosed = false;
  let owed = 0;
  let asked = 0;
  const stop = new AbortController();
  const told = new Set<IntentId>();
  const tasks = new Set<Promise<void>>();
  const { promise: over, resolve: finished } = Promise.withResolvers<void>();
  const isWithin = createFrameLimit(rates, ports.now);

  function end(code: number, reason: string): void {
    if (isClosed) return;
    isClosed = true;
    stop.abort();
    duplex.close(code, reason);
    void Promise.allSettled(tasks).then(() => finished());
  }

  function reply(...messages: readonly ChatServerMessage[]): void {
    for (const message of messages) {
      if (isClosed) return;
      if (owed >= rates.owed) {
        end(CLOSE.overloaded, "it does not read what it asks for");
        return;
      }
      owed += 1;
      void duplex.send(JSON.stringify(message)).then(() => {
        owed -= 1;
      });
    }
  }

  /** One text per person, agent and id: what makes it once. */
  const wishOf = (given: string): IntentId => {
    const scope = given.length >= LASTING ? "" : id;
    return intentId(`c-${sha256(`${principalName(caller.principal)}\n${ports.agent}\n${scope}\n${given}`).slice(0, 40)}`);
  };

  async function turn(intent: IntentId, request: string, text: string): Promise<void> {
    let isOver = false;
    const tell = async (messages: readonly ChatServerMessage[]): Promise<void> => {
      for (const message of messages) if (!isClosed) await duplex.send(JSON.stringify(message));
    };
    try {
      const { session, after } = await begin(intent, text);
      const signs = chatTurn(intent, request);
      for await (const live of ports.subscribe({ session }, { after, signal: stop.signal })) {
        await tell(signs.hear(live));
        isOver = signs.isOver();
        if (isOver) return;
      }
      if (!isClosed) await tell(chatDropped(request, "the session has ended"));
    } catch (error) {
      const problem = problemIn(error);
      if (problem.kind === "internal") ports.unforeseen(error);
      if (!isOver) await tell(chatDropped(request, problem.detail));
    }
  }

  /** Where the turn is to be followed from. */
  async function begin(intent: IntentId, text: string): Promise<Readonly<{ session: SessionId; after: number }>> {
    const { agent } = ports;
    const reason = ports.access.mayDo(caller, act("run", "agent", { agent }));
    if (reason !== null) throw new FaultError({ kind: "not-permitted", user: caller.principal.id, what: `talk to \`${agent}\``, reason });
    const session = await ports.open(agent, conversationOf(caller, agent), caller);
    const before = (await ports.journal.session(session))?.seq ?? 0;
    const { entry } = await ports.sessionDriver.send({ session, wish: { kind: "follow-up", text }, as: caller.person, id: intent });
    return { session, after: entry === null ? before : entry.seq - 1 };
  }

  function send(given: string, content: string): void {
    const intent = wishOf(given);
    if (told.has(intent)) return; // it is being told, or was
    const request = requestOf(intent);
    if (asked >= rates.asked) {
      reply(...chatDropped(request, "too much was asked at once"));
      return;
    }
    if (told.size >= MOST_KNOWN) told.delete(told.values().next().value ?? intent);
    told.add(intent);
    asked += 1;
    const task = turn(intent, request, content)
      .catch(ports.unforeseen)
      .finally(() => {
        asked -= 1;
        tasks.delete(task);
      });
    tasks.add(task);
  }

  const isOut = (): boolean => caller.scope.expiresAt !== null && ports.now() >= caller.scope.expiresAt;

  function hear(text: string): void {
    if (isClosed) return;
    if (text.length > rates.frameBytes) end(CLOSE.tooBig, "too much at once");
    else if (!isWithin()) end(CLOSE.policy, "too many messages at once");
    else if (isOut()) end(CLOSE.policy, "sign in again");
    else {
      const read = readChatMessage(text);
      if (read.kind === "refused") reply(read.error);
      else if (read.message.type === "Ping") reply({ type: "Pong" });
      else send(read.message.id, read.message.content);
    }
  }

  function leave(problem: Problem, _again: boolean, code: number = CLOSE.goingAway): void {
    if (isClosed) return;
    void duplex.send(JSON.stringify(chatError(null, "CLOSING", problem.detail)));
    end(code, problem.title);
  }

  return { hear, gone: () => end(CLOSE.done, ""), leave, over };
}

/** A person's own conversation with an agent, wherever they come from. */
export const conversationOf = (caller: Caller, agent: string): string =>
  `chat-${sha256(`${principalName(caller.principal)}\n${agent}`).slice(0, 40)}`;

/** A UUID (version 8) that belongs to the wish: the same wherever its turn is told. */
export function requestOf(intent: IntentId): string {
  const hex = sha256(`orgate-request-1\n${intent}`);
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`, hex.slice(20, 32)].join("-");
}
