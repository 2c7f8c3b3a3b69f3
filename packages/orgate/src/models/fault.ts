/**
 * Classifies failures of model calls by type: status codes, system error codes, marked classes. No message text is ever matched.
 *
 * M-6 One notion of a transient error: 408, 429, 500, 502, 503, 504, 529, an overload, a connection reset or refused, a time-out. It carries
 *     the status and how long the provider asks to be left alone.
 * M-4 What may have been used counts as used: a request that never reached anybody, or was refused, cost nothing; one that broke off may have.
 */
import { APICallError, EmptyResponseBodyError, InvalidResponseDataError, JSONParseError, TypeValidationError } from "@ai-sdk/provider";
import { FaultError } from "@orgate/core";
import { type ModelTrouble, WireTrouble } from "./wire-trouble.ts";

/** Facts about the call beside the error. */
export type FaultContext = Readonly<{
  /** The status of the answer, once there is one; null where the model does not go through our own fetch. */
  status: number | null;
  /** Part of the reply was received. */
  begun: boolean;
  now: number;
}>;

const TRANSIENT_STATUS: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504, 529]);
export const isTransientStatus = (status: number): boolean => TRANSIENT_STATUS.has(status);

/** Nobody was reached, so nobody has worked. */
const NOT_REACHED: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENETDOWN",
  "UND_ERR_CONNECT_TIMEOUT",
]);
const CUT: ReadonlySet<string> = new Set([
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "UND_ERR_SOCKET",
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_BODY_TIMEOUT",
]);
const CODES: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the connection was refused",
  ECONNRESET: "the connection was reset",
  UND_ERR_SOCKET: "the connection was closed",
  UND_ERR_CONNECT_TIMEOUT: "no connection in time",
  ETIMEDOUT: "the connection timed out",
  UND_ERR_HEADERS_TIMEOUT: "no answer in time",
  UND_ERR_BODY_TIMEOUT: "the answer stalled",
  ENOTFOUND: "there is no such host",
};

export function classifyTrouble(error: unknown, seen: FaultContext): ModelTrouble {
  const own = inChain(error, (one) => (one instanceof WireTrouble ? one.trouble : null));
  if (own !== null) return own;
  const answered = inChain(error, (one) => (APICallError.isInstance(one) && one.statusCode !== undefined ? one : null));
  if (answered !== null && !isGood(answered.statusCode)) return refusal(answered, seen);
  if (isAnnounced(error)) return announced(error, seen);
  const said = saidIn(error);
  if (said !== null) return announced(said, seen);
  const code = findSystemCode(error);
  if (code !== null) return connection(code, seen);
  if (inChain(error, isMalformed) !== null) return broken(seen, "the provider's answer is not what its format says");
  // An error without a type, once the provider had begun to answer, is an answer that could not be read.
  if (seen.begun || isGood(seen.status)) return broken(seen, "the provider's answer could not be read");
  return { detail: messageOf(error), status: seen.status, retryAfterMs: null, transient: false, broke: true, again: false };
}

/** Whom a call asked, and which variables say so. Nothing of it is secret: a host without path, query or user. */
export type Recipient = Readonly<{ id: string; host: string | null; addressVariable: string | null; keyVariable: string | null }>;

/** M-6 the message names the model, the host, what to check and where that is set. */
export const toFault = (trouble: ModelTrouble, redact: (text: string) => string, recipient: Recipient): FaultError => {
  const { detail, unreached: _, ...rest } = trouble;
  const next = nextStep(trouble, recipient);
  const where = recipient.host === null ? recipient.id : `${recipient.id} at ${recipient.host}`;
  // Without a cause: what the libraries throw carries the whole request, and what a server echoed.
  const said = `${where}: ${oneLine(redact(detail))}${next === null ? "" : `; ${next}`}`;
  return new FaultError({ kind: "model-failed", detail: said, ...rest });
};

/** Null where the error itself says what to change. */
function nextStep({ status, transient, unreached }: ModelTrouble, { addressVariable, keyVariable }: Recipient): string | null {
  const address = addressVariable ?? "its address";
  if (unreached) return `check ${address}, and that a server answers there`;
  if (status === 401 || status === 403) return `check ${keyVariable ?? "its key"}`;
  if (status === 404) return `check the model's name and ${address}`;
  if (transient) return "try again later, or give the agent `fallbacks`";
  if (status === 402 || status === 429) return `check the account of ${keyVariable ?? "its key"}`;
  return null;
}

/** `retry-after-ms`, or `retry-after` in seconds or as a date. Null when it says nothing that can be read. */
export function retryAfterMs(headers: Readonly<Record<string, string | undefined>> | undefined, now: number): number | null {
  const precise = Number.parseFloat(headers?.["retry-after-ms"] ?? "");
  if (Number.isFinite(precise)) return Math.max(0, Math.round(precise));
  const given = headers?.["retry-after"]?.trim() ?? "";
  if (/^\d+(\.\d+)?$/.test(given)) return Math.round(Number(given) * 1000);
  const date = /^[A-Za-z]{3,9},/.test(given) ? Date.parse(given) : Number.NaN; // an HTTP date begins with its weekday
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}

/** The provider answered, and said no. */
function refusal(error: APICallError, seen: FaultContext): ModelTrouble {
  const status = error.statusCode ?? 0;
  // A provider's own package may know better, by the code in the body: a used-up quota is a 429 that does not pass.
  const transient = isTransientStatus(status) && error.isRetryable && !isUsedUp(error.data);
  const said = error.message.trim() === "" ? "" : `: ${error.message}`;
  const after = retryAfterMs(error.responseHeaders, seen.now);
  return {
    detail: `the provider answered ${status}${said}`,
    status,
    retryAfterMs: after,
    transient,
    broke: seen.begun,
    again: transient || seen.begun,
  };
}

/** An error that came as part of the stream. Recognised by the mark that the packages set: importing their own test would load all of them. */
type Announced = Readonly<{ message: string; statusCode?: number; isRetryable?: boolean }>;
const ANNOUNCED = Symbol.for("vercel.ai.providerStreamError");
const isAnnounced = (error: unknown): error is Announced => typeof error === "object" && error !== null && ANNOUNCED in error;

/**
 * As OpenRouter, vLLM and others put it into a stream: `{ message, code, type }`, handed on as it came. The code is a status, or there is none and the
 * type has a name that OpenAI's format knows.
 */
function saidIn(error: unknown): Announced | null {
  if (typeof error !== "object" || error === null || error instanceof Error) return null;
  const { message, code, type } = error as Readonly<Record<string, unknown>>;
  if (typeof message !== "string") return null;
  const statusCode = Number.isInteger(Number(code)) && Number(code) >= 400 ? Number(code) : TYPES[String(type)];
  return { message, ...(statusCode === undefined ? {} : { statusCode }) };
}
const TYPES: Readonly<Record<string, number>> = {
  server_error: 500,
  rate_limit_exceeded: 429,
  rate_limit_error: 429,
  overloaded_error: 529,
};

function announced(error: Announced, seen: FaultContext): ModelTrouble {
  const status = error.statusCode ?? null;
  const transient = status !== null && isTransientStatus(status) && error.isRetryable !== false;
  const detail = `the provider broke off${status === null ? "" : ` with ${status}`}: ${error.message}`;
  return { detail, status, retryAfterMs: null, transient, broke: seen.begun, again: transient || (status === null && seen.begun) };
}

function connection(code: string, seen: FaultContext): ModelTrouble {
  const detail = `${CODES[code] ?? "the connection failed"} (${code})`;
  const transient = NOT_REACHED.has(code) || CUT.has(code);
  const broke = seen.begun || CUT.has(code);
  return { detail, status: null, retryAfterMs: null, transient, broke, again: transient, unreached: !broke };
}

const broken = (seen: FaultContext, detail: string): ModelTrouble => ({
  detail,
  status: seen.status,
  retryAfterMs: null,
  transient: false,
  broke: true,
  again: true,
});

const isGood = (status: number | null | undefined): boolean => status !== null && status !== undefined && status >= 200 && status < 300;

function isUsedUp(data: unknown): boolean {
  if (typeof data !== "object" || data === null || !("error" in data)) return false;
  const { error } = data;
  return typeof error === "object" && error !== null && "code" in error && error.code === "insufficient_quota";
}

function codeOf(error: unknown): string | null {
  if (typeof error !== "object" || error === null || !("code" in error) || typeof error.code !== "string") return null;
  return /^(E[A-Z]|UND_ERR_|HPE_|CERT_|ERR_TLS_|DEPTH_|SELF_|UNABLE_)/.test(error.code) ? error.code : null;
}

/** The system's error code; null if the error is not the system's. */
export const findSystemCode = (error: unknown): string | null => inChain(error, codeOf);

const isMalformed = (error: unknown): true | null =>
  JSONParseError.isInstance(error) ||
  TypeValidationError.isInstance(error) ||
  InvalidResponseDataError.isInstance(error) ||
  EmptyResponseBodyError.isInstance(error)
    ? true
    : null;

const DEPTH = 8;

/** The first that fits, along `cause` and through the errors of an aggregate. */
function inChain<T>(error: unknown, find: (one: unknown) => T | null, depth = DEPTH): T | null {
  if (depth === 0 || typeof error !== "object" || error === null) return null;
  const found = find(error);
  if (found !== null) return found;
  if ("cause" in error && error.cause !== error) {
    const below = inChain(error.cause, find, depth - 1);
    if (below !== null) return below;
  }
  if (!(error instanceof AggregateError)) return null;
  for (const one of error.errors) {
    const below = inChain(one, find, depth - 1);
    if (below !== null) return below;
  }
  return null;
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : typeof error === "string" ? error : "it failed without saying why";

const LONGEST = 500;
const oneLine = (text: string): string => {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= LONGEST ? line : `${line.slice(0, LONGEST).toWellFormed()}…`;
};
