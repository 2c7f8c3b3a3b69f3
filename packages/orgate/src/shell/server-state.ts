/**
 * What there is around a shell's conversations, as the server tells it: agents, questions that wait, sessions and schedules that can be named. It is asked
 * for again when an entry says that it has changed.
 */
import { haltText } from "@orgate/core/journal/view";
import type { Called, Link, OperationOutput } from "@orgate/core/wire";
import type { ArgumentKind } from "./commands/command.ts";
import type { ServerConnection } from "./connection.ts";
import type { Offer } from "./ui/complete.ts";

export type Agents = OperationOutput<"agents">["items"];
export type WaitingApprovals = OperationOutput<"approvals">["items"];
export type AgentDetail = OperationOutput<"agent">;
type Sessions = OperationOutput<"sessions">["items"];
type Halts = OperationOutput<"halts">["items"];

export type ServerSnapshot = Readonly<{
  agents(): Agents;
  refreshAgents(): Promise<void>;
  /** Questions, in all sessions that this person may see. */
  waiting(): WaitingApprovals;
  refreshWaiting(): Promise<void>;
  /** Those in force that this person may see. */
  halts(): Halts;
  refreshHalts(): Promise<void>;
  /** For completion: what is there to be named. */
  refreshNames(): void;
  /** As the server defines it; asked for once. */
  detail(agent: string): Promise<AgentDetail | null>;
  /** Where it was asked for. */
  cachedDetail(agent: string | null): AgentDetail | null;
  /** Words of that kind; null: the names of files. */
  suggest(taken: Exclude<ArgumentKind, "command">, addressee: string | null): readonly Offer[] | null;
}>;

type Ports = Readonly<{
  link: Pick<Link, "follow">;
  /** What was asked for, or null when it was refused, which has been said then. */
  asked<T>(called: Promise<Called<T>>): Promise<T | null>;
  changed(): void;
}>;

export function openServerSnapshot({ client }: Pick<ServerConnection, "client">, { link, asked, changed }: Ports): ServerSnapshot {
  let agents: Agents = [];
  let waiting: WaitingApprovals = [];
  let halts: Halts = [];
  let recent: Sessions = [];
  let schedules: readonly Offer[] = [];
  const details = new Map<string, AgentDetail>();

  async function countWaiting(): Promise<void> {
    const found = await client.call("approvals", { query: { limit: 500 } }).catch(() => null);
    if (found?.kind === "ok") waiting = found.value.items;
    changed();
  }
  async function countHalts(): Promise<void> {
    const found = await client.call("halts", { query: { limit: 500 } }).catch(() => null);
    if (found?.kind === "ok") halts = found.value.items;
    changed();
  }
  async function lookAround(): Promise<void> {
    const found = await client.call("sessions", { query: { limit: 100 } }).catch(() => null);
    if (found?.kind === "ok") recent = found.value.items;
    const planned = await client.call("schedules", { query: { limit: 100 } }).catch(() => null);
    if (planned?.kind === "ok")
      schedules = planned.value.items.map(({ schedule, state, spec }) => ({ word: schedule, about: `${spec.agent}, ${state}` }));
  }
  const [countAgain, haltsAgain, lookAgain] = [again(countWaiting), again(countHalts), again(lookAround)];
  link.follow({ kind: "all" }, "now", {
    entries(items) {
      const kinds = items.flatMap((item) => (item.kind === "entry" ? [item.entry.event.kind] : []));
      if (kinds.some((kind) => kind.startsWith("approval."))) countAgain();
      if (kinds.some((kind) => kind === "work.halted" || kind === "work.resumed")) haltsAgain();
      if (kinds.some((kind) => kind === "session.opened" || kind.startsWith("schedule."))) lookAgain();
    },
  });
  const known = (agent: string | null): AgentDetail | null => (agent === null ? null : (details.get(agent) ?? null));

  return {
    agents: () => agents,
    async refreshAgents() {
      agents = (await asked(client.call("agents", { query: { limit: 500 } })))?.items ?? agents;
    },
    waiting: () => waiting,
    refreshWaiting: countWaiting,
    halts: () => halts,
    refreshHalts: countHalts,
    refreshNames: lookAgain,
    async detail(agent) {
      const there = known(agent);
      if (there !== null) return there;
      const found = await client.call("agent", { params: { agent } }).catch(() => null);
      if (found?.kind !== "ok") return null;
      details.set(agent, found.value);
      changed();
      return found.value;
    },
    cachedDetail: known,
    suggest(taken, addressee) {
      if (typeof taken !== "string") return taken.map((word) => ({ word, about: "" }));
      switch (taken) {
        case "agent":
          return agents.map(({ name, description }) => ({ word: name, about: description }));
        case "session":
          return recent.flatMap(({ session, agent, external, state }) => [
            { word: session, about: `${agent}, ${state}` },
            ...(external === null ? [] : [{ word: external, about: `${agent}, ${state}` }]),
          ]);
        case "approval":
          return waiting.map(({ approval, agent, tool }) => ({ word: approval, about: `${agent}: ${tool}` }));
        case "model": {
          const found = known(addressee);
          return found === null ? [] : [found.model, ...found.fallbacks].map((word) => ({ word, about: "" }));
        }
        case "schedule":
          return schedules;
        case "anything":
          return [];
        case "file":
          return null;
      }
    },
  };
}

/** A halt in words, with how this shell lifts it. */
export const describeHalt = (halt: Halts[number]): string =>
  `${haltText(halt)}; \`/resume-work ${halt.scope.replace(":", " ")} REASON\` lifts it`;

/** One at a time, and once more where something came meanwhile. */
function again(work: () => Promise<void>): () => void {
  let [isOn, isDue] = [false, false];
  const start = (): void => {
    if (isOn) {
      isDue = true;
      return;
    }
    isOn = true;
    void work().finally(() => {
      isOn = false;
      if (isDue) start();
      isDue = false;
    });
  };
  return start;
}
