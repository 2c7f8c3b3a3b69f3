/** J-9 an erasure is journalled before anything is gone; a session that another process drives is not touched. Commands share this file. J-8 stored answers go with it. */

import { countNoun, ERASURES, FaultError, type Principal, type Seq, type SessionId } from "@orgate/core";
import type { SessionSummary } from "@orgate/core/journal";
import type { Erased } from "../../store/store.ts";
import { appendAtEnd } from "../../store/stream-end.ts";
import { NODE } from "../ports/outside.ts";
import type { OpenProjectStore } from "../ports/project-store.ts";

export type Erasure = Readonly<{ session: SessionId; first: Seq; last: Seq; by: Principal; reason: string }> &
  Readonly<{ /** Also while an approval request in it is open: the request goes with it. */ anyway?: boolean }>;

/** The session can no longer resume. Throws `session-held` while somebody drives it. */
export async function eraseEntries(place: OpenProjectStore, { session, anyway = false, ...of }: Erasure): Promise<Erased> {
  const { journal } = place.store;
  const hold = await journal.take(session); // refused while its holder lives; nobody takes it meanwhile
  try {
    mayBeErased(await journal.session(session), anyway);
    return await eraseHeld(place, { session, ...of });
  } finally {
    await journal.release(hold);
  }
}

/** The caller holds the session. */
export async function eraseHeld(place: OpenProjectStore, { session, ...of }: Omit<Erasure, "anyway">): Promise<Erased> {
  await appendAtEnd(place.store.journal, ERASURES, { at: NODE.clock.now(), event: { kind: "content.erased", stream: session, ...of } });
  const erased = await place.store.erase(session, of.first, of.last);
  const isGone = await place.store.requests.erase(session);
  return { ...erased, truncated: erased.truncated && isGone };
}

/**
 * D-4 a turn ends after its delegates: one that can no longer be driven would leave it open for good.
 * J-9 a person may be about to answer what is asked in it.
 */
function mayBeErased(summary: SessionSummary | null, anyway: boolean): void {
  if (summary === null || summary.state === "idle" || summary.state === "closed") return;
  const { session, parent, turns, openQuestions } = summary;
  if (parent !== null && turns <= 1)
    throw new FaultError({
      kind: "usage",
      detail: `session \`${session}\` works for \`${parent}\`, which waits for it`,
      hint: `cancel it first: \`orgate sessions cancel ${session}\``,
    });
  if (openQuestions === 0 || anyway) return;
  throw new FaultError({
    kind: "usage",
    detail: `nothing was erased: ${countNoun(openQuestions, "approval request")} in session \`${session}\` ${openQuestions === 1 ? "is" : "are"} open`,
    hint: `answer or cancel first (\`orgate sessions cancel ${session}\`), or add --anyway: the request goes with what is erased`,
  });
}
