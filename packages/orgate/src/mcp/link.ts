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
import { type Digest, describe, FaultError, type Hash, type JsonObject } from "@orgate/core";
import type { McpInvocation, Ran } from "@orgate/core/contracts";
import type { Env } from "../node/env.ts";
import { errorMessage } from "../node/error-message.ts";
import { isSignInNeeded } from "./auth.ts";
import { type Catalogue, offeredDigest, parseCatalogue, shortened } from "./catalogue.ts";
import { connectMcp, type McpClientSettings, type McpConnection, type Progress } from "./client.ts";
import { type Launch, type McpServer, resolveLaunch } from "./config.ts";
import { mirroredArguments, mirrorHeaders } from "./headers.ts";
import type { ProtocolEra } from "./protocol-versions.ts";
import { readMcpAnswer } from "./result.ts";

export type LinkOptions = Readonly<{
  server: McpServer;
  /** What a person accepted; null: nothing. */
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
  call(invocation: Omit<McpInvocation, "kind" | "server">, options: CallOptions): Promise<Ran>;
  /** What it offers now. Throws an `Error` with the reason where it cannot be asked. */
  catalogue(signal: AbortSignal): Promise<Catalogue>;
  /** Why a tool cannot be called, as far as is known; null: nothing is known against it. */
  objection(tool: string): string | null;
  close(): Promise<void>;
}>;

type Live = Readonly<{ connection: McpConnection; launch: Launch }>;
const CONNECT_TRIES = 3;
const FIRST_WAIT_MS = 200;

export function mcpLink({ server, accepted, env, settings, hash }: LinkOptions): McpLink {
  const pinned = new Map((accepted?.tools ?? []).map((tool) => [tool.name, offeredDigest(tool, hash)]));
  const isHttp = server.transport.kind === "http";
  const mirrored = new Map((isHttp ? (accepted?.tools ?? []) : []).map((tool) => [tool.name, mirroredArguments(tool.inputSchema)]));
  const flying = new Set<CallOptions>();
  /** Given up, and perhaps still waited on by other calls. */
  const stale = new Set<McpConnection>();
  let live: Promise<Live> | null = null;
  /** Of the last look; kept when the connection goes. */
  let seen: ReadonlyMap<string, Digest | typeof TWICE> | null = null;
  let idle: NodeJS.Timeout | null = null;
  let closed = false;
  let era: ProtocolEra = isHttp ? "newest" : "earlier";

  const notSent = (detail: string, hint: string): FaultError =>
    new FaultError({ kind: "unreachable", what: `mcp:${server.name}`, detail, hint });
  const forget = (of: Promise<Live> | null): void => {
    if (live === of) live = null;
  };

  /** One at a time, whoever asks; whoever gives up does not take the connection from the others. */
  function connected(): Promise<Live> {
    if (closed) return Promise.reject(notSent("its connections are closed", "open another runtime"));
    if (live !== null) return live;
    const made = connect(() => forget(made));
    live = made;
    made.catch(() => forget(made));
    return made;
  }

  async function connect(gone: () => void): Promise<Live> {
    const launch = resolveLaunch(server, env);
    if (typeof launch === "string") throw notSent(launch, "set it, or mend the entry of the server");
    for (let tries = 1; ; tries += 1) {
      try {
        const hooks = {
          onListChanged: () => void relist(),
          onAsked: (method: string) => {
            for (const one of flying) one.onAsked(launch.hide(method));
          },
          onClosed: gone,
        };
        const signal = AbortSignal.timeout(server.connectMs);
        const connection = await connectMcp(server, launch, settings, hooks, era, signal);
        await looked(connection, launch, signal);
        return { connection, launch };
      } catch (error) {
        if (isHttp && !isRefusal(error)) era = era === "newest" ? "earlier" : "newest"; // some do not answer what they do not know
        const { detail, hint, again } = startTrouble(error, launch);
        if (tries === CONNECT_TRIES || !again || closed) throw notSent(detail, hint);
        await sleep(FIRST_WAIT_MS * 2 ** (tries - 1) * (0.5 + Math.random()));
      }
    }
  }

  /** The catalogue as it is now, remembered. */
  async function looked(connection: McpConnection, launch: Launch, signal: AbortSignal): Promise<void> {
    try {
      const read = parseCatalogue(server.name, await connection.list(signal));
      if (typeof read === "string") throw new Error(read);
      seen = digestsByName(read, hash);
    } catch (error) {
      await connection.close();
      if (isRefusal(error)) throw error;
      throw notSent(`its catalogue cannot be read: ${launch.hide(wordsOf(error))}`, `\`orgate mcp diff ${server.name}\` tries it`);
    }
  }

  /** Announced: whoever calls next waits for it. */
  async function relist(): Promise<void> {
    const before = live;
    if (before === null) return;
    const again = before.then(async ({ connection, launch }) => {
      await looked(connection, launch, AbortSignal.timeout(server.connectMs));
      return { connection, launch };
    });
    live = again;
    await again.catch(() => forget(again));
  }

  function objection(tool: string): string | null {
    const was = pinned.get(tool);
    if (was === undefined) return `\`${tool}\` is not in the accepted catalogue of MCP server \`${server.name}\``;
    const mirror = mirrored.get(tool) ?? [];
    if (typeof mirror === "string") return `\`${tool}\` of MCP server \`${server.name}\` cannot be called over HTTP: ${mirror}`;
    if (seen === null || seen.get(tool) === was) return null;
    const now = seen.get(tool);
    const what =
      now === undefined ? "is no longer offered" : now === TWICE ? "is offered more than once" : "is no longer what was accepted";
    return `\`${tool}\` of MCP server \`${server.name}\` ${what}: \`orgate mcp diff ${server.name}\` shows it`;
  }

  const hintFor = (tool: string): string =>
    typeof mirrored.get(tool) === "string" ? "the server has to mend its tool" : `\`orgate mcp trust ${server.name}\` accepts it`;

  async function call({ tool, args, timeMs, outputBytes }: Parameters<McpLink["call"]>[0], options: CallOptions): Promise<Ran> {
    const began = performance.now();
    const durationMs = (): number => Math.round(performance.now() - began);
    const timer = AbortSignal.timeout(timeMs);
    const signal = AbortSignal.any([options.signal, timer]);
    const stopped = (by: "time" | "signal" | "connection" | "output", detail: string): Ran => ({
      kind: "stopped",
      by,
      detail,
      stdout: "",
      stderr: "",
      durationMs: durationMs(),
    });
    flying.add(options);
    if (idle !== null) clearTimeout(idle);
    try {
      for (let tries = 1; ; tries += 1) {
        const way = connected();
        const { connection, launch } = await unlessStopped(way, signal);
        const against = objection(tool);
        if (against !== null) return { kind: "refused", reason: against, hint: hintFor(tool) };
        try {
          const onProgress = ({ message, ...at }: Progress): void =>
            options.onProgress({ ...at, message: message === null ? null : launch.hide(message) });
          const mirror = mirrored.get(tool) ?? [];
          const headers = typeof mirror === "string" ? {} : mirrorHeaders(mirror, args);
          const raw = await connection.call(tool, plain(args), headers, onProgress, signal);
          const answer = readMcpAnswer(raw, outputBytes, launch.hide);
          if (typeof answer === "string") return stopped("connection", answer);
          return { kind: "answered", ...answer, durationMs: durationMs() };
        } catch (error) {
          const what = callTrouble(error, launch, connection);
          if (what.kind === "again" && tries === 1 && !signal.aborted) {
            forget(way);
            stale.add(connection); // a session that the server has forgotten: nothing of this call was done
          } else if (timer.aborted) return stopped("time", `no answer after ${timeMs} ms`);
          else if (options.signal.aborted) return stopped("signal", "stopped while running");
          else if (what.kind === "answered")
            return { kind: "answered", output: what.detail, isError: true, truncated: false, durationMs: durationMs() };
          else if (what.kind === "lost") {
            forget(way);
            stale.add(connection);
            return stopped("connection", what.detail);
          } else throw notSent(what.detail, "look at the server's own log");
        }
      }
    } catch (error) {
      if (!(error instanceof FaultError)) throw error;
      return { kind: "refused", reason: error.message, hint: describe(error.fault).hint };
    } finally {
      flying.delete(options);
      rest();
    }
  }

  /** Whoever is not called is not kept. */
  function rest(): void {
    if (flying.size > 0) return;
    dropStale();
    if (closed) return;
    if (idle !== null) clearTimeout(idle);
    idle = setTimeout(() => void letGo(), server.idleMs).unref();
  }

  function dropStale(): void {
    for (const connection of stale) void connection.close();
    stale.clear();
  }

  async function letGo(): Promise<void> {
    const was = live;
    if (was === null || flying.size > 0) return;
    forget(was);
    await was.then(({ connection }) => connection.close()).catch(() => {});
  }

  return {
    server,
    call,
    objection,
    async catalogue(signal) {
      const { connection, launch } = await unlessStopped(connected(), signal);
      const read = parseCatalogue(server.name, await connection.list(signal));
      if (typeof read === "string") throw new Error(launch.hide(read));
      return read;
    },
    async close() {
      closed = true;
      if (idle !== null) clearTimeout(idle);
      dropStale();
      await letGo();
    },
  };
}

const TWICE = "twice";
/** T-32 of a name that is offered more than once nobody can tell which one would be called: it is none that was accepted. */
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

/** Whoever is stopped while it is being connected has sent nothing. */
function unlessStopped<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(new FaultError({ kind: "unreachable", what: "mcp", detail: "stopped while connecting", hint: "" }));
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

/** Nothing was sent yet, whatever it is. */
function startTrouble(error: unknown, launch: Launch): Readonly<{ detail: string; hint: string; again: boolean }> {
  if (error instanceof FaultError && error.fault.kind === "unreachable") {
    const { detail, hint } = error.fault;
    return { detail, hint, again: false };
  }
  const code = codeOf(error);
  const said = shortened(launch.hide(wordsOf(error)), 500);
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

/** What became of a call that was handed over. In doubt it was sent. */
function callTrouble(error: unknown, launch: Launch, connection: McpConnection): Trouble {
  const detail = shortened(launch.hide(wordsOf(error)), 2_000);
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
