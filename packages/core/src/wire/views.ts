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
    skills: z.array(z.strictObject({ name: z.string(), description: z.string() }).readonly()).readonly(),
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
    /** Those that it can decide for. */
    agents: z.array(z.string()).readonly(),
  })
  .readonly();
export const trouble = z
  .strictObject({ file: z.string(), line: s.count, column: s.count, detail: z.string(), hint: z.string() })
  .readonly();
/** Paths below `policies/`, all of them: what is not named is not there any more. */
export const policyFiles = z.array(z.strictObject({ path: z.string().min(1).max(300), text: z.string().max(s.MOST_TEXT) })).max(1_000);
/** `counts`: what the set is made of; null where the list of its files was not stored. */
export const policyHistoryRow = z
  .strictObject({
    seq: s.seq,
    at: s.millis,
    kind: z.enum(["loaded", "applied", "refused"]),
    by: z.string(),
    digest: s.digest.nullable(),
    files: s.digest.nullable(),
    counts: z.strictObject({ policies: s.count, tables: s.count, agents: s.count }).readonly().nullable(),
    /** Its texts can be read. */
    stored: z.boolean(),
    changes: z.array(z.strictObject({ path: z.string(), change: z.enum(["added", "changed", "removed"]) }).readonly()).readonly(),
    reason: z.string(),
    problems: z.array(z.string()).readonly(),
  })
  .readonly();
export const caseView = z
  .strictObject({ file: z.string(), line: s.count, column: s.count, name: z.string(), passed: z.boolean(), detail: z.string() })
  .readonly();
export const health = z
  .strictObject({
    status: z.enum(["ok", "failing"]),
    version: z.string(),
    uptimeMs: s.count,
    checks: z.array(z.strictObject({ name: z.string(), ok: z.boolean(), detail: z.string() }).readonly()).readonly(),
    /** What cannot be done on this machine although the server is well, with what to do about it. */
    warnings: z.array(z.string()).readonly(),
  })
  .readonly();
export const verified = z
  .strictObject({
    ok: z.boolean(),
    streams: s.count,
    entries: s.count,
    commits: s.count,
    writers: s.count,
    erased: s.count,
    head: z.string(),
    /** Sets of policies that sessions name and whose texts were never stored. */
    textless: s.count,
    problems: z.array(z.string()).readonly(),
  })
  .readonly();
/** A line of a verification that is told while it goes on. */
export const verifyLine = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("progress"), entries: s.count, of: s.count }),
  z.strictObject({ kind: z.literal("result"), result: verified }),
  z.strictObject({ kind: z.literal("failed"), detail: z.string() }),
]);
export type VerifyLine = z.infer<typeof verifyLine>;
const place = { position: s.count, stream: s.streamId, seq: s.seq, at: s.millis };
export const foundEntry = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("entry"), ...place, entry: s.entry }),
  z.strictObject({ kind: z.literal("erased"), ...place }),
  z.strictObject({ kind: z.literal("bad"), ...place, detail: z.string() }),
]);
export const storedEntry = z
  .strictObject({
    stream: s.streamId,
    seq: s.seq,
    at: s.millis,
    kind: z.string(),
    previous: s.digest,
    payloadHash: s.digest,
    entryHash: s.digest,
    /** Both null once erased. */
    salt: z.string().nullable(),
    payload: z.string().nullable(),
    commit: z
      .strictObject({
        writer: z.string(),
        number: s.count,
        at: s.millis,
        hash: s.digest,
        root: s.digest,
        key: z.string(),
        signature: z.string(),
      })
      .readonly(),
  })
  .readonly();
export const usageRow = z
  .strictObject({
    hour: s.count,
    agent: z.string(),
    model: z.string(),
    turns: s.count,
    completed: s.count,
    denied: s.count,
    failed: s.count,
    activeMs: s.count,
    replies: s.count,
    tokens: s.count,
    micros: s.count,
    unpriced: s.count,
    calls: s.count,
    callsFailed: s.count,
    callMs: s.count,
    decisions: s.count,
    denials: s.count,
    asks: s.count,
  })
  .readonly();
export const policyFile = z
  .strictObject({
    path: z.string(),
    text: z.string(),
    /** A decision table, beside the policies that it is about. */
    table: z.boolean(),
    surface: s.surface.nullable(),
    shadow: z.boolean(),
  })
  .readonly();
