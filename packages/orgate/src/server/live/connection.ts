/**
 * One connection of `/ws/v1`, over anything that carries texts both ways: a socket, or a test's own hands. `greeting` until hello, then `open`, then `closed`.
 * Each subscription is told at the pace at which the other end reads; requests are done beside them, and nothing waits for a turn.
 *
 * W-25 a frame that cannot be read, or is not for now, gets an error, and the connection lives; an oversize frame or a flood of them closes it.
 * W-25 pings, cancels and answers are heard while turns run and while entries are on their way.
 * W-25 what the server owes a reader that does not read is bounded: past that the connection is closed, and what it followed is there when it comes back.
 */
import type { Millis } from "@orgate/core";
import {
  CLOSE,
  type ClientFrame,
  frameText,
  MOST_FRAME_BYTES,
  MOST_SUBSCRIPTIONS,
  type Problem,
  type RequestFrame,
  readClientFrame,
  type ServerFrame,
  type SubscribeFrame,
  VERSION,
  wireProblem,
} from "@orgate/protocol";
import type { Caller } from "../../operations/access.ts";
import { missingProblem } from "../../operations/acts.ts";
import { problemIn } from "../../operations/refusal.ts";
import { sightOf } from "../../operations/visibility.ts";
import { createFrameLimit, type FrameLimits } from "../http/frame-limit.ts";
import type { Fanout, FanoutEntry } from "./fanout.ts";
import { answerRequest, type RequestPorts } from "./requests.ts";

/** The other end, as a connection sees it. */
export type Duplex = Readonly<{
  /** Resolves when there is room for more, and when it is closed; never rejects. */
  send(text: string): Promise<void>;
  close(code: number, reason: string): void;
}>;

export type ConnectionPorts = RequestPorts &
  Readonly<{
    fanout: Fanout;
    position(): Promise<number>;
    now(): Millis;
    /** Hears of errors that are no fault of the caller's. */
    unforeseen(error: unknown): void;
  }>;

export const RATES: FrameLimits = { burst: 300, perSecond: 100, asked: 64, owed: 256, frameBytes: MOST_FRAME_BYTES, silenceMs: 45_000 };

export type Connection = Readonly<{
  /** A text came. */
  hear(text: string): void;
  /** The other end has gone. */
  gone(): void;
  /** Says why, and closes. */
  leave(problem: Problem, again: boolean, code?: number): void;
  /** Resolves when nothing of it is left. */
  over: Promise<void>;
}>;

type Subscription = Readonly<{ stop: AbortController; frame: SubscribeFrame }> & { at: number; isTold: boolean };

export function openConnection(ports: ConnectionPorts, caller: Caller, id: string, duplex: Duplex, rates: FrameLimits = RATES): Connection {
  let state: "greeting" | "open" | "closed" = "greeting";
  const subscriptions = new Map<string, Subscription>();
  const tasks = new Set<Promise<void>>();
  const { promise: over, resolve: finished } = Promise.withResolvers<void>();
  let owed = 0;
  let asked = 0;
  const isWithin = createFrameLimit(rates, ports.now);

  // ── sending ──

  /** Beside the subscriptions. Whoever asks for more than they read is let go. */
  function reply(frame: ServerFrame): void {
    if (state === "closed") return;
    if (owed >= rates.owed) {
      end(CLOSE.overloaded, "it does not read what it asks for");
      return;
    }
    owed += 1;
    void duplex.send(frameText(frame)).then(() => {
      owed -= 1;
    });
  }
  const complain = (about: string | null, problem: Problem): void => reply({ kind: "error", id: about, problem });

  function end(code: number, reason: string): void {
    if (state === "closed") return;
    state = "closed";
    for (const { stop } of subscriptions.values()) stop.abort();
    subscriptions.clear();
    duplex.close(code, reason);
    void Promise.allSettled(tasks).then(() => finished());
  }

  function leave(problem: Problem, again: boolean, code: number = CLOSE.goingAway): void {
    if (state === "closed") return;
    void duplex.send(frameText({ kind: "closing", problem, again }));
    end(code, problem.title);
  }

  function track(work: Promise<void>): void {
    const task = work.catch((error: unknown) => ports.unforeseen(error)).finally(() => tasks.delete(task));
    tasks.add(task);
  }

  // ── following ──

  const sight = sightOf(ports.access, caller, ports.whose);
  const isOut = (): boolean => caller.scope.expiresAt !== null && ports.now() >= caller.scope.expiresAt;

  function subscribe(frame: SubscribeFrame): void {
    if (subscriptions.has(frame.id)) return; // told twice
    if (subscriptions.size >= MOST_SUBSCRIPTIONS) {
      complain(
        frame.id,
        wireProblem("too-many", `${MOST_SUBSCRIPTIONS} subscriptions are the most`, "unsubscribe from some, or follow `all`"),
      );
      return;
    }
    const one: Subscription = { stop: new AbortController(), frame, at: frame.after === "now" ? 0 : frame.after, isTold: false };
    subscriptions.set(frame.id, one);
    track(following(one));
  }

  async function following(one: Subscription): Promise<void> {
    const { id: name, to, after, previews } = one.frame;
    const { signal } = one.stop;
    try {
      for await (const told of ports.fanout.follow({ to, after, previews, sees: sight, signal })) {
        if (signal.aborted) return;
        if (isOut()) {
          expired();
          return;
        }
        await pass(one, told);
        one.isTold = true;
        if (told.kind === "closed" || told.kind === "hidden") break;
      }
    } catch (error) {
      if (!signal.aborted) fail(name, error);
    } finally {
      if (subscriptions.get(name) === one) subscriptions.delete(name);
    }
  }

  /** What is told counts as told only once the other end had room for it. */
  async function pass(one: Subscription, told: FanoutEntry): Promise<void> {
    const name = one.frame.id;
    switch (told.kind) {
      case "batch":
        await duplex.send(
          `{"kind":"entries","id":${JSON.stringify(name)},"after":${told.after},"to":${told.to},"items":[${told.items.join(",")}]}`,
        );
        one.at = told.to;
        return;
      case "words": {
        const { kind, ...words } = told.words;
        return duplex.send(frameText({ kind, id: name, ...words }));
      }
      case "caught-up":
        one.at = told.at;
        return duplex.send(frameText({ kind: "caught-up", id: name, at: told.at }));
      case "closed":
        return duplex.send(frameText({ kind: "ended", id: name, at: told.at, why: "closed" }));
      case "hidden":
        complain(name, hidden(one));
    }
  }

  /** Who could see it before is told that this is over; who never could, that there is no such thing. */
  function hidden({ isTold, frame: { to } }: Subscription): Problem {
    if (to.kind === "session" && !isTold) return problemIn(missingProblem({ on: "session", id: null, session: to.session }));
    return wireProblem("forbidden", "this may not be followed any more", "the policies say who may `read-journal`");
  }

  function unsubscribe(name: string): void {
    const one = subscriptions.get(name);
    if (one === undefined) return;
    subscriptions.delete(name);
    one.stop.abort();
    reply({ kind: "ended", id: name, at: one.at, why: "unsubscribed" });
  }

  // ── asking ──

  function ask(frame: RequestFrame): void {
    if (asked >= rates.asked) {
      complain(frame.id, wireProblem("too-many", `${rates.asked} requests are under way`, "wait for their answers"));
      return;
    }
    asked += 1;
    track(
      answerRequest(ports, caller, frame)
        .then(reply, (error: unknown) => fail(frame.id, error))
        .finally(() => {
          asked -= 1;
        }),
    );
  }

  function fail(name: string, error: unknown): void {
    const problem = problemIn(error);
    if (problem.kind === "internal") ports.unforeseen(error);
    complain(name, problem);
  }

  // ── hearing ──

  async function greet(frame: Extract<ClientFrame, { kind: "hello" }>): Promise<void> {
    state = "open";
    const { principal, scope } = caller;
    const me = { principal, agents: scope.agents, actions: scope.actions, expiresAt: scope.expiresAt };
    const position = await ports.position();
    reply({ kind: "welcome", version: VERSION, connection: id, me, position, silenceMs: rates.silenceMs });
    for (const one of frame.resume) if (isOpen()) subscribe({ kind: "subscribe", ...one });
  }
  const isOpen = (): boolean => state === "open";

  function expired(): void {
    leave(wireProblem("unauthenticated", "what the connection was opened with is not good any more", "sign in again"), false, CLOSE.policy);
  }

  /** Why the connection is closed over this frame; null: it is not. */
  function offence(text: string): Readonly<{ problem: Problem; again: boolean; code: number }> | null {
    if (text.length > rates.frameBytes) {
      const problem = wireProblem("too-large", `a frame has ${rates.frameBytes} bytes at the most`, "send less at once");
      return { problem, again: false, code: CLOSE.tooBig };
    }
    if (isWithin()) return null;
    return { problem: wireProblem("too-many", "too many frames at once", "send them more slowly"), again: true, code: CLOSE.policy };
  }

  function hear(text: string): void {
    if (state === "closed") return;
    const grave = offence(text);
    if (grave !== null) leave(grave.problem, grave.again, grave.code);
    else if (isOut()) expired();
    else {
      const read = readClientFrame(text);
      if (read.kind === "refused") complain(read.id, read.problem);
      else take(read.frame);
    }
  }

  function take(frame: ClientFrame): void {
    if (frame.kind === "hello") {
      if (state === "greeting") track(greet(frame));
      return; // said twice
    }
    if (state === "greeting") {
      complain(frame.id, wireProblem("conflict", "the first frame is `hello`", "say hello, and wait for the welcome"));
      return;
    }
    switch (frame.kind) {
      case "subscribe":
        subscribe(frame);
        break;
      case "unsubscribe":
        unsubscribe(frame.id);
        break;
      case "ping":
        reply({ kind: "pong", id: frame.id, at: Object.fromEntries([...subscriptions].map(([name, { at }]) => [name, at])) });
        break;
      case "chat":
      case "steer":
      case "cancel":
      case "answer":
      case "resolve":
      case "history":
        ask(frame);
    }
  }

  return { hear, gone: () => end(CLOSE.done, ""), leave, over };
}
