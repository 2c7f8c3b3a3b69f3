/** A dead letter as people see it: the call, its arguments, the recoveries tried, and how it failed. */
import { actionText, type CallId, type JsonObject, listDecisions, type SessionId } from "@orgate/core";
import {
  computeDeadLetterChanges,
  type DeadLetter,
  eachPage,
  type Journal,
  type ListedDeadLetter,
  readAllEntries,
} from "@orgate/core/journal";

export type DeadLetterView = DeadLetter & Readonly<{ args: JsonObject | null; starts: number; strategies: readonly string[] }>;

export async function allDeadLetters(journal: Pick<Journal, "deadLetters">): Promise<readonly ListedDeadLetter[]> {
  const all: ListedDeadLetter[] = [];
  const read = (last: ListedDeadLetter | null, most: number) => journal.deadLetters({ after: last?.arrival ?? 0, most });
  for await (const page of eachPage(read)) all.push(...page);
  return all;
}

/** Null when it is no dead letter, or not any more. */
export async function viewDeadLetter(
  journal: Pick<Journal, "read" | "session">,
  session: SessionId,
  call: CallId,
): Promise<DeadLetterView | null> {
  const agent = (await journal.session(session))?.agent ?? "";
  const entries = await readAllEntries(journal, session);
  const letter = computeDeadLetterChanges(session, agent, entries, () => []).put.find((one) => one.call === call);
  if (letter === undefined) return null;
  const events = entries.map((e) => e.event);
  const decided = listDecisions(entries).findLast(({ event: e }) => e.digest === letter.digest && e.id === actionText(call));
  const action = decided?.event.action ?? null;
  const starts = events.filter((e) => e.kind === "act.started" && e.call === call).length;
  const strategies = events.flatMap((e) => (e.kind === "recovery.applied" && e.call === call ? [e.strategy] : []));
  return { ...letter, args: action?.kind === "call" ? action.args : null, starts, strategies };
}
