/**
 * The result of a run as an outcome.
 *
 * T-24 a non-zero exit and a status that is no success are failures, with what was said; what was killed or lost sight of is unknown, never
 *     failed; what was refused has not begun.
 */
import type { Json, UnknownCause } from "@orgate/core/vocab";
import type { Manifest } from "./manifest.ts";
import { parseOutput } from "./output.ts";
import type { InvocationResult } from "./running.ts";

export type Result =
  /** `raw` is what was printed, as it was: what is hashed. */
  | Readonly<{ kind: "done"; output: Json; raw: string; status: number | null; withheld: string | null }>
  | Readonly<{ kind: "failed"; error: string; raw: string; status: number | null }>
  | Readonly<{ kind: "unknown"; cause: UnknownCause; detail: string; raw: string }>;

/** From outside, whatever their sender. */
const KILLS = new Set(["SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"]);
const TAIL = 2_000;

export function toManifestResult(manifest: Pick<Manifest, "output" | "backend">, ran: InvocationResult): Result {
  switch (ran.kind) {
    case "exited": {
      const { code, signal, stdout, stderr, truncated } = ran;
      if (code === 0) return done(manifest, stdout, truncated, 0);
      const said = tailOf(stderr) || tailOf(stdout);
      if (code !== null)
        return { kind: "failed", error: `exit status ${code}${said === "" ? "" : `: ${said}`}`, raw: stdout, status: code };
      const by = signal ?? "a signal";
      if (KILLS.has(by)) return { kind: "unknown", cause: "killed", detail: `it was ended by ${by}`, raw: stdout };
      return { kind: "failed", error: `ended by ${by}${said === "" ? "" : `: ${said}`}`, raw: stdout, status: null };
    }
    case "responded": {
      const { status, body, truncated } = ran;
      const isSuccess = manifest.backend.kind === "http" ? manifest.backend.http.isSuccess(status) : status >= 200 && status < 300;
      if (isSuccess) return done(manifest, body, truncated, status);
      const said = tailOf(body);
      return { kind: "failed", error: `status ${status}${said === "" ? "" : `: ${said}`}`, raw: body, status };
    }
    case "answered": {
      const raw = JSON.stringify(ran.output);
      if (ran.isError)
        return {
          kind: "failed",
          error: tailOf(typeof ran.output === "string" ? ran.output : raw) || "the server said that it failed",
          raw,
          status: null,
        };
      return {
        kind: "done",
        output: ran.output,
        raw,
        status: null,
        withheld: ran.truncated ? "it is longer than the tool may print" : null,
      };
    }
    case "refused":
      return { kind: "failed", error: `not run: ${ran.reason}${ran.hint === "" ? "" : ` (${ran.hint})`}`, raw: "", status: null };
    case "stopped":
      return { kind: "unknown", cause: CAUSES[ran.by], detail: ran.detail, raw: ran.stdout };
  }
}

const CAUSES: Readonly<Record<Extract<InvocationResult, { kind: "stopped" }>["by"], UnknownCause>> = {
  time: "timed-out",
  memory: "killed",
  processes: "killed",
  output: "killed",
  signal: "cancelled",
  connection: "connection-lost",
};

function done({ output }: Pick<Manifest, "output">, raw: string, truncated: boolean, status: number): Result {
  const parsed = parseOutput(raw, output.format, truncated);
  if (parsed.kind === "output") return { kind: "done", output: parsed.output, raw, status, withheld: null };
  return { kind: "done", output: null, raw, status, withheld: parsed.why };
}

const tailOf = (text: string): string => {
  const trimmed = text.trim();
  return trimmed.length <= TAIL ? trimmed : `…${trimmed.slice(-TAIL)}`;
};

/** Wherever a secret's value turns up, its name stands in its place: as it is, and as JSON, addresses and base64 write it. */
export type Mask = (text: string, isCut?: boolean) => string;
export function createMask(secrets: ReadonlyMap<string, string>, base64: (text: string) => string): Mask {
  const quoted = (text: string): string => JSON.stringify(text).slice(1, -1);
  const forms = [...secrets].flatMap(([name, value]) => {
    const [address, packed] = [encodeURIComponent(value), base64(value)];
    const small = address.replaceAll(/%[0-9A-F]{2}/g, (byte) => byte.toLowerCase());
    const inUrl = packed.replaceAll("+", "-").replaceAll("/", "_");
    const bare = (text: string): string => text.replace(/=+$/, "");
    const plain = [value, address, small, address.replaceAll("%20", "+"), packed, bare(packed), inUrl, bare(inUrl)];
    const all = [...plain, ...plain.map(quoted), ...plain.map((one) => quoted(quoted(one)))]; // JSON inside JSON is what servers echo
    return [...new Set(all)].filter((form) => form !== "").map((form) => ({ form, mask: `[secret:${name}]` }));
  });
  const longest = forms.toSorted((a, b) => b.form.length - a.form.length); // a secret inside another is not to tear it apart
  return (text, isCut = false) => {
    const masked = longest.reduce((at, { form, mask }) => at.replaceAll(form, mask), text);
    return isCut ? longest.reduce(withoutTorn, masked) : masked;
  };
}

/** A text that was cut may end with the beginning of a secret. */
function withoutTorn(text: string, { form, mask }: Readonly<{ form: string; mask: string }>): string {
  for (let length = Math.min(form.length - 1, text.length); length >= TORN; length -= 1)
    if (text.endsWith(form.slice(0, length))) return text.slice(0, -length) + mask;
  return text;
}
const TORN = 3;

export function maskJson(value: Json, mask: (text: string) => string): Json {
  if (typeof value === "string") return mask(value);
  if (Array.isArray(value)) return value.map((one) => maskJson(one as Json, mask));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [mask(key), maskJson(one, mask)]));
}
