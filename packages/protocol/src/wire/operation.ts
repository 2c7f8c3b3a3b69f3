/** The type of an operation: input, output, the act that policies decide, idempotency. `operations/` declares them, `operations.ts` is the one table. */
import * as z from "zod";
import * as s from "./shapes.ts";

export const API = "/api/v1";
export const IDEMPOTENCY_KEY = "idempotency-key";
export const idempotencyKey = z.string().regex(/^[\x21-\x7e]{1,128}$/);
export const MOST_PAGE = 500;

/**
 * The act that policies decide before an operation runs: an action of `User`, and its target. `session` means the session and its agent. An operation
 * on `listing` is always allowed, and returns only the items that the caller may `observe`.
 */
export const ACT_NAMES = [
  "list",
  "observe",
  "run",
  "say",
  "steer",
  "cancel",
  "open",
  "close",
  "approve",
  "deny",
  "withdraw",
  "resolve",
  "halt",
  "set-breaker",
  "read-journal",
  "edit-policy",
  "edit-schedule",
  "run-schedule",
] as const;
export type ActName = (typeof ACT_NAMES)[number];
export type ActOn =
  | "listing"
  | "agent"
  | "session"
  | "approval"
  | "grant"
  | "call"
  | "breaker"
  | "work"
  | "policies"
  | "schedule"
  | "project";
export type OperationAct = Readonly<{ kind: ActName; on: ActOn }>;

export type Method = "GET" | "POST";
/** The form of the output. `json` has a decoder; the others are streams of text. */
export type OperationAnswer<R extends z.ZodType> = Readonly<
  | { kind: "json"; schema: R }
  | { kind: "events" } // server-sent events: `entries`, `preview`, `caught-up` and `ended` frames of `/ws/v1`
  | { kind: "ui-stream" } // an AI SDK UI message stream
  | { kind: "text"; mediaType: string }
>;

export type Operation<
  P extends z.ZodType = z.ZodType,
  Q extends z.ZodType = z.ZodType,
  B extends z.ZodType = z.ZodType,
  R extends z.ZodType = z.ZodType,
> = Readonly<{
  method: Method;
  /** Below `/api/v1`; `{name}` is a parameter. */
  path: string;
  params: P;
  query: Q;
  body: B;
  answers: OperationAnswer<R>;
  status: 200 | 201 | 202;
  /** `open`: no sign-in needed. `self`: any signed-in caller, about themselves. */
  act: OperationAct | "open" | "self";
  idempotencyKey: boolean;
  tag: string;
  /** One sentence that begins with a verb. */
  summary: string;
}>;

export const none = z.strictObject({});
export const nothing = z.undefined();

type Given<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType> = Readonly<{
  path: string;
  params?: P;
  query?: Q;
  body?: B;
  status?: Operation["status"];
  act: Operation["act"];
  tag: string;
  summary: string;
}>;
export type None = typeof none;
export type Nothing = typeof nothing;

export function get<R extends z.ZodType, P extends z.ZodType = None, Q extends z.ZodType = None>(
  given: Omit<Given<P, Q, Nothing>, "body" | "status"> & Readonly<{ answers: OperationAnswer<R> }>,
): Operation<P, Q, Nothing, R> {
  const { params = none as unknown as P, query = none as unknown as Q, ...rest } = given;
  return { ...rest, method: "GET", params, query, body: nothing, status: 200, idempotencyKey: false };
}

/** `asks`: it changes nothing, so it needs no idempotency key. */
export function post<R extends z.ZodType, P extends z.ZodType = None, B extends z.ZodType = Nothing>(
  given: Omit<Given<P, None, B>, "query"> & Readonly<{ answers: OperationAnswer<R>; asks?: true }>,
): Operation<P, None, B, R> {
  const { params = none as unknown as P, body = nothing as unknown as B, status = 200, asks = false, ...rest } = given;
  return { ...rest, method: "POST", params, query: none, body, status, idempotencyKey: !asks };
}

export const as = <R extends z.ZodType>(schema: R): OperationAnswer<R> => ({ kind: "json", schema });
export const EVENTS: OperationAnswer<Nothing> = { kind: "events" };
export const UI_STREAM: OperationAnswer<Nothing> = { kind: "ui-stream" };
export const inText = (mediaType: string): OperationAnswer<Nothing> => ({ kind: "text", mediaType });

export const whole = z.coerce.number().int().min(0);
/** `after` or `before` is what `next` of the page before it says. */
export const paged = { limit: z.coerce.number().int().min(1).max(MOST_PAGE).default(100), cursor: z.string().max(200).exactOptional() };
export const pageOf = <T extends z.ZodType>(item: T) =>
  z.strictObject({ items: z.array(item).readonly(), next: z.string().nullable() }).readonly();

export const ofAgent = z.strictObject({ agent: s.name });
export const ofSession = z.strictObject({ session: s.sessionIdSchema });
export const ofCall = z.strictObject({ session: s.sessionIdSchema, call: s.callIdSchema });
export const said = { text: s.text, files: s.attachments.exactOptional() };
export const because = z.strictObject({ reason: s.reason.default("") });
