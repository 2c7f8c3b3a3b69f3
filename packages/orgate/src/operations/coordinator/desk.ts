/**
 * The desk of the coordinator's tools on a server: it sees and acts for the people who speak in one conversation. A derived tool calls its operation as
 * the person whose words began the turn; each act is decided for everybody who speaks.
 * Rules: W-35, W-36.
 */
import { isFault, type JsonObject, type SessionId } from "@orgate/core";
import { type OperationName, toOperationInput } from "@orgate/protocol";
import { OPERATION_WORDS, type ToolWords } from "@orgate/protocol/words";
import type { CoordinatorDesk, DeskCall, DeskConversation, OpenDesk } from "../../coordinator/ports.ts";
import { COORDINATOR } from "../../coordinator/tools.ts";
import type { Runtime } from "../../runtime/api.ts";
import type { Act } from "../access.ts";
import { callOperation } from "../call-operation.ts";
import type { TurnOutcome } from "../driving/turn-outcome.ts";
import type { OperationExecutor } from "../execute.ts";
import { deriveIntentId, deriveName, type Idempotency } from "../idempotency.ts";
import type { SessionDriver } from "../session-driver.ts";
import { type CallerAccess, type CallerAccessPorts, callerAccessFor, runAgent } from "./caller-access.ts";
import { Fleet, type FleetPorts } from "./fleet.ts";
import { toShown } from "./shown.ts";

export type CoordinatorPorts = FleetPorts &
  CallerAccessPorts &
  Readonly<{
    runtime: FleetPorts["runtime"] & Pick<Runtime, "sessions">;
    sessionDriver: Pick<SessionDriver, "send" | "outcome">;
    operations: Pick<OperationExecutor, "withAccess">;
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

  async runAgent({ agent, input }: Readonly<{ agent: string; input: string }>, { key, signal }: DeskCall): Promise<JsonObject> {
    const { journal, runtime, sessionDriver, once } = this.#ports;
    const own = (await journal.session(this.#here))?.agent;
    if (agent === COORDINATOR || agent === own)
      throw new Error(agent === own ? `the ${agent} does not run itself` : `the ${agent} is nobody's to run`);
    this.mustSee(agent);
    this.#mustBeAllowed(runAgent(agent), `run \`${agent}\``);
    const { principal, person } = this.#access.speaker;
    const id = await once.claim(deriveIntentId("run", key), { agent, input });
    const { session: opened } = await runtime.sessions.create({ agent, id: deriveName("run", key), principal });
    await sessionDriver.send({ session: opened, wish: { kind: "follow-up", text: input }, as: person, id });
    const outcome = await sessionDriver.outcome(opened, id, WAIT_MS, signal);
    return { agent, session: opened, ...(await this.#readOutcome(opened, outcome)) };
  }

  async callOperation(name: OperationName, given: JsonObject, { key, signal }: DeskCall): Promise<JsonObject> {
    const { tool, idempotencyKey } = OPERATION_WORDS[name];
    if (tool === undefined) throw new Error(`\`${name}\` is no tool`);
    if (idempotencyKey && given["session"] === this.#here) throw new Error("that is this conversation: nothing changes it from within");
    const operations = this.#ports.operations.withAccess({ mayDo: (_, wanted) => this.#access.refuses(wanted) });
    const order = {
      name,
      input: toOperationInput(name, toFields(tool, given)),
      caller: this.#access.speaker,
      key: idempotencyKey ? deriveName("tool", key) : undefined,
      gone: signal,
      ...(name === "cancel" ? { intent: deriveIntentId("cancel", key) } : {}),
    };
    const { value } = await callOperation(operations, order).catch((error: unknown) => {
      throw nameTarget(error, tool, given);
    });
    const { inspect } = this.#ports.runtime;
    return toShown(name, tool, value, { inspect, access: this.#access, given, now: this.#ports.now() });
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

function toFields({ fields = {}, fixed }: ToolWords, given: JsonObject): JsonObject {
  const filled = Object.entries(fields).flatMap(([name, words]) => {
    const value = given[name];
    if (value === undefined) return [];
    const times = words.kind === "count" ? (words.times ?? 1) : 1;
    return [[words.field ?? name, typeof value === "number" ? value * times : value] as const];
  });
  return { ...fixed, ...Object.fromEntries(filled) };
}

/** A refusal that names what it is about: the model has to report it to a person. */
function nameTarget(error: unknown, { resource }: ToolWords, given: JsonObject): unknown {
  if (resource === undefined || !isFault(error) || error.fault.kind !== "not-permitted") return error;
  const { user, what, reason } = error.fault;
  const [verb] = what.split("-");
  return new Error(`\`${user}\` may not ${verb} \`${String(given[resource.field])}\`: ${reason}`);
}
