/**
 * The network of MCP servers, within bounds.
 *
 * T-37 The address of an entry is the person's own word, and is reached as it stands. Every other address is a word of the server's (where one
 *      signs in, where tokens are had): it is reached as an HTTP tool would reach it, by the addresses that were checked, with every redirect
 *      checked again, and inside the own network only where the entry names it.
 */
import { isLoopback } from "@orgate/core/vocab";
import type { HttpInvocation, InvocationResult, RunOptions } from "@orgate/toolclad";
import type { McpTransport } from "./config.ts";

/** How the hosts that a server names are reached. */
export type McpReach = (invocation: HttpInvocation, options: RunOptions) => Promise<InvocationResult>;
type Http = Extract<McpTransport, { kind: "http" }>;

const ANSWER_BYTES = 1_048_576;
const ANSWER_MS = 20_000;
/** For a server on this very machine: it could reach them itself. */
const HERE = ["localhost", "127.0.0.0/8", "[::1]"];

export function serverFetch({ url, auth, insecure }: Http, reach: McpReach) {
  const own = new URL(url);
  const isHere = isLoopback(own.hostname);
  const allow = ["*", ...(isHere ? HERE : []), ...auth.hosts];
  return async (input: string | URL, init: RequestInit = {}): Promise<Response> => {
    const to = new URL(input);
    if (to.origin === own.origin) return stayed(await boundedFetch(to, { ...init, redirect: "manual" }), own);
    if (to.protocol !== "https:" && !insecure && !isLoopback(to.hostname))
      throw new Error(`it names an address of plain http on another machine: ${to.origin}`);
    const invocation: HttpInvocation = {
      kind: "http",
      method: init.method ?? "GET",
      url: to.href,
      headers: Object.fromEntries(new Headers(init.headers)),
      body: bodyOf(init.body),
      allow,
      timeMs: ANSWER_MS,
      outputBytes: ANSWER_BYTES,
    };
    return answered(await reach(invocation, { signal: init.signal ?? new AbortController().signal, onOutput: () => {} }), to);
  };
}

/** A redirect is handed back as it came, and is an answer that nobody understands: the entry names where the server is. */
function stayed(response: Response, own: URL): Response {
  if (response.status < 300 || response.status > 399 || response.status === 304) return response;
  void response.body?.cancel();
  throw new Error(`${own.origin} sends us on to another address: name that one in its entry`);
}

function bodyOf(body: RequestInit["body"]): string | null {
  if (body === undefined || body === null) return null;
  if (typeof body === "string" || body instanceof URLSearchParams) return String(body);
  throw new Error("a request to a host that the server names holds something else than text");
}

function answered(ran: InvocationResult, to: URL): Response {
  if (ran.kind === "refused") throw new Error(`${to.origin}, which the server names, is not reached: ${ran.reason}`);
  if (ran.kind === "stopped") throw new Error(`${to.origin}, which the server names, did not answer: ${ran.detail}`);
  if (ran.kind !== "responded" || ran.truncated) throw new Error(`${to.origin}, which the server names, did not answer within bounds`);
  const headers = Object.entries(ran.headers).filter(([name]) => name === "content-type" || name === "www-authenticate");
  return new Response(NO_BODY.has(ran.status) ? null : ran.body, { status: ran.status, headers: Object.fromEntries(headers) });
}
const NO_BODY = new Set([204, 205, 304]);

/** The most that one message may hold, over a pipe or over HTTP. */
export const MAX_MESSAGE_BYTES = 8 * 1024 * 1024;

/** T-34 counted from one blank line to the next, which ends an event: a stream may last as long as it likes. */
export const boundedFetch = async (input: string | URL, init?: RequestInit): Promise<Response> => {
  const response = await fetch(input, init);
  if (response.body === null) return response;
  let since = 0;
  let last = 0;
  const count = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      for (const byte of chunk) {
        since = byte === NEWLINE && last === NEWLINE ? 0 : since + 1;
        if (byte !== RETURN) last = byte;
      }
      if (since > MAX_MESSAGE_BYTES) controller.error(new Error(`an answer of more than ${MAX_MESSAGE_BYTES} bytes`));
      else controller.enqueue(chunk);
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(count), { status, statusText, headers });
};
const [NEWLINE, RETURN] = [10, 13];
