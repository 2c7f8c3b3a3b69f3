/**
 * The coordinator's tools: ordinary tools over the runtime's own front door. They are decided like everybody's, and beside that do only what the operators
 * whose words they follow may do themselves (`operations/coordinator/`).
 *
 * W-35 a change for an operator is an intent signed with that operator's key, made once for the call's key: a crash in the middle neither loses nor doubles it.
 * W-36 the coordinator gets an agent's answer if its session has no label beyond `untrusted`; otherwise it gets the place where people can read the answer.
 * W-37 without a server the tools exist by name, so that agents and policies load; each call fails with the reason.
 */
import {
  DELEGATE,
  defineMiddleware,
  defineTool,
  type Json,
  type JsonObject,
  type Middleware,
  type SessionId,
  type Tool,
} from "@orgate/core";
import { OPERATION_NAMES, OPERATION_WORDS, type ToolField } from "@orgate/protocol/words";
import * as z from "zod";
import type { DeskConversation, OpenDesk } from "./ports.ts";

export const COORDINATOR = "coordinator";

export type CoordinatorTools = Readonly<{
  tools: readonly Tool[];
  /** Blocks delegation to agents that the operator may not run. */
  middleware: Middleware;
  /** The conversation of a session and the permissions of its speakers, for other tools that act for them. */
  speaking(session: SessionId): Promise<DeskConversation>;
  /** Until then every call fails with the reason. */
  connect(open: OpenDesk): void;
}>;

const name = z.string().min(1).max(128);
const most = z.int().min(1).max(50).default(20);

export function coordinatorTools(): CoordinatorTools {
  let connected: OpenDesk | null = null;
  const open: OpenDesk = async (session) => {
    if (connected === null) throw new Error("the coordinator's tools work in the server alone: `orgate up` starts it");
    return connected(session);
  };
  return {
    tools: [...deriveTools(open), ...handWrittenTools(open)],
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
const ACTS = { repeat: "idempotent", effects: ["execute"] } as const;
/** Names, states and counts that the runtime itself makes. */
const OWN = { ...LOOKS, labels: [] } as const;

/** Tools that are one operation, as the `tool` words of the table describe them. */
const deriveTools = (open: OpenDesk): readonly Tool[] =>
  OPERATION_NAMES.flatMap((operation) => {
    const { tool, idempotencyKey } = OPERATION_WORDS[operation];
    if (tool === undefined) return [];
    const { fields = {}, resource, isOwnWords = false } = tool;
    return defineTool({
      name: tool.name,
      description: tool.about,
      input: z.strictObject(Object.fromEntries(Object.entries(fields).map(([field, words]) => [field, toSchema(words)]))),
      ...(idempotencyKey ? ACTS : LOOKS),
      ...(isOwnWords ? { labels: [] } : {}),
      ...(resource === undefined ? {} : { resource: (args: JsonObject) => ({ type: resource.type, id: String(args[resource.field]) }) }),
      run: async (given: JsonObject, call) => (await open(call.session)).callOperation(operation, given, call),
    });
  });

function toSchema(field: ToolField): z.ZodType<Json> {
  const bare = toBareSchema(field);
  const said = field.about === undefined ? bare : bare.describe(field.about);
  return (field.isOptional ?? false) ? said.exactOptional() : said;
}
function toBareSchema(field: ToolField): z.ZodType<Json> {
  switch (field.kind) {
    case "name":
      return z
        .string()
        .min(1)
        .max(field.longest ?? 128);
    case "text": {
      const text = z.string().max(field.longest);
      if (field.default === undefined) return text.min(1);
      return (field.default === "" ? text : text.min(1)).default(field.default);
    }
    case "choice":
      return field.default === undefined ? z.enum(field.choices) : z.enum(field.choices).default(field.default);
    case "count": {
      const count = z.int().min(1).max(field.most);
      return field.default === undefined ? count : count.default(field.default);
    }
  }
}

/** Tools that are more than one operation, or less; `fixtures/tool-reasons.ts` has the reason of each. */
const handWrittenTools = (open: OpenDesk): readonly Tool[] => [
  defineTool({
    name: "list_agents",
    description: "The agents of the fleet: name, model, tools, and how many sessions each has by state.",
    input: z.strictObject({}),
    ...OWN,
    run: async (_, { session: here }) => (await open(here)).listAgents(),
  }),
  defineTool({
    name: "agent_status",
    description:
      "The status of one agent: sessions by state, open approval requests and unknown outcomes, halts, open breakers, its last session.",
    input: z.strictObject({ agent: name }),
    ...LOOKS,
    run: async ({ agent }, { session: here }) => (await open(here)).agentStatus(agent),
  }),
  defineTool({
    name: "session_events",
    description:
      "What happened in a session: decisions with their policies and reasons, approval requests, calls, endings; no texts. Of an agent or a tool, by name: what happened in the newest sessions.",
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
    name: "run_agent",
    description: "Runs one turn of an agent in a new session, on the operator's behalf, and returns its result.",
    input: z.strictObject({ agent: name, input: z.string().min(1).max(20_000) }),
    ...ACTS,
    resource: ({ agent }) => ({ type: "Agent", id: agent }),
    resourceTypes: ["Agent"],
    run: async (order, call) => (await open(call.session)).runAgent(order, call),
  }),
];
