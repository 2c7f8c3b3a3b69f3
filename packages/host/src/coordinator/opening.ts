/**
 * Sessions that are asked for by an id of the caller's own, and sessions of others.
 *
 * W118 a session that is opened, or found, by an id of the caller's own is the caller's: under an id that somebody else has used nothing is opened, found or
 *      said. To have an agent take a turn in a session of somebody else takes leave to speak in that session.
 */
import { FaultError, isFault, principalName, type SessionId } from "@orgate/core";
import type { SessionSummary } from "@orgate/core/journal";
import { wireProblem } from "@orgate/core/wire";
import type { Runtime } from "../runtime.ts";
import { type Act, act, type Caller } from "./access.ts";
import { aboutSession } from "./acts.ts";
import { refusal } from "./answering.ts";

export type Wanted = Readonly<{ agent: string; id: string; labels?: readonly string[] }>;

/** Ids are one space for everybody: whoever guesses one must not be the one who listens. */
export async function openFor(runtime: Pick<Runtime, "sessions">, { principal }: Caller, wanted: Wanted): Promise<SessionSummary> {
  try {
    return mustBeOwn(await runtime.sessions.create({ ...wanted, principal }), principal, wanted.id);
  } catch (error) {
    throw isFault(error, "external-taken") ? taken(wanted.id) : error; // it says whose id that is: not for whoever guesses
  }
}

export function mustBeOwn(found: SessionSummary, principal: Caller["principal"], id: string): SessionSummary {
  if (isOf(found, principal)) return found;
  throw taken(id);
}

const taken = (id: string) => refusal(wireProblem("conflict", `the id \`${id}\` is taken`, "choose another"));

const isOf = (found: SessionSummary, principal: Caller["principal"]): boolean =>
  principalName(found.principal) === principalName(principal);

type Speaking = Readonly<{ caller: Caller; may(act: Act): boolean }>;

/** The session that a turn of this agent is to be in. Throws where it is somebody else's and may not be spoken in. */
export async function spokenIn(
  runtime: Pick<Runtime, "inspect">,
  { caller, may }: Speaking,
  agent: string,
  session: SessionId,
): Promise<SessionId> {
  const found = await runtime.inspect.session(session);
  if (found === null) throw new FaultError({ kind: "session-unknown", session });
  if (!isOf(found, caller.principal) && !may(act("say", "session", aboutSession(found))))
    throw new FaultError({ kind: "not-permitted", user: caller.principal.id, what: `speak in \`${session}\``, reason: "it is not theirs" });
  if (found.agent !== agent) throw new FaultError({ kind: "agent-other", session, agent: found.agent });
  return session;
}
