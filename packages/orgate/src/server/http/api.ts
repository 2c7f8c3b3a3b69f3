/**
 * `/api/v1`, by the one table of routes: found, bounded, decoded, named, decided, done once.
 * W79 an act is decided on what it is about before anything of it is done; a list shows what the caller may observe, one by one, and nothing of the rest.
 */
import { isUtf8 } from "node:buffer";
import { FaultError, readJson } from "@orgate/core";
import { IDEMPOTENCY_KEY, type Operation, type OperationName, type OperationRequest, unreadable, wireProblem } from "@orgate/core/wire";
import type * as z from "zod";
import type { Runtime } from "../../runtime/api.ts";
import { type Access, type Act, act, type Caller, endedNow, strict } from "../identity/access.ts";
import { type AboutAct, actOf, refusedAs } from "../identity/acts.ts";
import { leftOut } from "../identity/auth-deciding.ts";
import { type HttpAnswer, refusal } from "./http-response.ts";
import type { Once, OnceKey } from "./idempotency.ts";
import { readBody, type ServerLimits } from "./limits.ts";
import { type FoundRoute, routerOf } from "./router.ts";
import type { Api, AskedRequest } from "./server.ts";

/** What one handler gets. */
export type Call<K extends OperationName> = OperationRequest<K> &
  Readonly<{
    caller: Caller;
    /** Whether something speaks against it. */
    may(act: Act): boolean;
    /** Whether this agent's things are shown to the caller. */
    sees(agent: string): boolean;
    once: OnceKey;
    gone: AbortSignal;
    header(name: string): string | null;
  }>;
export type Handlers = { readonly [K in OperationName]?: (call: Call<K>) => Promise<HttpAnswer> };

export type ApiNeed = Readonly<{ runtime: Runtime; access: Access; handlers: Handlers; once: Once; bounds: ServerLimits }>;
type AnyHandler = (call: Call<OperationName>) => Promise<HttpAnswer>;

/** Routes whose body may carry files. */
const WITH_FILES: ReadonlySet<OperationName> = new Set(["execute", "say", "steer", "uiChat"]);

export function apiOf({ runtime, handlers, once, bounds, ...need }: ApiNeed): Api {
  const access = strict(need.access);
  const find = routerOf();

  return async (asked) => {
    const { name, route, params } = mustFind(find(asked.asking.method, asked.asking.path));
    const handler = handlers[name] as AnyHandler | undefined;
    if (handler === undefined)
      throw refusal(wireProblem("unavailable", "this server does not offer that", "its description tells what there is"));
    const isOpen = route.act === "open";
    const caller = isOpen ? null : await asked.caller();
    const request = await decoded(asked, { name, route, params });
    const call = callOf(asked, caller, request);
    const { status, answer } = route.idempotencyKey
      ? await doneOnce(asked, name, route, call, handler)
      : await decided(caller, route, call, async () => ({ status: route.status, answer: await handler(call) }));
    return { route: name, status, answer: caller === null ? answer : whileGood(caller, answer), caller };
  };

  /** W185. A stream breaks off with the access; what took its time is not told to whoever counts no more. */
  function whileGood(caller: Caller, answer: HttpAnswer): HttpAnswer {
    const gone = (why: string) => refusal(wireProblem("unauthenticated", why, "sign in again, or show another key"));
    const why = endedNow(access, caller);
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

  /** `gone`: what it is about is not there any more, as it may be when a request is sent again. */
  async function decided<T>(
    caller: Caller | null,
    { act: on }: Operation,
    call: Omit<AboutAct, "user">,
    work: () => Promise<T>,
    gone?: () => Promise<T | null>,
  ): Promise<T> {
    if (caller === null || typeof on === "string") return work();
    const user = caller.principal.id;
    const left = leftOut(caller.scope, on.kind); // before anything is looked up: it is the same whatever is there
    if (left !== null) throw new FaultError({ kind: "not-permitted", user, what: on.kind, reason: left });
    const wanted = await actOf(runtime, on, { params: call.params, body: call.body, user }).catch(
      (error: unknown) => ({ kind: "absent", error }) as const,
    );
    if (wanted.kind === "absent") {
      const before = (await gone?.()) ?? null;
      if (before === null) throw wanted.error;
      return before;
    }
    const may = (one: Act): string | null => access.mayDo(caller, one);
    const reason = may(wanted);
    if (reason !== null) throw refusedAs(may, wanted, reason, user);
    return work();
  }

  async function decoded(asked: AskedRequest, { name, route, params }: Omit<Matched, "kind">): Promise<OperationRequest<OperationName>> {
    const read = <T>(schema: z.ZodType<T>, value: unknown, what: string): T => {
      const found = schema.safeParse(value);
      if (found.success) return found.data;
      throw refusal(unreadable(what, found.error));
    };
    const query = read(route.query, queryOf(asked.asking.query), "the query");
    const path = read(route.params, params, "the path");
    const given = route.method === "GET" ? undefined : await jsonBody(asked, WITH_FILES.has(name) ? bounds.filesBytes : bounds.bodyBytes);
    const body = read(route.body, given, "the body");
    return { params: path, query, body } as OperationRequest<OperationName>;
  }

  function callOf(asked: AskedRequest, caller: Caller | null, request: OperationRequest<OperationName>): Call<OperationName> {
    const may = (wanted: Act): boolean => caller !== null && access.mayDo(caller, wanted) === null;
    const header = (name: string): string | null => {
      const value = asked.message.headers[name];
      return typeof value === "string" ? value : null;
    };
    return {
      ...request,
      get caller() {
        if (caller === null) throw new Error("this route is for anybody");
        return caller;
      },
      get once(): OnceKey {
        throw new Error("this route takes no key");
      },
      may,
      sees: (agent) => may(act("observe", "agent", { agent })),
      gone: asked.gone,
      header,
    };
  }

  async function doneOnce(
    asked: AskedRequest,
    route: OperationName,
    of: Operation,
    call: Call<OperationName>,
    handler: AnyHandler,
  ): Promise<{ status: number; answer: HttpAnswer }> {
    const { params, query, body, caller, may, sees, gone, header } = call;
    const key = asked.message.headers[IDEMPOTENCY_KEY];
    const { principal, scope } = caller;
    const request = { params, query, body };
    const given = { user: principal.id, scope, route, key: typeof key === "string" ? key : undefined, request };
    const replied = await decided(
      caller,
      of,
      call,
      () =>
        once.done(given, async (made) => {
          const answer = await handler({ params, query, body, caller, may, sees, gone, header, once: made } as Call<OperationName>);
          if (answer.kind !== "json") throw new Error("what is done once is answered as JSON");
          return { status: answer.status ?? of.status, value: answer.value, passing: answer.passing ?? false };
        }),
      () => once.kept(given),
    );
    return { status: replied.status, answer: { kind: "json", value: replied.value } };
  }
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

async function jsonBody({ message }: AskedRequest, most: number): Promise<unknown> {
  const read = await readBody(message, most);
  if (read.kind === "refused") throw refusal(read.problem);
  if (read.bytes.length === 0) return undefined;
  const type = message.headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase();
  if (type !== "application/json")
    throw refusal(wireProblem("media-type", "the body is not `application/json`", "send JSON, and say so in `Content-Type`"));
  if (!isUtf8(read.bytes)) throw refusal(wireProblem("bad-request", "the body is not UTF-8", "send one JSON value in UTF-8"));
  const json = readJson(read.bytes.toString("utf8"));
  if (json.kind === "json") return json.value;
  throw refusal(wireProblem("bad-request", `the body is not JSON: ${json.detail} (line ${json.line})`, "send one JSON value in UTF-8"));
}
