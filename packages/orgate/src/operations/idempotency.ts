/**
 * W-5 a POST that changes something is done once for each key of a person: the same request again, also while the first is under way, and also after the
 *     server was started again, gets the first one's answer; the key with another request is refused. A request that failed, or was not over when it was answered, is looked at again.
 * W-5 which request a key is for is on disk before anything is done: also after a crash, a failure or a provisional answer, another request under it is
 *      refused. Access with other limits has keys of its own: a key tells nobody what their own access does not show.
 *
 * Every surface derives the ids of its intents and sessions here, from what its client repeats: a request that a crash cut off finds, when it is sent
 * again, what the first one did. Journals contain these ids, so neither a prefix nor the digits of one may change.
 */
import { type IntentId, intentId, type SessionId, sessionId } from "@orgate/core";
import { idempotencyKey, type OperationName, wireProblem } from "@orgate/protocol";
import { sha256 } from "../node/crypto.ts";
import type { RequestKeys } from "../store/idempotency-keys.ts";
import type { AccessScope } from "./access.ts";
import { refusal } from "./refusal.ts";

/** Surfaces without an `Idempotency-Key`: `/ws/chat`, `useChat`, and the coordinator's tools, which repeat the key of their call. */
type Surface = "chat" | "ui" | "run" | "cancel" | "tool";
const INTENT_PREFIX: Readonly<Record<Surface, string>> = { chat: "c", ui: "u", run: "run", cancel: "cancel", tool: "tool" };
const DIGITS = 40;

export const deriveIntentId = (surface: Surface, ...parts: readonly string[]): IntentId =>
  intentId(`${INTENT_PREFIX[surface]}-${deriveDigits(surface, parts)}`);

/** A session's name, or a key. */
export const deriveName = (surface: Surface, ...parts: readonly string[]): string => `${surface}-${deriveDigits(surface, parts)}`;

/** The session that a keyed request opens without a name. */
export const deriveSessionId = (intent: IntentId): SessionId => sessionId(`s_${intent.replaceAll(/[^0-9a-z]/g, "").slice(0, 38)}`);

/** True for names that the server alone derives: nobody else may use one. */
export const isDerivedName = (name: string): boolean => /^(?:chat|ui|ws|key|run)-[0-9a-f]{40}$/.test(name);

function deriveDigits(surface: Surface, parts: readonly string[]): string {
  const whole = sha256(parts.join("\n"));
  return surface === "run" || surface === "cancel" ? whole.slice(-DIGITS) : whole.slice(0, DIGITS);
}

export type KeyedRequest = Readonly<{
  user: string;
  scope: Pick<AccessScope, "agents" | "actions">;
  route: OperationName;
  key: string | undefined;
  request: unknown;
  /** Where the surface derives it; otherwise it comes from the key. */
  intent?: IntentId | undefined;
}>;
export type KeyedReply = Readonly<{ status: number; value: unknown; isProvisional: boolean }>;
export type IdempotencyKey = Readonly<{
  /** For the intent that the request is. */
  intent: IntentId;
  /** For the session that it opens. */
  external: string;
  /** The request was begun before, and may have come to any point. */
  again: boolean;
}>;

const intentUnder = (id: string): IntentId => intentId(`k-${id.slice(0, DIGITS)}`);

export class Idempotency {
  readonly #keys: RequestKeys;
  readonly #now: () => number;
  readonly #underWay = new Map<string, Readonly<{ digest: string; reply: Promise<KeyedReply> }>>();

  constructor(keys: RequestKeys, now: () => number) {
    this.#keys = keys;
    this.#now = now;
  }

  /** Runs the work, unless the request was answered before or is under way. */
  async run(request: KeyedRequest, work: (key: IdempotencyKey) => Promise<KeyedReply>): Promise<KeyedReply> {
    const { id, digest } = readKey(request);
    const before = this.#find(id, digest);
    if (before !== null) return before;
    const again = this.#keys.find(id) !== null;
    mustBeSame(this.#keys.begin(id, digest, this.#now()), digest);
    const reply = work({ intent: request.intent ?? intentUnder(id), external: `key-${id.slice(0, DIGITS)}`, again });
    this.#underWay.set(id, { digest, reply });
    try {
      const replied = await reply;
      const { status, value, isProvisional } = replied;
      if (!isProvisional) this.#keys.keep(id, digest, { status, body: JSON.stringify(value ?? null) }, this.#now());
      return replied;
    } finally {
      this.#underWay.delete(id);
    }
  }

  /** The earlier reply under this key; null if there is none. */
  async findReply(request: KeyedRequest): Promise<KeyedReply | null> {
    const { id, digest } = readKey(request);
    return this.#find(id, digest);
  }

  /** The intent of a request that was begun under this key; null if the key was not used. */
  findIntent(request: KeyedRequest): IntentId | null {
    const { id, digest } = readKey(request);
    const found = this.#keys.find(id);
    if (found === null) return null;
    mustBeSame(found.digest, digest);
    return request.intent ?? intentUnder(id);
  }

  /** Binds a derived intent to its request, on disk; throws if it belongs to another request. Returns the intent. */
  claim(intent: IntentId, request: unknown): IntentId {
    const digest = sha256(JSON.stringify(request));
    mustBeSame(this.#keys.begin(intent, digest, this.#now()), digest, "id");
    return intent;
  }

  /** Synchronous, so that two requests at once cannot both find nothing. */
  #find(id: string, digest: string): Promise<KeyedReply> | null {
    const running = this.#underWay.get(id);
    const before = running ?? this.#keys.find(id);
    if (before === null) return null;
    mustBeSame(before.digest, digest);
    if ("reply" in before) return before.reply;
    if (before.status === null) return null;
    const value: unknown = JSON.parse(before.body);
    return Promise.resolve({ status: before.status, value, isProvisional: false });
  }
}

function readKey({ user, scope: { agents, actions }, route, key, request }: KeyedRequest): Readonly<{ id: string; digest: string }> {
  const read = idempotencyKey.safeParse(key);
  if (!read.success)
    throw refusal(
      wireProblem(
        "idempotency-key-missing",
        "the header `Idempotency-Key` is missing or no key",
        "send a new key with each request, and the same one to repeat it",
      ),
    );
  const limits = agents === null && actions === null ? [] : [{ agents, actions }];
  const id = sha256([user, route, read.data, ...limits].map((part) => JSON.stringify(part)).join(" "));
  return { id, digest: sha256(JSON.stringify(request)) };
}

function mustBeSame(before: string, now: string, what: "key" | "id" = "key"): void {
  if (before === now) return;
  throw refusal(wireProblem("idempotency-key-reused", `this ${what} was used for another request`, `send a new ${what} with each request`));
}
