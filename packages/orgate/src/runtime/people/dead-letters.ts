/** A call that was set aside, as people see it: what was tried, with which arguments, and how it failed. */
import { actionText, type CallId, type Entry, type JsonObject, type SessionId, seq } from "@orgate/core";
import { computeDeadLetterChanges, type DeadLetter, type Journal, type ListedDeadLetter } from "@orgate/core/journal";

export type DeadLetterView = DeadLetter & Readonly<{ args: JsonObject | null; starts: number; strategies: readonly string[] }>;

const PAGE = 500;

export async function allDeadLetters(journal: Pick<Journal, "deadLetters">): Promise<readonly ListedDeadLetter[]> {
  const all: ListedDeadLetter[] = [];
  for (let after = 0; ; ) {
    const page = await journal.deadLetters({ after, most: PAGE });
    all.push(...page);
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return all;
    after = last.arrival;
  }
}

/** Null when it is not set aside, or not any more. */
export async function viewDeadLetter(
  journal: Pick<Journal, "read" | "session">,
  session: SessionId,
  call: CallId,
): Promise<DeadLetterView | null> {
  const agent = (await journal.session(session))?.agent ?? "";
  const entries: Entry[] = [];
  for (;;) {
    const chunk = await journal.read(session, entries.at(-1)?.seq ?? seq(0), PAGE);
    entries.push(...chunk);
    if (chunk.length === 0) break;
  }
  const letter = computeDeadLetterChanges(session, agent, entries, () => []).put.find((one) => one.call === call);
  if (letter === undefined) return null;
  const events = entries.map((e) => e.event);
  const decided = events.findLast((e) => e.kind === "gate.decided" && e.digest === letter.digest && e.id === actionText(call));
  const action = decided?.kind === "gate.decided" ? decided.action : null;
  const starts = events.filter((e) => e.kind === "act.started" && e.call === call).length;
  const strategies = events.flatMap((e) => (e.kind === "recovery.applied" && e.call === call ? [e.strategy] : []));
  return { ...letter, args: action?.kind === "call" ? action.args : null, starts, strategies };
}
