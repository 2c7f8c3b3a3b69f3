/** Ports of manifest tools that a program brings: where secrets come from, and what runs a program or a request. Both are held to their contract. */
import { copyFrozen, FaultError, type Json } from "@orgate/core/vocab";
import type { Invocation, InvocationResult, InvocationRunner } from "@orgate/toolclad";
import type { SecretsPort } from "../identity/secrets.ts";

/** The value of a secret by its name; undefined where there is none. */
export type FindSecret = (name: string) => string | undefined | Promise<string | undefined>;

const SECRET_MS = 10_000;

/** A secret that is missing, is no text, or does not come in time is a fault: the call is not run. The fault never holds what came. */
export function toSecretsPort(find: FindSecret, withinMs = SECRET_MS): SecretsPort {
  return {
    async take(names) {
      const found = new Map<string, string>();
      for (const name of names) found.set(name, await takeOne(find, name, withinMs));
      return found;
    },
  };
}

async function takeOne(find: FindSecret, name: string, withinMs: number): Promise<string> {
  const value: unknown = await within(async () => find(name), withinMs).catch(() => null);
  if (typeof value === "string" && value !== "") return value;
  const problem = value === undefined || value === "" ? `there is no secret \`${name}\`` : `the secret \`${name}\` could not be read`;
  throw new FaultError({ kind: "usage", detail: problem, hint: "your `secrets` function finds them by name" });
}

/** Loaded when the first manifest runs: a project that only lists its tools does not run its ports module. */
export type LoadManifestPorts = () => Promise<Readonly<{ secrets?: FindSecret; running?: InvocationRunner }>>;

export const secretsFromPorts = (load: LoadManifestPorts, usual: SecretsPort): SecretsPort => ({
  async take(names) {
    const { secrets } = await load();
    return (secrets === undefined ? usual : toSecretsPort(secrets)).take(names);
  },
});

/** Ports that cannot be loaded fail the call before anything is started. */
export const runnerFromPorts = (load: LoadManifestPorts, usual: InvocationRunner): InvocationRunner => ({
  async run(invocation, options) {
    const { running } = await load();
    return (running === undefined ? usual : guardRunner(running)).run(invocation, options);
  },
});

/** Beyond the manifest's own time limit: a runner gets the signal to stop first. */
const GRACE_MS = 2_000;

/** A runner that throws, answers nonsense or does not answer may have started something: the outcome is `stopped`, never a success or a refusal. */
export function guardRunner(own: InvocationRunner, graceMs = GRACE_MS): InvocationRunner {
  return {
    async run(invocation, options) {
      const began = performance.now();
      const stopped = (by: "time" | "connection", detail: string): InvocationResult => ({
        kind: "stopped",
        by,
        detail,
        stdout: "",
        stderr: "",
        durationMs: Math.round(performance.now() - began),
      });
      const timeMs = timeLimit(invocation) + graceMs;
      try {
        const ran: unknown = await within(async () => own.run(invocation, options), timeMs);
        return isInvocationResult(ran, invocation.kind) ? ran : stopped("connection", "the runner answered something else than a result");
      } catch (error) {
        if (error === LATE) return stopped("time", `the runner did not answer within ${timeMs} ms`);
        return stopped("connection", `the runner failed: ${error instanceof Error ? error.message : String(error)}`);
      }
    },
  };
}

const timeLimit = (invocation: Invocation): number => (invocation.kind === "process" ? invocation.limits.timeMs : invocation.timeMs);

const LATE = new Error("no answer in time");

async function within<T>(work: () => Promise<T>, ms: number): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(LATE), ms);
  try {
    return await Promise.race([work(), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

const STOPPED_BY = ["time", "memory", "processes", "output", "signal", "connection"];

/** Of the kind that this invocation can have, with every part that is recorded: half a result proves nothing about what was done. */
function isInvocationResult(value: unknown, invoked: Invocation["kind"]): value is InvocationResult {
  if (typeof value !== "object" || value === null) return false;
  const part = (name: string): unknown => Reflect.get(value, name);
  const areTexts = (...names: readonly string[]): boolean => names.every((name) => typeof part(name) === "string");
  const isTimed = isCount(part("durationMs"));
  const isWhole = isTimed && typeof part("truncated") === "boolean";
  switch (part("kind")) {
    case "exited":
      return invoked === "process" && isWhole && areTexts("stdout", "stderr") && hasExit(part("code"), part("signal"));
    case "responded":
      return invoked === "http" && isWhole && areTexts("body") && isStatus(part("status")) && isHeaders(part("headers"));
    case "answered":
      return invoked === "mcp" && isWhole && typeof part("isError") === "boolean" && isJson(part("output"));
    case "refused":
      return areTexts("reason", "hint");
    case "stopped":
      return isTimed && areTexts("detail", "stdout", "stderr") && STOPPED_BY.some((by) => by === part("by"));
    default:
      return false;
  }
}

const isCount = (value: unknown): boolean => typeof value === "number" && Number.isFinite(value) && value >= 0;
const isStatus = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= 100 && Number(value) <= 599;
/** A program ends with a code or by a signal. */
const hasExit = (code: unknown, signal: unknown): boolean =>
  (Number.isInteger(code) && signal === null) || (code === null && typeof signal === "string");
const isHeaders = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Object.values(value).every((one) => typeof one === "string");
function isJson(value: unknown): boolean {
  try {
    return value !== undefined && copyFrozen(value as Json) !== undefined;
  } catch {
    return false;
  }
}
