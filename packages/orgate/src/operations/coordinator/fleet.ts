/**
 * What the coordinator's tools tell of the fleet: names, states, counts, decisions. Read anew each time, and only what the voices of the conversation may see.
 *
 * W-9 what an operator may not see is not in any list, count or figure, as if it were not there.
 * W-36 of what was said and done in a session its structure is told: what was called and what it touches, how that was decided, by which policies and why,
 *      how it ended. No input, no argument, no result, no answer: those are read in the session itself.
 * W-36 every list says how many there are in it and whether there is more; no answer grows with the journal.
 */
import { type Agent, countNoun, type Entry, type Journal, type Json, type JsonObject, type SessionId } from "@orgate/core";
import type { SessionSummary } from "@orgate/core/journal";
import { addUsage, breakerSubject, isSessionId, NO_USAGE, seq } from "@orgate/core/vocab";
import type { STATES } from "../../coordinator/tools.ts";
import type { Runtime } from "../../runtime/api.ts";
import { act } from "../access.ts";
import { aboutQuestion } from "../acts.ts";
import { type CallerAccess, readSession, seeAgent, seeSession } from "./caller-access.ts";

export type FleetPorts = Readonly<{
  runtime: Pick<Runtime, "inspect" | "approvals" | "breakers" | "halts" | "place">;
  journal: Pick<Journal, "read" | "session" | "sessions">;
  health(): Promise<readonly Readonly<{ name: string; ok: boolean; detail: string }>[]>;
  now(): number;
}>;

const PAGE = 200;
/** So many of the newest sessions are looked at for one answer. */
const MOST_SESSIONS = 2_000;
const MOST_LOOKED_THROUGH = 20;
const MOST_QUESTIONS = 1_000;

type State = (typeof STATES)[number];

export type Fleet = ReturnType<typeof openFleet>;

export function openFleet({ runtime, journal, health, now }: FleetPorts) {
  const ago = (at: number): string => spanOf(now() - at);

  async function visible(
    voices: CallerAccess,
    sought: Readonly<{ agent: string | null; state: State | null }>,
    most = MOST_SESSIONS,
  ): Promise<Readonly<{ found: readonly SessionSummary[]; more: boolean }>> {
    const found: SessionSummary[] = [];
    let looked = 0;
    for (let before: SessionSummary | null = null; ; ) {
      const page: readonly SessionSummary[] = await journal.sessions({ ...sought, before, most: PAGE });
      for (const one of page) {
        if (looked === MOST_SESSIONS || found.length === most) return { found, more: true };
        looked += 1;
        if (voices.refuses(seeSession(one)) === null) found.push(one);
      }
      before = page.at(-1) ?? null;
      if (page.length < PAGE) return { found, more: false };
    }
  }

  const agentsOf = (voices: CallerAccess): readonly Agent[] =>
    runtime.inspect.agents.filter(({ name }) => voices.refuses(seeAgent(name)) === null);

  function mustSee(voices: CallerAccess, agent: string): Agent {
    const seen = agentsOf(voices);
    const found = seen.find(({ name }) => name === agent);
    if (found === undefined) throw new Error(`there is no agent \`${agent}\`; there are: ${seen.map(({ name }) => name).join(", ")}`);
    return found;
  }

  async function mustRead(voices: CallerAccess, session: string): Promise<SessionSummary> {
    const found = isSessionId(session) ? await journal.session(session) : null;
    if (found === null || voices.refuses(readSession(found)) !== null) throw new Error(`there is no session \`${session}\``);
    return found;
  }

  const haltsSeen = async (voices: CallerAccess) =>
    (await runtime.halts()).filter(({ scope }) => voices.refuses(act("observe", "work", { id: scope })) === null);

  async function listAgents(voices: CallerAccess): Promise<JsonObject> {
    const { found, more } = await visible(voices, { agent: null, state: null });
    const seen = agentsOf(voices);
    const agents = seen.map(({ name, model, tools, delegates: all }) => {
      const own = found.filter(({ agent }) => agent === name);
      const delegates = all.filter((one) => seen.some((agent) => agent.name === one));
      return { name, model, tools: tools.map((t) => t.name), delegates, sessions: own.length, ...countsOf(own) };
    });
    return { count: agents.length, agents, ...(more ? { note: newestOnly } : {}) };
  }

  async function agentStatus(voices: CallerAccess, name: string): Promise<JsonObject> {
    const { model, tools } = mustSee(voices, name);
    const { found, more } = await visible(voices, { agent: name, state: null });
    const [last] = found.toSorted((a, b) => b.lastAt - a.lastAt);
    const touched = new Set([`model:${model}`, ...tools.map((t) => `tool:${t.name}`)]);
    return {
      agent: name,
      model,
      sessions: found.length,
      ...countsOf(found),
      openQuestions: sumOf(found, (s) => s.openQuestions),
      openUnknowns: sumOf(found, (s) => s.openUnknowns),
      halted: (await haltsSeen(voices)).find(({ scope }) => scope === "all" || scope === `agent:${name}`)?.reason ?? null,
      openBreakers: (await openBreakers(voices)).filter(({ breaker }) => touched.has(breakerSubject(breaker))),
      last: last === undefined ? null : { session: last.session, state: last.state, ending: last.ending, ago: ago(last.lastAt) },
      ...(more ? { note: newestOnly } : {}),
    };
  }

  async function listSessions(
    voices: CallerAccess,
    { agent = null, state = null, most }: Readonly<{ agent?: string | null; state?: State | null; most: number }>,
  ): Promise<JsonObject> {
    const { found, more } = await visible(voices, { agent, state }, most);
    const sessions = found.map((s) => ({
      session: s.session,
      agent: s.agent,
      for: s.principal.id,
      state: s.state,
      turns: s.turns,
      ending: s.ending,
      openQuestions: s.openQuestions,
      ago: ago(s.lastAt),
    }));
    return { count: sessions.length, more, sessions };
  }

  /** Of a session; or what was denied, in the newest sessions of an agent or in which a tool was wanted. */
  async function sessionEvents(
    voices: CallerAccess,
    { of, only, most }: Readonly<{ of: string; only: "denied" | "all"; most: number }>,
  ): Promise<JsonObject> {
    if (isSessionId(of)) {
      const events = await tellingOf(journal, (await mustRead(voices, of)).session, only, most);
      return { of, count: events.length, events };
    }
    const agent = agentsOf(voices).find(({ name }) => name === of)?.name ?? null;
    if (agent === null && !agentsOf(voices).some(({ tools }) => tools.some(({ name }) => name === of)))
      throw new Error(`there is no session, agent or tool \`${of}\``);
    const { found } = await visible(voices, { agent, state: null }, MOST_LOOKED_THROUGH);
    const events: JsonObject[] = [];
    for (const one of found) {
      if (events.length >= most || voices.refuses(readSession(one)) !== null) continue;
      const told = await tellingOf(journal, one.session, only, most);
      events.push(...told.filter((e) => agent !== null || e["tool"] === of).slice(0, most - events.length));
    }
    return { of, count: events.length, lookedThrough: found.length, events };
  }

  async function queryMetrics(voices: CallerAccess, agent: string | null): Promise<JsonObject> {
    if (agent !== null) mustSee(voices, agent);
    const { found, more } = await visible(voices, { agent, state: null });
    const usage = found.map((s) => s.usage).reduce(addUsage, NO_USAGE);
    const endings = countBy(found, (s) => s.ending ?? "none yet");
    return {
      agent,
      sessions: found.length,
      ...countsOf(found),
      turns: sumOf(found, (s) => s.turns),
      iterations: sumOf(found, (s) => s.iterations),
      inputTokens: usage.input,
      outputTokens: usage.output,
      openQuestions: sumOf(found, (s) => s.openQuestions),
      openUnknowns: sumOf(found, (s) => s.openUnknowns),
      lastEndings: endings,
      byAgent: countBy(found, (s) => s.agent),
      ...(more ? { note: newestOnly } : {}),
    };
  }

  async function openBreakers(voices: CallerAccess) {
    const seen = (await runtime.breakers.list()).filter(
      ({ breaker, state }) => state !== "closed" && voices.refuses(act("observe", "breaker", { id: breaker })) === null,
    );
    return seen.map(({ breaker, state, failures, reason }) => ({ breaker, state, failures, reason }));
  }

  async function systemHealth(voices: CallerAccess): Promise<JsonObject> {
    const checks = await health();
    const halts = await haltsSeen(voices);
    const breakers = await openBreakers(voices);
    return {
      status: checks.every(({ ok }) => ok) ? "ok" : "failing",
      checks: checks.map((one) => ({ ...one, result: one.ok ? "ok" : "failing" })),
      halts: halts.map(({ scope, by, reason }) => ({ scope, by: by.id, reason })),
      openBreakers: breakers,
    };
  }

  async function listApprovals(voices: CallerAccess, most: number): Promise<JsonObject> {
    const waiting: JsonObject[] = [];
    let more = false;
    let looked = 0;
    for (let after = 0; ; ) {
      const page = await runtime.approvals.list({ after, most: PAGE });
      for (const q of page) {
        looked += 1;
        const about = await aboutQuestion(journal, q);
        if (voices.refuses(act("observe", "approval", about)) !== null) continue;
        if (waiting.length === most || looked > MOST_QUESTIONS) {
          more = true;
          break;
        }
        const why = voices.refuses(act("approve", "approval", about));
        waiting.push({
          approval: q.approval,
          agent: q.agent,
          session: q.session,
          tool: q.tool,
          touches: q.resource === null ? "" : `${q.resource.type} ${q.resource.id}`,
          questions: q.asks.map(({ question }) => question).join(" "),
          for: about.requester ?? null,
          ago: ago(q.askedAt),
          yours: why === null,
          answer: why === null ? "you may answer it" : `not for you to answer: ${why}`,
        });
      }
      after = page.at(-1)?.arrival ?? after;
      if (more || page.length < PAGE)
        return { count: waiting.length, forYou: waiting.filter((w) => w["yours"] === true).length, more, waiting };
    }
  }

  return { listAgents, agentStatus, listSessions, sessionEvents, queryMetrics, systemHealth, listApprovals, mustSee, mustRead };
}

const newestOnly = `of the newest ${MOST_SESSIONS} sessions`;

/** The newest `most` of those wanted, in order, read from the end in pages. */
async function tellingOf(
  journal: Pick<Journal, "read" | "session">,
  session: SessionId,
  only: "denied" | "all",
  most: number,
): Promise<readonly JsonObject[]> {
  const told: JsonObject[] = [];
  const last = (await journal.session(session))?.seq ?? 0;
  for (let end: number = last; end > 0 && told.length < most && last - end < MOST_SESSIONS; end -= PAGE) {
    const start = Math.max(0, end - PAGE);
    for (const entry of (await journal.read(session, seq(start), end - start)).toReversed()) {
      const one = structureOf(entry);
      const isWanted = one !== null && (only === "all" || one["verdict"] === "deny");
      if (isWanted && told.length < most) told.push({ session, seq: entry.seq, at: new Date(entry.at).toISOString(), ...one });
    }
  }
  return told.toReversed();
}

/** W-36. Null: nothing that says what happened. */
function structureOf({ event: e }: Entry): JsonObject | null {
  switch (e.kind) {
    case "gate.decided": {
      const { verdict: v, action } = e;
      const tool = action.kind === "call" ? action.tool : action.kind;
      const why =
        v.kind === "deny" ? (v.by === "contract" ? "there is no such tool, or what it was called with does not fit" : v.reason) : "";
      return {
        event: "decided",
        tool,
        verdict: v.kind,
        policies: v.because.join(", "),
        by: v.kind === "deny" ? v.by : "policy",
        reason: why,
      };
    }
    case "turn.started":
      return { event: "turn started", turn: e.turn, by: e.by.id };
    case "turn.ended":
      return { event: "turn ended", turn: e.turn, ending: e.ending, iterations: e.iterations, calls: e.calls };
    case "approval.asked":
      return { event: "asked", approval: e.approval, questions: e.asks.map(({ question }) => question).join(" ") };
    case "approval.answered":
      return { event: "answered", approval: e.approval, by: e.by.id, answer: e.answer.kind };
    case "approval.expired":
      return { event: "question expired", approval: e.approval };
    case "act.started":
      return { event: "started", tool: e.tool, call: e.call };
    case "act.ended":
      return { event: "ended", call: e.call, outcome: e.outcome.kind };
    case "child.opened":
      return { event: "delegated", agent: e.agent, session: e.child };
    case "session.opened":
    case "session.closed":
    case "turn.cancel-asked":
    case "turn.halted":
    case "model.failed":
      return { event: e.kind };
    default:
      return null;
  }
}

const countsOf = (sessions: readonly SessionSummary[]) => ({
  running: sumOf(sessions, (s) => (s.state === "running" ? 1 : 0)),
  waiting: sumOf(sessions, (s) => (s.state === "waiting" ? 1 : 0)),
  idle: sumOf(sessions, (s) => (s.state === "idle" ? 1 : 0)),
});
const sumOf = <T>(all: readonly T[], of: (one: T) => number): number => all.reduce((sum, one) => sum + of(one), 0);

function countBy<T>(all: readonly T[], of: (one: T) => string): readonly Json[] {
  const counts = new Map<string, number>();
  for (const one of all) counts.set(of(one), (counts.get(of(one)) ?? 0) + 1);
  return [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, count]) => ({ name, count }));
}

function spanOf(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3_600) return `${Math.floor(s / 60)} min`;
  return s < 86_400 ? `${Math.floor(s / 3_600)} h` : countNoun(Math.floor(s / 86_400), "day");
}
