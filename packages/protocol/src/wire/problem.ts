/**
 * Problem details (RFC 9457), the same on every way in: made from a fault or from one of the few errors that only a wire can have.
 * Rule: W-3.
 */

import { describeFault, type Fault, isFault, isFaultKind, lowerFirst } from "@orgate/core/vocab";
import * as z from "zod";

/** Errors that only a wire can have, with their HTTP status. */
export const WIRE_PROBLEMS = Object.freeze({
  "bad-request": { status: 400, title: "the request cannot be read" },
  "idempotency-key-missing": { status: 400, title: "an idempotency key is needed" },
  unauthenticated: { status: 401, title: "nobody is known by this" },
  forbidden: { status: 403, title: "not allowed" },
  "cross-site": { status: 403, title: "not from this site" },
  "not-found": { status: 404, title: "there is no such thing" },
  "method-not-allowed": { status: 405, title: "not with this method" },
  "request-timeout": { status: 408, title: "the request took too long to arrive" },
  conflict: { status: 409, title: "not as things stand" },
  "too-large": { status: 413, title: "too much at once" },
  "media-type": { status: 415, title: "not in this form" },
  "idempotency-key-reused": { status: 422, title: "the key was used for something else" },
  "version-unsupported": { status: 426, title: "this version is not spoken here" },
  "too-many": { status: 429, title: "too much of it" },
  internal: { status: 500, title: "something went wrong here" },
  unavailable: { status: 503, title: "not now" },
  "disk-full": { status: 507, title: "the disk is full" },
} as const);
export type WireProblemKind = keyof typeof WIRE_PROBLEMS;
export type ProblemKind = Fault["kind"] | WireProblemKind;

/** Where the request does not fit; `path` leads into it. */
export type Issue = Readonly<{ path: string; message: string }>;

export type Problem = Readonly<{
  type: string;
  title: string;
  status: number;
  detail: string;
  kind: ProblemKind;
  hint: string;
  issues: readonly Issue[];
}>;

export const PROBLEM_MEDIA_TYPE = "application/problem+json";

const FAULTS: Readonly<Record<Fault["kind"], number>> = Object.freeze({
  "entry-bad": 500,
  "seal-bad": 500,
  "entry-erased": 410,
  "append-conflict": 409,
  "journal-unwritable": 503,
  "journal-replaced": 503,
  "journal-doubted": 503,
  "journal-unreadable": 503,
  "history-invalid": 422,
  halted: 409,
  "counters-moved": 409,
  "session-held": 409,
  "hold-lost": 409,
  "session-unknown": 404,
  "runtime-closed": 503,
  "session-closed": 409,
  "agent-other": 409,
  "session-busy": 409,
  "external-taken": 409,
  "grant-revoked": 409,
  "permit-refused": 403,
  "tool-twice": 500,
  "tool-invalid": 500,
  unreachable: 502,
  "outcome-unknown": 502,
  "model-failed": 502,
  "model-unknown": 500,
  "file-refused": 422,
  "file-bad": 500,
  "path-protected": 403,
  "agent-invalid": 422,
  "agent-missing": 404,
  "not-permitted": 403,
  "policies-missing": 503,
  "policies-refused": 422,
  "project-missing": 500,
  "key-bad": 500,
  "intent-refused": 409,
  usage: 400,
});

/** Their message names a place on the machine: it is for its logs. */
const OF_THE_MACHINE: ReadonlySet<Fault["kind"]> = new Set([
  "journal-replaced",
  "journal-unreadable",
  "journal-unwritable",
  "file-bad",
  "path-protected",
  "policies-missing",
  "project-missing",
  "key-bad",
]);

const typeOf = (kind: ProblemKind): string => `urn:orgate:problem:${kind}`;
const titleOf = (kind: Fault["kind"]): string => kind.replaceAll("-", " ");

export function faultToProblem(fault: Fault): Problem {
  const { kind } = fault;
  if (!isFaultKind(kind)) return wireProblem("internal", describeFault(fault).message, "the server's log has the details");
  const { message, hint } = OF_THE_MACHINE.has(kind)
    ? { message: titleOf(kind), hint: "the server's log has the details" }
    : describeFault(fault);
  return { type: typeOf(kind), title: titleOf(kind), status: FAULTS[kind], detail: message, kind, hint, issues: [] };
}

export function wireProblem(kind: WireProblemKind, detail: string, hint: string, issues: readonly Issue[] = []): Problem {
  return { type: typeOf(kind), ...WIRE_PROBLEMS[kind], detail, kind, hint, issues };
}

/** For any thrown value: an unexpected error goes to the log, not to the wire. */
export const problemFrom = (error: unknown): Problem =>
  isFault(error)
    ? faultToProblem(error.fault)
    : wireProblem("internal", "an error that was not foreseen", "the server's log has the details");

const MOST_ISSUES = 20;
/** Characters of a path or a message: it quotes the request, and must not be as long. */
const MOST_ISSUE_LENGTH = 200;
const clip = (text: string): string => (text.length > MOST_ISSUE_LENGTH ? `${text.slice(0, MOST_ISSUE_LENGTH).toWellFormed()}…` : text);

/** Of a value that its decoder does not take. */
export function unreadable(what: string, error: z.ZodError): Problem {
  const issues = error.issues
    .slice(0, MOST_ISSUES)
    .map(({ path, message }) => ({ path: clip(path.join(".")), message: lowerFirst(clip(message)) }));
  const [first] = issues;
  const where = first === undefined || first.path === "" ? "" : `\`${first.path}\` `;
  return wireProblem(
    "bad-request",
    `${what}: ${where}${first?.message ?? "cannot be read"}`,
    "the API's description tells its form",
    issues,
  );
}

const KINDS = [...Object.keys(FAULTS), ...Object.keys(WIRE_PROBLEMS)] as [ProblemKind, ...ProblemKind[]];
export const problemSchema = z
  .strictObject({
    type: z.string(),
    title: z.string(),
    status: z.int().min(400).max(599),
    detail: z.string(),
    kind: z.enum(KINDS),
    hint: z.string(),
    issues: z.array(z.strictObject({ path: z.string(), message: z.string() })).readonly(),
  })
  .readonly();
