/** Views of agents, turns, policies and the server itself, as routes return them. */
import * as z from "zod";
import * as s from "./shapes.ts";

export const agentView = z
  .strictObject({
    name: z.string(),
    description: z.string(),
    model: z.string(),
    tools: z.array(z.string()).readonly(),
    delegates: z.array(z.string()).readonly(),
    digest: s.digestSchema,
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
    /** An example of what a question about a call of it may state beside its arguments: records, the subject, facts about arguments. */
    facts: s.jsonObject,
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
    digest: s.digestSchema,
    warnings: z.array(z.string()).readonly(),
  })
  .readonly();
export const agentStatus = z
  .strictObject({
    agent: z.string(),
    sessions: z.strictObject({ idle: s.countSchema, running: s.countSchema, waiting: s.countSchema, closed: s.countSchema }).readonly(),
    openQuestions: s.countSchema,
    openUnknowns: s.countSchema,
    halted: s.standingHalt.nullable(),
    /** Those of its tools and models that are not closed. */
    breakers: z.array(s.breakerView).readonly(),
    lastAt: s.millisSchema.nullable(),
    lastEnding: s.ending.nullable(),
  })
  .readonly();
export const turnView = z
  .strictObject({
    session: s.sessionIdSchema,
    turn: s.countSchema,
    first: s.seqSchema,
    input: z.string(),
    by: s.principal,
    startedAt: s.millisSchema,
    endedAt: s.millisSchema.nullable(),
    ending: s.ending.nullable(),
    output: z.string().nullable(),
    detail: z.string().nullable(),
    usage: s.usage.nullable(),
    iterations: s.countSchema.nullable(),
    calls: s.countSchema.nullable(),
    micros: s.countSchema.nullable(),
    activeMs: s.countSchema.nullable(),
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
    id: s.policyIdSchema,
    file: z.string(),
    line: s.countSchema,
    effect: z.enum(["permit", "forbid"]),
    surface: z.string().nullable(),
    shadow: z.boolean(),
    annotations: z.record(z.string(), z.string().nullable()).readonly(),
    /** Those that it can decide for. */
    agents: z.array(z.string()).readonly(),
  })
  .readonly();
export const trouble = z
  .strictObject({ file: z.string(), line: s.countSchema, column: s.countSchema, detail: z.string(), hint: z.string() })
  .readonly();
/** Paths below `policies/`, all of them: a file that is not named is removed. */
export const policyFiles = z.array(z.strictObject({ path: z.string().min(1).max(300), text: z.string().max(s.MOST_TEXT) })).max(1_000);
/** `counts`: what the set is made of; null where the list of its files was not stored. */
export const policyHistoryRow = z
  .strictObject({
    seq: s.seqSchema,
    at: s.millisSchema,
    kind: z.enum(["loaded", "applied", "refused"]),
    by: z.string(),
    digest: s.digestSchema.nullable(),
    files: s.digestSchema.nullable(),
    counts: z.strictObject({ policies: s.countSchema, tables: s.countSchema, agents: s.countSchema }).readonly().nullable(),
    /** Its texts can be read. */
    stored: z.boolean(),
    changes: z.array(z.strictObject({ path: z.string(), change: z.enum(["added", "changed", "removed"]) }).readonly()).readonly(),
    reason: z.string(),
    problems: z.array(z.string()).readonly(),
  })
  .readonly();
export const caseView = z
  .strictObject({ file: z.string(), line: s.countSchema, column: s.countSchema, name: z.string(), passed: z.boolean(), detail: z.string() })
  .readonly();
export const health = z
  .strictObject({
    status: z.enum(["ok", "failing"]),
    version: z.string(),
    uptimeMs: s.countSchema,
    checks: z.array(z.strictObject({ name: z.string(), ok: z.boolean(), detail: z.string() }).readonly()).readonly(),
    /** Limitations of this machine although the server is well, with what to do about them. */
    warnings: z.array(z.string()).readonly(),
  })
  .readonly();
/** `own`: the writer of the process that answers. Figures are null where one machine has all processes, and nobody counts. */
export const processes = z
  .strictObject({
    at: s.millisSchema,
    own: z.string(),
    processes: z
      .array(
        z
          .strictObject({
            writer: z.string(),
            place: z.string(),
            /** `server` serves and drives; null: a run, or it is not known. */
            role: z.enum(["server", "coordinator", "worker"]).nullable(),
            version: z.string().nullable(),
            holds: s.countSchema.nullable(),
            heardMs: s.countSchema.nullable(),
            commits: s.countSchema.nullable(),
            appends: s.countSchema.nullable(),
            /** As it told them with its lease. `lag`: entries that it had not followed yet; `delayMs`: how late its event loop was at most. */
            figures: z
              .strictObject({
                driven: s.countSchema,
                queued: s.countSchema,
                lag: s.countSchema,
                delayMs: s.countSchema,
                rssBytes: s.countSchema,
              })
              .readonly()
              .nullable(),
            /** Of the sessions that it holds, those whose last entry is the oldest. */
            quietest: z.array(z.strictObject({ session: s.sessionIdSchema, agent: z.string(), at: s.millisSchema }).readonly()).readonly(),
          })
          .readonly(),
      )
      .readonly(),
  })
  .readonly();
export const verified = z
  .strictObject({
    ok: z.boolean(),
    streams: s.countSchema,
    entries: s.countSchema,
    seals: s.countSchema,
    writers: s.countSchema,
    erased: s.countSchema,
    /** Entries that no seal covers yet: written in the last moments, or before a crash. */
    unsealed: s.countSchema,
    head: z.string(),
    /** Sets of policies that sessions name and whose texts were never stored. */
    textless: s.countSchema,
    problems: z.array(z.string()).readonly(),
  })
  .readonly();
/** A line of a verification, sent while it goes on. */
export const verifyLine = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("progress"), entries: s.countSchema, of: s.countSchema }),
  z.strictObject({ kind: z.literal("result"), result: verified }),
  z.strictObject({ kind: z.literal("failed"), detail: z.string() }),
]);
export type VerifyLine = z.infer<typeof verifyLine>;
const place = { position: s.countSchema, stream: s.streamIdSchema, seq: s.seqSchema, at: s.millisSchema };
export const foundEntry = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("entry"), ...place, entry: s.entry }),
  z.strictObject({ kind: z.literal("erased"), ...place }),
  z.strictObject({ kind: z.literal("bad"), ...place, detail: z.string() }),
]);
export const storedEntry = z
  .strictObject({
    stream: s.streamIdSchema,
    seq: s.seqSchema,
    at: s.millisSchema,
    kind: z.string(),
    previous: s.digestSchema,
    payloadHash: s.digestSchema,
    entryHash: s.digestSchema,
    /** Both null once erased. */
    salt: z.string().nullable(),
    payload: z.string().nullable(),
    /** Null until it is sealed. */
    seal: z
      .strictObject({
        writer: z.string(),
        number: s.countSchema,
        at: s.millisSchema,
        recovered: z.boolean(),
        hash: s.digestSchema,
        key: z.string(),
        signature: z.string(),
      })
      .readonly()
      .nullable(),
  })
  .readonly();
export const usageRow = z
  .strictObject({
    hour: s.countSchema,
    agent: z.string(),
    model: z.string(),
    turns: s.countSchema,
    completed: s.countSchema,
    denied: s.countSchema,
    failed: s.countSchema,
    activeMs: s.countSchema,
    replies: s.countSchema,
    tokens: s.countSchema,
    micros: s.countSchema,
    unpriced: s.countSchema,
    calls: s.countSchema,
    callsFailed: s.countSchema,
    callMs: s.countSchema,
    decisions: s.countSchema,
    denials: s.countSchema,
    asks: s.countSchema,
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

/** The caller, and the limits of the access that was shown. */
export const whoami = z
  .strictObject({
    principal: s.principal,
    /** Null: no limit beyond the policies. */
    agents: z.array(s.name).readonly().nullable(),
    actions: z.array(s.name).readonly().nullable(),
    expiresAt: s.millisSchema.nullable(),
  })
  .readonly();
