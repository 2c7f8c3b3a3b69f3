/**
 * `/ws/v1`: both unions of frames, and their strict decoders, which server and clients share. Nothing here opens a socket.
 *
 * A client says `hello` first, then follows what it likes and asks for what it likes, in any order and at any time: nothing waits for a turn.
 * What it follows is a *subscription*, named by the client. Each batch of entries says which stretch of the journal it covers (`after`, `to`), also where
 * entries in between are not for this reader: so a client sees by itself whether anything is missing, and goes on from the last place that it has.
 *
 * W-4 a frame is decoded strictly by one decoder on each side: an unknown kind, an unknown field or a wrong type is a problem, and nothing is done.
 * W-24 a subscription's batches lie end to end: `after` of each is `to` of the one before, and `seq` or `position` rises within it.
 * W-5 a request carries an id of the client's; the same id of the same person is one request, also over another connection.
 */

import { type Entry, type Millis, readJson, type Seq, type StreamId } from "@orgate/core/vocab";
import * as z from "zod";
import { type Problem, problemSchema, unreadable, wireProblem } from "./problem.ts";
import * as s from "./shapes.ts";

export const VERSION = 1;
/** A frame that is longer closes its connection. In bytes of UTF-8; room for the files that a message may have. */
export const MOST_FRAME_BYTES = 32 * 1024 * 1024;
/** Of one connection. */
export const MOST_SUBSCRIPTIONS = 64;
/** Entries of one batch, at the most. */
export const MOST_ENTRIES = 200;

/** One session, or everything that the caller may see. */
const to = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("session"), session: s.sessionIdSchema }),
  z.strictObject({ kind: z.literal("all") }),
]);
export type Following = z.infer<typeof to>;

/** `after`: the last `seq` (of one session) or `position` (of all) that the client has; 0 is the start, `now` where it stands. */
const subscription = {
  id: s.requestId,
  to,
  after: z.union([s.countSchema, z.literal("now")]),
  /** Words of replies in progress are told too. */
  previews: z.boolean().default(true),
};

const said = { text: s.text, files: s.attachments.exactOptional() };

export const clientFrame = z.discriminatedUnion("kind", [
  /** The first frame. `resume` is what was followed before, each from where it was left. */
  z.strictObject({
    kind: z.literal("hello"),
    version: z.literal(VERSION),
    client: z.string().max(100).default(""),
    resume: z.array(z.strictObject(subscription)).max(MOST_SUBSCRIPTIONS).default([]),
  }),
  z.strictObject({ kind: z.literal("subscribe"), ...subscription }),
  z.strictObject({ kind: z.literal("unsubscribe"), id: s.requestId }),
  /** Starts a turn, or is said for when the one in progress has ended. Without a session one is opened. */
  z.strictObject({ kind: z.literal("chat"), id: s.requestId, agent: s.name, session: s.sessionIdSchema.nullable(), ...said }),
  z.strictObject({ kind: z.literal("steer"), id: s.requestId, session: s.sessionIdSchema, ...said }),
  /** `all`: what was said to follow the turn is dropped too. */
  z.strictObject({
    kind: z.literal("cancel"),
    id: s.requestId,
    session: s.sessionIdSchema,
    reason: s.reason,
    all: z.boolean().default(false),
  }),
  /** Bound to the digest that was on screen. With its session, an answer that was given before is told again; without, such a question is not open. */
  z.strictObject({
    kind: z.literal("answer"),
    id: s.requestId,
    session: s.sessionIdSchema.nullable().default(null),
    approval: s.approvalIdSchema,
    digest: s.digestSchema,
    answer: s.answer,
  }),
  z.strictObject({
    kind: z.literal("resolve"),
    id: s.requestId,
    session: s.sessionIdSchema,
    call: s.callIdSchema,
    as: s.resolution,
    note: s.reason.default(""),
  }),
  /** Entries of one session that lie before `before` (null: its end), the last ones: for whoever scrolls back. */
  z.strictObject({
    kind: z.literal("history"),
    id: s.requestId,
    session: s.sessionIdSchema,
    before: s.seqSchema.nullable(),
    most: z.int().min(1).max(MOST_ENTRIES).default(MOST_ENTRIES),
  }),
  z.strictObject({ kind: z.literal("ping"), id: s.requestId }),
]);
export type ClientFrame = z.infer<typeof clientFrame>;
/** As a client may write it: what has a default may be left out. */
export type ClientFrameInput = z.input<typeof clientFrame>;
/** Frames that are answered by `done`, `page` or `error` with their id. */
export type RequestFrame = Extract<ClientFrame, { kind: "chat" | "steer" | "cancel" | "answer" | "resolve" | "history" }>;
export type SubscribeFrame = Extract<ClientFrame, { kind: "subscribe" }>;

/** `position` is null where one session is followed: its `seq` counts. What is erased or bad is named in its place, and the others go on. */
const place = { stream: s.streamIdSchema, seq: s.seqSchema, at: s.millisSchema, position: s.countSchema.nullable() };
const item = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("entry"), position: s.countSchema.nullable(), entry: s.entry }),
  z.strictObject({ kind: z.literal("erased"), ...place }),
  z.strictObject({ kind: z.literal("bad"), ...place, detail: z.string() }),
]);
export type Item =
  | Readonly<{ kind: "entry"; position: number | null; entry: Entry }>
  | (Readonly<{ stream: StreamId; seq: Seq; at: Millis; position: number | null }> &
      Readonly<{ kind: "erased" } | { kind: "bad"; detail: string }>);

/** What the caller is told of itself. */
export const whoami = z
  .strictObject({
    principal: s.principal,
    /** Null: whatever the policies let this person see and do. */
    agents: z.array(s.name).readonly().nullable(),
    actions: z.array(s.name).readonly().nullable(),
    expiresAt: s.millisSchema.nullable(),
  })
  .readonly();

export const serverFrame = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("welcome"),
    version: z.literal(VERSION),
    connection: s.name,
    me: whoami,
    /** Where the journal stands. */
    position: s.countSchema,
    /** A client that hears nothing for so long takes the connection to be lost. */
    silenceMs: s.countSchema,
  }),
  /** What lies between `after` and `to` and is for this reader. */
  z.strictObject({
    kind: z.literal("entries"),
    id: s.requestId,
    after: s.countSchema,
    to: s.countSchema,
    items: z.array(item).max(MOST_ENTRIES),
  }),
  z.strictObject({
    kind: z.literal("preview"),
    id: s.requestId,
    session: s.sessionIdSchema,
    iteration: s.countSchema,
    attempt: s.countSchema,
    preview: s.preview,
  }),
  /** Everything up to here has been sent; what comes from now on is new. */
  z.strictObject({ kind: z.literal("caught-up"), id: s.requestId, at: s.countSchema }),
  /** Nothing more comes of this subscription: its session is closed, or the client wanted it so. */
  z.strictObject({ kind: z.literal("ended"), id: s.requestId, at: s.countSchema, why: z.enum(["closed", "unsubscribed"]) }),
  /** What became of a request: the entry; null while whoever holds the session has not taken it. */
  z.strictObject({ kind: z.literal("done"), id: s.requestId, session: s.sessionIdSchema, entry: s.entry.nullable() }),
  /** `before`: where to ask on from; null when there is nothing older. */
  z.strictObject({ kind: z.literal("page"), id: s.requestId, entries: z.array(s.entry), before: s.seqSchema.nullable() }),
  /** `at`: how far each subscription has been told, so that a client knows whether anything was lost. */
  z.strictObject({ kind: z.literal("pong"), id: s.requestId, at: z.record(s.requestId, s.countSchema) }),
  /** Of a request or subscription, by its id; null: of a frame that could not be read. */
  z.strictObject({ kind: z.literal("error"), id: s.requestId.nullable(), problem: problemSchema }),
  /** The connection is about to be closed; `again`: connecting again is of use. */
  z.strictObject({ kind: z.literal("closing"), problem: problemSchema, again: z.boolean() }),
]);
export type ServerFrame = z.infer<typeof serverFrame>;

export type ReadFrame<Frame> = Readonly<{ kind: "frame"; frame: Frame } | { kind: "refused"; id: string | null; problem: Problem }>;

export const readClientFrame = (text: string): ReadFrame<ClientFrame> => readFrame(clientFrame, text);
export const readServerFrame = (text: string): ReadFrame<ServerFrame> => readFrame(serverFrame, text);
export const frameText = (frame: ServerFrame | ClientFrameInput): string => JSON.stringify(frame);

function readFrame<Frame>(schema: z.ZodType<Frame>, text: string): ReadFrame<Frame> {
  const json = readJson(text);
  if (json.kind === "not-json") {
    const problem = wireProblem("bad-request", `the frame is not JSON: ${json.detail}`, "one JSON object per frame");
    return { kind: "refused", id: null, problem };
  }
  const read = schema.safeParse(json.value);
  if (read.success) return { kind: "frame", frame: read.data };
  return { kind: "refused", id: idIn(json.value), problem: unreadable("the frame", read.error) };
}

/** So that whoever asked is told, even where the rest could not be read. */
function idIn(value: unknown): string | null {
  if (typeof value !== "object" || value === null || !("id" in value)) return null;
  const id = s.requestId.safeParse(value.id);
  return id.success ? id.data : null;
}

/** How a socket is closed, by the code of its close frame. */
export const CLOSE = Object.freeze({ done: 1000, goingAway: 1001, policy: 1008, tooBig: 1009, overloaded: 1013 });
