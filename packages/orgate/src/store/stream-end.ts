/** Appending to streams that nobody holds. N-15 the end of a stream is found without reading it, so each append costs the same. */
import { isFault, type JournalEvent, type Millis, type Seq, type StreamId, seq } from "@orgate/core";
import type { Journal } from "@orgate/core/journal";

/** 0 before its first entry. */
export async function findStreamEnd(journal: Pick<Journal, "streams">, stream: StreamId): Promise<Seq> {
  const found = (await journal.streams(stream)).find((one) => one.stream === stream);
  return found?.seq ?? seq(0);
}

const TRIES = 100;

type Planned = Readonly<{ after: Seq; events: readonly JournalEvent[] }>;
type PlannedAppend = Readonly<{
  journal: Pick<Journal, "append">;
  stream: StreamId;
  now: () => Millis;
  /** Asked again when somebody else has appended meanwhile; no events: nothing is appended. */
  plan: () => Promise<Planned>;
}>;

/** Optimistic append to a stream that nobody holds. Returns the first place, or null if the plan wanted nothing. */
export async function appendPlanned({ journal, stream, now, plan }: PlannedAppend): Promise<Seq | null> {
  for (let tries = 1; ; tries += 1) {
    const { after, events } = await plan();
    if (events.length === 0) return null;
    try {
      const stamped = events.map((event) => ({ at: now(), event }));
      return await journal.append({ stream, after, hold: null, events: stamped, consumes: [], unlessHalted: [] });
    } catch (error) {
      if (!isFault(error, "append-conflict") || tries === TRIES) throw error;
    }
  }
}

/** Appends at the end of a stream that nobody holds, whose entries do not depend on one another. */
export async function appendAtEnd(
  journal: Pick<Journal, "streams" | "append">,
  stream: StreamId,
  { at, event }: Readonly<{ at: Millis; event: JournalEvent }>,
): Promise<Seq> {
  const plan = async (): Promise<Planned> => ({ after: await findStreamEnd(journal, stream), events: [event] });
  return (await appendPlanned({ journal, stream, now: () => at, plan })) ?? seq(0);
}
