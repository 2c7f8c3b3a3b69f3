/** Server state beside a shell's conversations: agents, waiting approval requests, halts, names to complete. Read again when an entry changes it. */

import { haltText } from "@orgate/core/vocab";
import type { Called, Link, OperationOutput } from "@orgate/protocol";
import type { ServerConnection } from "./connection.ts";
import type { ArgumentKind, Offer } from "./ui/input/complete.ts";

export type Agents = OperationOutput<"agents">["items"];
export type WaitingApprovals = OperationOutput<"approvals">["items"];
export type AgentDetail = OperationOutput<"agent">;
type Sessions = OperationOutput<"sessions">["items"];
type Halts = OperationOutput<"halts">["items"];

export type ServerSnapshot = Readonly<{
  agents(): Agents;
  refreshAgents(): Promise<void>;
  /** Open approval requests in all sessions that this operator may see. */
  waiting(): WaitingApprovals;
  refreshWaiting(): Promise<void>;
  /** Halts in force that this operator may see. */
  halts(): Halts;
  refreshHalts(): Promise<void>;
  /** Reads the names of sessions and schedules again, for completion. */
  refreshNames(): void;
  /** The agent's definition, fetched once. */
  detail(agent: string): Promise<AgentDetail | null>;
  /** The agent's definition if it was fetched already. */
  cachedDetail(agent: string | null): AgentDetail | null;
  /** Completions for an argument; null: complete names of files. */
  suggest(kind: Exclude<ArgumentKind, "command">, addressee: string | null): readonly Offer[] | null;
}>;

type Ports = Readonly<{
  link: Pick<Link, "follow">;
  /** The value of a call, or null after its problem was printed. */
  unwrap<T>(called: Promise<Called<T>>): Promise<T | null>;
  changed(): void;
}>;
type Names = Readonly<{ agents: Agents; sessions: Sessions; waiting: WaitingApprovals; schedules: readonly Offer[] }>;

export function openServerSnapshot({ client }: Pick<ServerConnection, "client">, { link, unwrap, changed }: Ports): ServerSnapshot {
  let names: Names = { agents: [], sessions: [], waiting: [], schedules: [] };
  let halts: Halts = [];
  const details = new Map<string, AgentDetail>();

  async function refreshWaiting(): Promise<void> {
    const found = await client.call("approvals", { query: { limit: 500 } }).catch(() => null);
    if (found?.kind === "ok") names = { ...names, waiting: found.value.items };
    changed();
  }
  async function refreshHalts(): Promise<void> {
    const found = await client.call("halts", { query: { limit: 500 } }).catch(() => null);
    if (found?.kind === "ok") halts = found.value.items;
    changed();
  }
  async function readNames(): Promise<void> {
    const sessions = await client.call("sessions", { query: { limit: 100 } }).catch(() => null);
    if (sessions?.kind === "ok") names = { ...names, sessions: sessions.value.items };
    const schedules = await client.call("schedules", { query: { limit: 100 } }).catch(() => null);
    if (schedules?.kind !== "ok") return;
    const offers = schedules.value.items.map(({ schedule, state, spec }) => ({ word: schedule, about: `${spec.agent}, ${state}` }));
    names = { ...names, schedules: offers };
  }
  const [waitingAgain, haltsAgain, namesAgain] = [coalesced(refreshWaiting), coalesced(refreshHalts), coalesced(readNames)];
  link.follow({ kind: "all" }, "now", {
    entries(items) {
      const kinds = items.flatMap((item) => (item.kind === "entry" ? [item.entry.event.kind] : []));
      if (kinds.some((kind) => kind.startsWith("approval."))) waitingAgain();
      if (kinds.some((kind) => kind === "work.halted" || kind === "work.resumed")) haltsAgain();
      if (kinds.some((kind) => kind === "session.opened" || kind.startsWith("schedule."))) namesAgain();
    },
  });
  const cachedDetail = (agent: string | null): AgentDetail | null => (agent === null ? null : (details.get(agent) ?? null));

  return {
    agents: () => names.agents,
    async refreshAgents() {
      const found = await unwrap(client.call("agents", { query: { limit: 500 } }));
      if (found !== null) names = { ...names, agents: found.items };
    },
    waiting: () => names.waiting,
    refreshWaiting,
    halts: () => halts,
    refreshHalts,
    refreshNames: namesAgain,
    async detail(agent) {
      const cached = cachedDetail(agent);
      if (cached !== null) return cached;
      const found = await client.call("agent", { params: { agent } }).catch(() => null);
      if (found?.kind !== "ok") return null;
      details.set(agent, found.value);
      changed();
      return found.value;
    },
    cachedDetail,
    suggest: (kind, addressee) => suggestFrom(names, kind, cachedDetail(addressee)),
  };
}

function suggestFrom(names: Names, kind: Exclude<ArgumentKind, "command">, agent: AgentDetail | null): readonly Offer[] | null {
  if (typeof kind !== "string") return kind.map((word) => ({ word, about: "" }));
  switch (kind) {
    case "agent":
      return names.agents.map(({ name, description }) => ({ word: name, about: description }));
    case "session":
      return names.sessions.flatMap(({ session, agent: name, external, state }) => [
        { word: session, about: `${name}, ${state}` },
        ...(external === null ? [] : [{ word: external, about: `${name}, ${state}` }]),
      ]);
    case "approval":
      return names.waiting.map(({ approval, agent: name, tool }) => ({ word: approval, about: `${name}: ${tool}` }));
    case "model":
      return agent === null ? [] : [agent.model, ...agent.fallbacks].map((word) => ({ word, about: "" }));
    case "schedule":
      return names.schedules;
    case "anything":
      return [];
    case "file":
      return null;
  }
}

/** Describes a halt and how this shell lifts it. */
export const describeHalt = (halt: Halts[number]): string =>
  `${haltText(halt)}; \`/resume-work ${halt.scope.replace(":", " ")} REASON\` lifts it`;

/** Runs `work` at most once at a time, and once more if it was requested meanwhile. */
function coalesced(work: () => Promise<void>): () => void {
  let [isRunning, isDue] = [false, false];
  const start = (): void => {
    if (isRunning) {
      isDue = true;
      return;
    }
    isRunning = true;
    void work().finally(() => {
      isRunning = false;
      if (isDue) start();
      isDue = false;
    });
  };
  return start;
}
