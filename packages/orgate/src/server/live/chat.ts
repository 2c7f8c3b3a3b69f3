/**
 * One connection of `/ws/chat`: the older protocol, over the same intents and the same journal as everything else. A `ChatSend` is a follow-up in the
 * person's conversation; its answer is sent from the entries of its turn, at the pace at which the other end reads.
 *
 * W-27 the server makes one `request_id` per turn, from the intent that begins it. The same `id` twice is one turn: a short one (a counter) on its own connection,
 *     one of 16 characters or more wherever it comes from, so that a client that comes back gets the turn it asked for. The same `id` with other content is refused.
 * W-27 a second `ChatSend` during a turn follows it, under a `request_id` of its own; nothing waits unread, pings included.
 */
import { FaultError, type IntentId, type Journal, type Millis, principalName, type SessionId } from "@orgate/core";
import { type ChatServerMessage, CLOSE, chatDropped, chatError, chatTurn, type Problem, readChatMessage } from "@orgate/protocol";
import { sha256 } from "../../node/crypto.ts";
import { act, type Caller } from "../../operations/access.ts";
import { deriveIntentId, deriveName, type Idempotency } from "../../operations/idempotency.ts";
import { problemIn } from "../../operations/refusal.ts";
import type { SessionDriver } from "../../operations/session-driver.ts";
import type { Subscribe } from "../../runtime/subscribe.ts";
import { createFrameLimit, type FrameLimits } from "../http/frame-limit.ts";
import type { Access } from "../identity/authentication.ts";
import { type Connection, type Duplex, RATES } from "./connection.ts";

export type ChatPorts = Readonly<{
  access: Pick<Access, "mayDo">;
  sessionDriver: Pick<SessionDriver, "send">;
  once: Pick<Idempotency, "claim">;
  journal: Pick<Journal, "session">;
  subscribe: Subscribe;
  /** The agent that these connections talk to. */
  agent: string;
  /** Opens the caller's session of this agent under this id, or finds it. */
  open(agent: string, external: string, caller: Caller): Promise<SessionId>;
  now(): Millis;
  unforeseen(error: unknown): void;
}>;

/** Turns of one connection that are remembered. */
const MOST_KNOWN = 1_000;
/** Length of an id that nobody makes twice by counting. */
const LASTING = 16;

export type ChatOptions = Readonly<{ caller: Caller; id: string; duplex: Duplex; rates?: FrameLimits }>;
export const openChat = (ports: ChatPorts, options: ChatOptions): Connection => new ChatConnection(ports, options);

class ChatConnection implements Connection {
  readonly over: Promise<void>;
  readonly #ports: ChatPorts;
  readonly #caller: Caller;
  readonly #id: string;
  readonly #duplex: Duplex;
  readonly #rates: FrameLimits;
  readonly #isWithinRate: () => boolean;
  readonly #stop = new AbortController();
  /** Turns that are being sent, or were. */
  readonly #known = new Set<IntentId>();
  readonly #tasks = new Set<Promise<void>>();
  readonly #finished: () => void;
  #isClosed = false;
  #owed = 0;
  #asked = 0;

  constructor(ports: ChatPorts, { caller, id, duplex, rates = RATES }: ChatOptions) {
    this.#ports = ports;
    this.#caller = caller;
    this.#id = id;
    this.#duplex = duplex;
    this.#rates = rates;
    this.#isWithinRate = createFrameLimit(rates, ports.now);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.over = promise;
    this.#finished = resolve;
  }

  hear(text: string): void {
    if (this.#isClosed) return;
    const { expiresAt } = this.#caller.scope;
    if (text.length > this.#rates.frameBytes) this.#end(CLOSE.tooBig, "too much at once");
    else if (!this.#isWithinRate()) this.#end(CLOSE.policy, "too many messages at once");
    else if (expiresAt !== null && this.#ports.now() >= expiresAt) this.#end(CLOSE.policy, "sign in again");
    else {
      const read = readChatMessage(text);
      if (read.kind === "refused") this.#reply(read.error);
      else if (read.message.type === "Ping") this.#reply({ type: "Pong" });
      else this.#say(read.message.id, read.message.content);
    }
  }

  gone(): void {
    this.#end(CLOSE.done, "");
  }

  leave(problem: Problem, _again: boolean, code: number = CLOSE.goingAway): void {
    if (this.#isClosed) return;
    void this.#duplex.send(JSON.stringify(chatError(null, "CLOSING", problem.detail)));
    this.#end(code, problem.title);
  }

  #say(given: string, content: string): void {
    const intent = this.#intentFor(given);
    if (this.#known.has(intent)) {
      this.#refuseOther(intent, content);
      return;
    }
    const request = toRequestId(intent);
    if (this.#asked >= this.#rates.asked) {
      this.#reply(...chatDropped(request, "too much was asked at once"));
      return;
    }
    if (this.#known.size >= MOST_KNOWN) this.#known.delete(this.#known.values().next().value ?? intent);
    this.#known.add(intent);
    this.#asked += 1;
    const task = this.#runTurn(intent, request, content)
      .catch(this.#ports.unforeseen)
      .finally(() => {
        this.#asked -= 1;
        this.#tasks.delete(task);
      });
    this.#tasks.add(task);
  }

  /** One intent per person, agent and id, so that the same message twice is one turn. */
  #intentFor(given: string): IntentId {
    const scope = given.length >= LASTING ? "" : this.#id;
    return deriveIntentId("chat", principalName(this.#caller.principal), this.#ports.agent, scope, given);
  }

  /** A message under the id of an earlier, different one gets a last chunk of its own: that of the earlier turn is still to come. */
  #refuseOther(intent: IntentId, content: string): void {
    this.#ports.once.claim(intent, content).catch((error: unknown) => {
      this.#reply(...chatDropped(toRequestId(`${intent}\n${content}`), problemIn(error).detail));
    });
  }

  async #runTurn(intent: IntentId, request: string, text: string): Promise<void> {
    const send = async (messages: readonly ChatServerMessage[]): Promise<void> => {
      for (const message of messages) if (!this.#isClosed) await this.#duplex.send(JSON.stringify(message));
    };
    let isOver = false;
    try {
      const { session, after } = await this.#begin(intent, text);
      const signs = chatTurn(intent, request);
      for await (const live of this.#ports.subscribe({ session }, { after, signal: this.#stop.signal })) {
        await send(signs.hear(live));
        isOver = signs.isOver();
        if (isOver) return;
      }
      if (!this.#isClosed) await send(chatDropped(request, "the session has ended"));
    } catch (error) {
      const problem = problemIn(error);
      if (problem.kind === "internal") this.#ports.unforeseen(error);
      if (problem.kind === "idempotency-key-reused") this.#known.delete(intent); // the message that the id belongs to may still come
      if (!isOver) await send(chatDropped(request, problem.detail));
    }
  }

  /** Returns the position from which the turn is followed. */
  async #begin(intent: IntentId, text: string): Promise<Readonly<{ session: SessionId; after: number }>> {
    const { agent, access, once, open, journal, sessionDriver } = this.#ports;
    const caller = this.#caller;
    const reason = access.mayDo(caller, act("run", "agent", { agent }));
    if (reason !== null) throw new FaultError({ kind: "not-permitted", user: caller.principal.id, what: `talk to \`${agent}\``, reason });
    await once.claim(intent, text); // first of all: another message under the same id may follow at once
    const session = await open(agent, conversationName(caller, agent), caller);
    const before = (await journal.session(session))?.seq ?? 0;
    const { entry } = await sessionDriver.send({ session, wish: { kind: "follow-up", text }, as: caller.person, id: intent });
    return { session, after: entry === null ? before : entry.seq - 1 };
  }

  #reply(...messages: readonly ChatServerMessage[]): void {
    for (const message of messages) {
      if (this.#isClosed) return;
      if (this.#owed >= this.#rates.owed) {
        this.#end(CLOSE.overloaded, "it does not read what it asks for");
        return;
      }
      this.#owed += 1;
      void this.#duplex.send(JSON.stringify(message)).then(() => {
        this.#owed -= 1;
      });
    }
  }

  #end(code: number, reason: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stop.abort();
    this.#duplex.close(code, reason);
    void Promise.allSettled(this.#tasks).then(() => this.#finished());
  }
}

/** The name of a person's conversation with an agent, the same on every connection. */
export const conversationName = (caller: Caller, agent: string): string => deriveName("chat", principalName(caller.principal), agent);

/** A UUID (version 8) that belongs to the intent: the same on every connection that follows its turn. */
export function toRequestId(intent: string): string {
  const hex = sha256(`orgate-request-1\n${intent}`);
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`, hex.slice(20, 32)].join("-");
}
