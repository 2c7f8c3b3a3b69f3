/**
 * The things that frames and routes carry, each with its one decoder. A decoder that gives an id its brand casts, as decoders may; the JSON
 * Schema can be made from each, since the description of the API is made from them.
 */

import {
  type ActionText,
  type Answer,
  type ApprovalId,
  type Attachment,
  type CallId,
  type Digest,
  describeFault,
  ENDINGS,
  type Ending,
  type Entry,
  type GrantId,
  type IntentId,
  isEventKind,
  type JournalEvent,
  type Json,
  type JsonObject,
  type Label,
  type Millis,
  type PolicyId,
  type Principal,
  readAttachments,
  type Seq,
  type SessionId,
  type StreamId,
  SURFACES,
  type Surface,
} from "@orgate/core/vocab";
import * as z from "zod";

/** The type is narrower than what the schema can say: a brand. */
const branded = <T>(schema: z.ZodType): z.ZodType<T> => schema as unknown as z.ZodType<T>;

export const MOST_TEXT = 1_000_000;
export const text = z.string().min(1).max(MOST_TEXT);
export const reason = z.string().max(2_000);
/** Where one has to be given (W-18): not empty, not blank. */
export const requiredReason = reason.regex(/\S/, "say why: the journal keeps it, and whom it concerns is told");
export const name = z.string().min(1).max(200);
export const countSchema = z.int().min(0);
/** Whom a session serves. */
export const subject = z.strictObject({
  id: name,
  attributes: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())])).exactOptional(),
});
/** A value read from JSON is JSON: only its absence must be checked. */
const anything = z.unknown().refine((value) => value !== undefined, "is missing");
export const json: z.ZodType<Json> = branded<Json>(anything);
export const jsonObject: z.ZodType<JsonObject> = branded<JsonObject>(z.record(z.string(), anything));

export const sessionIdSchema = branded<SessionId>(z.string().regex(/^s_[0-9a-z]{8,40}$/));
export const streamIdSchema = branded<StreamId>(name);
export const callIdSchema = branded<CallId>(name);
export const actionIdSchema = branded<ActionText>(name);
export const approvalIdSchema = branded<ApprovalId>(name);
export const grantIdSchema = branded<GrantId>(name);
export const intentIdSchema = branded<IntentId>(z.string().regex(/^[\w-]{1,100}$/));
export const policyIdSchema = branded<PolicyId>(z.string().max(500));
export const labelSchema = branded<Label>(name);
export const digestSchema = branded<Digest>(z.string().regex(/^[0-9a-f]{64}$/));
/** The beginning of a digest, long enough to mean one set of policies. */
export const digestStart = z.string().regex(/^[0-9a-f]{6,64}$/);
export const seqSchema = branded<Seq>(countSchema);
export const millisSchema = branded<Millis>(countSchema);

/** Chosen by the caller; the same one again is the same request. */
export const requestId = z.string().regex(/^[\w.:-]{1,64}$/);

export const principal: z.ZodType<Principal> = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("user"), id: name }),
  z.strictObject({ kind: z.literal("agent"), id: name }),
  z.strictObject({ kind: z.literal("system"), id: name }),
]);
export const surface: z.ZodType<Surface> = z.enum(SURFACES);
export const ending: z.ZodType<Ending> = z.enum(Object.keys(ENDINGS) as [Ending, ...Ending[]]);
export const usage = z.strictObject({ input: countSchema, output: countSchema, cached: countSchema, reasoning: countSchema }).readonly();
export const resource = z.strictObject({ type: z.string(), id: z.string() }).readonly();

/** Files beside a person's text. The file's own reader decides, and handlers get its result. */
export const attachments = z
  .array(
    z.strictObject({
      mediaType: z.string(),
      name: z.string().nullable().exactOptional(),
      base64: z.string().exactOptional(),
      text: z.string().exactOptional(),
    }),
  )
  .transform((given, context): readonly Attachment[] => {
    const read = readAttachments(given);
    if (read.kind === "files") return read.files;
    context.addIssue({ code: "custom", message: describeFault(read.fault).message });
    return z.NEVER;
  });

const until = z.union([z.enum(["turn", "session"]), millisSchema]);
export const grantScope = z.enum(["digest", "resource", "tool"]);
const grantWish = z.strictObject({ scope: grantScope, until }).readonly();
export const answer: z.ZodType<Answer> = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("approve") }),
  z.strictObject({ kind: z.literal("deny"), reason: requiredReason }),
  z.strictObject({ kind: z.literal("withdraw"), reason: requiredReason }),
  z.strictObject({ kind: z.literal("edit"), args: jsonObject }),
  z.strictObject({ kind: z.literal("grant"), grant: grantWish }),
]);
export const resolution = z.enum(["happened", "did-not-happen", "abandon", "reconcile"]);

// ── entries ──

const event = z.looseObject({ kind: z.string().min(1) });
/** An event in its place. Its fields are as the journal has them: what is sealed there is not checked again here. */
export const entry: z.ZodType<Entry> = branded<Entry>(
  z.strictObject({ stream: streamIdSchema, seq: seqSchema, at: millisSchema, event }).readonly(),
);
/** Of a schedule's own stream. */
export const scheduleEvent = branded<Extract<JournalEvent, { kind: `schedule.${string}` }>>(
  z.looseObject({ kind: z.string().regex(/^schedule\.[a-z-]+$/) }).readonly(),
);
/** Of a kind that this version does not know: a newer one wrote it. It is counted, and shown by its name. */
export const isKnownKind = ({ event: { kind } }: Entry): boolean => isEventKind(kind);

export const preview = z.discriminatedUnion("part", [
  z.strictObject({ part: z.enum(["text", "thinking"]), offset: countSchema, text: z.string() }).readonly(),
  z.strictObject({ part: z.literal("call"), call: countSchema, tool: z.string(), offset: countSchema, text: z.string() }).readonly(),
]);

// ── what lists show ──

export const sessionSummary = z
  .strictObject({
    session: sessionIdSchema,
    external: z.string().nullable(),
    title: z.string().nullable(),
    agent: z.string(),
    principal,
    parent: sessionIdSchema.nullable(),
    surface,
    openedAt: millisSchema,
    lastAt: millisSchema,
    seq: seqSchema,
    state: z.enum(["idle", "running", "waiting", "closed"]),
    turns: countSchema,
    ending: ending.nullable(),
    iterations: countSchema,
    usage,
    openQuestions: countSchema,
    openUnknowns: countSchema,
    children: z.array(sessionIdSchema).readonly(),
  })
  .readonly();

export const standingHalt = z.strictObject({ scope: z.string(), by: principal, reason: z.string(), at: millisSchema }).readonly();
/** `halted`: the halt that keeps its turn from going on; null where there is none, or no turn. */
export const listedSession = z.strictObject({ ...sessionSummary.unwrap().shape, halted: standingHalt.nullable() }).readonly();

const terms = z
  .strictObject({
    approvers: z.array(z.string()).readonly(),
    quorum: countSchema,
    expiresMs: countSchema.nullable(),
    grant: z.string().nullable(),
    onExpiry: z.enum(["deny", "halt", "wait"]),
    grantSurvives: z.array(z.string()).readonly().optional(),
  })
  .readonly();
const ask = z.strictObject({ policy: policyIdSchema, question: z.string(), terms }).readonly();
const vote = z.strictObject({ by: z.string(), counts: z.array(policyIdSchema).readonly(), grant: grantWish.nullable() }).readonly();

const question = {
  approval: approvalIdSchema,
  session: sessionIdSchema,
  agent: z.string(),
  action: actionIdSchema,
  /** A tool's name; `model` or `respond` for the others. */
  tool: z.string(),
  resource: resource.nullable(),
  digest: digestSchema,
  asks: z.array(ask).readonly(),
  again: z.string().nullable(),
  askedAt: millisSchema,
  expiresAt: millisSchema.nullable(),
  votes: z.array(vote).readonly(),
};
export const listedQuestion = z.strictObject({ ...question, arrival: countSchema }).readonly();
const lifetime = z.union([z.enum(["turn", "session"]), z.strictObject({ ms: countSchema }).readonly()]);
const targets = z.record(z.string(), z.array(z.string()).readonly()).readonly();
const names = z.array(z.string()).readonly();
export const questionView = z
  .strictObject({
    ...question,
    lineage: z.array(z.string()).readonly(),
    requester: principal,
    /** Whom the session serves; null: nobody. */
    subject: z.string().nullable(),
    args: jsonObject.nullable(),
    editedBy: z.string().nullable(),
    text: z.string().nullable(),
    onExpiry: z.enum(["deny", "halt"]),
    expired: z.boolean(),
    widest: z.strictObject({ scope: grantScope, lifetime }).readonly().nullable(),
    shown: z
      .strictObject({
        tool: z.string(),
        resource,
        targets: targets.nullable(),
        labels: names,
        survives: names,
        subject: z.string().nullable(),
      })
      .readonly()
      .nullable(),
    /** Each grant that may be given, at its longest, in words. */
    grants: z.array(z.strictObject({ scope: grantScope, says: z.string() }).readonly()).readonly(),
    /** The halt that a yes would wait with, in words. */
    halted: z.string().nullable(),
    /** Later resolutions of the unknown outcomes that it asks about, in words. */
    resolved: z.array(z.string()).readonly(),
  })
  .readonly();

export const standingGrant = z
  .strictObject({
    grant: grantIdSchema,
    by: principal,
    givenAt: millisSchema,
    agent: z.string(),
    onBehalfOf: principal,
    tool: z.string(),
    toolDigest: digestSchema.nullable(),
    scope: grantScope,
    resource,
    digest: digestSchema,
    slice: digestSchema,
    policies: z.array(policyIdSchema).readonly(),
    session: sessionIdSchema.nullable(),
    turn: countSchema.nullable(),
    until: millisSchema.nullable(),
    targets: targets.nullable().optional(),
    labels: names.optional(),
    survives: names.optional(),
    subject: z.string().nullable().optional(),
    /** Scope of the grant, in words. */
    says: z.string(),
  })
  .readonly();

const unknownCause = z.enum(["timed-out", "cancelled", "hold-lost", "connection-lost", "killed", "not-reconciled"]);
export const openUnknown = z
  .strictObject({
    session: sessionIdSchema,
    agent: z.string(),
    call: callIdSchema,
    tool: z.string(),
    resource,
    digest: digestSchema,
    cause: unknownCause,
    at: millisSchema,
  })
  .readonly();

export const deadLetter = z
  .strictObject({
    session: sessionIdSchema,
    call: callIdSchema,
    agent: z.string(),
    tool: z.string(),
    resource,
    digest: digestSchema,
    error: z.string(),
    at: millisSchema,
    arrival: countSchema,
  })
  .readonly();

export const breakerState = z.enum(["closed", "open", "half-open"]);
export const breakerView = z
  .strictObject({
    breaker: z.string(),
    state: breakerState,
    written: breakerState,
    failures: countSchema,
    until: millisSchema.nullable(),
    by: principal,
    reason: z.string(),
    at: millisSchema,
  })
  .readonly();

/** One that was to work for a turn. `agent`: null for whom may not be seen. `session`: null when it was not begun. `ending`: null while it is at work. `tokens` were used; `lost` were reserved for model calls that were cut off. */
export const member = z
  .strictObject({
    agent: name.nullable(),
    session: sessionIdSchema.nullable(),
    ending: ending.nullable(),
    detail: z.string().nullable(),
    tokens: countSchema,
    lost: countSchema,
    cost: z.number().nullable(),
  })
  .readonly();

/** Result of a turn, and of each sub-agent's: the fields of `runtime.complete` and `orgate run --json`, without the conversation, which `events` has. */
export const runResult = z
  .strictObject({
    session: sessionIdSchema,
    state: z.enum(["ended", "waiting"]),
    ending: ending.nullable(),
    sentence: z.string(),
    next: z.string(),
    detail: z.string().nullable(),
    output: z.string().nullable(),
    value: json,
    iterations: countSchema,
    usage: z
      .strictObject({
        input: countSchema,
        output: countSchema,
        cached: countSchema,
        reasoning: countSchema,
        total: countSchema,
        lost: countSchema,
      })
      .readonly(),
    cost: z.number().nullable(),
    durationMs: countSchema,
    calls: countSchema,
    questions: z.array(approvalIdSchema).readonly(),
    unknowns: z.array(callIdSchema).readonly(),
    warnings: z.array(z.string()).readonly(),
    members: z.array(member).readonly(),
  })
  .readonly();

/** Result of an intent: the entry, or null while the session's holder has not taken it; `halted`: the halt that the session waits with. */
export const became = z.strictObject({ session: sessionIdSchema, entry: entry.nullable(), halted: standingHalt.nullable() }).readonly();
