/** Gives each agent of a runtime the ports that its sessions run on. */
import {
  type Agent,
  checkMiddleware,
  defineAgent,
  FaultError,
  type Gate,
  type Live,
  type Middleware,
  type Model,
  type Parent,
  type SessionId,
  type State,
  toOutputs,
  withDigest,
} from "@orgate/core";
import { sha256 } from "../node/crypto.ts";
import type { AgentRef, RuntimeOptions } from "./api.ts";
import { type Composed, compose } from "./compose.ts";
import { createNotifier } from "./notices.ts";
import { orchestrationCheck } from "./people/may-orchestrate.ts";
import { type Family, makeDelegateFinder } from "./ports/delegates.ts";
import type { Outside } from "./ports/outside.ts";
import type { OpenProjectStore } from "./ports/project-store.ts";

export type AssemblyParts = Readonly<{
  agents: ReadonlyMap<string, Agent>;
  place: OpenProjectStore;
  gate: Gate;
  outside: Outside;
  options: Pick<RuntimeOptions, "middleware" | "notify" | "project">;
  /** Sees everything that happens in sessions driven here, before the run's own watcher. */
  hear(live: Live, agent: Agent): void;
  parentOf(session: SessionId): Parent | null;
  driveChild: Family["drive"];
}>;

export class AgentAssembly {
  readonly #parts: AssemblyParts;
  readonly #family: Family;
  readonly #middleware: ReadonlyMap<string, readonly Middleware[]>;

  constructor(parts: AssemblyParts) {
    const { agents, gate, outside, driveChild } = parts;
    this.#parts = parts;
    this.#family = { find: makeDelegateFinder(agents, gate, outside.counters), drive: driveChild };
    this.#middleware = new Map([...agents.values()].map((agent) => [agent.name, middlewareFor(agent, parts)]));
  }

  find(name: string): Agent {
    const { agents } = this.#parts;
    const found = agents.get(name);
    if (found === undefined) throw new FaultError({ kind: "agent-missing", agent: name, known: [...agents.keys()] });
    return found;
  }

  /** Another agent of the same name answers with something else than its type says. */
  nameOf(ref: AgentRef): string {
    if (typeof ref === "string") return ref;
    const own = this.find(ref.name);
    if (own === ref || own.digest(sha256) === ref.digest(sha256) || own.definition.output === ref.definition.output) return ref.name;
    const detail = "the agent of this name is another one here, which answers with something else";
    throw new FaultError({ kind: "agent-invalid", where: `agent \`${ref.name}\``, detail, hint: "run the one that the runtime was given" });
  }

  assemble(agent: Agent, watcher: (live: Live) => void): Composed {
    const { place, gate, outside, options, hear, parentOf } = this.#parts;
    const { notify, project = null } = options;
    const notice = notify === undefined ? null : createNotifier({ agent: agent.name, project, parentOf }, (told) => notify.tell(told));
    const watch = (live: Live): void => {
      hear(live, agent);
      watcher(live);
      notice?.(live); // last: what a watcher does comes first, and an error here is nobody's but ours
    };
    return compose(agent, { place, gate, watch, outside, family: this.#family, middleware: this.#middleware.get(agent.name) ?? [] });
  }

  /** For a session whose agent is gone, as the journal knows it: nothing is noted as changed, and nothing of it can be run. */
  assembleAbsent({ agent: facts }: State, watch: (live: Live) => void): Composed & Readonly<{ agent: Agent }> {
    const { place, gate, outside } = this.#parts;
    const agent = defineAgent({ name: facts.name, instructions: "none", model: "absent/absent" });
    const absent = { ...outside, model: absentModel };
    return { ...compose(agent, { place, gate, watch, outside: absent, family: this.#family, middleware: [] }), facts, agent };
  }
}

/** The one turn answers by its own schema; those after it by the agent's. */
export const withOutputOfRun = ({ ports, facts }: Composed, agent: Agent, run: Parameters<typeof toOutputs>[1]): Composed => ({
  facts,
  ports: { ...ports, outputs: toOutputs(agent.output === null ? null : withDigest(agent.output, sha256), run) },
});

function middlewareFor(agent: Agent, { gate, place, options }: AssemblyParts): readonly Middleware[] {
  const mayOrchestrate = orchestrationCheck(agent, gate, () => place.store.journal); // last: it looks at what the others have made of a call
  return checkMiddleware([...(options.middleware ?? []), ...agent.middleware, ...mayOrchestrate], `agent \`${agent.name}\``);
}

const absentModel = ({ name }: Agent): Model => ({
  id: "absent/absent",
  ask: () => Promise.reject(new FaultError({ kind: "agent-missing", agent: name, known: [] })),
});
