/**
 * The desk of the coordinator's tools on a server: what they do for the people who speak in one conversation.
 * Rules: W-35, W-36.
 */
import type { JsonObject, SessionId } from "@orgate/core";
import type { BreakerChange, CoordinatorDesk, DeskCall, DeskConversation, OpenDesk } from "../../coordinator/ports.ts";
import { COORDINATOR } from "../../coordinator/tools.ts";
import type { Runtime } from "../../runtime/api.ts";
import { type Act, act } from "../access.ts";
import type { TurnOutcome } from "../driving/turn-outcome.ts";
import { deriveIntentId, deriveName, type Idempotency } from "../idempotency.ts";
import type { SessionDriver } from "../session-driver.ts";
import { type CallerAccess, type CallerAccessPorts, callerAccessFor, cancelIn, runAgent } from "./caller-access.ts";
import { Fleet, type FleetPorts } from "./fleet.ts";
import { schedulesForOperator } from "./fleet-schedules.ts";

export type CoordinatorPorts = FleetPorts &
  CallerAccessPorts &
  Readonly<{
    runtime: FleetPorts["runtime"] & Pick<Runtime, "sessions">;
    sessionDriver: Pick<SessionDriver, "send" | "outcome">;
    once: Pick<Idempotency, "claim">;
  }>;

/** An agent's answer is waited for this long; its turn goes on without the one who asked. */
const WAIT_MS = 25_000;

export const openCoordinatorDesk =
  (ports: CoordinatorPorts): OpenDesk =>
  async (session) =>
    new ServerDesk(ports, session, await callerAccessFor(ports, session));

class ServerDesk extends Fleet implements CoordinatorDesk {
  readonly #ports: CoordinatorPorts;
  readonly #here: SessionId;
  readonly #access: CallerAccess;

  constructor(ports: CoordinatorPorts, here: SessionId, access: CallerAccess) {
    super(ports, access);
    this.#ports = ports;
    this.#here = here;
    this.#access = access;
  }

  async conversation(): Promise<DeskConversation> {
    const summary = await this.#ports.journal.session(this.#here);
    return { agent: summary?.agent ?? "", surface: summary?.parent === null ? summary.surface : null, voices: this.#access };
  }

  refusesRun(agent: string): string | null {
    return this.#access.refuses(runAgent(agent));
  }

  listSchedules(most: number): Promise<JsonObject> {
    return schedulesForOperator(this.#ports.runtime, this.#access, most);
  }

  async runAgent({ agent, input }: Readonly<{ agent: string; input: string }>, { key, signal }: DeskCall): Promise<JsonObject> {
    const { journal, runtime, sessionDriver, once } = this.#ports;
    const own = (await journal.session(this.#here))?.agent;
    if (agent === COORDINATOR || agent === own)
      throw new Error(agent === own ? `the ${agent} does not run itself` : `the ${agent} is nobody's to run`);
    this.mustSee(agent);
    this.#mustBeAllowed(runAgent(agent), `run \`${agent}\``);
    const { principal, person } = this.#access.speaker;
    const id = once.claim(deriveIntentId("run", key), { agent, input });
    const { session: opened } = await runtime.sessions.create({ agent, id: deriveName("run", key), principal });
    await sessionDriver.send({ session: opened, wish: { kind: "follow-up", text: input }, as: person, id });
    const outcome = await sessionDriver.outcome(opened, id, WAIT_MS, signal);
    return { agent, session: opened, ...(await this.#readOutcome(opened, outcome)) };
  }

  async cancelTurn({ session: id, reason }: Readonly<{ session: string; reason: string }>, { key }: DeskCall): Promise<JsonObject> {
    if (id === this.#here) throw new Error("that is this conversation: stop talking to cancel it");
    const found = await this.mustRead(id);
    this.#mustBeAllowed(cancelIn(found), `cancel \`${id}\``);
    const wish = { kind: "cancel", reason } as const;
    const intent = this.#ports.once.claim(deriveIntentId("cancel", key), { session: id, reason });
    const { entry } = await this.#ports.sessionDriver.send({ session: found.session, wish, as: this.#access.speaker.person, id: intent });
    return { session: id, cancelled: entry !== null, note: entry === null ? "whoever holds the session has not taken it yet" : "" };
  }

  async setBreaker({ breaker, to, minutes, reason }: BreakerChange): Promise<JsonObject> {
    this.#mustBeAllowed(act("set-breaker", "breaker", { id: breaker }), `set \`${breaker}\``);
    const change = { to, reason, ...(minutes === null ? {} : { forMs: minutes * 60_000 }) };
    await this.#ports.runtime.breakers.set(breaker, change, this.#access.speaker.person);
    return { breaker, to, minutes };
  }

  #mustBeAllowed(wanted: Act, what: string): void {
    const reason = this.#access.refuses(wanted);
    if (reason !== null) throw new Error(`\`${this.#access.speaker.principal.id}\` may not ${what}: ${reason}`);
  }

  async #readOutcome(session: SessionId, outcome: TurnOutcome): Promise<JsonObject> {
    const nothing = { ending: null, output: null };
    if (outcome === null) return { state: "running", ...nothing, note: "it goes on: look at its session later" };
    if (outcome === "waiting") return { state: "waiting", ...nothing, note: "it waits for a person: `list_approvals` shows the question" };
    const { event } = outcome;
    if (event.kind !== "turn.ended") return { state: "ended", ...nothing, note: "" };
    const { labels } = await this.#ports.runtime.inspect.state(session);
    const withheld = [...labels].filter((one) => one !== "untrusted");
    const note = withheld.length === 0 ? (event.detail ?? "") : `its answer is labelled ${withheld.join(", ")}: read it in the session`;
    return { state: "ended", ending: event.ending, output: withheld.length === 0 ? event.output : null, note };
  }
}
