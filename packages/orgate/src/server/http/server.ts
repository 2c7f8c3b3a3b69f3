/**
 * HTTP and WebSocket on one port. What comes in is bounded, decoded by its route's decoders, named by identity, decided, and only then done; what goes out
 * is an answer or a problem. Nothing in here knows an agent: routes and connections do.
 *
 * W-14 a request is for this server by its `Host`: another name is refused, so that a page which has this address under a name of its own reaches nothing.
 * W-6 the order is: limits, who it is, the request's form, whether it may be, then the work. Nothing is done, or told, before that.
 * W-33 a port that is in use, a host that is none, a port that may not be had: one line and what to do about it, and nothing is left open.
 * W-29 when it goes, no connection is taken any more, probes say so, sockets are told why and when to come back, answers in progress are given.
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex as Stream } from "node:stream";
import { FaultError } from "@orgate/core";
import { API, CLOSE, MOST_FRAME_BYTES, type OperationName, type Problem, wireProblem } from "@orgate/protocol";
import { type WebSocket, WebSocketServer } from "ws";
import type { Caller } from "../../operations/access.ts";
import type { Check, HealthChecks } from "../../operations/health-checks.ts";
import { errorText, type Log } from "../../operations/logs.ts";
import { isRefusal, problemIn, refusal } from "../../operations/refusal.ts";
import { type Access, type IncomingRequest, isChatKey, isProblem, refuseOnError } from "../identity/authentication.ts";
import { type HttpAnswer, rawProblem, sendAnswer, sendProblem } from "./http-response.ts";
import { createConnectionLimit, createRateLimit, createSourceReader, type ServerLimits } from "./limits.ts";

/** Answers what the one table of routes knows. */
export type Api = (asked: ApiRequest) => Promise<ApiResponse>;
export type ApiRequest = Readonly<{
  asking: IncomingRequest;
  message: IncomingMessage;
  caller(): Promise<Caller>;
  request: string;
  gone: AbortSignal;
}>;
/** `route` is what logs and metrics count it under. Throws refusals and faults. */
export type ApiResponse = Readonly<{ route: OperationName; status: number; answer: HttpAnswer; caller: Caller | null }>;

/** A page beside the API: the description, sign-in, the console. */
export type ServedPage = Readonly<{
  /** What it answers: `GET /docs`. Each has its row in the matrix of who may do what (W-7). */
  ways: readonly string[];
  answer(asking: IncomingRequest, message: IncomingMessage): Promise<Readonly<{ status: number; answer: HttpAnswer }> | null>;
}>;
/** For anybody, whatever the rest does. */
export const PROBES = ["/livez", "/readyz"] as const;

/** One WebSocket, as whoever talks over it sees it; and as the server sees whoever talks. */
export type SocketDuplex = Readonly<{ send(text: string): Promise<void>; close(code: number, reason: string): void }>;
export type SocketProtocol = Readonly<{
  hear(text: string): void;
  gone(): void;
  leave(problem: Problem, again: boolean, code?: number): void;
}>;
export type SocketProtocols = Readonly<Record<string, (caller: Caller, id: string, duplex: SocketDuplex) => SocketProtocol>>;

export type ServerOptions = Readonly<{
  host: string;
  port: number;
  /** Names under which it is reached beside its address: of a proxy in front of it. `*`: any. */
  names: readonly string[];
  /** Addresses and networks of proxies in front of it: what they say of where a request comes from is believed, of nobody else. */
  proxies?: readonly string[];
  access: Access;
  api: Api;
  pages: readonly ServedPage[];
  protocols: SocketProtocols;
  probes: HealthChecks;
  limits: ServerLimits;
  log: Log;
  /** Hears of each request once it was answered. */
  counted(request: Readonly<{ route: string; method: string; status: number; ms: number }>): void;
}>;

export type RunningServer = Readonly<{
  url: string;
  port: number;
  connections(): number;
  sockets(): number;
  /** Takes nothing more; resolves when every answer is given, or the time is up. */
  close(patienceMs: number): Promise<void>;
}>;

const PING_MS = 20_000;

export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { host, port, limits: bounds, log, probes, api, protocols: talks, counted } = options;
  const access = refuseOnError(options.access);
  const door = createConnectionLimit(bounds);
  const rate = createRateLimit(bounds.burst, bounds.perSecond);
  const halts = createRateLimit(bounds.burst, bounds.perSecond);
  const strangers = createRateLimit(bounds.strangersBurst, bounds.strangersPerSecond);
  const sourceOf = createSourceReader(options.proxies ?? []);
  const open = new Map<WebSocket, Readonly<{ talk: SocketProtocol }> & { alive: boolean }>();
  let leaving = false;
  let isOurs: (host: string | undefined) => boolean = () => false;

  const server = createServer(
    {
      headersTimeout: bounds.headersMs,
      requestTimeout: bounds.requestMs,
      connectionsCheckingInterval: Math.min(1_000, bounds.headersMs),
      keepAliveTimeout: 5_000,
      maxHeaderSize: 16 * 1024,
      insecureHTTPParser: false,
    },
    (message, response) => void serve(message, response),
  );
  server.maxHeadersCount = 100;
  server.setTimeout(bounds.idleMs);
  const sockets = new WebSocketServer({ noServer: true, maxPayload: MOST_FRAME_BYTES, perMessageDeflate: false, clientTracking: false });

  // ── connections ──

  server.on("connection", (socket: Socket) => {
    const from = socket.remoteAddress ?? "";
    if (leaving || !door.enter(from)) {
      socket.end(rawProblem(wireProblem("unavailable", "there is no room", "try again later")));
      socket.destroySoon();
      return;
    }
    socket.once("close", () => door.leave(from));
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Stream) => {
    if (!socket.writable) return void socket.destroy();
    const late = error.code === "ERR_HTTP_REQUEST_TIMEOUT";
    const large = error.code === "HPE_HEADER_OVERFLOW";
    const problem = late
      ? wireProblem("request-timeout", "the request did not arrive in time", "send it whole")
      : large
        ? wireProblem("too-large", "the headers are too long", "send less in them")
        : wireProblem("bad-request", "this is not HTTP", "speak HTTP/1.1");
    socket.end(rawProblem(problem), () => socket.destroy());
  });

  // ── requests ──

  async function serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const [request, began] = [randomUUID(), performance.now()];
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    let [route, who]: [string, string | null] = ["none", null];
    try {
      const asking = aliased(askingOf(message, "http", sourceOf));
      mustNameOneHost(message);
      if (!isOurs(message.headers.host)) throw refusal(wireProblem("bad-request", "this server has another name", "ask it under its own"));
      const caller = memoised(() => callerOf(asking));
      const found = (await probe(asking)) ?? (await page(asking, message));
      if (found !== null) {
        route = found.route;
        if (found.status === 401) mustWait(strangers.take(`${asking.path} ${asking.remote}`, performance.now())); // wrong links, by source (W-17)
        await sendAnswer({ response, request }, found.answer, found.status);
      } else {
        message.socket.setTimeout(0); // a turn may take its time; what is still to arrive has the time of a request
        const answered = await api({ asking, message, caller, request, gone: gone.signal });
        [route, who] = [answered.route, answered.caller?.principal.id ?? null];
        message.socket.setTimeout(bounds.idleMs);
        await sendAnswer({ response, request }, answered.answer, answered.status);
      }
    } catch (error) {
      if (gone.signal.aborted) return;
      fail(error, { response, request });
    } finally {
      if (!message.complete) response.shouldKeepAlive = false;
      const ms = performance.now() - began;
      counted({ route, method: message.method ?? "", status: response.statusCode, ms });
      log("info", "request", { request, method: message.method ?? "", route, status: response.statusCode, ms: Math.round(ms), user: who });
    }
  }

  function fail(error: unknown, to: Readonly<{ response: ServerResponse; request: string }>): void {
    const refused = isRefusal(error) ? error : refusal(problemIn(error));
    if (refused.problem.status >= 500) {
      log("error", "request.failed", { request: to.request, kind: refused.problem.kind, error: errorText(error) });
      probes.lookAgain();
    }
    const close = refused.problem.status === 413 ? { connection: "close" } : {};
    sendProblem(to, refused.problem, { ...refused.headers, ...close });
  }

  /**
   * Who it is; and whether they ask too often.
   * W-17 what is shown is looked at first, whatever others have shown: only what is wrong is counted, by its source and by the key it claims to be.
   * W-17 a halt is not kept waiting by anything else that its caller asks.
   */
  async function callerOf(asking: IncomingRequest): Promise<Caller> {
    const now = performance.now();
    const caller = await access.authenticate(asking);
    if (!isProblem(caller)) {
      const own = asking.method === "POST" && asking.path === HALT ? halts : rate;
      mustWait(own.take(`${caller.principal.kind}:${caller.principal.id}`, now));
      return caller;
    }
    if (caller.status === 401) mustWait(Math.max(...guessedAt(asking).map((bucket) => strangers.take(bucket, now))));
    throw refusal(caller, caller.status === 401 ? { "www-authenticate": 'Bearer realm="orgate"' } : {});
  }
  function mustWait(ms: number): void {
    if (ms === 0) return;
    throw refusal(wireProblem("too-many", "too many requests", "wait as long as `Retry-After` says"), {
      "retry-after": String(Math.ceil(ms / 1_000)),
    });
  }

  async function probe({ method, path }: IncomingRequest): Promise<Readonly<{ route: string; status: number; answer: HttpAnswer }> | null> {
    if (method !== "GET" || !PROBES.some((one) => one === path)) return null;
    const checks: readonly Check[] = path === "/livez" ? await probes.live() : await probes.ready();
    const ok = checks.every((check) => check.ok);
    return { route: path, status: ok ? 200 : 503, answer: { kind: "json", value: { status: ok ? "ok" : "failing", checks } } };
  }
  async function page(asking: IncomingRequest, message: IncomingMessage) {
    for (const one of options.pages) {
      const found = await one.answer(asking, message);
      if (found !== null) return { route: "page", ...found };
    }
    return null;
  }

  // ── sockets ──

  server.on("upgrade", (message: IncomingMessage, socket: Stream, head: Buffer) => {
    socket.on("error", () => socket.destroy());
    void upgrade(message, socket, head).catch((error: unknown) => {
      const problem = problemIn(error);
      if (problem.status >= 500) log("error", "socket.failed", { error: errorText(error) });
      log("info", "socket.refused", { status: problem.status });
      socket.end(rawProblem(problem), () => socket.destroy());
    });
  });

  async function upgrade(message: IncomingMessage, socket: Stream, head: Buffer): Promise<void> {
    const asking = askingOf(message, "socket", sourceOf);
    if (leaving) throw refusal(wireProblem("unavailable", "the server is about to go", "connect again in a moment"));
    mustNameOneHost(message);
    if (!isOurs(message.headers.host)) throw refusal(wireProblem("bad-request", "this server has another name", "ask it under its own"));
    const talk = Object.hasOwn(talks, asking.path) ? talks[asking.path] : undefined;
    if (talk === undefined) throw refusal(wireProblem("not-found", "there is no such socket", "connect to /ws/v1 or /ws/chat"));
    const caller = await callerOf(asking);
    sockets.handleUpgrade(message, socket, head, (ws) => accept(ws, asking.path, caller, talk));
  }

  function accept(ws: WebSocket, path: string, caller: Caller, begin: SocketProtocols[string]): void {
    const id = randomUUID();
    const talk = begin(caller, id, duplexOf(ws));
    const one = { talk, alive: true };
    open.set(ws, one);
    const unwatch = access.watch(caller, (why) => {
      log("info", "socket.cut", { connection: id });
      talk.leave(wireProblem("unauthenticated", why, "sign in again, or show another key"), false, CLOSE.policy);
    });
    log("info", "socket.opened", { connection: id, path, user: caller.principal.id });
    ws.on("message", (bytes, isBinary) => {
      one.alive = true;
      if (isBinary) ws.close(CLOSE.policy, "text only");
      else talk.hear(String(bytes));
    });
    ws.on("pong", () => {
      one.alive = true;
    });
    ws.on("error", () => ws.terminate()); // an oversize frame among them: `ws` has closed it with its code
    ws.on("close", (code) => {
      open.delete(ws);
      unwatch();
      talk.gone();
      log("info", "socket.closed", { connection: id, code });
    });
  }

  /** Who does not answer a ping is gone. */
  const pings = setInterval(() => {
    for (const [ws, one] of open) {
      if (!one.alive) ws.terminate();
      else {
        one.alive = false;
        ws.ping();
      }
    }
  }, PING_MS).unref();

  // ── beginning and end ──

  const at = await listening(server, host, port).catch((error: unknown) => {
    clearInterval(pings);
    throw error;
  });
  const names = new Set([...options.names, host, ...LOOPBACK].map((name) => name.toLowerCase()));
  const anyName = options.names.includes("*") || (isAnyAddress(host) && options.names.length === 0);
  isOurs = (given) => given !== undefined && (anyName || names.has(nameIn(given)));

  async function close(patienceMs: number): Promise<void> {
    leaving = true;
    clearInterval(pings);
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    const why = wireProblem("unavailable", "the server is about to go", "connect again in a moment");
    for (const { talk } of open.values()) talk.leave(why, true, CLOSE.goingAway);
    server.closeIdleConnections();
    const timer = setTimeout(() => {
      for (const ws of open.keys()) ws.terminate();
      server.closeAllConnections();
    }, patienceMs);
    await closed;
    clearTimeout(timer);
  }
  const shown = isAnyAddress(host) ? "127.0.0.1" : host.includes(":") ? `[${host}]` : host;
  return { url: `http://${shown}:${at}`, port: at, connections: door.inside, sockets: () => open.size, close };
}

/** W-14 with two names, what stands before this server may have looked at the other one. */
function mustNameOneHost({ rawHeaders }: IncomingMessage): void {
  const hosts = rawHeaders.filter((text, i) => i % 2 === 0 && text.toLowerCase() === "host");
  if (hosts.length > 1) throw refusal(wireProblem("bad-request", "the request has more than one `Host`", "send one"));
}

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];
const isAnyAddress = (host: string): boolean => host === "0.0.0.0" || host === "::";
const nameIn = (host: string): string => host.toLowerCase().replace(/:\d+$/, "");

function askingOf(message: IncomingMessage, via: IncomingRequest["via"], sourceOf: (message: IncomingMessage) => string): IncomingRequest {
  const [path = "/", ...rest] = (message.url ?? "/").split("?");
  return {
    via,
    method: message.method ?? "",
    path,
    query: new URLSearchParams(rest.join("?")),
    headers: message.headers,
    remote: sourceOf(message),
  };
}

/** W-30 where scrapers look by convention: the same route, so the same rules. */
const ALIASES: Readonly<Record<string, string>> = { "/metrics": `${API}/metrics/prometheus` };
const aliased = (asking: IncomingRequest): IncomingRequest => ({
  ...asking,
  path: (Object.hasOwn(ALIASES, asking.path) ? ALIASES[asking.path] : null) ?? asking.path,
});

const HALT = `${API}/halt`;

/** What a wrong guess is counted under: what was shown, with where it comes from; and with the key or sign-in that it claims to be. */
function guessedAt(asking: IncomingRequest): readonly string[] {
  const shown = shownIn(asking);
  const inAddress = isChatKey(asking) ? asking.query.get("token") : null;
  const [claimed] =
    /og[ks]_[0-9a-f]{16}(?=_)/.exec(`${asking.headers.authorization ?? ""} ${asking.headers.cookie ?? ""} ${inAddress ?? ""}`) ?? [];
  return [`${shown} ${asking.remote}`, ...(claimed === undefined ? [] : [`${claimed}`])];
}

/** What somebody shows of themselves. Any page of a browser can make it ask for nothing, or for a ticket; neither is worth guessing. */
function shownIn(asking: IncomingRequest): "key" | "chat-key" | "ticket" | "cookie" | "nothing" {
  const { via, headers, query } = asking;
  if (headers.authorization !== undefined) return "key";
  if (isChatKey(asking)) return "chat-key";
  if (via === "socket" && query.has("token")) return "ticket";
  return headers.cookie === undefined ? "nothing" : "cookie";
}

function memoised<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => (made ??= make());
}

/** Resolves with the room that there is: who writes faster than the other end reads waits here. */
function duplexOf(ws: WebSocket): SocketDuplex {
  return {
    send: (text) =>
      new Promise((resolve) => {
        if (ws.readyState !== ws.OPEN) return resolve();
        ws.send(text, () => resolve());
      }),
    close: (code, reason) => ws.close(code, Buffer.from(reason).subarray(0, 120).toString()),
  };
}

function listening(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => reject(notListening(error, host, port)));
    server.listen({ host, port }, () => {
      const at: AddressInfo | string | null = server.address();
      resolve(typeof at === "object" && at !== null ? at.port : port);
    });
  });
}

function notListening(error: NodeJS.ErrnoException, host: string, port: number): FaultError {
  const say = (detail: string, hint: string): FaultError => new FaultError({ kind: "usage", detail, hint }, error);
  switch (error.code) {
    case "EADDRINUSE":
      return say(`port ${port} of \`${host}\` is in use`, "name another with --port, or end what listens there (another `orgate up`?)");
    case "EACCES":
      return say(`port ${port} may not be had`, "name one above 1023 with --port");
    case "ENOTFOUND":
    case "EAI_AGAIN":
    case "EADDRNOTAVAIL":
      return say(`\`${host}\` is no address of this machine`, "name one with --host: 127.0.0.1, or 0.0.0.0 for all");
    default:
      return say(`it cannot listen on ${host}:${port}: ${error.message}`, "name another with --host and --port");
  }
}
