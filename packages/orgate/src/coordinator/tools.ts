/**
 * The coordinator's tools: ordinary tools over the runtime's own front door. They are decided like everybody's, and beside that do only what the operators
 * whose words they follow may do themselves (`caller-access.ts`).
 *
 * W-35 what is done for an operator is a wish signed with that operator's key, made once by the call's key: a crash in the middle neither loses nor doubles it.
 * W-36 an agent's answer is handed on where its session has seen nothing that is labelled beyond `untrusted`; else it is told where the answer can be read.
 * W-37 where no server runs, the tools are there by name, so that agents and policies load, and say that they do nothing.
 */
import {
  DELEGATE,
  defineMiddleware,
  defineTool,
  intentId,
  type JsonObject,
  type Middleware,
  type SessionId,
  type Surface,
  type Tool,
} from "@orgate/core";
import * as z from "zod";
import { sha256 } from "../node/crypto.ts";
import type { CallerAccess, CallerAccessPorts } from "../operations/coordinator/caller-access.ts";
import type { Fleet, FleetPorts } from "../operations/coordinator/fleet.ts";
import type { SessionDriver } from "../operations/session-driver.ts";
import type { Runtime } from "../runtime/api.ts";

export const COORDINATOR = "coordinator";

export type CoordinatorPorts = FleetPorts &
  CallerAccessPorts &
  Readonly<{ runtime: FleetPorts["runtime"] & Pick<Runtime, "sessions">; sessionDriver: Pick<SessionDriver, "send" | "outcome"> }>;

export type CoordinatorTools = Readonly<{
  tools: readonly Tool[];
  /** Holds delegates to what the operator may run. */
  middleware: Middleware;
  /** Whose conversation a session is, at which surface (null: it works for another session), and what those who speak in it may: for other tools that act for them. */
  speaking(session: SessionId): Promise<Readonly<{ agent: string; surface: Surface | null; voices: CallerAccess }>>;
  /** Until then they say that they do nothing. */
  connect(ports: CoordinatorPorts): void;
}>;

const name = z.string().min(1).max(128);
const session = name.describe("The session's id, such as s_…");
const most = z.int().min(1).max(50).default(20);
export const STATES = ["idle", "running", "waiting", "closed"] as const;
const state = z.enum(STATES);
/** How long an agent's answer is waited for; it goes on without the one who asked. */
const WAIT_MS = 25_000;

/** R-8 every project has these tools by name, and few ever call one: what they do is loaded then, and with it the server's routes. */
const loadWork = async () => ({
  ...(await import("../operations/access.ts")),
  ...(await import("../operations/coordinator/fleet.ts")),
  ...(await import("../operations/coordinator/fleet-schedules.ts")),
  ...(await import("../operations/coordinator/caller-access.ts")),
});
type Work = Awaited<ReturnType<typeof loadWork>>;
type Desk = Readonly<{ work: Work; ports: CoordinatorPorts; fleet: Fleet; voices: CallerAccess }>;

export function coordinatorTools(): CoordinatorTools {
  let ports: CoordinatorPorts | null = null;
  const heard = async (session: SessionId): Promise<Desk> => {
    if (ports === null) throw new Error("the coordinator's tools work in the server alone: `orgate up` starts it");
    const work = await loadWork();
    return { work, ports, fleet: work.openFleet(ports), voices: await work.callerAccessFor(ports, session) };
  };
  return {
    tools: [...lookers(heard), ...actors(heard)],
    middleware: defineMiddleware({
      name: "operators-leave",
      async beforeTool({ tool, args }, context) {
        if (tool !== DELEGATE) return undefined;
        const agent = typeof args === "object" && args !== null && "agent" in args ? String(args.agent) : "";
        const { work, voices } = await heard(context.session);
        const reason = voices.refuses(work.runAgent(agent));
        return reason === null ? undefined : { kind: "block", reason: `\`${agent}\` is not run: ${reason}` };
      },
    }),
    async speaking(session) {
      const { ports, voices } = await heard(session);
      const summary = await ports.journal.session(session);
      return { agent: summary?.agent ?? "", surface: summary?.parent === null ? summary.surface : null, voices };
    },
    connect(given) {
      ports = given;
      loadWork().catch(() => {}); // a server stays while its files may be replaced; what goes wrong, the first call tells
    },
  };
}

type Heard = (session: SessionId) => Promise<Desk>;
const LOOKS = { repeat: "read", effects: ["read"], riskTier: "low" } as const;
/** Names, states and counts that the runtime itself makes. */
const OWN = { ...LOOKS, labels: [] } as const;

const lookers = (heard: Heard): readonly Tool[] => [
  defineTool({
    name: "list_agents",
    description: "The agents of the fleet: name, model, tools, and how many sessions each has by state.",
    input: z.strictObject({}),
    ...OWN,
    run: async (_, { session: here }) => {
      const { fleet, voices } = await heard(here);
      return fleet.listAgents(voices);
    },
  }),
  defineTool({
    name: "agent_status",
    description: "How one agent stands: sessions by state, open questions and unknowns, halts, open breakers, its last session.",
    input: z.strictObject({ agent: name }),
    ...LOOKS,
    run: async ({ agent }, { session: here }) => {
      const { fleet, voices } = await heard(here);
      return fleet.agentStatus(voices, agent);
    },
  }),
  defineTool({
    name: "list_sessions",
    description: "Sessions, newest first; of one agent, or in one state, where given.",
    input: z.strictObject({ agent: name.optional(), state: state.optional(), most }),
    ...OWN,
    run: async ({ agent = null, state: wanted = null, most: count }, { session: here }) => {
      const { fleet, voices } = await heard(here);
      return fleet.listSessions(voices, { agent, state: wanted, most: count });
    },
  }),
  defineTool({
    name: "list_schedules",
    description:
      "What fires by itself: each schedule with its state, its times, its agent, whose it is, when it is due next and how the last one ended.",
    input: z.strictObject({ most }),
    ...OWN,
    run: async ({ most: count }, { session: here }) => {
      const { work, ports, voices } = await heard(here);
      return work.schedulesForOperator(ports.runtime, voices, count);
    },
  }),
  defineTool({
    name: "session_events",
    description:
      "What happened in a session: decisions with their policies and reasons, questions, calls, endings; no texts. Of an agent or a tool, by name: what happened in the newest sessions.",
    input: z.strictObject({
      of: name.describe("A session's id, or the name of an agent or a tool"),
      only: z.enum(["denied", "all"]).default("all"),
      most,
    }),
    ...LOOKS,
    run: async (sought, { session: here }) => {
      const { fleet, voices } = await heard(here);
      return fleet.sessionEvents(voices, sought);
    },
  }),
  defineTool({
    name: "query_metrics",
    description: "Figures of the fleet, or of one agent: sessions, turns, iterations, tokens, endings.",
    input: z.strictObject({ agent: name.optional() }),
    ...OWN,
    run: async ({ agent = null }, { session: here }) => {
      const { fleet, voices } = await heard(here);
      return fleet.queryMetrics(voices, agent);
    },
  }),
  defineTool({
    name: "system_health",
    description: "Whether the server can do its work, what is halted, which breakers are open.",
    input: z.strictObject({}),
    ...LOOKS,
    run: async (_, { session: here }) => {
      const { fleet, voices } = await heard(here);
      return fleet.systemHealth(voices);
    },
  }),
  defineTool({
    name: "list_approvals",
    description: "Questions that wait for a person, oldest first, and whether this operator may answer them.",
    input: z.strictObject({ most }),
    ...LOOKS,
    run: async ({ most: count }, { session: here }) => {
      const { fleet, voices } = await heard(here);
      return fleet.listApprovals(voices, count);
    },
  }),
];

const actors = (heard: Heard): readonly Tool[] => [
  defineTool({
    name: "run_agent",
    description: "Runs one turn of an agent in a session of its own, on the operator's behalf, and tells what came of it.",
    input: z.strictObject({ agent: name, input: z.string().min(1).max(20_000) }),
    repeat: "idempotent",
    effects: ["execute"],
    resource: ({ agent }) => ({ type: "Agent", id: agent }),
    resourceTypes: ["Agent"],
    async run({ agent, input }, { session: here, key, signal }) {
      const { work, ports, fleet, voices } = await heard(here);
      const own = (await ports.journal.session(here))?.agent;
      if (agent === COORDINATOR || agent === own)
        throw new Error(agent === own ? `the ${agent} does not run itself` : `the ${agent} is nobody's to run`);
      fleet.mustSee(voices, agent);
      mayOrThrow(voices, work.runAgent(agent), `run \`${agent}\``);
      const { principal, person } = voices.speaker;
      const once = `run-${sha256(key).slice(-40)}`;
      const { session: opened } = await ports.runtime.sessions.create({ agent, id: once, principal });
      await ports.sessionDriver.send({ session: opened, wish: { kind: "follow-up", text: input }, as: person, id: intentId(once) });
      const outcome = await ports.sessionDriver.outcome(opened, intentId(once), WAIT_MS, signal);
      return { agent, session: opened, ...(await toldOf(ports, opened, outcome)) };
    },
  }),
  defineTool({
    name: "cancel_turn",
    description: "Cancels the turn that is in progress in a session.",
    input: z.strictObject({ session, reason: z.string().max(500).default("") }),
    repeat: "idempotent",
    effects: ["execute"],
    labels: [],
    resource: ({ session: id }) => ({ type: "Session", id }),
    async run({ session: id, reason }, { session: here, key }) {
      const { work, ports, fleet, voices } = await heard(here);
      if (id === here) throw new Error("that is this conversation: stop talking to cancel it");
      const found = await fleet.mustRead(voices, id);
      mayOrThrow(voices, work.cancelIn(found), `cancel \`${id}\``);
      const wish = { kind: "cancel", reason } as const;
      const sent = { session: found.session, wish, as: voices.speaker.person, id: intentId(`cancel-${sha256(key).slice(-40)}`) };
      const { entry } = await ports.sessionDriver.send(sent);
      return { session: id, cancelled: entry !== null, note: entry === null ? "whoever holds the session has not taken it yet" : "" };
    },
  }),
  defineTool({
    name: "set_breaker",
    description:
      "Opens or closes the breaker of a tool, model or MCP server (tool:NAME, model:PROVIDER/NAME, mcp:SERVER): while it is open, nothing calls it.",
    input: z.strictObject({
      breaker: z.string().min(1).max(200),
      to: z.enum(["open", "closed"]),
      minutes: z.int().min(1).max(10_080).optional().describe("How long it stays open; until it is closed unless given"),
      reason: z.string().max(500).default(""),
    }),
    repeat: "idempotent",
    effects: ["execute"],
    labels: [],
    resource: ({ breaker }) => ({ type: "Breaker", id: breaker }),
    async run({ breaker, to, minutes, reason }, { session: here }) {
      const { work, ports, voices } = await heard(here);
      mayOrThrow(voices, work.act("set-breaker", "breaker", { id: breaker }), `set \`${breaker}\``);
      const change = { to, reason, ...(minutes === undefined ? {} : { forMs: minutes * 60_000 }) };
      await ports.runtime.breakers.set(breaker, change, voices.speaker.person);
      return { breaker, to, minutes: minutes ?? null };
    },
  }),
];

function mayOrThrow(voices: CallerAccess, wanted: Parameters<CallerAccess["refuses"]>[0], what: string): void {
  const reason = voices.refuses(wanted);
  if (reason !== null) throw new Error(`\`${voices.speaker.principal.id}\` may not ${what}: ${reason}`);
}

async function toldOf(
  { runtime }: CoordinatorPorts,
  session: SessionId,
  outcome: Awaited<ReturnType<SessionDriver["outcome"]>>,
): Promise<JsonObject> {
  const nothing = { ending: null, output: null };
  if (outcome === null) return { state: "running", ...nothing, note: "it goes on: look at its session later" };
  if (outcome === "waiting") return { state: "waiting", ...nothing, note: "it waits for a person: `list_approvals` shows the question" };
  const { event } = outcome;
  if (event.kind !== "turn.ended") return { state: "ended", ...nothing, note: "" };
  const { labels } = await runtime.inspect.state(session);
  const kept = [...labels].filter((one) => one !== "untrusted");
  const note = kept.length === 0 ? (event.detail ?? "") : `its answer is labelled ${kept.join(", ")}: read it in the session`;
  return { state: "ended", ending: event.ending, output: kept.length === 0 ? event.output : null, note };
}
