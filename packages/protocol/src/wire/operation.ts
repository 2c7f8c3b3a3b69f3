/** An operation: its words (`words/`) and its schemas (`operations/`), bound by name. `operations.ts` is the one table. */
import * as z from "zod";
import * as s from "./shapes.ts";
import type { OperationWords } from "./words/words.ts";

export const API = "/api/v1";
export const IDEMPOTENCY_KEY = "idempotency-key";
export const idempotencyKey = z.string().regex(/^[\x21-\x7e]{1,128}$/);
export const MOST_PAGE = 500;

/** The form of the output. `json` has a decoder; the others are streams of text. */
export type OperationAnswer<R extends z.ZodType> = Readonly<
  | { kind: "json"; schema: R }
  | { kind: "events" } // server-sent events: `entries`, `preview`, `caught-up` and `ended` frames of `/ws/v1`
  | { kind: "ui-stream" } // an AI SDK UI message stream
  | { kind: "text"; mediaType: string }
>;

/** The schemas of an operation; `operations/` has them by name. */
type OperationSchemas<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType> = Readonly<{
  params: P;
  query: Q;
  body: B;
  answers: OperationAnswer<R>;
}>;
export type Operation<
  P extends z.ZodType = z.ZodType,
  Q extends z.ZodType = z.ZodType,
  B extends z.ZodType = z.ZodType,
  R extends z.ZodType = z.ZodType,
> = OperationWords & OperationSchemas<P, Q, B, R>;

export const none = z.strictObject({});
export const nothing = z.undefined();
export type None = typeof none;
export type Nothing = typeof nothing;

type Words = Readonly<Record<string, OperationWords>>;
/** A path with parameters needs their schema; a GET has no body, a POST no query. */
type SchemasFor<W extends OperationWords> = Readonly<{ answers: OperationAnswer<z.ZodType> }> &
  (W["path"] extends `${string}{${string}` ? Readonly<{ params: z.ZodType }> : Readonly<{ params?: never }>) &
  (W["method"] extends "GET" ? Readonly<{ query?: z.ZodType; body?: never }> : Readonly<{ query?: never; body?: z.ZodType }>);
type SchemaIn<S, Key extends string, Default extends z.ZodType> = S extends Readonly<Record<Key, infer T extends z.ZodType>> ? T : Default;
type Defined<W extends Words, S> = {
  readonly [K in keyof W]: K extends keyof S
    ? W[K] &
        Readonly<{
          params: SchemaIn<S[K], "params", None>;
          query: SchemaIn<S[K], "query", None>;
          body: SchemaIn<S[K], "body", Nothing>;
          answers: S[K] extends Readonly<{ answers: infer A }> ? A : never;
        }>
    : never;
};

/** Binds words and schemas by name: words without schemas do not compile, nor do schemas without words. */
export function defineOperations<W extends Words, S extends { readonly [K in keyof W]: SchemasFor<W[K]> }>(
  words: W,
  schemas: S & Readonly<Record<Exclude<keyof S, keyof W>, never>>,
): Defined<W, S> {
  const given: Readonly<Record<string, object>> = schemas;
  return Object.fromEntries(
    Object.entries(words).map(([name, its]) => [name, { ...its, params: none, query: none, body: nothing, ...given[name] }]),
  ) as unknown as Defined<W, S>; // the parameters' types are the proof that every name has both halves
}

export const as = <R extends z.ZodType>(schema: R): Readonly<{ kind: "json"; schema: R }> => ({ kind: "json", schema });
export const EVENTS = { kind: "events" } as const satisfies OperationAnswer<Nothing>;
export const UI_STREAM = { kind: "ui-stream" } as const satisfies OperationAnswer<Nothing>;
export const inText = (mediaType: string): Readonly<{ kind: "text"; mediaType: string }> => ({ kind: "text", mediaType });

export const whole = z.coerce.number().int().min(0);
/** `after` or `before` is what `next` of the page before it says. */
export const pageQuery = { limit: z.coerce.number().int().min(1).max(MOST_PAGE).default(100), cursor: z.string().max(200).exactOptional() };
export const pageSchema = <T extends z.ZodType>(item: T) =>
  z.strictObject({ items: z.array(item).readonly(), next: z.string().nullable() }).readonly();

export const ofAgent = z.strictObject({ agent: s.name });
export const ofSession = z.strictObject({ session: s.sessionIdSchema });
export const ofCall = z.strictObject({ session: s.sessionIdSchema, call: s.callIdSchema });
export const messageFields = { text: s.text, files: s.attachments.exactOptional() };
export const because = z.strictObject({ reason: s.reason.default("") });
