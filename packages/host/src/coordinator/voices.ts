/**
 * Who speaks in a conversation with the coordinator, and what they may: its tools see and do nothing that each of them may not.
 *
 * W141 a tool of the coordinator acts for the operator whose conversation it is and for everybody whose words the turn follows: what one of them may not
 *      see is not shown, what one of them may not do is not done. Whoever is unknown here may nothing.
 */
import { type Journal, type Principal, principalName, type SessionId, seq } from "@orgate/core";
import { type Access, type Act, act, type Caller, requesterOf } from "./access.ts";

export type Voices = Readonly<{
  /** Whose words began the turn: what is done is signed as theirs. */
  speaker: Caller;
  /** Null when nothing speaks against it; else why not. */
  refuses(act: Act): string | null;
}>;

export type VoicesNeed = Readonly<{
  journal: Pick<Journal, "session" | "read">;
  access: Pick<Access, "mayDo">;
  /** Who stands for this person, with all that the policies let them do; null: nobody knows them. */
  callerOf(principal: Principal): Promise<Caller | null>;
}>;

const PAGE = 200;

export async function voicesOf({ journal, access, callerOf }: VoicesNeed, session: SessionId): Promise<Voices> {
  const summary = await journal.session(session);
  if (summary === null) throw new Error("there is no such conversation");
  const spoken = await spokenIn(journal, session, summary.seq);
  const [first] = spoken;
  if (first === undefined) throw new Error("nobody has spoken in this conversation");
  const above = summary.parent === null ? [] : await spokenAbove(journal, session);
  const people = [...new Map([summary.principal, ...spoken, ...above].map((one) => [principalName(one), one])).values()];
  const callers = await Promise.all(people.map(async (one) => (await callerOf(one)) ?? unknown(one)));
  const speaker = callers[people.findIndex((one) => principalName(one) === principalName(first))] ?? unknown(first);
  return {
    speaker,
    refuses(wanted) {
      for (const caller of callers) {
        const reason = access.mayDo(caller, wanted);
        if (reason !== null) return callers.length === 1 ? reason : `${caller.principal.id}: ${reason}`;
      }
      return null;
    },
  };
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

function unknown({ id }: Principal): never {
  throw new Error(`\`${id}\` is not known to this server: nothing is shown or done on their behalf`);
}

/** Acts as the route table has them, over what the tools show. */
export const seeAgent = (agent: string): Act => act("observe", "agent", { agent });
export const seeSession = (one: About): Act => act("observe", "session", aboutSession(one));
export const readSession = (one: About): Act => act("read-journal", "session", aboutSession(one));
export const cancelIn = (one: About): Act => act("cancel", "session", aboutSession(one));
export const runAgent = (agent: string): Act => act("run", "agent", { agent });

type About = Readonly<{ session: SessionId; agent: string; principal: Principal }>;
const aboutSession = ({ session, agent, principal }: About) => ({ session, agent, requester: requesterOf(principal) });
