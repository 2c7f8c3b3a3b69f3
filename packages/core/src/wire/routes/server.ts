/** The server itself. */
import * as z from "zod";
import { as, get, inText, post } from "../route.ts";
import * as s from "../shapes.ts";
import { whoami } from "../v1.ts";
import { health, metric } from "../views.ts";

export const serverRoutes = {
  health: get({
    path: "/health",
    answers: as(health),
    act: "open",
    tag: "server",
    says: "Whether the server can do its work: its journal can be written, its policies are loaded; `warnings` say what cannot be done on its machine.",
  }),
  describe: get({
    path: "/openapi.json",
    answers: as(s.jsonObject),
    act: "open",
    tag: "server",
    says: "This description, as OpenAPI 3.1.",
  }),
  whoami: get({ path: "/me", answers: as(whoami), act: "self", tag: "server", says: "Who the caller is, and what its key is limited to." }),
  ticket: post({
    path: "/tickets",
    answers: as(z.strictObject({ ticket: z.string(), expiresAt: s.millisSchema }).readonly()),
    status: 201,
    act: "self",
    asks: true,
    tag: "server",
    says: "A ticket for one WebSocket connection (`?token=`): good once, for seconds.",
  }),
  metrics: get({
    path: "/metrics",
    answers: as(z.strictObject({ at: s.millisSchema, metrics: z.array(metric).readonly() }).readonly()),
    act: { kind: "list", on: "listing" },
    tag: "server",
    says: "Counters and gauges of the agents that the caller may see.",
  }),
  prometheus: get({
    path: "/metrics/prometheus",
    answers: inText("text/plain; version=0.0.4; charset=utf-8"),
    act: { kind: "list", on: "listing" },
    tag: "server",
    says: "The same, in Prometheus' own text.",
  }),
} as const;
