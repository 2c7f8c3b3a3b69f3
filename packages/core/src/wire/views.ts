/** What routes show of agents, turns, policies and the server itself. */
import * as z from "zod";
import * as s from "./shapes.ts";

export const agentView = z
  .strictObject({
    name: z.string(),
    description: z.string(),
    model: z.string(),
    tools: z.array(z.string()).readonly(),
    delegates: z.array(z.string()).readonly(),
    digest: s.digest,
  })
  .readonly();
export const toolView = z
  .strictObject({
    name: z.string(),
    description: z.string(),
    input: s.jsonObject,
    repeat: z.enum(["read", "idempotent", "reconcile", "once"]),
    effects: z.array(z.string()).readonly(),
    labels: z.array(z.string()).readonly(),
  })
  .readonly();
export const agentDetail = z
  .strictObject({
    name: z.string(),
    description: z.string(),
    instructions: z.string(),
    model: z.string(),
    fallbacks: z.array(z.string()).readonly(),
    tools: z.array(toolView).readonly(),
    delegates: z.array(z.string()).readonly(),
    limits: s.jsonObject,
    digest: s.digest,
    warnings: z.array(z.string()).readonly(),
  })
  .readonly();
export const agentStatus = z
  .strictObject({
    agent: z.string(),
    sessions: z.strictObject({ idle: s.count, running: s.count, waiting: s.count, closed: s.count }).readonly(),
    openQuestions: s.count,
    openUnknowns: s.count,
    halted: s.standingHalt.nullable(),
    /** Those of its tools and models that are not closed. */
    breakers: z.array(s.breakerView).readonly(),
    lastAt: s.millis.nullable(),
    lastEnding: s.ending.nullable(),
  })
  .readonly();
export const turnView = z
  .strictObject({
    session: s.sessionId,
    turn: s.count,
    first: s.seq,
    input: z.string(),
    by: s.principal,
    startedAt: s.millis,
    endedAt: s.millis.nullable(),
    ending: s.ending.nullable(),
    output: z.string().nullable(),
    detail: z.string().nullable(),
    usage: s.usage.nullable(),
    iterations: s.count.nullable(),
    calls: s.count.nullable(),
    micros: s.count.nullable(),
    activeMs: s.count.nullable(),
  })
  .readonly();
/** JSON and Prometheus tell the same values. */
export const metric = z
  .strictObject({
    name: z.string(),
    help: z.string(),
    type: z.enum(["counter", "gauge", "histogram"]),
    samples: z
      .array(z.strictObject({ labels: z.record(z.string(), z.string()).readonly(), value: z.number(), suffix: z.string() }).readonly())
      .readonly(),
  })
  .readonly();
export const policyView = z
  .strictObject({
    id: s.policyId,
    file: z.string(),
    line: s.count,
    effect: z.enum(["permit", "forbid"]),
    surface: z.string().nullable(),
    shadow: z.boolean(),
    annotations: z.record(z.string(), z.string().nullable()).readonly(),
  })
  .readonly();
export const trouble = z
  .strictObject({ file: z.string(), line: s.count, column: s.count, detail: z.string(), hint: z.string() })
  .readonly();
/** Paths below `policies/`, all of them: what is not named is not there any more. */
export const policyFiles = z.array(z.strictObject({ path: z.string().min(1).max(300), text: z.string().max(s.MOST_TEXT) })).max(1_000);
export const caseView = z
  .strictObject({ file: z.string(), line: s.count, column: s.count, name: z.string(), passed: z.boolean(), detail: z.string() })
  .readonly();
export const health = z
  .strictObject({
    status: z.enum(["ok", "failing"]),
    version: z.string(),
    uptimeMs: s.count,
    checks: z.array(z.strictObject({ name: z.string(), ok: z.boolean(), detail: z.string() }).readonly()).readonly(),
  })
  .readonly();
