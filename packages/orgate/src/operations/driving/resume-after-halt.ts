/**
 * Wakes sessions when a halt that held them back is lifted. Messages for a halted agent become entries and wait in their session, which is idle: the inbox
 * holds no intent and no turn is open, so nothing else would wake the session again.
 *
 * Q-14 The same is true of an answer given during a halt: its turn is open, and nobody drives it.
 * S-15 A session that cannot be read (erased, damaged) does not hold back the others.
 */

import { type Entry, HALT, isSessionStream, type Seq, type SessionId, seq } from "@orgate/core";
import { eachEntry } from "@orgate/core/journal";
import type { Runtime } from "../../runtime/api.ts";
import { findInterrupted } from "./unattended.ts";

/** A halt of this scope, in force since that entry of its stream, that was lifted by that one. */
type Lift = Readonly<{ scope: string; since: Seq; until: Seq }>;
export type Lifting = Readonly<{ stop(): void }>;

const PAGE = 500;
/** How far back a start looks, so that it does not wait for a long journal: older messages begin with the next message to their session. */
const MOST_AT_START = 20_000;
/** How many entries before the halt and after its lift are looked at: what came in the last moment may not have been acted on. */
const MARGIN = 500;

/** Events that may happen in a session during a halt, and wait for its end. */
const HELD_BACK: ReadonlySet<Entry["event"]["kind"]> = new Set(["input.queued", "approval.answered", "approval.expired"]);

type Ports = Readonly<{
  runtime: Pick<Runtime, "place" | "inspect">;
  wake(session: SessionId): void;
  failed(error: unknown, session: SessionId | null): void;
}>;

export function watchLiftedHalts({ runtime, wake, failed }: Ports): Lifting {
  const { journal } = runtime.place.store;
  const standing = new Map<string, Seq>();
  let seen: Seq = seq(0);
  let isStart = true;

  function liftsIn({ seq: at, event: e }: Entry): readonly Lift[] {
    if (e.kind === "work.halted" && !standing.has(e.scope)) standing.set(e.scope, at);
    if (e.kind !== "work.resumed") return [];
    const lifted = [...standing].filter(([scope]) => e.scope === "all" || e.scope === scope);
    for (const [scope] of lifted) standing.delete(scope);
    return lifted.map(([scope, since]) => ({ scope, since, until: at }));
  }

  async function look(): Promise<void> {
    const lifts = new Map<string, Lift>(); // the last lift of each scope: what an earlier one freed has begun, or this one holds it too
    for await (const entry of eachEntry(journal, HALT, seen)) {
      for (const lift of liftsIn(entry)) lifts.set(lift.scope, lift);
      seen = entry.seq;
    }
    const least = isStart ? (await journal.position()) - MOST_AT_START : 0;
    isStart = false;
    for (const lift of lifts.values()) await letGo(lift, least);
  }

  async function letGo({ scope, since, until }: Lift, least: number): Promise<void> {
    const halted = (await journal.positionOf(HALT, since)) ?? 0;
    const lifted = (await journal.positionOf(HALT, until)) ?? Number.POSITIVE_INFINITY;
    for (const session of await listHeldBetween(journal, Math.max(halted - MARGIN, least, 0), lifted + MARGIN)) {
      try {
        if (await isHeldBack(session, scope)) wake(session);
      } catch (error) {
        failed(error, session);
      }
    }
  }

  async function isHeldBack(session: SessionId, scope: string): Promise<boolean> {
    const summary = await journal.session(session);
    if (summary?.state === "running" || summary?.state === "waiting") return true; // an answer waits: the driver checks whether another halt still holds it
    if (summary?.state !== "idle" || (scope !== "all" && scope !== `agent:${summary.agent}`)) return false;
    return (await runtime.inspect.state(session)).followUps.length > 0;
  }

  let isLooking = false;
  let isDue = false;
  const soon = (): void => {
    isDue = isLooking;
    if (isLooking) return;
    isLooking = true;
    void look()
      .catch((error: unknown) => failed(error, null))
      .finally(() => {
        isLooking = false;
        if (isDue) soon();
      });
  };
  const stop = journal.watch((stream) => (stream === HALT || stream === null) && soon(), HALT);
  soon();
  return { stop };
}

type HaltJournal = Runtime["place"]["store"]["journal"];

/**
 * Sessions whose turn wants driving, and those in which, between two positions, a message was queued, a halt ended a turn, a person answered, or a request
 * expired.
 */
async function listHeldBetween(journal: HaltJournal, from: number, to: number): Promise<ReadonlySet<SessionId>> {
  const found = new Set<SessionId>();
  for await (const { session } of findInterrupted(journal)) found.add(session);
  for (let after = from; after < to; ) {
    const page = await journal.tail(after, PAGE);
    for (const one of page) {
      if (one.kind !== "entry" || !isSessionStream(one.stream)) continue;
      const { event } = one.entry;
      if (HELD_BACK.has(event.kind) || (event.kind === "turn.ended" && event.ending === "halted")) found.add(one.stream);
    }
    after = page.at(-1)?.position ?? after;
    if (page.length < PAGE) break;
  }
  return found;
}
