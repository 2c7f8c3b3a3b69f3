/**
 * Takes sessions that want driving from a store that hands each of them to one worker (`SessionClaims`): when it is told that something is due, when the next
 * due time has come, and every ten seconds, so that what nobody told of is late and not lost.
 */
import type { Millis, SessionId } from "@orgate/core";
import type { SessionClaims } from "../../store/store.ts";

export type Claiming = Readonly<{
  /** Looks now, or as soon as the look under way is over. */
  soon(): void;
  /** A session was left: there is room for another. */
  left(): void;
  stop(): void;
}>;

type Ports = Readonly<{
  claims: SessionClaims;
  /** How many sessions may be taken now. */
  room(): number;
  /** Has the session driven; or, where that would do nothing, until when: null where nobody knows. */
  offer(session: SessionId): Promise<Readonly<{ kind: "driven" } | { kind: "as-left"; due: Millis | null }>>;
  failed(error: unknown): void;
  /** Calls `then` after `ms`; returns how to cancel it. */
  timer(ms: number, then: () => void): () => void;
  now(): Millis;
}>;

const LOOK_MS = 10_000;
/** Between two looks: what is told of meanwhile is one more. */
const PAUSE_MS = 25;
/** What is due and was not to be had is in another's hands. */
const OTHERS_MS = 250;
const FAILED_MS = 1_000;
/** At a time, so that workers that ask at once share what is due. */
const MOST = 8;
/** Rows that are missing are looked for at the start, and then every five minutes. */
const FILL_MS = 300_000;

export function startClaiming({ claims, room, offer, failed, timer, now }: Ports): Claiming {
  let cancel = (): void => {};
  let [isLooking, isAsked, isFull, isStopped] = [false, false, false, false];
  let fillAt = 0;

  /** Resolves with the time until the next look that nobody asks for. */
  async function look(): Promise<number> {
    if (now() >= fillAt) {
      await claims.fill();
      fillAt = now() + FILL_MS;
    }
    for (;;) {
      const most = Math.min(MOST, room());
      isFull = most <= 0;
      if (isStopped || isFull) return LOOK_MS;
      const { sessions, isMore, nextMs } = await claims.claim(most);
      for (const session of sessions) {
        const offered = await offer(session);
        if (offered.kind === "as-left") await claims.leave(session, offered.due, true);
      }
      if (!isMore) return Math.min(LOOK_MS, Math.max(nextMs ?? LOOK_MS, sessions.length === 0 ? OTHERS_MS : PAUSE_MS));
    }
  }

  async function run(): Promise<void> {
    isAsked = false;
    let nextMs: number;
    try {
      nextMs = await look();
    } catch (error) {
      failed(error);
      nextMs = FAILED_MS;
    }
    wait(PAUSE_MS, () => {
      isLooking = false;
      if (isAsked) soon();
      else wait(nextMs, soon);
    });
  }

  function wait(ms: number, then: () => void): void {
    cancel();
    if (!isStopped) cancel = timer(ms, then);
  }

  function soon(): void {
    isAsked = true;
    if (isLooking || isStopped) return;
    isLooking = true;
    void run();
  }

  const unwatch = claims.watch(soon);
  soon();
  return {
    soon,
    left: () => isFull && soon(),
    stop() {
      isStopped = true;
      unwatch();
      cancel();
    },
  };
}
