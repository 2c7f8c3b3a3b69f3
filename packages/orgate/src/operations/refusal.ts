/** A refusal: a problem that is thrown where it is found, and reaches the caller as its answer. */
import { type Problem, problemFrom, wireProblem } from "@orgate/protocol";
import { isDiskFull } from "../store/disk-full.ts";

/** `headers` go with the problem over HTTP, such as `retry-after`. */
export type Refusal = Error & Readonly<{ problem: Problem; headers: Readonly<Record<string, string>> }>;
export const refusal = (problem: Problem, headers: Readonly<Record<string, string>> = {}): Refusal =>
  Object.assign(new Error(problem.detail), { problem, headers });
export const isRefusal = (error: unknown): error is Refusal => error instanceof Error && "problem" in error && "headers" in error;

/** The problem that an error is for the caller. */
export const problemIn = (error: unknown): Problem =>
  isRefusal(error) ? error.problem : isDiskFull(error) ? DISK_FULL : problemFrom(error);
/** W-23 */
const DISK_FULL = wireProblem(
  "disk-full",
  "the server's disk is full: nothing was written, and nothing was done",
  "make room on it and send the request again with the same key; restart the server if `/readyz` still fails then",
);
