/**
 * The way to one MCP server: connected when it is first called, held to the catalogue that was accepted, connected again when it was lost.
 *
 * T-33 Nothing is sent before the server's catalogue was compared with the accepted one: a tool that is new, changed or gone is refused, and
 *      the others go on. A change that is announced mid-turn widens nothing; what it takes away is refused at once.
 * T-35 A connection that is lost is made again, with waits that grow, by the next call. What was sent when it went is unknown (T-5), what was
 *      not is refused.
 * T-35 A call that is stopped is cancelled at the server; a server that nobody has called for a while is let go (rule 10).
 */

import { setTimeout as sleep } from "node:timers/promises";
import { type Digest, describeFault, FaultError, type Hash, type JsonObject } from "@orgate/core";
import { errorMessage, untilAborted } from "@orgate/core/vocab";
import type { InvocationResult, McpInvocation } from "@orgate/toolclad";
import type { Env } from "../node/env.ts";
import { type Catalogue, offeredDigest, parseCatalogue, truncate } from "./catalogue.ts";
import type { McpClientSettings, McpConnection, Progress } from "./client.ts";
import { type Launch, type McpServer, resolveLaunch } from "./config.ts";
import { mirroredArguments, mirrorHeaders } from "./headers.ts";
import type { ProtocolEra } from "./protocol-versions.ts";
import { readMcpAnswer } from "./result.ts";
import { isSignInNeeded } from "./sign-in-needed.ts";

export type LinkOptions = Readonly<{
  server: McpServer;
  /** The accepted catalogue; null if a person accepted none. */
  accepted: Catalogue | null;
  env: Env;
  settings: McpClientSettings;
  hash: Hash;
}>;

export type CallOptions = Readonly<{
  signal: AbortSignal;
  onProgress(progress: Progress): void;
  /** The server wanted something itself, and was refused. */
  onAsked(method: string): void;
}>;

export type McpLink = Readonly<{
  server: McpServer;
  call(invocation: Omit<McpInvocation, "kind" | "server">, options: CallOptions): Promise<InvocationResult>;
  /** The catalogue that the server offers now. Throws an `Error` with the reason if it cannot be asked. */
  catalogue(signal: AbortSignal): Promise<Catalogue>;
  /** Why a tool cannot be called, as far as is known; null: nothing is known against it. */
  objection(tool: string): string | null;
  close(): Promise<void>;
}>;

type Live = Readonly<{ connection: McpConnection; launch: Launch }>;
const CONNECT_TRIES = 3;
const FIRST_WAIT_MS = 200;

/** The link to a server as its callers use it. */
export function mcpLink(options: LinkOptions): McpLink {
  const link = new Link(options);
  return {
    server: options.server,
    call: (invocation, calling) => link.call(invocation, calling),
    objection: (tool) => link.objection(tool),
    catalogue: (signal) => link.catalogue(signal),
    close: () => link.close(),
  };
}

class Link {
  readonly #server: McpServer;
  readonly #env: Env;
  readonly #settings: McpClientSettings;
  readonly #hash: Hash;
  readonly #isHttp: boolean;
  readonly #pinned: ReadonlyMap<string, Digest>;
  readonly #mirrored: ReadonlyMap<string, ReturnType<typeof mirroredArguments>>;
  readonly #flying = new Set<CallOptions>();
  /** Given up, and perhaps still waited on by other calls. */
  readonly #stale = new Set<McpConnection>();
  #live: Promise<Live> | null = null;
  /** Of the last look; kept when the connection goes. */
  #seen: ReadonlyMap<string, Digest | typeof TWICE> | null = null;
  #idle: NodeJS.Timeout | null = null;
  #closed = false;
  #era: ProtocolEra;

  constructor({ server, accepted, env, settings, hash }: LinkOptions) {
    const tools = accepted?.tools ?? [];
    this.#server = server;
    this.#env = env;
    this.#settings = settings;
    this.#hash = hash;
    this.#isHttp = server.transport.kind === "http";
    this.#pinned = new Map(tools.map((tool) => [tool.name, offeredDigest(tool, hash)]));
    this.#mirrored = new Map((this.#isHttp ? tools : []).map((tool) => [tool.name, mirroredArguments(tool.inputSchema)]));
    this.#era = this.#isHttp ? "newest" : "earlier";
  }

  async catalogue(signal: AbortSignal): Promise<Catalogue> {
    const way = this.#connected();
    const { connection, launch } = await untilAborted(signal, () => way, stoppedWhileConnecting);
    const read = parseCatalogue(this.#server.name, await connection.list(signal));
    if (typeof read === "string") throw new Error(launch.hide(read));
    return read;
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#idle !== null) clearTimeout(this.#idle);
    this.#dropStale();
    await this.#letGo();
  }

  #notSent(detail: string, hint: string): FaultError {
    return new FaultError({ kind: "unreachable", what: `mcp:${this.#server.name}`, detail, hint });
  }

  #forget(of: Promise<Live> | null): void {
    if (this.#live === of) this.#live = null;
  }

  /** One connection at a time; a caller that gives up does not take it from the others. */
  #connected(): Promise<Live> {
    if (this.#closed) return Promise.reject(this.#notSent("its connections are closed", "open another runtime"));
    if (this.#live !== null) return this.#live;
    const made = this.#connect(() => this.#forget(made));
    this.#live = made;
    made.catch(() => this.#forget(made));
    return made;
  }

  async #connect(gone: () => void): Promise<Live> {
    const launch = resolveLaunch(this.#server, this.#env);
    if (typeof launch === "string") throw this.#notSent(launch, "set it, or mend the entry of the server");
    const { connectMcp } = await import("./client.ts"); // a server that nobody calls costs no start (R-8)
    for (let tries = 1; ; tries += 1) {
      try {
        const hooks = {
          onListChanged: () => void this.#relist(),
          onAsked: (method: string) => {
            for (const one of this.#flying) one.onAsked(launch.hide(method));
          },
          onClosed: gone,
        };
        const signal = AbortSignal.timeout(this.#server.connectMs);
        const connection = await connectMcp({ server: this.#server, launch, settings: this.#settings, hooks, era: this.#era, signal });
        await this.#readCatalogue(connection, launch, signal);
        return { connection, launch };
      } catch (error) {
        if (this.#isHttp && !isRefusal(error)) this.#era = this.#era === "newest" ? "earlier" : "newest"; // some do not answer what they do not know
        const { detail, hint, again } = startTrouble(error, launch);
        if (tries === CONNECT_TRIES || !again || this.#closed) throw this.#notSent(detail, hint);
        await sleep(FIRST_WAIT_MS * 2 ** (tries - 1) * (0.5 + Math.random()));
      }
    }
  }

  /** Reads the catalogue as it is now, and keeps its digests. */
  async #readCatalogue(connection: McpConnection, launch: Launch, signal: AbortSignal): Promise<void> {
    try {
      const read = parseCatalogue(this.#server.name, await connection.list(signal));
      if (typeof read === "string") throw new Error(read);
      this.#seen = digestsByName(read, this.#hash);
    } catch (error) {
      await connection.close();
      if (isRefusal(error)) throw error;
      throw this.#notSent(
        `its catalogue cannot be read: ${launch.hide(wordsOf(error))}`,
        `\`orgate mcp diff ${this.#server.name}\` tries it`,
      );
    }
  }

  /** The server announced a change: the next call waits for the new list. */
  async #relist(): Promise<void> {
    const before = this.#live;
    if (before === null) return;
    const again = before.then(async ({ connection, launch }) => {
      await this.#readCatalogue(connection, launch, AbortSignal.timeout(this.#server.connectMs));
      return { connection, launch };
    });
    this.#live = again;
    await again.catch(() => this.#forget(again));
  }

  objection(tool: string): string | null {
    const was = this.#pinned.get(tool);
    if (was === undefined) return `\`${tool}\` is not in the accepted catalogue of MCP server \`${this.#server.name}\``;
    const mirror = this.#mirrored.get(tool) ?? [];
    if (typeof mirror === "string") return `\`${tool}\` of MCP server \`${this.#server.name}\` cannot be called over HTTP: ${mirror}`;
    if (this.#seen === null || this.#seen.get(tool) === was) return null;
    const now = this.#seen.get(tool);
    const what =
      now === undefined ? "is no longer offered" : now === TWICE ? "is offered more than once" : "is no longer what was accepted";
    return `\`${tool}\` of MCP server \`${this.#server.name}\` ${what}: \`orgate mcp diff ${this.#server.name}\` shows it`;
  }

  #hintFor(tool: string): string {
    return typeof this.#mirrored.get(tool) === "string"
      ? "the server has to mend its tool"
      : `\`orgate mcp trust ${this.#server.name}\` accepts it`;
  }

  async call({ tool, args, timeMs, outputBytes }: Parameters<McpLink["call"]>[0], options: CallOptions): Promise<InvocationResult> {
    const began = performance.now();
    const durationMs = (): number => Math.round(performance.now() - began);
    const timer = AbortSignal.timeout(timeMs);
    const signal = AbortSignal.any([options.signal, timer]);
    const stopped = (by: "time" | "signal" | "connection" | "output", detail: string): InvocationResult => ({
      kind: "stopped",
      by,
      detail,
      stdout: "",
      stderr: "",
      durationMs: durationMs(),
    });
    this.#flying.add(options);
    if (this.#idle !== null) clearTimeout(this.#idle);
    try {
      for (let tries = 1; ; tries += 1) {
        const way = this.#connected();
        const { connection, launch } = await untilAborted(signal, () => way, stoppedWhileConnecting);
        const against = this.objection(tool);
        if (against !== null) return { kind: "refused", reason: against, hint: this.#hintFor(tool) };
        try {
          const onProgress = ({ message, ...at }: Progress): void =>
            options.onProgress({ ...at, message: message === null ? null : launch.hide(message) });
          const mirror = this.#mirrored.get(tool) ?? [];
          const headers = typeof mirror === "string" ? {} : mirrorHeaders(mirror, args);
          const raw = await connection.call({ tool, args: plain(args), headers }, onProgress, signal);
          const answer = readMcpAnswer(raw, outputBytes, launch.hide);
          if (typeof answer === "string") return stopped("connection", answer);
          return { kind: "answered", ...answer, durationMs: durationMs() };
        } catch (error) {
          const what = callTrouble(error, launch, connection);
          if (what.kind === "again" && tries === 1 && !signal.aborted) {
            this.#forget(way);
            this.#stale.add(connection); // a session that the server has forgotten: nothing of this call was done
          } else if (timer.aborted) return stopped("time", `no answer after ${timeMs} ms`);
          else if (options.signal.aborted) return stopped("signal", "stopped while running");
          else if (what.kind === "answered")
            return { kind: "answered", output: what.detail, isError: true, truncated: false, durationMs: durationMs() };
          else if (what.kind === "lost") {
            this.#forget(way);
            this.#stale.add(connection);
            return stopped("connection", what.detail);
          } else throw this.#notSent(what.detail, "look at the server's own log");
        }
      }
    } catch (error) {
      if (!(error instanceof FaultError)) throw error;
      return { kind: "refused", reason: error.message, hint: describeFault(error.fault).hint };
    } finally {
      this.#flying.delete(options);
      this.#rest();
    }
  }

  /** Closes the connection when nothing has called for a while. */
  #rest(): void {
    if (this.#flying.size > 0) return;
    this.#dropStale();
    if (this.#closed) return;
    if (this.#idle !== null) clearTimeout(this.#idle);
    this.#idle = setTimeout(() => void this.#letGo(), this.#server.idleMs).unref();
  }

  #dropStale(): void {
    for (const connection of this.#stale) void connection.close();
    this.#stale.clear();
  }

  async #letGo(): Promise<void> {
    const was = this.#live;
    if (was === null || this.#flying.size > 0) return;
    this.#forget(was);
    await was.then(({ connection }) => connection.close()).catch(() => {});
  }
}

const TWICE = "twice";
/** T-32 a name that is offered more than once is ambiguous: it counts as not accepted. */
function digestsByName({ tools }: Catalogue, hash: Hash): ReadonlyMap<string, Digest | typeof TWICE> {
  const seen = new Map<string, Digest | typeof TWICE>();
  for (const tool of tools) seen.set(tool.name, seen.has(tool.name) ? TWICE : offeredDigest(tool, hash));
  return seen;
}

const plain = (args: JsonObject): Record<string, unknown> => ({ ...args });
const wordsOf = (error: unknown): string => errorMessage(error).toWellFormed();
const codeOf = (error: unknown): string => {
  for (let at: unknown = error, i = 0; i < 4 && typeof at === "object" && at !== null; at = Reflect.get(at, "cause"), i += 1) {
    const code: unknown = Reflect.get(at, "code");
    if (typeof code === "string" && code !== "") return code;
  }
  return "";
};
const statusOf = (error: unknown): number | null => {
  const status: unknown = typeof error === "object" && error !== null ? Reflect.get(error, "status") : null;
  return typeof status === "number" ? status : null;
};

/** A call that is stopped while the server is being connected has sent nothing. */
const stoppedWhileConnecting = (): FaultError =>
  new FaultError({ kind: "unreachable", what: "mcp", detail: "stopped while connecting", hint: "" });

/** Nothing was sent yet, whatever it is. */
function startTrouble(error: unknown, launch: Launch): Readonly<{ detail: string; hint: string; again: boolean }> {
  if (error instanceof FaultError && error.fault.kind === "unreachable") {
    const { detail, hint } = error.fault;
    return { detail, hint, again: false };
  }
  const code = codeOf(error);
  const said = truncate(launch.hide(wordsOf(error)), 500);
  if (code === "ENOENT" || code === "EACCES")
    return { detail: `it cannot be started (${code})`, hint: "is its program installed, and on the path?", again: false };
  if (isRefusal(error)) return { detail: "it wants us to sign in, or refuses us", hint: SIGN_IN, again: false };
  const detail = `it cannot be reached: ${code === "" || said.includes(code) ? said : `${said} (${code})`}`;
  return { detail, hint: "is it running?", again: true };
}

const isRefusal = (error: unknown): boolean => isSignInNeeded(error) || [401, 403].includes(statusOf(error) ?? 0);
const SIGN_IN = "`orgate mcp login` signs in; or give its key as a header, from a variable";

type Trouble = Readonly<{ kind: "again" | "answered" | "lost" | "not-sent"; detail: string }>;
/** Nobody was there to take it. */
const NOBODY = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "NOT_CONNECTED"]);

/** The outcome of a call that was handed over. In doubt it was sent. */
function callTrouble(error: unknown, launch: Launch, connection: McpConnection): Trouble {
  const detail = truncate(launch.hide(wordsOf(error)), 2_000);
  const code: unknown = typeof error === "object" && error !== null ? Reflect.get(error, "code") : null;
  if (typeof code === "number" && statusOf(error) === null) return { kind: "answered", detail: `${detail} (${code})` };
  const status = statusOf(error);
  if (isRefusal(error)) return { kind: "not-sent", detail: "it wants us to sign in again: `orgate mcp login`" };
  if (status === 404 || status === 400) return { kind: "again", detail: `it answered with ${status}` }; // it has forgotten the session, and says either
  if (status !== null && status < 500) return { kind: "not-sent", detail: `it answered with ${status}` };
  if (status !== null) return { kind: "lost", detail: `it answered with ${status}` };
  if (NOBODY.has(codeOf(error))) return { kind: "again", detail };
  const words = connection.lastWords();
  return { kind: "lost", detail: `the connection was lost: ${detail}${words === "" ? "" : `; it said: ${words}`}` };
}
