/** `runtime.run`: starts one turn, in a new session or in one that is there. */
import {
  type Agent,
  FaultError,
  type JournalEvent,
  type Limits,
  type Live,
  label,
  openSession,
  type Principal,
  type RunResult,
  readRunOutput,
  type SessionId,
  type Surface,
  withChosenModel,
} from "@orgate/core";
import { toAttachments, toHistory } from "../files/file-input.ts";
import { sha256 } from "../node/crypto.ts";
import { type AgentAssembly, withOutputOfRun } from "./agent-assembly.ts";
import { resolveLimits } from "./agent-checks.ts";
import type { AgentRef, RunOptions } from "./api.ts";
import type { Composed } from "./compose.ts";
import type { OpenProjectStore } from "./ports/project-store.ts";
import type { SessionRunner, TakenSession } from "./session-runner.ts";
import type { Sessions } from "./sessions.ts";

export type TurnParts = Readonly<{
  place: OpenProjectStore;
  agents: AgentAssembly;
  runner: SessionRunner;
  sessions: Sessions;
  principal: Principal;
  surfaceOf(agent: string): Surface;
}>;

type TurnDriver = Readonly<{ agent: Agent; limits: Limits; composed: Composed }>;
export type Turn = Readonly<{ ref: AgentRef; input: string; options: RunOptions }>;

export async function runTurn(parts: TurnParts, turn: Turn, watch: (live: Live) => void, closing: AbortSignal): Promise<RunResult> {
  const { place, agents, runner } = parts;
  const { options } = turn;
  const name = agents.nameOf(turn.ref);
  const files = toAttachments(options.files ?? []);
  const agent = agents.find(name);
  const output = options.output === undefined ? null : readRunOutput(options.output, options.outputRepairs, name, sha256);
  const { model = null } = options;
  const driverOn = (chosen: string | null): TurnDriver => {
    const running = withChosenModel(agent, model ?? chosen);
    return { agent: running, limits: resolveLimits(running, options.limits), composed: agents.assemble(running, watch) };
  };
  const by = options.principal ?? parts.principal;
  const fresh = options.session === undefined ? driverOn(null) : null; // reports what is wrong before a session is opened
  const session = options.id === undefined ? options.session : await sessionNamed(parts.sessions, name, by, { ...options, id: options.id });
  const { held, driver } =
    session === undefined
      ? await openNew(fresh ?? driverOn(null), by, options, parts)
      : await runner.takeIdle(session, ({ chosen }) => driverOn(chosen));
  const number = held.state.turns + 1;
  const choice: readonly JournalEvent[] =
    model === null || model === held.state.chosen ? [] : [{ kind: "model.chosen", model, by, intent: null }];
  const input = turn.input.toWellFormed();
  const start: JournalEvent = { kind: "turn.started", turn: number, input, files, by, limits: driver.limits, intent: null };
  const composed = output === null ? driver.composed : withOutputOfRun(driver.composed, agent, { turn: number, output });
  const begin = [...held.begin, ...choice, start];
  const until = options.signal === undefined ? closing : AbortSignal.any([options.signal, closing]);
  const { state, fold } = await runner.drive(composed, { ...held, begin }, driver.limits, until);
  const result = await runner.resultOf(state, driver.agent);
  place.folds.put(fold); // last: the next to take it changes the state
  return result;
}

/** The session with this external id, opened under it when there is none. */
async function sessionNamed(
  sessions: Sessions,
  agent: string,
  principal: Principal,
  { id, session, labels = [], history = [], model }: RunOptions & Readonly<{ id: string }>,
): Promise<SessionId> {
  const there = (await sessions.create({ agent, id, principal, labels, history, ...(model === undefined ? {} : { model }) })).session;
  if (session === undefined || session === there) return there;
  throw new FaultError({ kind: "external-taken", external: id, session: there });
}

async function openNew(
  driver: TurnDriver,
  principal: Principal,
  { labels = [], history = [] }: RunOptions,
  { surfaceOf }: TurnParts,
): Promise<TakenSession<TurnDriver>> {
  const { ports, facts } = driver.composed;
  const held = await openSession(ports, {
    agent: facts,
    principal,
    surface: surfaceOf(facts.name),
    labels: labels.map(label),
    history: toHistory(history),
    external: null,
    parent: null,
    origin: null,
  });
  return { held, driver };
}
