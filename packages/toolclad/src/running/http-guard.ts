/**
 * HTTP for tools. Nothing of the environment (proxies, agents, cookies) takes part.
 *
 * T-30 every redirect is checked like the first address; to another origin it takes no header of the tool's along, and never from https to http.
 * T-30 one time-out covers everything from the name to the last byte; the answer is cut at its limit and says so.
 * T-24 `refused` when nothing was sent; once anything was, `stopped`.
 */

import { type IncomingMessage, Agent as PlainAgent, request as plainRequest } from "node:http";
import { Agent as SecureAgent, request as secureRequest } from "node:https";
import type { Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { onAbort, untilAborted } from "@orgate/core/vocab";
import type { HttpInvocation, InvocationResult, RunOptions } from "../contract/running.ts";
import { type AddressScope, readScope } from "./addresses.ts";
import { pinnedLookup, type ResolvedHost, type ResolveHost, resolveInScope, systemResolve } from "./resolve-host.ts";

export type HttpGuardOptions = Readonly<{
  resolve?: ResolveHost;
  /** Certificates that are trusted beside the system's own. */
  ca?: string;
}>;

const MAX_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** These say how a message travels, and are for the sender alone to write. */
const HOP = new Set(["host", "connection", "content-length", "transfer-encoding", "upgrade", "te", "trailer", "expect", "keep-alive"]);
const isHop = (name: string): boolean => HOP.has(name) || name.startsWith("proxy-");

type Hop = Readonly<{ url: URL; method: string; headers: Readonly<Record<string, string>>; body: string | null }>;
type Progress = { sent: boolean };

export function httpGuard({ resolve = systemResolve, ca }: HttpGuardOptions = {}) {
  return async function run(invocation: HttpInvocation, { signal, onOutput }: RunOptions): Promise<InvocationResult> {
    const began = performance.now();
    const ms = (): number => Math.round(performance.now() - began);
    const read = readScope(invocation.allow);
    if (read.kind === "unreadable")
      return refused(`\`${read.entry}\` is no host, address or range`, "write api.example.com, *.example.com, 10.0.0.0/8 or host:port");
    const first = firstHop(invocation);
    if ("reason" in first) return refused(first.reason, "mend the tool's address or headers");

    const over = new AbortController();
    const timer = setTimeout(() => over.abort("time"), invocation.timeMs);
    const stopListening = onAbort(signal, () => over.abort("signal"));
    const progress: Progress = { sent: false };
    let stdout = "";
    try {
      const response = await followRedirects(first, read.scope, { resolve, ca, signal: over.signal, progress });
      if ("reason" in response)
        return progress.sent
          ? { kind: "stopped", by: "connection", detail: response.reason, stdout, stderr: "", durationMs: ms() }
          : refused(response.reason, response.hint);
      const { text, truncated } = await bodyOf(response, invocation.outputBytes, over.signal, (piece) => {
        stdout += piece;
        onOutput(piece);
      });
      return { kind: "responded", status: response.statusCode ?? 0, headers: headersOf(response), body: text, truncated, durationMs: ms() };
    } catch (error) {
      const by = over.signal.aborted ? (over.signal.reason === "time" ? "time" : "signal") : "connection";
      const detail =
        by === "time" ? `no whole answer after ${invocation.timeMs} ms` : by === "signal" ? "it was told to stop" : messageOf(error);
      if (!progress.sent)
        return refused(by === "connection" ? `no connection: ${detail}` : detail, "see that the host answers, or give it more time");
      return { kind: "stopped", by, detail, stdout, stderr: "", durationMs: ms() };
    } finally {
      clearTimeout(timer);
      stopListening();
      over.abort("over"); // lets go of a connection that is still open
    }
  };
}

/** Shared by every request of one call. */
type Sending = Readonly<{ resolve: ResolveHost; ca: HttpGuardOptions["ca"]; signal: AbortSignal; progress: Progress }>;

async function followRedirects(first: Hop, scope: AddressScope, sending: Sending): Promise<IncomingMessage | Objection> {
  let hop = first;
  for (let redirects = 0; ; redirects += 1) {
    const port = Number(hop.url.port || (hop.url.protocol === "https:" ? 443 : 80));
    const reached = await untilAborted(sending.signal, () => resolveInScope(scope, hop.url.hostname, port, sending.resolve));
    if (reached.kind === "refused")
      return {
        reason: redirects === 0 ? reached.reason : `a redirect was not followed: ${reached.reason}`,
        hint: "add it to the tool's scope, if it may be reached",
      };
    const response = await send(hop, reached, sending);
    const { location } = response.headers;
    if (!REDIRECTS.has(response.statusCode ?? 0) || location === undefined) return response;
    response.destroy();
    const next = redirected(hop, response.statusCode ?? 0, location);
    if ("reason" in next) return next;
    if (redirects === MAX_REDIRECTS) return { reason: `more than ${MAX_REDIRECTS} redirects`, hint: "name the address that they end at" };
    hop = next;
  }
}

function send(
  hop: Hop,
  { addresses }: Extract<ResolvedHost, { kind: "reached" }>,
  { signal, ca, progress }: Sending,
): Promise<IncomingMessage> {
  const secure = hop.url.protocol === "https:";
  const lookup = pinnedLookup(addresses);
  const agent = secure ? new SecureAgent({ keepAlive: false }) : new PlainAgent({ keepAlive: false });
  const headers = { "accept-encoding": "identity", ...hop.headers };
  const options = { method: hop.method, headers, agent, lookup, signal, ...(secure && ca !== undefined ? { ca } : {}) };
  return new Promise((done, failed) => {
    const request = (secure ? secureRequest : plainRequest)(hop.url, options);
    request.once("socket", (socket) => {
      socket.once(secure ? "secureConnect" : "connect", () => {
        progress.sent = true;
      });
    });
    request.once("response", done);
    request.once("error", failed);
    request.once("upgrade", (_response, socket) => {
      socket.destroy();
      failed(new Error("the host wants to talk something else than HTTP"));
    });
    request.end(hop.body ?? undefined);
  });
}

type Objection = Readonly<{ reason: string; hint: string }>;
const refused = (reason: string, hint: string): InvocationResult => ({ kind: "refused", reason, hint });

function firstHop({ url, method, headers, body }: HttpInvocation): Hop | Objection {
  const parsed = webAddress(url);
  if ("reason" in parsed) return parsed;
  if (!/^[A-Z]{3,20}$/.test(method) || method === "CONNECT" || method === "TRACE")
    return { reason: `\`${method}\` is no method for a tool`, hint: "" };
  const own: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(lower) || isHop(lower)) return { reason: `\`${name}\` is not for a tool to set`, hint: "" };
    if (/[\x00-\x08\x0a-\x1f\x7f]|[^\x00-\xff]/.test(value))
      return { reason: `header \`${name}\` holds characters that cannot be sent`, hint: "" };
    own[lower] = value;
  }
  return { url: parsed, method, headers: own, body };
}

/** T-30. */
function webAddress(text: string, base?: string): URL | Objection {
  const url = URL.canParse(text, base) ? new URL(text, base) : null;
  if (url === null) return { reason: "the address cannot be read", hint: "write https://host/path" };
  if (url.protocol !== "http:" && url.protocol !== "https:")
    return { reason: `\`${url.protocol}\` is neither http nor https`, hint: "use https" };
  if (url.username !== "" || url.password !== "")
    return { reason: "the address holds credentials", hint: "put them into a header, from the secrets" };
  return url;
}

/** T-30. */
function redirected(from: Hop, status: number, location: string): Hop | Objection {
  const url = webAddress(location, from.url.href);
  if ("reason" in url) return { ...url, reason: `a redirect was not followed: ${url.reason}` };
  if (from.url.protocol === "https:" && url.protocol === "http:")
    return { reason: "a redirect was not followed: it leads from https to http", hint: "name the address that it ends at" };
  const asGet = status === 303 ? from.method !== "HEAD" : (status === 301 || status === 302) && from.method === "POST";
  const sameOrigin = url.origin === from.url.origin;
  // any header may hold a secret, whatever it is called; so may a body
  if (!sameOrigin && !asGet && from.body !== null)
    return { reason: "a redirect was not followed: it would send the body to another origin", hint: "name the address that it ends at" };
  const headers = sameOrigin ? from.headers : only(from.headers, ["accept", "accept-language", "user-agent"]);
  return asGet
    ? { url, method: "GET", headers: without(headers, ["content-type", "content-encoding"]), body: null }
    : { url, method: from.method, headers, body: from.body };
}

const only = (headers: Hop["headers"], names: readonly string[]): Hop["headers"] =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => names.includes(name)));
const without = (headers: Hop["headers"], names: readonly string[]): Hop["headers"] =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));

function headersOf({ headers }: IncomingMessage): Readonly<Record<string, string>> {
  const told = Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, [value].flat().join(", ")]]));
  return Object.fromEntries(told);
}

/** T-30 counted after unpacking: a small answer may unfold into a large one. */
async function bodyOf(response: IncomingMessage, limit: number, signal: AbortSignal, onPiece: (piece: string) => void) {
  const stream = unpacked(response);
  const decoder = new TextDecoder(charsetOf(response.headers["content-type"]));
  let [text, bytes, truncated] = ["", 0, false];
  const stopListening = onAbort(signal, () => void stream.destroy(new Error("stopped")));
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      const room = limit - bytes;
      const kept = chunk.subarray(0, room);
      bytes += kept.length;
      const piece = decoder.decode(kept, { stream: true });
      text += piece;
      if (piece !== "") onPiece(piece);
      truncated = chunk.length > room;
      if (truncated) break;
    }
  } finally {
    stopListening();
  }
  return { text: text + (truncated ? "" : decoder.decode()), truncated };
}

function unpacked(response: IncomingMessage): Readable {
  const with_ = (through: NodeJS.ReadWriteStream & Readable): Readable => {
    response.once("error", (error) => through.destroy(error));
    through.once("close", () => response.destroy());
    return response.pipe(through);
  };
  switch (response.headers["content-encoding"]?.trim().toLowerCase()) {
    case "gzip":
    case "x-gzip":
      return with_(createGunzip());
    case "deflate":
      return with_(createInflate());
    case "br":
      return with_(createBrotliDecompress());
    default:
      return response;
  }
}

function charsetOf(contentType: string | undefined): string {
  const label = /charset\s*=\s*"?([\w-]+)/i.exec(contentType ?? "")?.[1] ?? "utf-8";
  try {
    return new TextDecoder(label).encoding;
  } catch {
    return "utf-8";
  }
}

/** Several addresses that all fail come as one error without words of its own. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join("; ");
  return error instanceof Error ? error.message || error.name : String(error);
}
