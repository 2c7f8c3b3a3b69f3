/**
 * The people who speak in a conversation with the coordinator, and their permissions: its tools see and do only what each of them may.
 * Rule: W-35.
 */
import { type Journal, type Principal, principalName, type SessionId } from "@orgate/core";
import { requesterName } from "../../identity/requester.ts";
import { findSpeakers } from "../../runtime/speakers.ts";
import { type Act, act, type Caller, type Permissions } from "../access.ts";

export type CallerAccess = Readonly<{
  /** Whose words began the turn: what is done is signed as theirs. */
  speaker: Caller;
  /** Null if all of them may, otherwise the reason for the refusal. */
  refuses(act: Act): string | null;
}>;

export type CallerAccessPorts = Readonly<{
  journal: Pick<Journal, "session" | "read">;
  access: Pick<Permissions, "mayDo">;
  /** The caller that this person is, with everything that the policies permit; null if they are unknown. */
  callerOf(principal: Principal): Promise<Caller | null>;
}>;

export async function callerAccessFor({ journal, access, callerOf }: CallerAccessPorts, session: SessionId): Promise<CallerAccess> {
  const { first, people } = await findSpeakers(journal, session);
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

function unknown({ id }: Principal): never {
  throw new Error(`\`${id}\` is not known to this server: nothing is shown or done on their behalf`);
}

/** Acts, as the table of operations has them. */
export const seeAgent = (agent: string): Act => act("observe", "agent", { agent });
export const seeSession = (one: About): Act => act("observe", "session", aboutSession(one));
export const readSession = (one: About): Act => act("read-journal", "session", aboutSession(one));
export const runAgent = (agent: string): Act => act("run", "agent", { agent });

type About = Readonly<{ session: SessionId; agent: string; principal: Principal }>;
const aboutSession = ({ session, agent, principal }: About) => ({ session, agent, requester: requesterName(principal) });
