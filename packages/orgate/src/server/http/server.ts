/**
 * HTTP and WebSocket on one port: bounds each request, names its caller, and passes it to the API, a page or a socket protocol.
 *
 * W-14 A request names this server in its `Host`; any other name is refused, so that a web page whose name resolves to this address reaches nothing.
 * W-6 The order is: limits, caller, form of the request, permission, then the work. Nothing is done or told before.
 * W-33 A port in use, a bad host or a forbidden port is one line with what to do about it, and nothing stays open.
 * W-29 A server that closes takes no new connections; probes say so, sockets get the reason and when to come back, answers in progress are finished.
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex as Stream } from "node:stream";
import { API, type OperationName, type Problem, wireProblem } from "@orgate/protocol";
import type { Caller } from "../../operations/access.ts";
import type { Check, HealthChecks } from "../../operations/health-checks.ts";
import { errorText, type Log } from "../../operations/logs.ts";
import { isRefusal, problemIn, refusal } from "../../operations/refusal.ts";
import { type Access, type IncomingRequest, refuseOnError } from "../identity/authentication.ts";
import { CallerRates } from "./caller-rates.ts";
import { HostNames } from "./host-names.ts";
import { type HttpAnswer, rawProblem, sendAnswer, sendProblem } from "./http-response.ts";
import { createConnectionLimit, createSourceReader, type ServerLimits } from "./limits.ts";
import { listen } from "./listen.ts";
import { type CountRequest, SocketConnections, type SocketProtocols } from "./socket-connections.ts";

/** Answers requests to `/api/v1`. Throws refusals and faults. */
export type Api = (asked: ApiRequest) => Promise<ApiResponse>;
export type ApiRequest = Readonly<{
  asking: IncomingRequest;
  message: IncomingMessage;
  caller(): Promise<Caller>;
  request: string;
  gone: AbortSignal;
}>;
/** Logs and metrics count a request under its `route`. */
export type ApiResponse = Readonly<{ route: OperationName; status: number; answer: HttpAnswer; caller: Caller | null }>;

/** A page beside the API: the docs, sign-in, the console, webhooks. */
export type ServedPage = Readonly<{
  /** Methods and paths it answers: `GET /docs`. Each has its row in the permission matrix (W-7). */
  ways: readonly string[];
  answer(asking: IncomingRequest, message: IncomingMessage): Promise<Readonly<{ status: number; answer: HttpAnswer }> | null>;
}>;
/** Answered to anybody, in every state of the server. */
export const PROBES = ["/livez", "/readyz"] as const;

export type ServerOptions = Readonly<{
  host: string;
  port: number;
  /** Host names of this server beside its address, of a proxy in front of it for example. `*`: any. */
  names: readonly string[];
  /** Addresses and networks of proxies in front of it: only their `X-Forwarded-For` is believed. */
  proxies?: readonly string[];
  access: Access;
  api: Api;
  pages: readonly ServedPage[];
  protocols: SocketProtocols;
  probes: HealthChecks;
  limits: ServerLimits;
  log: Log;
  /** Called for each request after its answer. */
  counted(request: Readonly<{ route: string; method: string; status: number; ms: number }>): void;
}>;

export type RunningServer = Readonly<{
  url: string;
  port: number;
  connections(): number;
  sockets(): number;
  /** Takes no new connections; resolves when every answer is given, or after `patienceMs`. */
  close(patienceMs: number): Promise<void>;
}>;

export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const server = new HttpServer(options);
  const port = await server.listen();
  return {
    url: server.names.url(port),
    port,
    connections: () => server.connections(),
    sockets: () => server.sockets.size(),
    close: (patienceMs) => server.close(patienceMs),
  };
}

type Answered = Readonly<{ route: string; status: number; answer: HttpAnswer; user: string | null }>;
type ToClient = Readonly<{ response: ServerResponse; request: string }>;

class HttpServer {
  readonly names: HostNames;
  readonly sockets: SocketConnections;
  readonly #options: ServerOptions;
  readonly #server: Server;
  readonly #connections: ReturnType<typeof createConnectionLimit>;
  readonly #callers: CallerRates;
  readonly #sourceOf: ReturnType<typeof createSourceReader>;
  #isLeaving = false;

  constructor(options: ServerOptions) {
    const { limits, log } = options;
    const access = refuseOnError(options.access);
    this.#options = options;
    this.names = new HostNames(options.host, options.names);
    this.sockets = new SocketConnections({ access, log });
    this.#connections = createConnectionLimit(limits);
    this.#callers = new CallerRates(access, limits);
    this.#sourceOf = createSourceReader(options.proxies ?? []);
    this.#server = createServer(
      {
        headersTimeout: limits.headersMs,
        requestTimeout: limits.requestMs,
        connectionsCheckingInterval: Math.min(1_000, limits.headersMs),
        keepAliveTimeout: 5_000,
        maxHeaderSize: 16 * 1024,
        insecureHTTPParser: false,
      },
      (message, response) => void this.serve(message, response),
    );
    this.#server.maxHeadersCount = 100;
    this.#server.setTimeout(limits.idleMs);
    this.#server.on("connection", (socket: Socket) => this.#admit(socket));
    this.#server.on("clientError", answerBadClient);
    this.#server.on("upgrade", (message: IncomingMessage, socket: Stream, head: Buffer) => this.#onUpgrade(message, socket, head));
  }

  connections(): number {
    return this.#connections.inside();
  }

  /** Resolves with the port. */
  async listen(): Promise<number> {
    const { host, port } = this.#options;
    try {
      const at = await listen(this.#server, host, port);
      this.names.open();
      return at;
    } catch (error) {
      this.sockets.stopPings();
      throw error;
    }
  }

  async close(patienceMs: number): Promise<void> {
    this.#isLeaving = true;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.sockets.leave(LEAVING);
    this.#server.closeIdleConnections();
    const timer = setTimeout(() => {
      this.sockets.terminate();
      this.#server.closeAllConnections();
    }, patienceMs);
    await closed;
    clearTimeout(timer);
  }

  #admit(socket: Socket): void {
    const from = socket.remoteAddress ?? "";
    if (this.#isLeaving || !this.#connections.enter(from)) {
      socket.end(rawProblem(wireProblem("unavailable", "there is no room", "try again later")));
      socket.destroySoon();
      return;
    }
    socket.once("close", () => this.#connections.leave(from));
  }

  // ── requests ──

  async serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const { counted, log } = this.#options;
    const [request, began] = [randomUUID(), performance.now()];
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    let [route, user]: [string, string | null] = ["none", null];
    try {
      const asking = aliased(askingOf(message, "http", this.#sourceOf));
      this.names.mustMatch(message);
      const answered =
        (await this.#probe(asking)) ??
        (await this.#page(asking, message)) ??
        (await this.#call(asking, message, { request, gone: gone.signal }));
      [route, user] = [answered.route, answered.user];
      if (answered.route === PAGE && answered.status === 401) this.#callers.countWrongLink(asking);
      await sendAnswer({ response, request }, answered.answer, answered.status);
    } catch (error) {
      if (gone.signal.aborted) return;
      this.#fail(error, { response, request });
    } finally {
      if (!message.complete) response.shouldKeepAlive = false;
      const ms = performance.now() - began;
      counted({ route, method: message.method ?? "", status: response.statusCode, ms });
      log("info", "request", { request, method: message.method ?? "", route, status: response.statusCode, ms: Math.round(ms), user });
    }
  }

  async #call(asking: IncomingRequest, message: IncomingMessage, about: Pick<ApiRequest, "request" | "gone">): Promise<Answered> {
    const { api, limits } = this.#options;
    const caller = memoised(() => this.#callers.authenticate(asking));
    message.socket.setTimeout(0); // a turn may take its time; the request itself still has its own time limit
    const answered = await api({ asking, message, caller, ...about });
    message.socket.setTimeout(limits.idleMs);
    return { ...answered, user: answered.caller?.principal.id ?? null };
  }

  #fail(error: unknown, to: ToClient): void {
    const { log, probes } = this.#options;
    const refused = isRefusal(error) ? error : refusal(problemIn(error));
    if (refused.problem.status >= 500) {
      log("error", "request.failed", { request: to.request, kind: refused.problem.kind, error: errorText(error) });
      probes.lookAgain();
    }
    const close = refused.problem.status === 413 ? { connection: "close" } : {};
    sendProblem(to, refused.problem, { ...refused.headers, ...close });
  }

  async #probe({ method, path }: IncomingRequest): Promise<Answered | null> {
    const { probes } = this.#options;
    if (method !== "GET" || !PROBES.some((one) => one === path)) return null;
    const checks: readonly Check[] = path === "/livez" ? await probes.live() : await probes.ready();
    const ok = checks.every((check) => check.ok);
    return { route: path, status: ok ? 200 : 503, answer: { kind: "json", value: { status: ok ? "ok" : "failing", checks } }, user: null };
  }

  async #page(asking: IncomingRequest, message: IncomingMessage): Promise<Answered | null> {
    for (const page of this.#options.pages) {
      const found = await page.answer(asking, message);
      if (found !== null) return { route: PAGE, user: null, ...found };
    }
    return null;
  }

  // ── sockets ──

  #onUpgrade(message: IncomingMessage, socket: Stream, head: Buffer): void {
    const { log } = this.#options;
    socket.on("error", () => socket.destroy());
    void this.#upgrade(message, socket, head).catch((error: unknown) => {
      const problem = problemIn(error);
      if (problem.status >= 500) log("error", "socket.failed", { error: errorText(error) });
      log("info", "socket.refused", { status: problem.status });
      socket.end(rawProblem(problem), () => socket.destroy());
    });
  }

  async #upgrade(message: IncomingMessage, socket: Stream, head: Buffer): Promise<void> {
    const { protocols } = this.#options;
    const asking = askingOf(message, "socket", this.#sourceOf);
    if (this.#isLeaving) throw refusal(LEAVING);
    this.names.mustMatch(message);
    const protocol = Object.hasOwn(protocols, asking.path) ? protocols[asking.path] : undefined;
    if (protocol === undefined) throw refusal(wireProblem("not-found", "there is no such socket", "connect to /ws/v1 or /ws/chat"));
    const caller = await this.#callers.authenticate(asking);
    const count: CountRequest = (what) => this.#callers.count(caller, what);
    this.sockets.upgrade({ message, socket, head }, (id, duplex) => protocol(caller, id, duplex, count), { caller, path: asking.path });
  }
}

/** The route that requests for pages are counted under. */
const PAGE = "page";
const LEAVING: Problem = wireProblem("unavailable", "the server is about to go", "connect again in a moment");

function answerBadClient(error: NodeJS.ErrnoException, socket: Stream): void {
  if (!socket.writable) return void socket.destroy();
  const problem =
    error.code === "ERR_HTTP_REQUEST_TIMEOUT"
      ? wireProblem("request-timeout", "the request did not arrive in time", "send it whole")
      : error.code === "HPE_HEADER_OVERFLOW"
        ? wireProblem("too-large", "the headers are too long", "send less in them")
        : wireProblem("bad-request", "this is not HTTP", "speak HTTP/1.1");
  socket.end(rawProblem(problem), () => socket.destroy());
}

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

/** W-30 Scrapers look here by convention: the same route, so the same rules. */
const ALIASES: Readonly<Record<string, string>> = { "/metrics": `${API}/metrics/prometheus` };
const aliased = (asking: IncomingRequest): IncomingRequest => ({
  ...asking,
  path: (Object.hasOwn(ALIASES, asking.path) ? ALIASES[asking.path] : null) ?? asking.path,
});

function memoised<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => (made ??= make());
}
