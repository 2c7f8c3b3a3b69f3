/**
 * The fleet as the coordinator's tools report it: names, states, counts, decisions. Read again for each call, and only what all speakers of the
 * conversation may see.
 *
 * W-9 an item that an operator may not see is in no list, count or figure, as if it did not exist.
 * W-36 every list says how many there are in it and whether there is more; no answer grows with the journal.
 */
import type { Agent, Journal, Json, JsonObject } from "@orgate/core";
import type { SessionSummary } from "@orgate/core/journal";
import { addUsage, breakerSubject, isSessionId, NO_USAGE } from "@orgate/core/vocab";
import type { EventsSought } from "../../coordinator/ports.ts";
import type { Runtime } from "../../runtime/api.ts";
import { type Act, act } from "../access.ts";
import { type CallerAccess, readSession, seeAgent, seeSession } from "./caller-access.ts";
import { readStructure } from "./session-structure.ts";
import { agoText } from "./shown.ts";

export type FleetPorts = Readonly<{
  runtime: Pick<Runtime, "inspect" | "breakers" | "halts" | "place">;
  journal: Pick<Journal, "read" | "session" | "sessions">;
  health(): Promise<readonly Readonly<{ name: string; ok: boolean; detail: string }>[]>;
  now(): number;
}>;

const PAGE = 200;
/** The newest sessions that are read for one answer. */
const MOST_SESSIONS = 2_000;
const MOST_LOOKED_THROUGH = 20;

/** The fleet as the speakers of one conversation may see it. */
export class Fleet {
  readonly #ports: FleetPorts;
  readonly #access: CallerAccess;

  constructor(ports: FleetPorts, access: CallerAccess) {
    this.#ports = ports;
    this.#access = access;
  }

  #maySee(wanted: Act): boolean {
    return this.#access.refuses(wanted) === null;
  }

  #ago(at: number): string {
    return agoText(this.#ports.now() - at);
  }

  async #sessions(
    sought: Readonly<{ agent: string | null; state: SessionSummary["state"] | null }>,
    most = MOST_SESSIONS,
  ): Promise<Readonly<{ found: readonly SessionSummary[]; more: boolean }>> {
    const found: SessionSummary[] = [];
    let looked = 0;
    for (let before: SessionSummary | null = null; ; ) {
      const page: readonly SessionSummary[] = await this.#ports.journal.sessions({ ...sought, before, most: PAGE });
      for (const one of page) {
        if (looked === MOST_SESSIONS || found.length === most) return { found, more: true };
        looked += 1;
        if (this.#maySee(seeSession(one))) found.push(one);
      }
      before = page.at(-1) ?? null;
      if (page.length < PAGE) return { found, more: false };
    }
  }

  #agents(): readonly Agent[] {
    return this.#ports.runtime.inspect.agents.filter(({ name }) => this.#maySee(seeAgent(name)));
  }

  mustSee(agent: string): Agent {
    const seen = this.#agents();
    const found = seen.find(({ name }) => name === agent);
    if (found === undefined) throw new Error(`there is no agent \`${agent}\`; there are: ${seen.map(({ name }) => name).join(", ")}`);
    return found;
  }

  async mustRead(session: string): Promise<SessionSummary> {
    const found = isSessionId(session) ? await this.#ports.journal.session(session) : null;
    if (found === null || !this.#maySee(readSession(found))) throw new Error(`there is no session \`${session}\``);
    return found;
  }

  async #halts() {
    return (await this.#ports.runtime.halts()).filter(({ scope }) => this.#maySee(act("observe", "work", { id: scope })));
  }

  async listAgents(): Promise<JsonObject> {
    const { found, more } = await this.#sessions({ agent: null, state: null });
    const seen = this.#agents();
    const agents = seen.map(({ name, model, tools, delegates: all }) => {
      const own = found.filter(({ agent }) => agent === name);
      const delegates = all.filter((one) => seen.some((agent) => agent.name === one));
      return { name, model, tools: tools.map((t) => t.name), delegates, sessions: own.length, ...countStates(own) };
    });
    return { count: agents.length, agents, ...(more ? { note: newestOnly } : {}) };
  }

  async agentStatus(name: string): Promise<JsonObject> {
    const { model, tools } = this.mustSee(name);
    const { found, more } = await this.#sessions({ agent: name, state: null });
    const [last] = found.toSorted((a, b) => b.lastAt - a.lastAt);
    const touched = new Set([`model:${model}`, ...tools.map((t) => `tool:${t.name}`)]);
    return {
      agent: name,
      model,
      sessions: found.length,
      ...countStates(found),
      openQuestions: sumBy(found, (s) => s.openQuestions),
      openUnknowns: sumBy(found, (s) => s.openUnknowns),
      halted: (await this.#halts()).find(({ scope }) => scope === "all" || scope === `agent:${name}`)?.reason ?? null,
      openBreakers: (await this.#openBreakers()).filter(({ breaker }) => touched.has(breakerSubject(breaker))),
      last: last === undefined ? null : { session: last.session, state: last.state, ending: last.ending, ago: this.#ago(last.lastAt) },
      ...(more ? { note: newestOnly } : {}),
    };
  }

  /** Of a session; or what was denied, in the newest sessions of an agent or in which a tool was wanted. */
  async sessionEvents({ of, only, most }: EventsSought): Promise<JsonObject> {
    if (isSessionId(of)) {
      const events = await readStructure(this.#ports.journal, (await this.mustRead(of)).session, only, most);
      return { of, count: events.length, events };
    }
    const agent = this.#agents().find(({ name }) => name === of)?.name ?? null;
    if (agent === null && !this.#agents().some(({ tools }) => tools.some(({ name }) => name === of)))
      throw new Error(`there is no session, agent or tool \`${of}\``);
    const { found } = await this.#sessions({ agent, state: null }, MOST_LOOKED_THROUGH);
    const events: JsonObject[] = [];
    for (const one of found) {
      if (events.length >= most || !this.#maySee(readSession(one))) continue;
      const structure = await readStructure(this.#ports.journal, one.session, only, most);
      events.push(...structure.filter((e) => agent !== null || e["tool"] === of).slice(0, most - events.length));
    }
    return { of, count: events.length, lookedThrough: found.length, events };
  }

  async queryMetrics(agent: string | null): Promise<JsonObject> {
    if (agent !== null) this.mustSee(agent);
    const { found, more } = await this.#sessions({ agent, state: null });
    const usage = found.map((s) => s.usage).reduce(addUsage, NO_USAGE);
    const endings = countBy(found, (s) => s.ending ?? "none yet");
    return {
      agent,
      sessions: found.length,
      ...countStates(found),
      turns: sumBy(found, (s) => s.turns),
      iterations: sumBy(found, (s) => s.iterations),
      inputTokens: usage.input,
      outputTokens: usage.output,
      openQuestions: sumBy(found, (s) => s.openQuestions),
      openUnknowns: sumBy(found, (s) => s.openUnknowns),
      lastEndings: endings,
      byAgent: countBy(found, (s) => s.agent),
      ...(more ? { note: newestOnly } : {}),
    };
  }

  async #openBreakers() {
    const seen = (await this.#ports.runtime.breakers.list()).filter(
      ({ breaker, state }) => state !== "closed" && this.#maySee(act("observe", "breaker", { id: breaker })),
    );
    return seen.map(({ breaker, state, failures, reason }) => ({ breaker, state, failures, reason }));
  }

  async systemHealth(): Promise<JsonObject> {
    const checks = await this.#ports.health();
    const halts = await this.#halts();
    const breakers = await this.#openBreakers();
    return {
      status: checks.every(({ ok }) => ok) ? "ok" : "failing",
      checks: checks.map((one) => ({ ...one, result: one.ok ? "ok" : "failing" })),
      halts: halts.map(({ scope, by, reason }) => ({ scope, by: by.id, reason })),
      openBreakers: breakers,
    };
  }
}

const newestOnly = `of the newest ${MOST_SESSIONS} sessions`;

const countStates = (sessions: readonly SessionSummary[]) => ({
  running: sumBy(sessions, (s) => (s.state === "running" ? 1 : 0)),
  waiting: sumBy(sessions, (s) => (s.state === "waiting" ? 1 : 0)),
  idle: sumBy(sessions, (s) => (s.state === "idle" ? 1 : 0)),
});
const sumBy = <T>(all: readonly T[], of: (one: T) => number): number => all.reduce((sum, one) => sum + of(one), 0);

function countBy<T>(all: readonly T[], of: (one: T) => string): readonly Json[] {
  const counts = new Map<string, number>();
  for (const one of all) counts.set(of(one), (counts.get(of(one)) ?? 0) + 1);
  return [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, count]) => ({ name, count }));
}
