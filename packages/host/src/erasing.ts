/** A12 an erasure is journalled before anything is gone; a session that another process drives is not touched. Commands share this file. */
import { ERASURES, FaultError, isFault, type Principal, type Seq, type SessionId, seq } from "@orgate/core";
import type { SessionSummary } from "@orgate/core/journal";
import { type Erased, NODE, type Place } from "./compose.ts";

export type Erasure = Readonly<{ session: SessionId; first: Seq; last: Seq; by: Principal; reason: string }>;

/** The session can no longer resume. Throws `session-held` while somebody drives it. */
export async function eraseEntries(place: Place, { session, ...of }: Erasure): Promise<Erased> {
  const { journal } = place.store;
  const hold = await journal.take(session); // refused while its holder lives; nobody takes it meanwhile
  try {
    mayBeErased(await journal.session(session));
    await record(place, { stream: session, ...of });
    return await place.store.erase(session, of.first, of.last);
  } finally {
    await journal.release(hold);
  }
}

/** D4 a turn ends after its delegates: one that can no longer be driven would leave it open for good. */
function mayBeErased(summary: SessionSummary | null): void {
  if (summary === null || summary.parent === null || summary.turns > 1 || summary.state === "idle" || summary.state === "closed") return;
  throw new FaultError({
    kind: "usage",
    detail: `session \`${summary.session}\` works for \`${summary.parent}\`, which waits for it`,
    hint: `cancel it first: \`orgate sessions cancel ${summary.session}\``,
  });
}

async function record({ store: { journal } }: Place, erasure: Omit<Erasure, "session"> & Readonly<{ stream: SessionId }>): Promise<void> {
  for (let after = seq(0); ; ) {
    const chunk = await journal.read(ERASURES, after, 1_000);
    after = chunk.at(-1)?.seq ?? after;
    if (chunk.length === 1_000) continue;
    const event = { kind: "content.erased", ...erasure } as const;
    try {
      await journal.append({
        stream: ERASURES,
        after,
        hold: null,
        events: [{ at: NODE.clock.now(), event }],
        consumes: [],
        unlessHalted: [],
      });
      return;
    } catch (error) {
      if (!isFault(error, "append-conflict")) throw error; // somebody erased meanwhile: read on
    }
  }
}
