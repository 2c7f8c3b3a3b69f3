/**
 * `/ws/v1`: both unions of frames and their strict decoders, shared by server and clients. Nothing here opens a socket.
 *
 * A client sends `hello` first, then subscribes and calls operations in any order and at any time: nothing waits for a turn. A *subscription* is named by
 * the client. Each batch of entries states the range of the journal that it covers (`after`, `to`), even if entries in between are hidden from this reader:
 * a client sees by itself whether anything is missing, and continues from its last position.
 *
 * Rules: W-4, W-5, W-24.
 */

import { type Entry, type Millis, readJson, type Seq, type StreamId } from "@orgate/core/vocab";
import * as z from "zod";
import { idempotencyKey } from "./operation.ts";
import { type Problem, problemSchema, unreadable, wireProblem } from "./problem.ts";
import * as s from "./shapes.ts";
import { whoami } from "./views.ts";
import { OPERATION_NAMES, type OperationAct, type OperationName } from "./words/index.ts";

export const VERSION = 1;
/** A frame that is longer closes its connection. In bytes of UTF-8; room for the files that a message may have. */
export const MOST_FRAME_BYTES = 32 * 1024 * 1024;
/** Keys and values of one frame or request body, at the most: what is long in it are the texts of files. */
export const MOST_VALUES = 100_000;
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
  /** Also sends the text of replies in progress. */
  previews: z.boolean().default(true),
};

/** Operations that cannot be called over the socket, and what to do instead. */
export const NOT_ON_SOCKET = Object.freeze({
  follow: "subscribe to the session",
  followAll: "subscribe to `all`",
  uiChat: "`useChat` speaks HTTP",
  export: "an export is a file: fetch it over HTTP",
  verifying: "call `verify`, or read the progress over HTTP",
  ticket: "a ticket is bound to the page that asks for it: ask over HTTP",
} as const satisfies Partial<Record<OperationName, string>>);
export type SocketOperation = Exclude<OperationName, keyof typeof NOT_ON_SOCKET>;
const isOnSocket = (name: OperationName): name is SocketOperation => !Object.hasOwn(NOT_ON_SOCKET, name);
export const SOCKET_OPERATIONS: readonly SocketOperation[] = OPERATION_NAMES.filter(isOnSocket);

const refuseOperation = (given: unknown): string => {
  const instead = Object.entries(NOT_ON_SOCKET).find(([name]) => name === given)?.[1];
  return instead === undefined ? "there is no operation of this name" : `this operation is not for the socket: ${instead}`;
};

/** Each part is decoded by the operation's own schemas. */
const callInput = z.strictObject({
  params: z.unknown().optional(),
  query: z.unknown().optional(),
  body: z.unknown().optional(),
});

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
  /** Calls an operation. `key` is its idempotency key, by default the frame's `id`: the same key with the same request is performed once, permanently. */
  z.strictObject({
    kind: z.literal("call"),
    id: s.requestId,
    operation: z.enum(SOCKET_OPERATIONS, { error: ({ input }) => refuseOperation(input) }),
    input: callInput.default({}),
    key: idempotencyKey.exactOptional(),
  }),
  /** The last entries of one session before `before` (null: before its end), for scrolling back. */
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
export type CallFrame = Extract<ClientFrame, { kind: "call" }>;
export type HistoryFrame = Extract<ClientFrame, { kind: "history" }>;
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
  /** The entries between `after` and `to` that this reader gets. */
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
  /** The subscription has ended: its session is closed, or the client wanted it so. */
  z.strictObject({ kind: z.literal("ended"), id: s.requestId, at: s.countSchema, why: z.enum(["closed", "unsubscribed"]) }),
  /** The output of a call, with the status that HTTP would have. */
  z.strictObject({ kind: z.literal("result"), id: s.requestId, status: z.int(), value: z.unknown() }),
  /** `before`: where to ask on from; null when there is nothing older. */
  z.strictObject({ kind: z.literal("page"), id: s.requestId, entries: z.array(s.entry), before: s.seqSchema.nullable() }),
  /** `at`: the position of each subscription, so that a client knows whether anything was lost. */
  z.strictObject({ kind: z.literal("pong"), id: s.requestId, at: z.record(s.requestId, s.countSchema) }),
  /** Of a request or subscription, by its id; null: of a frame that could not be read. */
  z.strictObject({ kind: z.literal("error"), id: s.requestId.nullable(), problem: problemSchema }),
  /** The connection is about to be closed; `again`: connecting again is of use. */
  z.strictObject({ kind: z.literal("closing"), problem: problemSchema, again: z.boolean() }),
]);
export type ServerFrame = z.infer<typeof serverFrame>;

export type ReadFrame<Frame> = Readonly<{ kind: "frame"; frame: Frame } | { kind: "refused"; id: string | null; problem: Problem }>;

export const readClientFrame = (text: string): ReadFrame<ClientFrame> => readFrame(clientFrame, text, MOST_VALUES);
export const readServerFrame = (text: string): ReadFrame<ServerFrame> => readFrame(serverFrame, text);
export const frameText = (frame: ServerFrame | ClientFrameInput): string => JSON.stringify(frame);

function readFrame<Frame>(schema: z.ZodType<Frame>, text: string, mostValues?: number): ReadFrame<Frame> {
  const json = readJson(text, mostValues);
  if (json.kind === "not-json") {
    const problem = wireProblem("bad-request", `the frame is not JSON: ${json.detail}`, "one JSON object per frame");
    return { kind: "refused", id: null, problem };
  }
  const read = schema.safeParse(json.value);
  if (read.success) return { kind: "frame", frame: read.data };
  return { kind: "refused", id: idIn(json.value), problem: unreadable("the frame", read.error) };
}

/** So that the caller gets an answer, even where the rest could not be read. */
function idIn(value: unknown): string | null {
  if (typeof value !== "object" || value === null || !("id" in value)) return null;
  const id = s.requestId.safeParse(value.id);
  return id.success ? id.data : null;
}

/** The act that decides each frame. A `call` is decided by its operation, as over HTTP. */
export const FRAME_ACTS: Readonly<Record<ClientFrame["kind"], OperationAct | "self" | "operation">> = {
  hello: "self",
  ping: "self",
  unsubscribe: "self",
  subscribe: { kind: "read-journal", on: "session" }, // of `all`: the listing
  history: { kind: "read-journal", on: "session" },
  call: "operation",
};

/** How a socket is closed, by the code of its close frame. */
export const CLOSE = Object.freeze({ done: 1000, goingAway: 1001, policy: 1008, tooBig: 1009, overloaded: 1013 });
