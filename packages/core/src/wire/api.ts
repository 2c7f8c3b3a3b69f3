/**
 * `/api/v1`: the one table of routes. The server answers by it, the typed client asks by it, the description (`openapi.ts`) and the matrix of
 * who may do what are made from it. A route that is not in here does not exist.
 *
 * W25 a request is decoded strictly by its route's decoders, and an answer is what its route's decoder takes.
 * W26 a POST that changes something needs an idempotency key: the same key, by the same person, for the same request, is done once and answered alike.
 */
import type * as z from "zod";
import type { Answers, Nothing, RouteAct } from "./route.ts";
import { agentRoutes } from "./routes/agents.ts";
import { approvalRoutes } from "./routes/approvals.ts";
import { journalRoutes } from "./routes/journal.ts";
import { knowledgeRoutes } from "./routes/knowledge.ts";
import { policyRoutes } from "./routes/policies.ts";
import { scheduleRoutes } from "./routes/schedules.ts";
import { serverRoutes } from "./routes/server.ts";
import { sessionRoutes } from "./routes/sessions.ts";
import { webhookRoutes } from "./routes/webhooks.ts";
import { workRoutes } from "./routes/work.ts";
import type { ClientFrame } from "./v1.ts";

export const ROUTES = {
  ...serverRoutes,
  ...agentRoutes,
  ...sessionRoutes,
  ...approvalRoutes,
  ...workRoutes,
  ...scheduleRoutes,
  ...webhookRoutes,
  ...policyRoutes,
  ...journalRoutes,
  ...knowledgeRoutes,
} as const;

export type Routes = typeof ROUTES;
export type RouteName = keyof Routes;
export const ROUTE_NAMES: readonly RouteName[] = Object.freeze(Object.keys(ROUTES) as RouteName[]);

type Field<Key extends string, T> = Record<never, never> extends T ? Readonly<Partial<Record<Key, T>>> : Readonly<Record<Key, T>>;
/** What a caller gives, as it may be written: what has a default may be left out. */
export type RouteInput<K extends RouteName> = Field<"params", z.input<Routes[K]["params"]>> &
  Field<"query", z.input<Routes[K]["query"]>> &
  (Routes[K]["body"] extends Nothing ? Readonly<{ body?: undefined }> : Readonly<{ body: z.input<Routes[K]["body"]> }>);
/** What a handler gets, decoded. */
export type RouteRequest<K extends RouteName> = Readonly<{
  params: z.output<Routes[K]["params"]>;
  query: z.output<Routes[K]["query"]>;
  body: z.output<Routes[K]["body"]>;
}>;
/** What comes back; streams have none. */
export type RouteOutput<K extends RouteName> = Routes[K]["answers"] extends Answers<infer R> ? z.output<R> : never;

/** Who decides over each frame of `/ws/v1`: the same acts as over HTTP. */
export const FRAME_ACTS: Readonly<Record<ClientFrame["kind"], RouteAct | "self">> = {
  hello: "self",
  ping: "self",
  unsubscribe: "self",
  subscribe: { kind: "read-journal", on: "session" }, // of `all`: the listing
  history: { kind: "read-journal", on: "session" },
  chat: { kind: "run", on: "agent" },
  steer: { kind: "steer", on: "session" },
  cancel: { kind: "cancel", on: "session" },
  answer: { kind: "approve", on: "approval" },
  resolve: { kind: "resolve", on: "call" },
};
