/**
 * How a request is answered: as JSON, as text that is made while it is read, or with what went wrong.
 *
 * W-21 every answer forbids to be framed, sniffed, cached or referred from, and says which request it was; an error is a problem (W-3).
 * W-25 a text that is made while it is read is made at the reader's pace, and no further once the reader has gone.
 */
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { PROBLEM_MEDIA_TYPE, type Problem } from "@orgate/protocol";
import type { OperationResult, Sink } from "../../operations/result.ts";

export const SECURITY_HEADERS: Readonly<Record<string, string>> = Object.freeze({
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
  "cache-control": "no-store",
});

export type HttpAnswer = Readonly<
  | { kind: "json"; value: unknown; status?: number; headers?: Readonly<Record<string, string>> }
  | { kind: "text"; mediaType: string; text: string; headers?: Readonly<Record<string, string | readonly string[]>> }
  | { kind: "bytes"; mediaType: string; bytes: Uint8Array; headers?: Readonly<Record<string, string>> }
  /** `write` is called once the headers are out. */
  | Extract<OperationResult, { kind: "stream" }>
>;

export const toHttpAnswer = (result: OperationResult): HttpAnswer =>
  result.kind === "json" ? { kind: "json", value: result.value, ...(result.isFailing === true ? { status: 503 } : {}) } : result;

type To = Readonly<{ response: ServerResponse; request: string }>;

export async function sendAnswer({ response, request }: To, answer: HttpAnswer, status: number): Promise<void> {
  const headers = { ...SECURITY_HEADERS, "x-request-id": request, ...answer.headers };
  switch (answer.kind) {
    case "json":
      return end(response, answer.status ?? status, { ...headers, "content-type": "application/json" }, JSON.stringify(answer.value));
    case "text":
      return end(response, status, { ...headers, "content-type": answer.mediaType }, answer.text);
    case "bytes":
      return end(response, status, { ...headers, "content-type": answer.mediaType }, answer.bytes);
    case "stream":
      response.writeHead(status, { ...headers, "content-type": answer.mediaType, "x-accel-buffering": "no" });
      response.flushHeaders();
      return pour(response, answer.write);
  }
}

export function sendProblem({ response, request }: To, problem: Problem, headers: Readonly<Record<string, string>> = {}): void {
  if (response.headersSent) return void response.destroy(); // an answer that breaks off is no whole answer
  const all = { ...SECURITY_HEADERS, "x-request-id": request, "content-type": PROBLEM_MEDIA_TYPE, ...headers };
  end(response, problem.status, all, JSON.stringify(problem));
}

type HeaderLines = Readonly<Record<string, string | readonly string[]>>;
function end(response: ServerResponse, status: number, headers: HeaderLines, body: string | Uint8Array): void {
  const lines = Object.entries(headers).map(([name, value]): [string, string | string[]] => [
    name,
    typeof value === "string" ? value : [...value],
  ]);
  const length = status === 204 ? {} : { "content-length": Buffer.byteLength(body) };
  response.writeHead(status, { ...Object.fromEntries(lines), ...length });
  response.end(body);
}

async function pour(response: ServerResponse, write: (sink: Sink, gone: AbortSignal) => Promise<void>): Promise<void> {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const sink: Sink = {
    async write(text) {
      if (gone.signal.aborted || response.write(text)) return;
      await once(response, "drain", { signal: gone.signal }).catch(() => {}); // it has gone, which `gone` tells
    },
  };
  await write(sink, gone.signal);
  response.end();
}

/** To a socket that has no response object: one that is being upgraded, or could not be understood. */
export function rawProblem(problem: Problem): string {
  const text = JSON.stringify(problem);
  const headers = {
    ...SECURITY_HEADERS,
    "content-type": PROBLEM_MEDIA_TYPE,
    "content-length": Buffer.byteLength(text),
    connection: "close",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${problem.status} ${STATUS[problem.status] ?? "Error"}`, ...lines, "", text].join("\r\n");
}
const STATUS: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  408: "Request Timeout",
  413: "Content Too Large",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  503: "Service Unavailable",
  507: "Insufficient Storage",
};
