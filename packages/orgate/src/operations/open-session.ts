/**
 * Sessions that are asked for by an id of the caller's own, and sessions of others.
 *
 * W-16 a session that is opened, or found, by an id of the caller's own is the caller's: under an id that somebody else has used nothing is opened, found or
 *      said. To have an agent take a turn in a session of somebody else takes leave to speak in that session.
 */
import { FaultError, isFault, principalName, type SessionId } from "@orgate/core";
import type { SessionSummary } from "@orgate/core/journal";
import { wireProblem } from "@orgate/protocol";
import type { Runtime } from "../runtime/api.ts";
import type { ForkOptions } from "../runtime/sessions.ts";
import { type Act, act, type Caller } from "./access.ts";
import { aboutSession, refusalFor } from "./acts.ts";
import type { IdempotencyKey } from "./idempotency.ts";
import { refusal } from "./refusal.ts";

export type WantedSession = Readonly<{ agent: string; id: string; labels?: readonly string[] }>;

/** Names that the server itself makes up for a caller, a key or a call; nobody else may use one. */
const OURS = /^(?:chat|ui|ws|key|run)-[0-9a-f]{40}$/;

/** Under an id that the caller chose. */
export async function openUnderCallersId(
  runtime: Pick<Runtime, "sessions">,
  caller: Caller,
  wanted: WantedSession,
  key: IdempotencyKey,
): Promise<SessionSummary> {
  mustBeFree(wanted.id, key);
  return openOwn(runtime, caller, wanted);
}

/** W-16. A caller that takes a name before the server makes it up could block another caller, or listen to it. */
export function mustBeFree(id: string, { external }: Pick<IdempotencyKey, "external">): void {
  if (id !== external && OURS.test(id)) throw taken(id);
}

/** Ids are one space for everybody: a caller that guesses one must not be the one who listens. */
export async function openOwn(runtime: Pick<Runtime, "sessions">, { principal }: Caller, wanted: WantedSession): Promise<SessionSummary> {
  try {
    return mustBeOwn(await runtime.sessions.create({ ...wanted, principal }), principal, wanted.id);
  } catch (error) {
    if (isFault(error, "external-taken")) throw taken(wanted.id); // it says whose id that is: not for whoever guesses
    if (isFault(error, "agent-missing")) throw new FaultError({ kind: "agent-missing", agent: wanted.agent, known: [] }); // nor which there are
    throw error;
  }
}

export const forkSession = (
  runtime: Pick<Runtime, "sessions">,
  from: SessionId,
  how: ForkOptions & Readonly<{ id: string }>,
): Promise<SessionSummary> =>
  runtime.sessions.fork(from, how).catch((error: unknown) => {
    throw isFault(error, "external-taken") ? taken(how.id) : error;
  });

export function mustBeOwn(found: SessionSummary, principal: Caller["principal"], id: string): SessionSummary {
  if (isOf(found, principal)) return found;
  throw taken(id);
}

const taken = (id: string) => refusal(wireProblem("conflict", `the id \`${id}\` is taken`, "choose another"));

const isOf = (found: SessionSummary, principal: Caller["principal"]): boolean =>
  principalName(found.principal) === principalName(principal);

type Speaking = Readonly<{ caller: Caller; may(act: Act): boolean }>;

/** The session that a turn of this agent is to be in. Throws where it is somebody else's and may not be spoken in. */
export async function sessionToSpeakIn(
  runtime: Pick<Runtime, "inspect">,
  { caller, may }: Speaking,
  agent: string,
  session: SessionId,
): Promise<SessionId> {
  const found = await runtime.inspect.session(session);
  if (found === null) throw new FaultError({ kind: "session-unknown", session });
  const wanted = act("say", "session", aboutSession(found));
  if (!isOf(found, caller.principal) && !may(wanted))
    throw refusalFor((one) => (may(one) ? null : "no"), wanted, "it is not theirs", caller.principal.id);
  if (found.agent !== agent) throw new FaultError({ kind: "agent-other", session, agent: found.agent });
  return session;
}
