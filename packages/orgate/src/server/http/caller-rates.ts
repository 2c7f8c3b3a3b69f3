/**
 * The caller of a request, within the rates of callers and of wrong credentials.
 *
 * W-17 Credentials are checked first, whatever others have sent: only wrong ones are counted, by source and by the key that they claim to be.
 * W-17 A halt never waits behind other requests of its caller: it has a rate of its own.
 */
import { API, wireProblem } from "@orgate/protocol";
import type { Caller } from "../../operations/access.ts";
import { refusal } from "../../operations/refusal.ts";
import { type Access, type IncomingRequest, isChatKey, isProblem } from "../identity/authentication.ts";
import { createRateLimit, type RateLimit, type ServerLimits } from "./limits.ts";

const HALT = `${API}/halt`;

export class CallerRates {
  readonly #access: Pick<Access, "authenticate">;
  readonly #requests: RateLimit;
  readonly #halts: RateLimit;
  readonly #wrong: RateLimit;

  constructor(access: Pick<Access, "authenticate">, { burst, perSecond, strangersBurst, strangersPerSecond }: ServerLimits) {
    this.#access = access;
    this.#requests = createRateLimit(burst, perSecond);
    this.#halts = createRateLimit(burst, perSecond);
    this.#wrong = createRateLimit(strangersBurst, strangersPerSecond);
  }

  async authenticate(asking: IncomingRequest): Promise<Caller> {
    const caller = await this.#access.authenticate(asking);
    if (!isProblem(caller)) {
      mustWait(this.count(caller, asking.method === "POST" && asking.path === HALT ? "halt" : "other"));
      return caller;
    }
    const now = performance.now();
    if (caller.status === 401) mustWait(Math.max(...listGuessBuckets(asking).map((bucket) => this.#wrong.take(bucket, now))));
    throw refusal(caller, caller.status === 401 ? { "www-authenticate": 'Bearer realm="orgate"' } : {});
  }

  /** Counts a request of a caller: 0 if it may go on, otherwise how many milliseconds to wait. */
  count({ principal }: Caller, what: "halt" | "other"): number {
    return (what === "halt" ? this.#halts : this.#requests).take(`${principal.kind}:${principal.id}`, performance.now());
  }

  /** Wrong sign-in links, by source (W-17). */
  countWrongLink({ path, remote }: IncomingRequest): void {
    mustWait(this.#wrong.take(`${path} ${remote}`, performance.now()));
  }
}

function mustWait(ms: number): void {
  if (ms === 0) return;
  throw refusal(wireProblem("too-many", "too many requests", "wait as long as `Retry-After` says"), {
    "retry-after": String(Math.ceil(ms / 1_000)),
  });
}

/** A wrong credential is counted by its kind and source, and by the key or sign-in that it claims to be. */
function listGuessBuckets(asking: IncomingRequest): readonly string[] {
  const shown = credentialKind(asking);
  const inAddress = isChatKey(asking) ? asking.query.get("token") : null;
  const [claimed] =
    /og[ks]_[0-9a-f]{16}(?=_)/.exec(`${asking.headers.authorization ?? ""} ${asking.headers.cookie ?? ""} ${inAddress ?? ""}`) ?? [];
  return [`${shown} ${asking.remote}`, ...(claimed === undefined ? [] : [`${claimed}`])];
}

/** The kind of credential. Any web page can make a browser send nothing, or a ticket; neither is worth guessing. */
function credentialKind(asking: IncomingRequest): "key" | "chat-key" | "ticket" | "cookie" | "nothing" {
  const { via, headers, query } = asking;
  if (headers.authorization !== undefined) return "key";
  if (isChatKey(asking)) return "chat-key";
  if (via === "socket" && query.has("token")) return "ticket";
  return headers.cookie === undefined ? "nothing" : "cookie";
}
