/** Agents: what they are, what they do, running them. */
import * as z from "zod";
import { as, get, ofAgent, paged, pageOf, post, UI_STREAM } from "../operation.ts";
import * as s from "../shapes.ts";
import { agentDetail, agentStatus, agentView, turnView } from "../views.ts";

export const agentOperations = {
  agents: get({
    path: "/agents",
    query: z.strictObject(paged),
    answers: as(pageOf(agentView)),
    act: { kind: "list", on: "listing" },
    tag: "agents",
    summary: "List the agents that the caller may see, by name.",
  }),
  agent: get({
    path: "/agents/{agent}",
    params: ofAgent,
    answers: as(agentDetail),
    act: { kind: "observe", on: "agent" },
    tag: "agents",
    summary: "Show one agent as it is defined: instructions, model, tools, limits.",
  }),
  agentStatus: get({
    path: "/agents/{agent}/status",
    params: ofAgent,
    answers: as(agentStatus),
    act: { kind: "observe", on: "agent" },
    tag: "agents",
    summary: "Show the status of one agent: its sessions by state, open requests, halts and breakers.",
  }),
  agentHistory: get({
    path: "/agents/{agent}/history",
    params: ofAgent,
    query: z.strictObject(paged),
    answers: as(pageOf(turnView)),
    act: { kind: "observe", on: "agent" },
    tag: "agents",
    summary: "List the turns of one agent over its sessions, newest session first.",
  }),
  execute: post({
    path: "/agents/{agent}/execute",
    params: ofAgent,
    body: z.strictObject({
      input: s.text,
      files: s.attachments.exactOptional(),
      session: s.sessionIdSchema.exactOptional(),
      /** The caller's own name of the session; one is opened under it when there is none. */
      id: z.string().min(1).max(128).exactOptional(),
      labels: z.array(s.name).max(50).exactOptional(),
      limits: s.jsonObject.exactOptional(),
      /** The result is waited for so long at the most; it is answered with what there is then. */
      waitMs: z.int().min(0).max(600_000).default(120_000),
    }),
    answers: as(s.runResult),
    act: { kind: "run", on: "agent" },
    tag: "agents",
    summary: "Run one turn of an agent; returns its result, or that it waits for a person.",
  }),
  uiChat: post({
    path: "/agents/{agent}/chat",
    params: ofAgent,
    /** As `useChat` sends it: the last message is what is said, the session is the chat's. */
    body: z.looseObject({
      id: z.string().min(1).max(100),
      messages: z.array(z.looseObject({ role: z.string() })).min(1),
      trigger: z.string().exactOptional(),
    }),
    answers: UI_STREAM,
    asks: true,
    act: { kind: "run", on: "agent" },
    tag: "agents",
    summary:
      "Run one turn as an AI SDK UI message stream, so that `useChat` works against an agent; the message's own id makes it idempotent.",
  }),
} as const;
