import { type Agent, breakerSubject, FaultError, isFault, listAgentTools, type SessionId } from "@orgate/core";
import type { SessionSummary } from "@orgate/core/journal";
import type { OperationOutput } from "@orgate/protocol";
import { sha256 } from "../../node/crypto.ts";
import { exampleFacts } from "../../policies/example-facts.ts";
import { type Act, act } from "../access.ts";
import { aboutSession } from "../acts.ts";
import { findAgent, type OperationContext } from "../context.ts";
import type { OperationCall, OperationChecks, OperationHandlers } from "../execute.ts";
import { mustBeFree, openUnderCallersId, sessionToSpeakIn } from "../open-session.ts";
import { type ListPage, page, pair, toPage } from "../paging.ts";
import { json, provisional } from "../result.ts";
import { firstResult, listMembers, newestTurns, type ResultView, readTurnResult, type TurnView, waitingResult } from "./turns.ts";

export function agentHandlers(
  front: OperationContext,
): Pick<OperationHandlers, "agents" | "agent" | "agentStatus" | "agentHistory" | "execute"> {
  const { runtime, sessionDriver } = front;
  const mustBe = (name: string): Agent => {
    const agent = findAgent(front, name);
    if (agent === null) throw new FaultError({ kind: "agent-missing", agent: name, known: [] }); // who may not see them is not told of them
    return agent;
  };

  return {
    agents: async ({ query, sees }) => {
      const { items, next } = await toPage(front.cursors, query, [...runtime.inspect.agents].sort(byName), ({ name }) => sees(name));
      return json({ items: items.map((one) => viewOf(one, sees)), next });
    },
    agent: async ({ params, sees }) => json(detailOf(mustBe(params.agent), sees)),
    agentStatus: async ({ params }) => json(await statusOf(front, mustBe(params.agent))),
    agentHistory: async ({ params, query, may }) => json(await historyOf(front, mustBe(params.agent).name, query, may)),
    execute: async (call) => {
      mustBe(call.params.agent);
      const session = await sessionFor(front, call);
      const { input, files, limits, waitMs } = call.body;
      if (limits !== undefined) {
        const result = await withLimits(front, call, session, call.body.session === undefined && call.body.id === undefined);
        return result.state === "waiting" ? provisional(result) : json(result);
      }
      const { caller, key } = call;
      const wish = { kind: "follow-up", text: input, ...(files === undefined ? {} : { files }) } as const;
      await sessionDriver.send({ session, wish, as: caller.person, id: key.intent });
      const came = waitMs === 0 ? null : await sessionDriver.outcome(session, key.intent, waitMs, call.gone);
      if (came !== null && came !== "waiting" && came.event.kind === "turn.ended")
        return json(await readTurnResult(runtime, session, { event: came.event, at: came.seq, sees: call.sees }));
      return provisional(await waitingResult(runtime, session, { isWaiting: came === "waiting", sees: call.sees }));
    },
  };
}

/** A turn that would be refused opens no session, and certifies nobody's key. */
export const agentChecks = (front: OperationContext): OperationChecks => ({
  execute: async (call) => {
    const { params, body, key } = call;
    const agent = findAgent(front, params.agent);
    if (agent === null) throw new FaultError({ kind: "agent-missing", agent: params.agent, known: [] });
    if (body.limits !== undefined) mustLower(agent.limits, body.limits);
    if (body.id !== undefined) mustBeFree(body.id, key);
    if (body.session === undefined) return;
    if (body.subject !== undefined)
      throw unfit("whom a session serves is said when it is opened", "leave `subject` out, or open another session");
    const session = await sessionToSpeakIn(front.runtime, call, params.agent, body.session);
    const summary = body.limits === undefined ? null : await front.runtime.inspect.session(session);
    if (summary !== null && summary.turns > 0) throw notFirstTurn();
  },
});

const byName = (a: Agent, b: Agent): number => (a.name < b.name ? -1 : 1);

/** Opened under a name that is the caller's, or the key's: sent again it is the same one. */
async function sessionFor({ runtime }: OperationContext, call: OperationCall<"execute">): Promise<SessionId> {
  const { params, body, caller, key } = call;
  if (body.session !== undefined) return sessionToSpeakIn(runtime, call, params.agent, body.session);
  const subject = body.subject === undefined ? {} : { subject: body.subject };
  const wanted = { agent: params.agent, id: body.id ?? key.external, labels: body.labels ?? [], ...subject };
  return (await openUnderCallersId(runtime, caller, wanted, key)).session;
}

/** Limits go with a turn that is begun here and now: only a new session is sure not to have one. */
async function withLimits(
  front: OperationContext,
  { params, body, caller, sees }: OperationCall<"execute">,
  session: SessionId,
  isKeys: boolean,
): Promise<ResultView> {
  const { runtime } = front;
  const summary = await runtime.inspect.session(session);
  if (summary !== null && summary.turns > 0) {
    if (isKeys) return firstResult(runtime, session, sees); // sent again, after a server that went before it answered
    throw notFirstTurn();
  }
  const { input, files = [], limits = {} } = body;
  const run = runtime.run(params.agent, input, { session, files, limits, principal: caller.principal });
  const result = await run.result.catch((error: unknown) => {
    if (isFault(error, "session-busy")) return null; // sent again: it is under way
    throw error;
  });
  if (result === null || result.state === "waiting") return waitingResult(runtime, session, { isWaiting: result !== null, sees });
  const { conversation: _, parent: __, questions, unknowns, ...rest } = result;
  const members = await listMembers(runtime, session, sees, null);
  return { ...rest, questions: questions.map((q) => q.approval), unknowns: unknowns.map((u) => u.call), members };
}

/** W-21. The limits of an agent's definition hold for every caller from outside: `null` is no limit at all. */
function mustLower(own: Readonly<Record<string, unknown>>, given: Readonly<Record<string, unknown>>): void {
  const isMore = (now: unknown, wanted: unknown): boolean =>
    typeof now === "number" && (wanted === null || (typeof wanted === "number" && wanted > now));
  const [raised] = Object.keys(given).filter((name) => name !== "temperature" && isMore(own[name], given[name]));
  if (raised !== undefined)
    throw unfit(`the agent's own limit \`${raised}\` can be lowered, not raised`, "raise it in the agent's definition");
}

const notFirstTurn = (): FaultError =>
  unfit("limits can be given for the first turn of a session only", "leave `limits` out, or open another session");
const unfit = (detail: string, hint: string): FaultError => new FaultError({ kind: "usage", detail, hint });

/** The first line of its instructions, as a description. */
const firstLine = (text: string): string => (text.trim().split("\n", 1)[0] ?? "").slice(0, 200);

/** Of whom it may delegate to, those that the caller may see. */
type Sees = (agent: string) => boolean;

const viewOf = (agent: Agent, sees: Sees): OperationOutput<"agents">["items"][number] => ({
  name: agent.name,
  description: firstLine(agent.instructions),
  model: agent.model,
  tools: listAgentTools(agent).map(({ name }) => name),
  delegates: agent.delegates.filter(sees),
  digest: agent.digest(sha256),
});

const detailOf = (agent: Agent, sees: Sees): unknown => ({
  name: agent.name,
  description: firstLine(agent.instructions),
  instructions: agent.instructions,
  model: agent.model,
  fallbacks: agent.fallbacks.map(({ model }) => model),
  tools: listAgentTools(agent).map((tool, _, all) => ({
    name: tool.name,
    description: tool.description,
    input: tool.inputSchema,
    repeat: tool.repeat,
    effects: tool.effects,
    labels: tool.labels,
    facts: exampleFacts(tool, all),
  })),
  delegates: agent.delegates.filter(sees),
  skills: agent.skills.map(({ name, description }) => ({ name, description })),
  limits: agent.limits,
  digest: agent.digest(sha256),
  warnings: agent.warnings,
});

async function statusOf({ runtime }: OperationContext, agent: Agent): Promise<OperationOutput<"agentStatus">> {
  const { name } = agent;
  const sessions = { idle: 0, running: 0, waiting: 0, closed: 0 };
  const tallied = (await runtime.place.store.tally()).filter((one) => one.agent === name);
  for (const { state, count } of tallied) sessions[state] = count;
  const [newest] = await runtime.inspect.sessions({ state: null, agent: name, before: null, most: 1 });
  const mine = new Set([...listAgentTools(agent).map((tool) => `tool:${tool.name}`), `model:${agent.model}`]);
  const halts = await runtime.halts();
  return {
    agent: name,
    sessions,
    openQuestions: tallied.reduce((sum, one) => sum + one.openQuestions, 0),
    openUnknowns: tallied.reduce((sum, one) => sum + one.openUnknowns, 0),
    halted: halts.find(({ scope }) => scope === "all" || scope === `agent:${name}`) ?? null,
    breakers: (await runtime.breakers.list()).filter(({ breaker, state }) => state !== "closed" && mine.has(breakerSubject(breaker))),
    lastAt: newest?.lastAt ?? null,
    lastEnding: newest?.ending ?? null,
  };
}

/** Newest session first; within one its newest turn. */
async function historyOf({ runtime, cursors }: OperationContext, agent: string, query: ListPage, may: (act: Act) => boolean) {
  const sessions = new Map<SessionId, SessionSummary>();
  /** A session that may not be seen is a row that is not shown: looking past them is bounded like looking at them. */
  type Row = Readonly<{ turn: TurnView | null; of: SessionSummary }>;
  const { items, next } = await page<Row>(cursors, query, {
    async read(after, most) {
      const [session, first] = pair(after) ?? [null, null];
      const rows: Row[] = [];
      const from = session === null ? null : (sessions.get(session as SessionId) ?? (await runtime.inspect.session(session as SessionId)));
      if (from !== null) await take(rows, most, from, Number(first) - 1);
      for (let before: SessionSummary | null = from; rows.length < most; ) {
        const found: readonly SessionSummary[] = await runtime.inspect.sessions({ state: null, agent, before, most: 20 });
        for (const of of found) await take(rows, most, of, of.seq);
        before = found.at(-1) ?? null;
        if (found.length < 20) break;
      }
      return rows;
    },
    place: ({ turn, of }) => {
      sessions.set(of.session, of);
      return `${of.session} ${turn?.first ?? 0}`;
    },
    shows: ({ turn }) => turn !== null,
  });
  return { items: items.map(({ turn }) => turn), next };

  /** The turns of a session up to one of its entries, as far as there is room (W-20). */
  async function take(rows: Row[], most: number, of: SessionSummary, end: number): Promise<void> {
    if (rows.length >= most) return;
    if (!may(act("observe", "session", aboutSession(of)))) return void (end >= of.seq && rows.push({ turn: null, of }));
    for await (const turn of newestTurns(runtime, of.session, end)) {
      rows.push({ turn, of });
      if (rows.length >= most) return;
    }
  }
}
