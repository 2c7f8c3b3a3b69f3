/**
 * Finds what a change of agents and policies newly permits and newly forbids: the same requests, decided by both.
 * Y-14 requests are those of both sides' decision tables, those at the values where a condition turns, and those that the journal has. Y-14 what reads otherwise is told even where no
 * request was found that it decides otherwise: nothing is called the same that is not.
 */
import { type Action, type Agent, type Facts, type JsonObject, SCOPES, type Tool, toCanonicalJson, type Verdict } from "@orgate/core";
import { type Case, type LoadedPolicy, toCaseAction, toCaseFacts } from "@orgate/core/gate";
import type { Journal } from "@orgate/core/journal";
import { readPastDecisions } from "./past-decisions.ts";
import type { LoadedFolder } from "./policy-load.ts";
import { type ProbeOptions, policyProbes } from "./policy-probes.ts";

export type DiffSide = Readonly<{ agents: readonly Agent[]; loaded: LoadedFolder; cases: readonly Case[] }>;
export type DiffSource = "table" | "boundary" | "history";
type Request = Readonly<{ source: DiffSource; action: Action; facts: Facts }>;

/** `terms`: of a question, how it is asked and answered; of a change of arguments, which. */
export type ComparedDecision = Readonly<{
  verdict: Verdict["kind"];
  because: readonly string[];
  reason: string | null;
  terms: string | null;
}>;
export type DecisionChange = Readonly<{
  source: DiffSource;
  agent: string;
  action: string;
  args: JsonObject | null;
  labels: readonly string[];
  /** Where the sessions were opened of all that are alike. */
  surfaces: readonly Facts["surface"][];
  before: ComparedDecision;
  after: ComparedDecision;
  /** How many requests were decided in the same way by the same policies. */
  alike: number;
}>;
/** A difference in the text: a setting of an agent, or a policy that only one side has. */
export type RewrittenPolicy = Readonly<{ agent: string | null; what: string; before: string | null; after: string | null }>;
export type AgentDifferences = Readonly<{
  permits: readonly DecisionChange[];
  forbids: readonly DecisionChange[];
  asks: readonly DecisionChange[];
  rewritten: readonly RewrittenPolicy[];
  tried: Readonly<Record<DiffSource, number>>;
  /** There was more to try at the turning points of these: `AGENT ACTION`. */
  cut: readonly string[];
}>;

export function compareSides(before: DiffSide, after: DiffSide, history: readonly Request[], agent: string | null): AgentDifferences {
  const { requests: atTurns, cut } = fromBoundaries(before, after, history);
  const requests = [...fromTables(before, after), ...atTurns, ...history].filter(({ facts }) => agent === null || facts.agent === agent);
  const changes = new Map<string, DecisionChange>();
  const tried = { table: 0, boundary: 0, history: 0 };
  for (const { source, action, facts } of requests) {
    tried[source] += 1;
    const [was, is] = [decidedBy(before, action, facts), decidedBy(after, action, facts)];
    if (was.verdict === is.verdict && was.terms === is.terms) continue;
    const name = action.kind === "call" ? `tool:${action.tool}` : action.kind;
    const key = JSON.stringify([facts.agent, name, was, is]);
    const same = changes.get(key);
    const args = action.kind === "call" ? action.args : null;
    changes.set(
      key,
      same === undefined
        ? {
            source,
            agent: facts.agent,
            action: name,
            args,
            labels: facts.labels,
            surfaces: [facts.surface],
            before: was,
            after: is,
            alike: 1,
          }
        : { ...same, alike: same.alike + 1, surfaces: [...new Set([...same.surfaces, facts.surface])] },
    );
  }
  const all = [...changes.values()];
  return {
    permits: all.filter(({ after: is }) => is.verdict === "allow" || is.verdict === "modify"),
    forbids: all.filter(({ after: is }) => is.verdict === "deny"),
    asks: all.filter(({ after: is }) => is.verdict === "ask" || is.verdict === "defer"),
    rewritten: rewrittenOf(before, after).filter((one) => agent === null || one.agent === null || one.agent === agent),
    tried,
    cut: cut.filter((one) => agent === null || one.startsWith(`${agent} `)),
  };
}

/** An agent cannot use what it does not have, whatever the policies say. */
function decidedBy({ agents, loaded }: DiffSide, action: Action, facts: Facts): ComparedDecision {
  const agent = agents.find(({ name }) => name === facts.agent);
  const lacks = (reason: string): ComparedDecision => ({ verdict: "deny", because: [], reason, terms: null });
  if (agent === undefined) return lacks("there is no such agent");
  const tool = action.kind === "call" ? agent.tools.find(({ name }) => name === action.tool) : null;
  if (tool === undefined) return lacks("the agent has no such tool");
  if (action.kind === "delegate" && !agent.delegates.includes(action.to)) return lacks("the agent has no such delegate");
  const asked = action.kind === "call" && tool !== null ? { ...action, effects: tool.effects } : action;
  const { verdict } = loaded.gateFor(facts.surface).decide(asked, facts);
  return {
    verdict: verdict.kind,
    because: verdict.because,
    reason: verdict.kind === "deny" ? verdict.reason : null,
    terms: termsOf(verdict),
  };
}

function termsOf(verdict: Verdict): string | null {
  if (verdict.kind === "modify") return toCanonicalJson(verdict.edits);
  return verdict.kind === "ask" ? toCanonicalJson(verdict.asks.map(({ policy: _, ...terms }) => terms)) : null;
}

/** By name, whatever it is: what a session of the agent depends on, and each policy, as far as it says what is decided. */
function rewrittenOf(before: DiffSide, after: DiffSide): readonly RewrittenPolicy[] {
  const names = [...new Set([...before.agents, ...after.agents].map(({ name }) => name))].sort();
  const settings = names.flatMap((name) => {
    const [was, is] = [before, after].map(({ agents }) => agents.find((one) => one.name === name));
    if (was === undefined || is === undefined)
      return [{ agent: name, what: "agent", before: was === undefined ? null : "there", after: is === undefined ? null : "there" }];
    const [old, now] = [settingsIn(was), settingsIn(is)];
    const own = Object.keys(now).flatMap((what) =>
      old[what] === now[what] ? [] : [{ agent: name, what, before: old[what] ?? null, after: now[what] ?? null }],
    );
    return [...own, ...toolsRewritten(was, is)];
  });
  const [old, now] = [before, after].map(({ loaded }) => Map.groupBy(loaded.policies, plainText));
  const only = (these: typeof old, others: typeof old): readonly LoadedPolicy[] =>
    [...(these ?? [])].flatMap(([text, all]) => all.slice(others?.get(text)?.length ?? 0));
  const policies = [
    ...only(old, now).map((one) => ({ agent: ownerOf(one), what: one.id, before: one.text, after: null })),
    ...only(now, old).map((one) => ({ agent: ownerOf(one), what: one.id, before: null, after: one.text })),
  ];
  return [...settings, ...policies];
}

function settingsIn(agent: Agent): Readonly<Record<string, string>> {
  const { model, fallbacks, limits, groups, delegates, maxDepth, knowledge, instructions, output, breaker, retry, context } = agent;
  const all = {
    model,
    fallbacks,
    skills: agent.skills.map(({ name }) => name),
    delegates,
    groups,
    maxDepth,
    limits,
    knowledge,
    instructions,
    output: output?.schema ?? null,
    breaker,
    retry,
    context,
  };
  return Object.fromEntries(Object.entries(all).map(([what, value]) => [what, JSON.stringify(value)]));
}

/** All that a tool says of itself, by field: a target of another kind or of other things decides otherwise, whatever it is called. */
function declaredBy(tool: Tool): Readonly<Record<string, string>> {
  const { description, inputSchema, effects, labels, riskTier, humanApproval, sandbox, repeat, outgoing, learns, records } = tool;
  const targets = Object.entries(tool.targets).map(([arg, { kind, of, per, known }]) => [arg, { kind, of, per: per ?? null, known }]);
  const all = {
    ...{ description, input: inputSchema, effects, labels, riskTier, humanApproval, sandbox, repeat, outgoing, learns, records },
    ...{ targets: Object.fromEntries(targets), names: tool.names?.of ?? null, resources: tool.resourceTypes, maxCents: tool.maxCents },
  };
  return Object.fromEntries(Object.entries(all).map(([what, value]) => [what, toCanonicalJson(value)]));
}

/** One entry for all tools of an agent, with what differs alone: their whole definitions hide it. */
function toolsRewritten(was: Agent, is: Agent): readonly RewrittenPolicy[] {
  const [old, now] = [was, is].map(({ tools }) => new Map(tools.map((tool) => [tool.name, declaredBy(tool)])));
  const names = [...new Set([...(old?.keys() ?? []), ...(now?.keys() ?? [])])].sort();
  const changes = names.flatMap((name) => {
    const [a, b] = [old?.get(name), now?.get(name)];
    if (a === undefined || b === undefined) return [{ name, before: a && "there", after: b && "there" }];
    return Object.keys(b).flatMap((what) => (a[what] === b[what] ? [] : [{ name: `${name}.${what}`, before: a[what], after: b[what] }]));
  });
  if (changes.length === 0) return [];
  const side = (of: "before" | "after"): string => changes.flatMap((one) => (one[of] ? [`${one.name}: ${one[of]}`] : [])).join("; ");
  return [{ agent: is.name, what: "tools", before: side("before") || null, after: side("after") || null }];
}

/** Without its name and its place, which say nothing of what is decided. */
const plainText = ({ text, shadow }: LoadedPolicy): string =>
  `${shadow ? "shadow " : ""}${text.replace(/@id\("[^"]*"\)\s*/, "").replace(/ \([^()"]*:\d+\)"\)/, '")')}`;

const ownerOf = ({ json }: LoadedPolicy): string | null => idsIn(json.principal, "Agent")[0] ?? null;

function requestOf(c: Case, source: DiffSource, { loaded }: DiffSide): readonly Request[] {
  if (c.user !== undefined || c.agent === undefined) return [];
  const { action, refused } = toCaseAction(c, loaded.cast.tools);
  return refused === null ? [{ source, action, facts: toCaseFacts(c, loaded.cast.tools) }] : [];
}

/** A case of nobody in particular is tried for every agent. */
function fromTables(before: DiffSide, after: DiffSide): readonly Request[] {
  const names = [...new Set([...before.agents, ...after.agents].map(({ name }) => name))];
  return [before, after].flatMap((side) =>
    side.cases.flatMap((c) =>
      (c.agent === undefined ? names.map((agent) => ({ ...c, agent })) : [c]).flatMap((one) => requestOf(one, "table", side)),
    ),
  );
}

type AtTurns = Readonly<{ requests: readonly Request[]; cut: readonly string[] }>;

function fromBoundaries(before: DiffSide, after: DiffSide, history: readonly Request[]): AtTurns {
  const [requests, cut]: [Request[], string[]] = [[], []];
  const known = [before, after].map(({ loaded }) => new Set(loaded.policies.map(plainText)));
  const isNews = (policy: LoadedPolicy): boolean => known.some((texts) => !texts.has(plainText(policy)));
  const policies = [...after.loaded.policies, ...before.loaded.policies].sort((a, b) => Number(isNews(b)) - Number(isNews(a)));
  const users = [...after.loaded.cast.users, ...before.loaded.cast.users];
  for (const name of new Set([...after.agents, ...before.agents].map((agent) => agent.name))) {
    const [now, old] = [after, before].map(({ agents }) => agents.find((agent) => agent.name === name));
    const about = (id: string, effects: readonly string[]) => policies.filter((policy) => concerns(policy, name, id, effects));
    const tryAll = (probing: Omit<ProbeOptions, "agent" | "users">, side: DiffSide): void => {
      const { cases, isCut } = policyProbes({ agent: name, users, ...probing });
      requests.push(...cases.flatMap((c) => requestOf(c, "boundary", side)));
      if (isCut) cut.push(`${name} ${probing.act}`);
    };
    const gone = (old?.tools ?? []).filter((tool) => now?.tools.some((one) => one.name === tool.name) !== true);
    for (const [tools, side] of [[now?.tools ?? [], after] as const, [gone, before] as const])
      for (const tool of tools) {
        const act = `tool:${tool.name}`;
        tryAll({ tool, act, policies: about(act, tool.effects), bases: seenOf(history, name, tool.name), resources: [] }, side);
      }
    for (const [act, resources] of Object.entries(actsOf(now, old)))
      tryAll({ tool: null, act, policies: about(act, []), bases: [], resources }, now === undefined ? before : after);
  }
  return { requests, cut };
}

const seenOf = (history: readonly Request[], agent: string, tool: string): readonly JsonObject[] =>
  history.flatMap(({ action, facts }) =>
    facts.agent === agent && action.kind === "call" && action.tool === tool && action.args !== null ? [action.args] : [],
  );

/** Acts of an agent beside tool calls, with their resources. */
function actsOf(...sides: readonly (Agent | undefined)[]): Readonly<Record<string, ProbeOptions["resources"]>> {
  const both = sides.flatMap((agent) => (agent === undefined ? [] : [agent]));
  const of = (type: string, ids: readonly string[]) => [...new Set(ids)].map((id) => ({ type, id }));
  return {
    model: of("Model", ["offline/echo", ...both.flatMap(({ model, fallbacks }) => [model, ...fallbacks.map((one) => one.model)])]),
    respond: of("User", ["somebody"]),
    ...(both.some(({ delegates }) => delegates.length > 0)
      ? {
          delegate: of(
            "Agent",
            both.flatMap(({ delegates }) => delegates),
          ),
        }
      : {}),
    ...(both.some(({ knowledge }) => knowledge !== null) ? { recall: of("Scope", SCOPES), remember: of("Scope", SCOPES) } : {}),
  };
}

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
export async function readPastRequests(journal: Pick<Journal, "read" | "sessions">): Promise<readonly Request[]> {
  const found: Request[] = [];
  for (const { session } of await journal.sessions({ state: null, agent: null, before: null, most: MOST_SESSIONS })) {
    for await (const { decided, facts } of readPastDecisions(journal, session)) {
      if (found.length >= MOST_DECISIONS) return found;
      if (decided.verdict.kind === "deny" && decided.verdict.by === "contract") continue;
      found.push({ source: "history", action: decided.action, facts });
    }
  }
  return found;
}
