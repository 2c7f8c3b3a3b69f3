/** Follows the turn that an intent began. */
import { type Entry, type IntentId, type SessionId, seq } from "@orgate/core";
import { eachEntry } from "@orgate/core/journal";
import type { Runtime } from "../../runtime/api.ts";
import { findNewestEntry, readIntentId } from "../../runtime/delivery.ts";

/** `driving` resolves when nobody drives the session here any more: the turn has ended, or waits. */
export type TurnToFollow = Readonly<{
  session: SessionId;
  intent: IntentId;
  waitMs: number;
  driving: Promise<void> | undefined;
  signal: AbortSignal | undefined;
}>;

/** The entry that ended the turn, `waiting` if it waits for a person; null when the time is up. */
export type TurnOutcome = Entry | "waiting" | null;

export async function followToOutcome(
  { place, subscribe }: Pick<Runtime, "place" | "subscribe">,
  { session, intent, waitMs, driving, signal }: TurnToFollow,
): Promise<TurnOutcome> {
  const { journal } = place.store;
  const began = await findNewestEntry(journal, session, (event) => readIntentId(event) === intent);
  const from = Math.max(0, (began?.seq ?? 1) - 1);
  const left = new AbortController();
  void driving?.then(() => left.abort());
  const until = AbortSignal.any([AbortSignal.timeout(waitMs), left.signal, ...(signal === undefined ? [] : [signal])]);
  const findEnd = createEndFinder(intent);
  for await (const live of subscribe({ session }, { after: from, signal: until, previews: false })) {
    if (live.kind !== "entry") continue;
    const ended = findEnd(live.entry);
    if (ended !== null) return ended;
    if (live.entry.event.kind === "approval.asked" && (await journal.session(session))?.state === "waiting") return "waiting";
  }
  if (!left.signal.aborted) return null;
  const findLast = createEndFinder(intent);
  for await (const entry of eachEntry(journal, session, seq(from))) if (findLast(entry) !== null) return entry;
  return "waiting";
}

/** Hears entries in order; returns the one that ends the turn which this intent began. */
function createEndFinder(intent: IntentId): (entry: Entry) => Entry | null {
  let turn: number | null = null;
  return (entry) => {
    const { event } = entry;
    if (event.kind === "turn.started" && event.intent === intent) turn = event.turn;
    return event.kind === "turn.ended" && event.turn === turn ? entry : null;
  };
}
