/**
 * The typed client of `/api/v1`: calls by the table of operations, over a transport that is passed in (`fetch` in a browser or in Node, a function in a test).
 *
 * W-4 a call is written and read by its operation's own schemas; what the server refuses is a value (`problem`), and what is no answer of this API is one too.
 * W-5 whatever changes something is sent with an idempotency key: the caller's own, or one made for the call, so that trying it again does it once.
 */
import type * as z from "zod";
import { API, IDEMPOTENCY_KEY, type Operation } from "./operation.ts";
import { OPERATIONS, type OperationInput, type OperationName, type OperationOutput } from "./operations.ts";
import { PROBLEM_MEDIA_TYPE, type Problem, problemSchema, unreadable, wireProblem } from "./problem.ts";

export type ClientRequest = Readonly<{
  method: string;
  /** With its query, from `/api/v1` on. */
  path: string;
  headers: Readonly<Record<string, string>>;
  body: string | null;
  signal: AbortSignal | null;
}>;
export type HttpResponse = Readonly<{ status: number; mediaType: string; text(): Promise<string> }>;
/** Rejects when there was no answer at all: that rejection is the caller's to see. */
export type HttpTransport = (request: ClientRequest) => Promise<HttpResponse>;

export type Called<T> = Readonly<{ kind: "ok"; value: T } | { kind: "problem"; problem: Problem }>;
export type CallOptions = Readonly<{ key?: string; signal?: AbortSignal }>;
/** Operations that return one value; those that stream are followed by `openLink`, or read as server-sent events. */
export type CallableOperation = {
  [K in OperationName]: (typeof OPERATIONS)[K]["answers"]["kind"] extends "events" | "ui-stream" ? never : K;
}[OperationName];

export type Client = Readonly<{
  call<K extends CallableOperation>(name: K, input: OperationInput<K>, options?: CallOptions): Promise<Called<OperationOutput<K>>>;
}>;

/** `makeKey` makes an idempotency key nobody else has. */
export function createClient(transport: HttpTransport, makeKey: () => string): Client {
  return {
    async call(name, input, { key, signal } = {}) {
      const request = toRequest(name, input, key ?? makeKey(), signal ?? null);
      return "status" in request ? { kind: "problem", problem: request } : readAnswer(name, await transport(request));
    },
  };
}

type Loose = Readonly<{ params?: Readonly<Record<string, unknown>>; query?: Readonly<Record<string, unknown>>; body?: unknown }>;

function toRequest(name: OperationName, given: Loose, key: string, signal: AbortSignal | null): ClientRequest | Problem {
  const route: Operation = OPERATIONS[name];
  const { params = {}, query = {}, body } = given;
  for (const [what, schema, value] of [
    ["the parameters", route.params, params],
    ["the query", route.query, query],
    ["the body", route.body, body],
  ] as const) {
    const read = schema.safeParse(value);
    if (!read.success) return unreadable(what, read.error);
  }
  const path = route.path.replace(/\{(\w+)\}/g, (_, field: string) => encodeURIComponent(String(params[field])));
  const fields = Object.entries(query).flatMap(([field, value]) =>
    value === undefined ? [] : [`${encodeURIComponent(field)}=${encodeURIComponent(String(value))}`],
  );
  const headers: Record<string, string> = { accept: "application/json, application/problem+json" };
  if (body !== undefined) headers["content-type"] = "application/json";
  if (route.idempotencyKey) headers[IDEMPOTENCY_KEY] = key;
  const where = `${API}${path}${fields.length === 0 ? "" : `?${fields.join("&")}`}`;
  return { method: route.method, path: where, headers, body: body === undefined ? null : JSON.stringify(body), signal };
}

async function readAnswer<K extends OperationName>(name: K, response: HttpResponse): Promise<Called<OperationOutput<K>>> {
  const text = await response.text();
  if (response.status >= 400) return { kind: "problem", problem: problemIn(response, text) };
  return decodeOutput(name, OPERATIONS[name].answers.kind === "json" ? parsed(text) : text, sourceOf(response));
}

/** `source` names in the problem where a value that does not fit came from. */
export function decodeOutput<K extends OperationName>(name: K, value: unknown, source: string): Called<OperationOutput<K>> {
  const operation: Operation = OPERATIONS[name];
  if (operation.answers.kind !== "json") return { kind: "ok", value: value as OperationOutput<K> }; // its form is its own
  const read = operation.answers.schema.safeParse(value);
  // the decoder is the operation's own: its type is what comes out of it
  return read.success ? { kind: "ok", value: read.data as OperationOutput<K> } : { kind: "problem", problem: strange(source, read.error) };
}

function problemIn(response: HttpResponse, text: string): Problem {
  const read = response.mediaType.startsWith(PROBLEM_MEDIA_TYPE) ? problemSchema.safeParse(parsed(text)) : null;
  return read?.success === true ? read.data : strange(sourceOf(response), null);
}

const sourceOf = ({ status, mediaType }: HttpResponse): string => `status ${status}, ${mediaType === "" ? "no media type" : mediaType}`;

const strange = (source: string, error: z.ZodError | null): Problem => {
  const issues = error === null ? [] : unreadable("the answer", error).issues;
  return wireProblem("internal", `what came back is no answer of this API (${source})`, "is this the server, and of this version?", issues);
};

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
