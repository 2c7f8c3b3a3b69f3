/** Agents: the words of their operations. */
import { ask, get, post, tagged } from "./words.ts";

export const agentWords = tagged("agents", {
  agents: get({
    path: "/agents",
    act: { kind: "list", on: "listing" },
    inCommand: "agents list",
    summary: "List the agents that the caller may see, by name.",
  }),
  agent: get({
    path: "/agents/{agent}",
    slash: [
      {
        command: "tools",
        summary: "list an agent's tools",
        args: [{ value: "AGENT", field: "agent", as: "agent", help: "which agent; the addressed one if left out" }],
      },
    ],
    act: { kind: "observe", on: "agent" },
    inCommand: "agents show",
    summary: "Show one agent as it is defined: instructions, model, tools, limits.",
  }),
  agentStatus: get({
    path: "/agents/{agent}/status",
    act: { kind: "observe", on: "agent" },
    summary: "Show the status of one agent: its sessions by state, open requests, halts and breakers.",
  }),
  agentHistory: get({
    path: "/agents/{agent}/history",
    act: { kind: "observe", on: "agent" },
    summary: "List the turns of one agent over its sessions, newest session first.",
  }),
  execute: post({
    path: "/agents/{agent}/execute",
    act: { kind: "run", on: "agent" },
    inCommand: "run",
    summary: "Run one turn of an agent; returns its result, or that it waits for a person.",
  }),
  uiChat: ask({
    path: "/agents/{agent}/chat",
    act: { kind: "run", on: "agent" },
    onlyConnected: "a UI message stream goes over a connection that stays open",
    summary:
      "Run one turn as an AI SDK UI message stream, so that `useChat` works against an agent; the message's own id makes it idempotent.",
  }),
});
