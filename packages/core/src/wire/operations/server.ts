/** The server itself. */
import * as z from "zod";
import { as, get, inText, post } from "../operation.ts";
import * as s from "../shapes.ts";
import { health, metric, whoami } from "../views.ts";

export const serverOperations = {
  health: get({
    path: "/health",
    answers: as(health),
    act: "open",
    tag: "server",
    summary:
      "Check whether the server can work: its journal is writable, its policies are loaded; `warnings` name what its machine cannot do.",
  }),
  describe: get({
    path: "/openapi.json",
    answers: as(s.jsonObject),
    act: "open",
    tag: "server",
    summary: "Describe this API, as OpenAPI 3.1.",
  }),
  whoami: get({
    path: "/me",
    answers: as(whoami),
    act: "self",
    tag: "server",
    summary: "Show who the caller is, and what its key is limited to.",
  }),
  ticket: post({
    path: "/tickets",
    answers: as(z.strictObject({ ticket: z.string(), expiresAt: s.millisSchema }).readonly()),
    status: 201,
    act: "self",
    asks: true,
    tag: "server",
    summary: "Create a ticket for one WebSocket connection (`?token=`): valid once, for seconds.",
  }),
  metrics: get({
    path: "/metrics",
    answers: as(z.strictObject({ at: s.millisSchema, metrics: z.array(metric).readonly() }).readonly()),
    act: { kind: "list", on: "listing" },
    tag: "server",
    summary: "Read counters and gauges of the agents that the caller may see.",
  }),
  prometheus: get({
    path: "/metrics/prometheus",
    answers: inText("text/plain; version=0.0.4; charset=utf-8"),
    act: { kind: "list", on: "listing" },
    tag: "server",
    summary: "Read the same counters and gauges as Prometheus text.",
  }),
} as const;
