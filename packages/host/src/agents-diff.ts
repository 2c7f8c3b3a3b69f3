/**
 * What a change of agents and policies newly permits and newly forbids: the same requests, decided by both.
 * Y54 requests are those of both sides' decision tables, those at the values where a condition turns, and those that the journal has.
 */
import type { Action, Agent, Facts, JsonObject, Verdict } from "@orgate/core";
import { actionOf, type Case, factsOf, type LoadedPolicy } from "@orgate/core/gate";
import type { Journal } from "@orgate/core/journal";
import { decisionsOf } from "./past-decisions.ts";
import type { LoadedFolder } from "./policies.ts";
import { probesOf } from "./probes.ts";

export type Side = Readonly<{ agents: readonly Agent[]; loaded: LoadedFolder; cases: readonly Case[] }>;
export type Source = "table" | "boundary" | "history";
type Request = Readonly<{ source: Source; action: Action; facts: Facts }>;

export type Decided = Readonly<{ verdict: Verdict["kind"]; because: readonly string[]; reason: string | null }>;
export type Change = Readonly<{
  source: Source;
  agent: string;
  action: string;
  args: JsonObject | null;
  labels: readonly string[];
  before: Decided;
  after: Decided;
  /** How many requests were decided in the same way by the same policies. */
  alike: number;
}>;
export type Differences = Readonly<{
  permits: readonly Change[];
  forbids: readonly Change[];
  asks: readonly Change[];
  tried: Readonly<Record<Source, number>>;
}>;

export function differencesOf(before: Side, after: Side, history: readonly Request[], agent: string | null): Differences {
  const requests = [...fromTables(before, after), ...fromBoundaries(before, after, history), ...history].filter(
    ({ facts }) => agent === null || facts.agent === agent,
  );
  const changes = new Map<string, Change>();
  const tried = { table: 0, boundary: 0, history: 0 };
  for (const { source, action, facts } of requests) {
    tried[source] += 1;
    const [was, is] = [decidedBy(before, action, facts), decidedBy(after, action, facts)];
    if (was.verdict === is.verdict) continue;
    const name = action.kind === "call" ? `tool:${action.tool}` : action.kind;
    const key = JSON.stringify([facts.agent, name, was, is]);
    const same = changes.get(key);
    const args = action.kind === "call" ? action.args : null;
    changes.set(
      key,
      same === undefined
        ? { source, agent: facts.agent, action: name, args, labels: facts.labels, before: was, after: is, alike: 1 }
        : { ...same, alike: same.alike + 1 },
    );
  }
  const all = [...changes.values()];
  return {
    permits: all.filter(({ after: is }) => is.verdict === "allow" || is.verdict === "modify"),
    forbids: all.filter(({ after: is }) => is.verdict === "deny"),
    asks: all.filter(({ after: is }) => is.verdict === "ask" || is.verdict === "defer"),
    tried,
  };
}

/** What an agent does not have, it cannot do, whatever the policies say. */
function decidedBy({ agents, loaded }: Side, action: Action, facts: Facts): Decided {
  const agent = agents.find(({ name }) => name === facts.agent);
  const lacks = (reason: string): Decided => ({ verdict: "deny", because: [], reason });
  if (agent === undefined) return lacks("there is no such agent");
  const tool = action.kind === "call" ? agent.tools.find(({ name }) => name === action.tool) : null;
  if (tool === undefined) return lacks("the agent has no such tool");
  if (action.kind === "delegate" && !agent.delegates.includes(action.to)) return lacks("the agent has no such delegate");
  const asked = action.kind === "call" && tool !== null ? { ...action, effects: tool.effects } : action;
  const { verdict } = loaded.gateFor(facts.surface).decide(asked, facts);
  return { verdict: verdict.kind, because: verdict.because, reason: verdict.kind === "deny" ? verdict.reason : null };
}

function requestOf(c: Case, source: Source, { loaded }: Side): readonly Request[] {
  if (c.user !== undefined || c.agent === undefined) return [];
  const { action, refused } = actionOf(c, loaded.cast.tools);
  return refused === null ? [{ source, action, facts: factsOf(c, loaded.cast.tools) }] : [];
}

/** A case of nobody in particular is tried for every agent. */
function fromTables(before: Side, after: Side): readonly Request[] {
  const names = [...new Set([...before.agents, ...after.agents].map(({ name }) => name))];
  return [before, after].flatMap((side) =>
    side.cases.flatMap((c) =>
      (c.agent === undefined ? names.map((agent) => ({ ...c, agent })) : [c]).flatMap((one) => requestOf(one, "table", side)),
    ),
  );
}

function fromBoundaries(before: Side, after: Side, history: readonly Request[]): readonly Request[] {
  const policies = [...before.loaded.policies, ...after.loaded.policies];
  return after.agents.flatMap((agent) => {
    const old = before.agents.find(({ name }) => name === agent.name);
    const tools = [...agent.tools, ...(old?.tools ?? []).filter((tool) => !agent.tools.some(({ name }) => name === tool.name))];
    const seen = (tool: string): readonly JsonObject[] =>
      history.flatMap(({ action, facts }) =>
        facts.agent === agent.name && action.kind === "call" && action.tool === tool && action.args !== null ? [action.args] : [],
      );
    const about = (id: string, effects: readonly string[]) => policies.filter((policy) => concerns(policy, agent.name, id, effects));
    return [
      ...tools.flatMap((tool) =>
        probesOf(agent, tool, `tool:${tool.name}`, about(`tool:${tool.name}`, tool.effects), seen(tool.name)).map((c) => ({
          c,
          side: agent.tools.includes(tool) ? after : before,
        })),
      ),
      ...["model", "respond"].flatMap((act) => probesOf(agent, null, act, about(act, []), []).map((c) => ({ c, side: after }))),
      ...(agent.knowledge === null
        ? []
        : ["recall", "remember"].flatMap((act) =>
            SCOPES.flatMap((id) => probesOf(agent, null, act, about(act, []), [], { type: "Scope", id }).map((c) => ({ c, side: after }))),
          )),
      ...agent.delegates.flatMap((id) =>
        probesOf(agent, null, "delegate", about("delegate", []), [], { type: "Agent", id }).map((c) => ({ c, side: after })),
      ),
    ].flatMap(({ c, side }) => requestOf(c, "boundary", side));
  });
}

const SCOPES = ["agent", "project", "shared"] as const;

/** By its scope alone: whether it may have a part in it. */
function concerns({ json }: LoadedPolicy, agent: string, action: string, effects: readonly string[]): boolean {
  const [who, what] = [idsIn(json.principal, "Agent"), idsIn(json.action, "Action")];
  return (who.length === 0 || who.includes(agent)) && (what.length === 0 || what.some((id) => id === action || effects.includes(id)));
}

function idsIn(scope: LoadedPolicy["json"]["action"], type: string): readonly string[] {
  const entities: readonly unknown[] = [...(scope.entities ?? []), ...(scope.entity === undefined ? [] : [scope.entity])];
  return entities.flatMap((one) => {
    const outer = typeof one === "object" && one !== null ? one : {};
    const uid: unknown = Reflect.get(outer, "__entity") ?? outer;
    const [kind, id]: [unknown, unknown] =
      typeof uid === "object" && uid !== null ? [Reflect.get(uid, "type"), Reflect.get(uid, "id")] : [null, null];
    return kind === type && typeof id === "string" ? [id] : [];
  });
}

const MOST_SESSIONS = 200;
const MOST_DECISIONS = 5_000;

/** The latest decisions of the journal, each with the facts as they stood. */
export async function historyOf(journal: Pick<Journal, "read" | "sessions">): Promise<readonly Request[]> {
  const found: Request[] = [];
  for (const { session } of await journal.sessions({ state: null, agent: null, before: null, most: MOST_SESSIONS })) {
    for await (const { decided, facts } of decisionsOf(journal, session)) {
      if (found.length >= MOST_DECISIONS) return found;
      if (decided.verdict.kind === "deny" && decided.verdict.by === "contract") continue;
      found.push({ source: "history", action: decided.action, facts });
    }
  }
  return found;
}
