/** The server: the words of their operations. */
import { ask, get, tagged } from "./words.ts";

export const serverWords = tagged("server", {
  health: get({
    path: "/health",
    act: "open",
    summary:
      "Check whether the server can work: its journal is writable, its policies are loaded; `warnings` name what its machine cannot do.",
  }),
  describe: get({
    path: "/openapi.json",
    act: "open",
    summary: "Describe this API, as OpenAPI 3.1.",
  }),
  whoami: get({
    path: "/me",
    act: "self",
    summary: "Show who the caller is, and what its key is limited to.",
  }),
  ticket: ask({
    path: "/tickets",
    status: 201,
    act: "self",
    onlyConnected: "a ticket opens a socket of the server that issued it",
    summary: "Create a ticket for one WebSocket connection (`?token=`): valid once, for seconds.",
  }),
  processes: get({
    path: "/processes",
    act: { kind: "list", on: "listing" },
    summary: "List the processes that share the project's store: when each was heard of, what it holds, how it commits.",
  }),
  metrics: get({
    path: "/metrics",
    act: { kind: "list", on: "listing" },
    summary: "Read counters and gauges of the agents that the caller may see.",
  }),
  prometheus: get({
    path: "/metrics/prometheus",
    act: { kind: "list", on: "listing" },
    summary: "Read the same counters and gauges as Prometheus text.",
  }),
});
