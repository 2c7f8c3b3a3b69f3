/**
 * What a frame of `/ws/v1` asks for, done: decided first, then a wish that is signed by the caller and made once by its id. Nothing here waits for a turn.
 * W-5 a request carries an id of the client's; the same id of the same person is one request, also over another connection.
 */
import {
  type Entry,
  FaultError,
  type IntentBody,
  type IntentId,
  intentId,
  type Journal,
  principalName,
  type SessionId,
  seq,
  toAnswerAct,
} from "@orgate/core";
import type { RequestFrame, ServerFrame } from "@orgate/protocol";
import { sha256 } from "../../node/crypto.ts";
import { type Act, act, type Caller } from "../../operations/access.ts";
import { missingProblem, refusalFor, settledRefusal } from "../../operations/acts.ts";
import type { SessionDriver } from "../../operations/session-driver.ts";
import type { AboutStream, Whose } from "../../operations/visibility.ts";
import { findNewestEntry, readIntentId } from "../../runtime/delivery.ts";
import { findSettledRequest } from "../../runtime/people/settled-request.ts";
import type { Access } from "../identity/authentication.ts";

export type RequestPorts = Readonly<{
  access: Pick<Access, "mayDo">;
  sessionDriver: Pick<SessionDriver, "send">;
  journal: Pick<Journal, "session" | "question" | "read" | "tail" | "position">;
  whose: Whose;
  /** Opens a session of this agent's under an id of the caller's own, or finds the one that has it. */
  open(agent: string, external: string, caller: Caller): Promise<SessionId>;
  /** The tool of a call that nobody can tell of; null when there is no such. */
  unknownTool(session: SessionId, call: string): Promise<string | null>;
}>;

type Answer = Extract<ServerFrame, { kind: "done" | "page" }>;
type Frame<K extends RequestFrame["kind"]> = Extract<RequestFrame, { kind: K }>;

/** Throws a fault when it may not be, or cannot be. */
export async function answerRequest(ports: RequestPorts, caller: Caller, frame: RequestFrame): Promise<Answer> {
  switch (frame.kind) {
    case "chat":
      return chat(ports, caller, frame);
    case "steer": {
      const { kind, id, session, ...said } = frame;
      return wish(ports, caller, { id, kind, session }, "steer", { kind: "steer", ...said });
    }
    case "cancel": {
      const { kind, id, session, reason, all } = frame;
      return wish(ports, caller, { id, kind, session }, "cancel", { kind: all ? "cancel-all" : "cancel", reason });
    }
    case "answer":
      return answer(ports, caller, frame);
    case "resolve":
      return resolve(ports, caller, frame);
    case "history":
      return history(ports, caller, frame);
  }
}

async function chat(ports: RequestPorts, caller: Caller, { kind, id, agent, session, ...said }: Frame<"chat">): Promise<Answer> {
  if (session === null) permit(ports, caller, act("run", "agent", { agent }));
  const there = session ?? (await ports.open(agent, `ws-${onceOf(caller, kind, id)}`, caller));
  const about = await mustBe(ports, there);
  if (session !== null) permit(ports, caller, act("say", "session", { session: there, ...about }));
  if (about.agent !== agent) throw new FaultError({ kind: "agent-other", session: there, agent: about.agent });
  return sent(ports, caller, { kind, id, session: there }, { kind: "follow-up", ...said });
}

type Asked = Readonly<{ kind: string; id: string; session: SessionId }>;

async function wish(ports: RequestPorts, caller: Caller, asked: Asked, name: "steer" | "cancel", wanted: IntentBody): Promise<Answer> {
  const about = await mustBe(ports, asked.session);
  permit(ports, caller, act(name, "session", { session: asked.session, ...about }));
  return sent(ports, caller, asked, wanted);
}

async function answer(ports: RequestPorts, caller: Caller, frame: Frame<"answer">): Promise<Answer> {
  const { kind, id, approval, digest, answer: given } = frame;
  const [found] = await ports.journal.question(approval);
  const before =
    found === undefined && frame.session !== null ? await became(ports, frame.session, intentOfRequest(caller, kind, id)) : null;
  if (before !== null) return { kind: "done", id, session: before.stream as SessionId, entry: before }; // it was found in a session's stream
  const settled =
    found === undefined
      ? await findSettledRequest(ports.journal, approval, { me: principalName(caller.principal), session: frame.session })
      : null;
  const about = found ?? settled;
  if (about === null) throw missingProblem({ on: "approval", id: approval, session: null });
  const { session, tool } = about;
  permit(ports, caller, act(toAnswerAct(given), "approval", { id: approval, session, tool, ...(await mustBe(ports, session)) }));
  if (settled !== null) throw settledRefusal(settled); // Q-23, to those who may see it
  return sent(ports, caller, { kind, id, session }, { kind: "answer", approval, digest, answer: given });
}

const SETTLES: ReadonlySet<Entry["event"]["kind"]> = new Set(["approval.answered", "unknown.resolved", "unknown.reconcile-asked"]);
/** The entry that this very wish became; only who wished it knows its id. */
const became = ({ journal }: RequestPorts, session: SessionId, intent: IntentId): Promise<Entry | null> =>
  findNewestEntry(journal, session, (event) => SETTLES.has(event.kind) && readIntentId(event) === intent);

async function resolve(ports: RequestPorts, caller: Caller, { kind, id, session, call, as, note }: Frame<"resolve">): Promise<Answer> {
  const about = await ports.whose(session);
  const tool = about === null ? null : await ports.unknownTool(session, call);
  if (about === null || tool === null) {
    const before = await became(ports, session, intentOfRequest(caller, kind, id));
    if (before !== null) return { kind: "done", id, session, entry: before }; // told twice
    throw missingProblem({ on: "call", id: call, session });
  }
  permit(ports, caller, act("resolve", "call", { id: call, session, tool, ...about }));
  return sent(ports, caller, { kind, id, session }, { kind: "resolve", call, as, note });
}

async function history(ports: RequestPorts, caller: Caller, { id, session, before, most }: Frame<"history">): Promise<Answer> {
  const about = await mustBe(ports, session);
  permit(ports, caller, act("read-journal", "session", { session, ...about }));
  const last = (await ports.journal.session(session))?.seq ?? 0;
  const end = Math.min(before === null ? last : before - 1, last);
  const start = Math.max(0, end - most);
  const entries: readonly Entry[] = end <= start ? [] : await ports.journal.read(session, seq(start), end - start);
  return { kind: "page", id, entries: [...entries], before: start === 0 ? null : seq(start + 1) };
}

async function sent(ports: RequestPorts, caller: Caller, { kind, id, session }: Asked, wanted: IntentBody): Promise<Answer> {
  const { entry } = await ports.sessionDriver.send({ session, wish: wanted, as: caller.person, id: intentOfRequest(caller, kind, id) });
  return { kind: "done", id, session, entry };
}

async function mustBe({ whose }: RequestPorts, session: SessionId): Promise<AboutStream> {
  const about = await whose(session);
  if (about === null) throw new FaultError({ kind: "session-unknown", session });
  return about;
}

function permit({ access }: RequestPorts, caller: Caller, wanted: Act): void {
  const may = (one: Act): string | null => access.mayDo(caller, one);
  const reason = may(wanted);
  if (reason !== null) throw refusalFor(may, wanted, reason, caller.principal.id);
}

/** One text per person, kind of request and id: what makes it once, wherever it comes from. */
const onceOf = (caller: Caller, kind: string, id: string): string =>
  sha256(`${principalName(caller.principal)}\n${kind}\n${id}`).slice(0, 40);
export const intentOfRequest = (caller: Caller, kind: string, id: string): IntentId => intentId(`w-${onceOf(caller, kind, id)}`);
