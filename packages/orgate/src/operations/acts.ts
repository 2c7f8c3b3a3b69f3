/**
 * From a route's act to what is decided: on which agent, session, question. Whatever it is about has to be there.
 *
 * W-9 a forbidden resource is indistinguishable from a missing one: a session, approval request, grant or call that is refused and may not be observed either gets
 *      the very answer of one that does not exist.
 */
import { approvalId, FaultError, type GrantId, isForRequester, isSessionId, principalName, type SessionId } from "@orgate/core";
import { eachRow, type ListedDeadLetter, type PendingApproval, type SessionSummary, type StandingGrant } from "@orgate/core/journal";
import { type OperationAct, wireProblem } from "@orgate/protocol";
import { requesterName } from "../identity/requester.ts";
import type { Runtime } from "../runtime/api.ts";
import { findSettledRequest, type SettledRequest, settledText } from "../runtime/people/settled-request.ts";
import { getScheduleStore } from "../schedules/index.ts";
import { type Act, act } from "./access.ts";
import { refusal } from "./refusal.ts";

/** `user` asks. */
export type AboutAct = Readonly<{ params: unknown; body: unknown; user: string }>;

export const textIn = (from: unknown, name: string): string | null => {
  if (typeof from !== "object" || from === null || !Object.hasOwn(from, name)) return null;
  const value: unknown = Reflect.get(from, name);
  return typeof value === "string" ? value : null;
};

/** Q-21 an answer is what it says: to deny and to withdraw are acts of their own. */
function answering(kind: OperationAct["kind"], body: unknown): OperationAct["kind"] {
  if (kind !== "approve" || typeof body !== "object" || body === null) return kind;
  const given = textIn(Reflect.get(body, "answer"), "kind");
  return given === "deny" || given === "withdraw" ? given : kind;
}

export async function findAct(runtime: Runtime, { kind, on }: OperationAct, { params, body, user }: AboutAct): Promise<Act> {
  switch (on) {
    case "listing":
    case "policies":
    case "project":
      return act(kind, on);
    case "agent":
      return act(kind, on, { agent: textIn(params, "agent") ?? textIn(body, "agent") });
    case "session":
      return act(kind, on, aboutSession(await sessionIn(runtime, params)));
    case "call": {
      const summary = await sessionIn(runtime, params);
      const call = textIn(params, "call");
      const tool = await findToolOfCall(runtime, summary.session, call);
      if (tool === null) throw missingProblem({ on, id: call, session: summary.session }); // a policy about its tool must not be passed by
      return act(kind, on, { ...aboutSession(summary), id: call, tool });
    }
    case "approval": {
      const id = textIn(params, "approval") ?? "";
      const { journal } = runtime.place.store;
      const [open] = await journal.question(approvalId(id));
      const found = open ?? (await findSettledRequest(journal, id, { me: null })); // of a settled one, those who may see it are told who answered
      if (found === null) throw missingProblem({ on, id, session: null });
      return act(answering(kind, body), on, await aboutQuestion(runtime.inspect, found));
    }
    case "grant": {
      const id = textIn(params, "grant") ?? "";
      const found = (await runtime.approvals.grants()).find(({ grant }: { readonly grant: GrantId }) => grant === id);
      if (found === undefined) throw missingProblem({ on, id, session: null });
      const isOwn = principalName(found.by) === principalName({ kind: "user", id: user });
      return act(isOwn ? "observe" : kind, on, aboutGrant(found)); // the person who gave a grant may revoke it
    }
    case "schedule": {
      const id = textIn(params, "schedule");
      if (id === null) return act(kind, on, { id: textIn(body, "schedule"), agent: textIn(body, "agent"), requester: user }); // one that is to be added
      const book = getScheduleStore(runtime.place);
      await book.refresh(id);
      const found = book.get(id);
      if (found === null || found.state === "removed") throw missingProblem({ on, id, session: null });
      return act(kind, on, { id, agent: found.spec.agent, requester: found.spec.owner });
    }
    case "breaker":
      return act(kind, on, { id: textIn(body, "breaker") });
    case "work":
      return act(kind, on, { id: textIn(body, "scope") });
  }
}

export const aboutSession = ({ session, agent, principal }: SessionSummary): Pick<Act, "session" | "agent" | "requester"> => ({
  session,
  agent,
  requester: requesterName(principal),
});

export const aboutGrant = ({ grant, session, agent, tool, onBehalfOf }: StandingGrant): Partial<Act> => ({
  id: grant,
  session,
  agent,
  tool,
  requester: requesterName(onBehalfOf),
});

export async function aboutQuestion(
  { session: find }: Pick<Runtime["inspect"], "session">,
  {
    approval,
    session,
    agent,
    tool,
    asks = [],
  }: Pick<PendingApproval, "approval" | "session" | "agent" | "tool"> & Partial<Pick<PendingApproval, "asks">>,
): Promise<Partial<Act>> {
  const of = await find(session);
  const requester = of === null ? null : requesterName(of.principal);
  return { id: approval, session, agent, tool, requester, forRequester: isForRequester(asks) };
}

/** The reason for a refusal, as the caller sees it. */
export function refusalFor(may: (act: Act) => string | null, wanted: Act, reason: string, user: string): Error {
  const hidden = CAN_HIDE.has(wanted.on) && may({ ...wanted, kind: "observe" }) !== null;
  return hidden ? missingProblem(wanted) : new FaultError({ kind: "not-permitted", user, what: wanted.kind, reason });
}
const CAN_HIDE: ReadonlySet<Act["on"]> = new Set(["session", "approval", "grant", "call", "schedule"]);

/** Q-23 what is said of a question that was settled, to those who may see it. */
export const settledRefusal = (request: SettledRequest): Error => {
  const { detail, hint } = settledText(request);
  return nothing(detail, hint);
};

/** Error for a resource that does not exist. */
export function missingProblem({ on, id, session }: Pick<Act, "on" | "id" | "session">): Error {
  if (on === "approval")
    return nothing(`there is no open approval request \`${id}\``, "it was answered, has expired, or its turn has ended");
  if (on === "grant") return nothing(`no grant \`${id}\` is in force`, "it was revoked, or has ended");
  if (on === "schedule") return nothing(`there is no schedule \`${id}\``, "`orgate schedules list` shows them");
  if (on === "call") return nothing(`nothing is open about call \`${id}\` of \`${session}\``, "it was seen to, or there is no such call");
  return new FaultError({ kind: "session-unknown", session: session ?? "" });
}

async function sessionIn(runtime: Runtime, params: unknown): Promise<SessionSummary> {
  const id = textIn(params, "session") ?? "";
  const found = isSessionId(id) ? await runtime.inspect.session(id) : null;
  if (found !== null) return found;
  const call = textIn(params, "call");
  throw missingProblem({ on: call === null ? "session" : "call", id: call, session: id });
}

/** Of a call whose outcome is unknown, or of a dead letter. */
export async function findToolOfCall(runtime: Runtime, session: SessionId, call: string | null): Promise<string | null> {
  const open = [...(await runtime.place.store.unknownsOf(session)).values()].find((u) => u.call === call);
  if (open !== undefined) return open.tool;
  const read = (last: ListedDeadLetter | null, most: number) => runtime.deadLetters.list({ after: last?.arrival ?? 0, most });
  for await (const letter of eachRow(read)) if (letter.session === session && letter.call === call) return letter.tool;
  return null;
}

const nothing = (detail: string, hint: string) => refusal(wireProblem("not-found", detail, hint));
