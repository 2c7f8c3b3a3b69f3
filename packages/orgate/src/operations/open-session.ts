/**
 * Opens and finds sessions by an id that the caller chose, and guards sessions of other callers.
 *
 * W-16 a session that a caller opens or finds by an id is the caller's own: under an id that somebody else has used nothing is opened, found or
 *      said. A turn in somebody else's session needs permission to speak in that session.
 */
import { FaultError, isFault, principalName, type SessionId, type SubjectInput } from "@orgate/core";
import type { SessionSummary } from "@orgate/core/journal";
import { wireProblem } from "@orgate/protocol";
import type { Runtime } from "../runtime/api.ts";
import type { ForkOptions } from "../runtime/sessions.ts";
import { type Act, act, type Caller } from "./access.ts";
import { aboutSession, refusalFor } from "./acts.ts";
import { type IdempotencyKey, isDerivedName } from "./idempotency.ts";
import { refusal } from "./refusal.ts";

export type WantedSession = Readonly<{ agent: string; id: string; labels?: readonly string[]; subject?: SubjectInput }>;

export async function openUnderCallersId(
  runtime: Pick<Runtime, "sessions">,
  caller: Caller,
  wanted: WantedSession,
  key: IdempotencyKey,
): Promise<SessionSummary> {
  mustBeFree(wanted.id, key);
  return openOwnSession(runtime, caller, wanted);
}

/** W-16. A caller who took a name before the server derives it for somebody else would block that session, or hear what is said in it. */
export function mustBeFree(id: string, { external }: Pick<IdempotencyKey, "external">): void {
  if (id !== external && isDerivedName(id)) throw taken(id);
}

/** Callers share one space of ids: guessing an id must not let anybody listen. */
export async function openOwnSession(
  runtime: Pick<Runtime, "sessions">,
  { principal }: Caller,
  wanted: WantedSession,
): Promise<SessionSummary> {
  try {
    return mustBeOwn(await runtime.sessions.create({ ...wanted, principal }), principal, wanted.id);
  } catch (error) {
    if (isFault(error, "external-taken")) throw taken(wanted.id); // the fault names the owner of the id
    if (isFault(error, "agent-missing")) throw new FaultError({ kind: "agent-missing", agent: wanted.agent, known: [] }); // which agents exist is not for every caller
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

/** The session for a turn of this agent. Throws if it is somebody else's and the caller may not speak in it. */
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
