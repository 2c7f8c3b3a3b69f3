/** `/api/v1`, by the table of operations: a request is found, bounded, decoded, its caller named; `OperationExecutor` does the rest. */
import { isUtf8 } from "node:buffer";
import { readJson } from "@orgate/core";
import { IDEMPOTENCY_KEY, MOST_VALUES, type OperationName, type OperationRequest, wireProblem } from "@orgate/protocol";
import type { Caller } from "../../operations/access.ts";
import { decodePart } from "../../operations/call-operation.ts";
import type { OperationExecutor } from "../../operations/execute.ts";
import { refusal } from "../../operations/refusal.ts";
import { type Access, findAccessEnd } from "../identity/authentication.ts";
import { type HttpAnswer, toHttpAnswer } from "./http-response.ts";
import { readBody, type ServerLimits, WITH_FILES } from "./limits.ts";
import { createRouter, type FoundRoute } from "./router.ts";
import type { Api, ApiRequest } from "./server.ts";

export type ApiOptions = Readonly<{ operations: OperationExecutor; access: Access; bounds: ServerLimits }>;

export function openApiServer({ operations, bounds, access }: ApiOptions): Api {
  const find = createRouter();

  return async (asked) => {
    const matched = mustFind(find(asked.asking.method, asked.asking.path));
    const { name, route } = matched;
    operations.mustOffer(name);
    const caller = route.act === "open" ? null : await asked.caller();
    const { status, result } = await operations.execute({
      name,
      caller,
      request: await decodeRequest(asked, matched, bounds),
      idempotencyKey: headerOf(asked, IDEMPOTENCY_KEY) ?? undefined,
      gone: asked.gone,
      connection: { origin: headerOf(asked, "origin"), resumeAfter: headerOf(asked, "last-event-id") },
    });
    const answer = toHttpAnswer(result);
    return { route: name, status, answer: caller === null ? answer : whileAccessLasts(access, caller, answer), caller };
  };
}

function headerOf({ message }: ApiRequest, name: string): string | null {
  const value = message.headers[name];
  return typeof value === "string" ? value : null;
}

/** W-12. A stream breaks off when its caller's access ends, and a slow answer is withheld. */
function whileAccessLasts(access: Access, caller: Caller, answer: HttpAnswer): HttpAnswer {
  const gone = (why: string) => refusal(wireProblem("unauthenticated", why, "sign in again, or show another key"));
  const why = findAccessEnd(access, caller);
  if (why !== null) throw gone(why);
  if (answer.kind !== "stream") return answer;
  return {
    ...answer,
    async write(sink, signal) {
      const cut = new AbortController();
      const unwatch = access.watch(caller, (reason) => cut.abort(gone(reason)));
      try {
        await answer.write(sink, AbortSignal.any([signal, cut.signal]));
      } finally {
        unwatch();
      }
      cut.signal.throwIfAborted(); // an answer that breaks off does not look like a whole one
    },
  };
}

async function decodeRequest(
  asked: ApiRequest,
  { name, route, params }: Matched,
  bounds: ServerLimits,
): Promise<OperationRequest<OperationName>> {
  const query = decodePart(route.query, queryOf(asked.asking.query), "the query");
  const path = decodePart(route.params, params, "the path");
  const given = route.method === "GET" ? undefined : await jsonBody(asked, WITH_FILES.has(name) ? bounds.filesBytes : bounds.bodyBytes);
  const body = decodePart(route.body, given, "the body");
  return { params: path, query, body } as OperationRequest<OperationName>;
}

type Matched = Extract<FoundRoute, { kind: "route" }>;
function mustFind(found: FoundRoute): Matched {
  switch (found.kind) {
    case "route":
      return found;
    case "other-method":
      throw refusal(wireProblem("method-not-allowed", "not with this method", `use ${found.allow.join(" or ")}`), {
        allow: found.allow.join(", "),
      });
    case "none":
      throw refusal(wireProblem("not-found", "there is no such path", "/docs tells which there are"));
  }
}

/** Each once: a name that is there twice means two things. */
function queryOf(query: URLSearchParams): Readonly<Record<string, string>> {
  const names = [...query.keys()];
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw refusal(wireProblem("bad-request", `the query has \`${twice}\` twice`, "name each once"));
  return Object.fromEntries(query);
}

async function jsonBody({ message }: ApiRequest, most: number): Promise<unknown> {
  const read = await readBody(message, most);
  if (read.kind === "refused") throw refusal(read.problem);
  if (read.bytes.length === 0) return undefined;
  const type = message.headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase();
  if (type !== "application/json")
    throw refusal(wireProblem("media-type", "the body is not `application/json`", "send JSON, and say so in `Content-Type`"));
  if (!isUtf8(read.bytes)) throw refusal(wireProblem("bad-request", "the body is not UTF-8", "send one JSON value in UTF-8"));
  const json = readJson(read.bytes.toString("utf8"), MOST_VALUES);
  if (json.kind === "json") return json.value;
  throw refusal(wireProblem("bad-request", `the body is not JSON: ${json.detail} (line ${json.line})`, "send one JSON value in UTF-8"));
}
