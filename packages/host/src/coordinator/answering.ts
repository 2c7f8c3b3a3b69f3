/**
 * How a request is answered: as JSON, as text that is made while it is read, or with what went wrong.
 *
 * W72 every answer forbids to be framed, sniffed, cached or referred from, and says which request it was; an error is a problem (W20).
 * W73 a text that is made while it is read is made at the reader's pace, and no further once the reader has gone.
 */
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { PROBLEM_MEDIA_TYPE, type Problem } from "@orgate/core/wire";

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

export type Answer = Readonly<
  | { kind: "json"; value: unknown; status?: number; headers?: Readonly<Record<string, string>> }
  | { kind: "text"; mediaType: string; text: string; headers?: Readonly<Record<string, string>> }
  /** `pieces` is begun once the headers are out; each piece is written before the next is asked for. */
  | { kind: "stream"; mediaType: string; headers?: Readonly<Record<string, string>>; pieces(gone: AbortSignal): AsyncIterable<string> }
>;

type To = Readonly<{ response: ServerResponse; request: string }>;

export async function give({ response, request }: To, answer: Answer, status: number): Promise<void> {
  const headers = { ...SECURITY_HEADERS, "x-request-id": request, ...answer.headers };
  switch (answer.kind) {
    case "json":
      return end(response, answer.status ?? status, { ...headers, "content-type": "application/json" }, JSON.stringify(answer.value));
    case "text":
      return end(response, status, { ...headers, "content-type": answer.mediaType }, answer.text);
    case "stream":
      response.writeHead(status, { ...headers, "content-type": answer.mediaType, "x-accel-buffering": "no" });
      response.flushHeaders();
      return pour(response, answer.pieces);
  }
}

export function refuse({ response, request }: To, problem: Problem, headers: Readonly<Record<string, string>> = {}): void {
  if (response.headersSent) return void response.destroy(); // an answer that breaks off is no whole answer
  const all = { ...SECURITY_HEADERS, "x-request-id": request, "content-type": PROBLEM_MEDIA_TYPE, ...headers };
  end(response, problem.status, all, JSON.stringify(problem));
}

function end(response: ServerResponse, status: number, headers: Readonly<Record<string, string>>, text: string): void {
  response.writeHead(status, { ...headers, "content-length": Buffer.byteLength(text) });
  response.end(text);
}

async function pour(response: ServerResponse, pieces: (gone: AbortSignal) => AsyncIterable<string>): Promise<void> {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  for await (const piece of pieces(gone.signal)) {
    if (gone.signal.aborted) return;
    if (!response.write(piece)) await once(response, "drain", { signal: gone.signal }).catch(() => {}); // gone: seen above
  }
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
};

/** What is wrong with a request, thrown from wherever it is found. */
export type Refusal = Error & Readonly<{ problem: Problem; headers: Readonly<Record<string, string>> }>;
export const refusal = (problem: Problem, headers: Readonly<Record<string, string>> = {}): Refusal =>
  Object.assign(new Error(problem.detail), { problem, headers });
export const isRefusal = (error: unknown): error is Refusal => error instanceof Error && "problem" in error && "headers" in error;
