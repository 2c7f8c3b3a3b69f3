/** From a route's act to what is decided: on which agent, session, question. Whatever it is about has to be there. */
import { approvalId, FaultError, type GrantId, isSessionId, type SessionId } from "@orgate/core";
import type { SessionSummary } from "@orgate/core/journal";
import { type RouteAct, wireProblem } from "@orgate/core/wire";
import type { Runtime } from "../runtime.ts";
import { bookOf } from "../schedules/index.ts";
import { type Act, act } from "./access.ts";
import { refusal } from "./answering.ts";

/** `user` asks. */
export type About = Readonly<{ params: unknown; body: unknown; user: string }>;

const textIn = (from: unknown, name: string): string | null => {
  if (typeof from !== "object" || from === null || !Object.hasOwn(from, name)) return null;
  const value: unknown = Reflect.get(from, name);
  return typeof value === "string" ? value : null;
};

export async function actOf(runtime: Runtime, { kind, on }: RouteAct, { params, body, user }: About): Promise<Act> {
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
      return act(kind, on, { ...aboutSession(summary), id: call, tool: await toolOf(runtime, summary.session, call) });
    }
    case "approval": {
      const id = textIn(params, "approval") ?? "";
      const [found] = await runtime.place.store.journal.question(approvalId(id));
      if (found === undefined) throw nothing(`there is no open question \`${id}\``, "it was answered, has expired, or its turn has ended");
      const { session, agent, tool } = found;
      const requester = (await runtime.inspect.session(session))?.principal.id ?? null;
      return act(kind, on, { id, session, agent, tool, requester });
    }
    case "grant": {
      const id = textIn(params, "grant") ?? "";
      const found = (await runtime.approvals.grants()).find(({ grant }: { readonly grant: GrantId }) => grant === id);
      if (found === undefined) throw nothing(`no grant \`${id}\` is in force`, "it was revoked, or has ended");
      return act(kind, on, { id, session: found.session, agent: found.agent, tool: found.tool, requester: found.onBehalfOf.id });
    }
    case "schedule": {
      const id = textIn(params, "schedule");
      if (id === null) return act(kind, on, { id: textIn(body, "schedule"), agent: textIn(body, "agent"), requester: user }); // one that is to be added
      const book = bookOf(runtime.place);
      await book.refresh(id);
      const found = book.get(id);
      if (found === null || found.state === "removed") throw nothing(`there is no schedule \`${id}\``, "list them");
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
  requester: principal.id,
});

async function sessionIn(runtime: Runtime, params: unknown): Promise<SessionSummary> {
  const id = textIn(params, "session") ?? "";
  const found = isSessionId(id) ? await runtime.inspect.session(id) : null;
  if (found === null) throw new FaultError({ kind: "session-unknown", session: id });
  return found;
}

/** Of a call whose outcome nobody knows, or that was set aside. */
export async function toolOf(runtime: Runtime, session: SessionId, call: string | null): Promise<string | null> {
  const open = runtime.place.store.unknowns({ after: null, most: 1_000 }).find((u) => u.session === session && u.call === call);
  if (open !== undefined) return open.tool;
  const letters = await runtime.deadLetters.list({ most: 1_000 });
  return letters.find((letter) => letter.session === session && letter.call === call)?.tool ?? null;
}

const nothing = (detail: string, hint: string) => refusal(wireProblem("not-found", detail, hint));
