/**
 * The coordinator's tools: ordinary tools over the runtime's own front door. They are decided like everybody's, and beside that do only what the operators
 * whose words they follow may do themselves (`operations/coordinator/`).
 *
 * W-35 what is done for an operator is a wish signed with that operator's key, made once by the call's key: a crash in the middle neither loses nor doubles it.
 * W-36 an agent's answer is handed on where its session has seen nothing that is labelled beyond `untrusted`; else it is told where the answer can be read.
 * W-37 where no server runs, the tools are there by name, so that agents and policies load, and say that they do nothing.
 */
import { DELEGATE, defineMiddleware, defineTool, type Middleware, type SessionId, type Tool } from "@orgate/core";
import * as z from "zod";
import type { DeskConversation, OpenDesk } from "./ports.ts";

export const COORDINATOR = "coordinator";

export type CoordinatorTools = Readonly<{
  tools: readonly Tool[];
  /** Holds delegates to what the operator may run. */
  middleware: Middleware;
  /** Whose conversation a session is and what those who speak in it may do, for other tools that act for them. */
  speaking(session: SessionId): Promise<DeskConversation>;
  /** Before that every call fails with the reason. */
  connect(open: OpenDesk): void;
}>;

const name = z.string().min(1).max(128);
const session = name.describe("The session's id, such as s_…");
const most = z.int().min(1).max(50).default(20);
const STATES = ["idle", "running", "waiting", "closed"] as const;
const state = z.enum(STATES);

export function coordinatorTools(): CoordinatorTools {
  let connected: OpenDesk | null = null;
  const open: OpenDesk = async (session) => {
    if (connected === null) throw new Error("the coordinator's tools work in the server alone: `orgate up` starts it");
    return connected(session);
  };
  return {
    tools: [...lookers(open), ...actors(open)],
    middleware: defineMiddleware({
      name: "operators-leave",
      async beforeTool({ tool, args }, context) {
        if (tool !== DELEGATE) return undefined;
        const agent = typeof args === "object" && args !== null && "agent" in args ? String(args.agent) : "";
        const reason = (await open(context.session)).refusesRun(agent);
        return reason === null ? undefined : { kind: "block", reason: `\`${agent}\` is not run: ${reason}` };
      },
    }),
    speaking: async (session) => (await open(session)).conversation(),
    connect(given) {
      connected = given;
    },
  };
}

const LOOKS = { repeat: "read", effects: ["read"], riskTier: "low" } as const;
/** Names, states and counts that the runtime itself makes. */
const OWN = { ...LOOKS, labels: [] } as const;

const lookers = (open: OpenDesk): readonly Tool[] => [
  defineTool({
    name: "list_agents",
    description: "The agents of the fleet: name, model, tools, and how many sessions each has by state.",
    input: z.strictObject({}),
    ...OWN,
    run: async (_, { session: here }) => (await open(here)).listAgents(),
  }),
  defineTool({
    name: "agent_status",
    description: "How one agent stands: sessions by state, open questions and unknowns, halts, open breakers, its last session.",
    input: z.strictObject({ agent: name }),
    ...LOOKS,
    run: async ({ agent }, { session: here }) => (await open(here)).agentStatus(agent),
  }),
  defineTool({
    name: "list_sessions",
    description: "Sessions, newest first; of one agent, or in one state, where given.",
    input: z.strictObject({ agent: name.optional(), state: state.optional(), most }),
    ...OWN,
    run: async ({ agent = null, state: wanted = null, most: count }, { session: here }) =>
      (await open(here)).listSessions({ agent, state: wanted, most: count }),
  }),
  defineTool({
    name: "list_schedules",
    description:
      "What fires by itself: each schedule with its state, its times, its agent, whose it is, when it is due next and how the last one ended.",
    input: z.strictObject({ most }),
    ...OWN,
    run: async ({ most: count }, { session: here }) => (await open(here)).listSchedules(count),
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
    run: async (sought, { session: here }) => (await open(here)).sessionEvents(sought),
  }),
  defineTool({
    name: "query_metrics",
    description: "Figures of the fleet, or of one agent: sessions, turns, iterations, tokens, endings.",
    input: z.strictObject({ agent: name.optional() }),
    ...OWN,
    run: async ({ agent = null }, { session: here }) => (await open(here)).queryMetrics(agent),
  }),
  defineTool({
    name: "system_health",
    description: "Whether the server can do its work, what is halted, which breakers are open.",
    input: z.strictObject({}),
    ...LOOKS,
    run: async (_, { session: here }) => (await open(here)).systemHealth(),
  }),
  defineTool({
    name: "list_approvals",
    description: "Questions that wait for a person, oldest first, and whether this operator may answer them.",
    input: z.strictObject({ most }),
    ...LOOKS,
    run: async ({ most: count }, { session: here }) => (await open(here)).listApprovals(count),
  }),
];

const actors = (open: OpenDesk): readonly Tool[] => [
  defineTool({
    name: "run_agent",
    description: "Runs one turn of an agent in a session of its own, on the operator's behalf, and tells what came of it.",
    input: z.strictObject({ agent: name, input: z.string().min(1).max(20_000) }),
    repeat: "idempotent",
    effects: ["execute"],
    resource: ({ agent }) => ({ type: "Agent", id: agent }),
    resourceTypes: ["Agent"],
    run: async (order, call) => (await open(call.session)).runAgent(order, call),
  }),
  defineTool({
    name: "cancel_turn",
    description: "Cancels the turn that is in progress in a session.",
    input: z.strictObject({ session, reason: z.string().max(500).default("") }),
    repeat: "idempotent",
    effects: ["execute"],
    labels: [],
    resource: ({ session: id }) => ({ type: "Session", id }),
    run: async (order, call) => (await open(call.session)).cancelTurn(order, call),
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
    run: async ({ minutes = null, ...change }, call) => (await open(call.session)).setBreaker({ ...change, minutes }, call),
  }),
];
