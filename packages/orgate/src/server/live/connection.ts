/**
 * One connection of `/ws/v1`, over anything that carries texts both ways: a socket, or a test. `greeting` until hello, then `open`, then `closed`. Each
 * subscription is sent at the pace at which the other end reads; calls run beside them, and nothing waits for a turn.
 *
 * W-25 a frame that cannot be decoded, or comes too early, gets an error and the connection lives; an oversize frame or a flood closes it. Pings and calls
 *     are answered while turns run and entries are on their way.
 * W-17 W-19 calls count against the rate of their caller, as requests over HTTP do. A halt has counts of its own: it never waits behind other calls.
 */
import type { Millis } from "@orgate/core";
import { onAbort } from "@orgate/core/vocab";
import {
  type CallFrame,
  CLOSE,
  type ClientFrame,
  frameText,
  type HistoryFrame,
  MOST_FRAME_BYTES,
  type Problem,
  readClientFrame,
  type ServerFrame,
  VERSION,
  wireProblem,
} from "@orgate/protocol";
import type { Caller } from "../../operations/access.ts";
import { callOperation } from "../../operations/call-operation.ts";
import type { OperationExecutor } from "../../operations/execute.ts";
import { problemIn } from "../../operations/refusal.ts";
import { makeVisibility } from "../../operations/visibility.ts";
import { createFrameLimit, type FrameLimits } from "../http/frame-limit.ts";
import { WITH_FILES } from "../http/limits.ts";
import type { CountRequest } from "../http/socket-connections.ts";
import type { Fanout } from "./fanout.ts";
import { type HistoryPorts, readHistory } from "./history.ts";
import { ConnectionSubscriptions } from "./subscriptions.ts";

/** The other end of a connection. */
export type Duplex = Readonly<{
  /** Resolves when there is room for more, and when it is closed; never rejects. */
  send(text: string): Promise<void>;
  close(code: number, reason: string): void;
}>;

export type ConnectionPorts = HistoryPorts &
  Readonly<{
    operations: Pick<OperationExecutor, "execute">;
    fanout: Fanout;
    position(): Promise<number>;
    now(): Millis;
    /** Gets errors that are no fault of the caller's. */
    unforeseen(error: unknown): void;
  }>;
export type ConnectionOptions = Readonly<{
  caller: Caller;
  id: string;
  duplex: Duplex;
  countRequest: CountRequest;
  rates?: FrameLimits;
}>;

export const RATES: FrameLimits = {
  burst: 300,
  perSecond: 100,
  asked: 64,
  halts: 16,
  owed: 256,
  frameBytes: MOST_FRAME_BYTES,
  callBytes: 1024 * 1024,
  silenceMs: 45_000,
};

export type Connection = Readonly<{
  /** A text arrived. */
  hear(text: string): void;
  /** The other end has gone. */
  gone(): void;
  /** Tells the reason, and closes. */
  leave(problem: Problem, again: boolean, code?: number): void;
  /** Resolves when nothing of it runs any more. */
  over: Promise<void>;
}>;

export const openConnection = (ports: ConnectionPorts, options: ConnectionOptions): Connection => new SocketConnection(ports, options);

type Offence = Readonly<{ problem: Problem; again: boolean; code: number }>;

class SocketConnection implements Connection {
  readonly over: Promise<void>;
  readonly #ports: ConnectionPorts;
  readonly #caller: Caller;
  readonly #id: string;
  readonly #duplex: Duplex;
  readonly #rates: FrameLimits;
  readonly #countRequest: CountRequest;
  readonly #subscriptions: ConnectionSubscriptions;
  readonly #isWithinRate: () => boolean;
  readonly #tasks = new Set<Promise<void>>();
  readonly #gone = new AbortController();
  readonly #finished: () => void;
  #state: "greeting" | "open" | "closed" = "greeting";
  /** Replies that the other end has not taken yet. */
  #owed = 0;
  /** Requests under way. */
  readonly #underWay = { halt: 0, other: 0 };

  constructor(ports: ConnectionPorts, { caller, id, duplex, countRequest, rates = RATES }: ConnectionOptions) {
    this.#ports = ports;
    this.#caller = caller;
    this.#id = id;
    this.#duplex = duplex;
    this.#rates = rates;
    this.#countRequest = countRequest;
    this.#isWithinRate = createFrameLimit(rates, ports.now);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.over = promise;
    this.#finished = resolve;
    this.#subscriptions = new ConnectionSubscriptions({
      follow: (wanted) => ports.fanout.follow({ ...wanted, sees: makeVisibility(ports.access, caller, ports.whose) }),
      send: (text) => duplex.send(text),
      reply: (frame) => this.#reply(frame),
      fail: (about, error) => this.#fail(about, error),
      hasExpired: () => this.#hasExpired(),
      expire: () => this.#expire(),
      track: (work) => this.#track(work),
    });
  }

  hear(text: string): void {
    if (this.#state === "closed") return;
    const bytes = Buffer.byteLength(text);
    const offence = this.#findOffence(bytes);
    if (offence !== null) this.leave(offence.problem, offence.again, offence.code);
    else if (this.#hasExpired()) this.#expire();
    else {
      const read = readClientFrame(text);
      if (read.kind === "refused") this.#reply({ kind: "error", id: read.id, problem: read.problem });
      else this.#take(read.frame, bytes);
    }
  }

  gone(): void {
    this.#end(CLOSE.done, "");
  }

  leave(problem: Problem, again: boolean, code: number = CLOSE.goingAway): void {
    if (this.#state === "closed") return;
    void this.#duplex.send(frameText({ kind: "closing", problem, again }));
    this.#end(code, problem.title);
  }

  // ── frames ──

  #take(frame: ClientFrame, bytes: number): void {
    if (frame.kind === "hello") {
      if (this.#state === "greeting") this.#track(this.#greet(frame));
      return; // a second hello changes nothing
    }
    if (this.#state === "greeting") {
      const problem = wireProblem("conflict", "the first frame is `hello`", "say hello, and wait for the welcome");
      this.#reply({ kind: "error", id: frame.id, problem });
      return;
    }
    switch (frame.kind) {
      case "subscribe":
        this.#subscriptions.open(frame);
        break;
      case "unsubscribe":
        this.#subscriptions.close(frame.id);
        break;
      case "ping":
        this.#reply({ kind: "pong", id: frame.id, at: this.#subscriptions.positions() });
        break;
      case "call":
        this.#answer(frame.id, frame.operation === "halt" ? "halt" : "other", () => this.#call(frame, bytes));
        break;
      case "history":
        this.#answer(frame.id, "other", () => this.#history(frame));
    }
  }

  async #greet({ resume }: Extract<ClientFrame, { kind: "hello" }>): Promise<void> {
    this.#state = "open";
    const { principal, scope } = this.#caller;
    const me = { principal, agents: scope.agents, actions: scope.actions, expiresAt: scope.expiresAt };
    const position = await this.#ports.position();
    this.#reply({ kind: "welcome", version: VERSION, connection: this.#id, me, position, silenceMs: this.#rates.silenceMs });
    for (const one of resume) if (this.#isOpen()) this.#subscriptions.open({ kind: "subscribe", ...one });
  }

  #isOpen(): boolean {
    return this.#state === "open";
  }

  /** An operation, decided and made idempotent as over HTTP. */
  async #call({ id, operation: name, input, key }: CallFrame, bytes: number): Promise<ServerFrame> {
    if (bytes > this.#rates.callBytes && !WITH_FILES.has(name)) {
      const problem = wireProblem(
        "too-large",
        `the input of \`${name}\` is longer than ${this.#rates.callBytes} bytes`,
        "send less at once",
      );
      return { kind: "error", id, problem };
    }
    const over = new AbortController(); // W-20. What a call holds is free when the call has its answer, not when the connection ends
    const stopListening = onAbort(this.#gone.signal, () => over.abort());
    try {
      const order = { name, input, caller: this.#caller, key: key ?? id, gone: over.signal };
      return { kind: "result", id, ...(await callOperation(this.#ports.operations, order)) };
    } finally {
      stopListening();
      over.abort();
    }
  }

  #history(frame: HistoryFrame): Promise<ServerFrame> {
    return readHistory(this.#ports, this.#caller, frame);
  }

  #answer(id: string, what: "halt" | "other", work: () => Promise<ServerFrame>): void {
    const problem = this.#findExcess(what);
    if (problem !== null) return void this.#reply({ kind: "error", id, problem });
    this.#underWay[what] += 1;
    const answered = work()
      .then(
        (frame) => this.#reply(frame),
        (error: unknown) => this.#fail(id, error),
      )
      .finally(() => {
        this.#underWay[what] -= 1;
      });
    this.#track(answered);
  }

  // ── limits ──

  /** The reason to refuse one more request; null if there is none. */
  #findExcess(what: "halt" | "other"): Problem | null {
    const most = what === "halt" ? this.#rates.halts : this.#rates.asked;
    if (this.#underWay[what] >= most) return wireProblem("too-many", `${most} requests are under way`, "wait for their answers");
    const waitMs = this.#countRequest(what);
    return waitMs === 0 ? null : wireProblem("too-many", "too many requests", `wait ${Math.ceil(waitMs / 1_000)} s, then send it again`);
  }

  #hasExpired(): boolean {
    const { expiresAt } = this.#caller.scope;
    return expiresAt !== null && this.#ports.now() >= expiresAt;
  }

  #expire(): void {
    const problem = wireProblem("unauthenticated", "what the connection was opened with is not good any more", "sign in again");
    this.leave(problem, false, CLOSE.policy);
  }

  /** The reason to close the connection over this frame; null if there is none. */
  #findOffence(bytes: number): Offence | null {
    const { frameBytes } = this.#rates;
    if (bytes > frameBytes) {
      const problem = wireProblem("too-large", `a frame has ${frameBytes} bytes at the most`, "send less at once");
      return { problem, again: false, code: CLOSE.tooBig };
    }
    if (this.#isWithinRate()) return null;
    return { problem: wireProblem("too-many", "too many frames at once", "send them more slowly"), again: true, code: CLOSE.policy };
  }

  // ── sending ──

  /** W-25. Who asks for more than they read is disconnected. */
  #reply(frame: ServerFrame): void {
    if (this.#state === "closed") return;
    if (this.#owed >= this.#rates.owed) {
      this.#end(CLOSE.overloaded, "it does not read what it asks for");
      return;
    }
    this.#owed += 1;
    void this.#duplex.send(frameText(frame)).then(() => {
      this.#owed -= 1;
    });
  }

  #fail(about: string, error: unknown): void {
    const problem = problemIn(error);
    if (problem.kind === "internal") this.#ports.unforeseen(error);
    this.#reply({ kind: "error", id: about, problem });
  }

  #track(work: Promise<void>): void {
    const task = work.catch((error: unknown) => this.#ports.unforeseen(error)).finally(() => this.#tasks.delete(task));
    this.#tasks.add(task);
  }

  #end(code: number, reason: string): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#gone.abort();
    this.#subscriptions.closeAll();
    this.#duplex.close(code, reason);
    void Promise.allSettled(this.#tasks).then(() => this.#finished());
  }
}
