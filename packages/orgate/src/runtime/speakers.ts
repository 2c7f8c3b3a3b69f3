/** Finds the people whose words a turn follows: the session's principal, who started and steered the turn, and for a sub-agent those of the session above. */
import { type Journal, type Principal, principalName, type SessionId, seq } from "@orgate/core";

export type Speakers = Readonly<{ first: Principal /** Each once. */; people: readonly Principal[] }>;

const PAGE = 200;

export async function findSpeakers(journal: Pick<Journal, "session" | "read">, session: SessionId): Promise<Speakers> {
  const summary = await journal.session(session);
  if (summary === null) throw new Error("there is no such conversation");
  const spoken = await spokenIn(journal, session, summary.seq);
  const [first] = spoken;
  if (first === undefined) throw new Error("nobody has spoken in this conversation");
  const above = summary.parent === null ? [] : await spokenAbove(journal, session);
  return { first, people: [...new Map([summary.principal, ...spoken, ...above].map((one) => [principalName(one), one])).values()] };
}

/** By the turn in progress, its beginner first. Read from the end: a turn is short, a conversation may be long. */
async function spokenIn(journal: Pick<Journal, "read">, session: SessionId, last: number): Promise<readonly Principal[]> {
  const later: Principal[] = [];
  for (let end = last; end > 0; end -= PAGE) {
    const start = Math.max(0, end - PAGE);
    for (const { event } of (await journal.read(session, seq(start), end - start)).toReversed()) {
      if (event.kind === "input.steered") later.push(event.by);
      if (event.kind === "turn.started") return [event.by, ...later];
    }
  }
  return [];
}

/** As a delegate: everybody whose words the session above followed. */
async function spokenAbove(journal: Pick<Journal, "read">, session: SessionId): Promise<readonly Principal[]> {
  const [first] = await journal.read(session, seq(0), 1);
  const speakers = first?.event.kind === "session.opened" ? (first.event.parent?.speakers ?? []) : [];
  return speakers.map((id) => ({ kind: "user", id }));
}
