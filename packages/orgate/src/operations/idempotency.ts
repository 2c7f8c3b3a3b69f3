/**
 * W-5 a POST that changes something is done once for each key of a person: the same request again, also while the first is under way, and also after the
 *     server was started again, gets the first one's answer; the key with another request is refused. A request that failed, or was not over when it was answered, is looked at again.
 * W-5 which request a key is for is on disk before anything is done: also after a crash, a failure or a provisional answer, another request under it is
 *      refused. Access with other limits has keys of its own: a key tells nobody what their own access does not show.
 *
 * Every surface derives the ids of its intents and sessions here, from what its client repeats: a request that a crash cut off finds, when it is sent
 * again, what the first one did. Journals contain these ids, so neither a prefix nor the digits of one may change.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type IntentId, intentId, type SessionId, sessionId } from "@orgate/core";
import { idempotencyKey, type OperationName, wireProblem } from "@orgate/protocol";
import { sha256 } from "../node/crypto.ts";
import type { KeptRequest, RequestKeys } from "../store/store.ts";
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

/** How long another server may take to answer, once the same has failed here: one that has crashed never will. */
const THEIRS_MS = 2_000;
const LOOK_MS = 50;

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
    const running = this.#findUnderWay(id, digest);
    if (running !== null) return running;
    const reply = this.#runOrRepeat(id, digest, ({ again }) =>
      work({ intent: request.intent ?? intentUnder(id), external: `key-${id.slice(0, DIGITS)}`, again }),
    );
    this.#underWay.set(id, { digest, reply }); // nothing was awaited yet: two requests at once cannot both find nothing
    try {
      return await reply;
    } finally {
      this.#underWay.delete(id);
    }
  }

  /** The earlier reply under this key; null if there is none. */
  async findReply(request: KeyedRequest): Promise<KeyedReply | null> {
    const { id, digest } = readKey(request);
    return this.#findUnderWay(id, digest) ?? toReply(await this.#find(id, digest));
  }

  /** The intent of a request that was begun under this key; null if the key was not used. */
  async findIntent(request: KeyedRequest): Promise<IntentId | null> {
    const { id, digest } = readKey(request);
    return (await this.#find(id, digest)) === null ? null : (request.intent ?? intentUnder(id));
  }

  /** Binds a derived intent to its request, durably; rejects if it belongs to another request. Returns the intent. */
  async claim(intent: IntentId, request: unknown): Promise<IntentId> {
    const digest = sha256(JSON.stringify(request));
    mustBeSame(await this.#keys.begin(intent, digest, this.#now()), digest, "id");
    return intent;
  }

  async #runOrRepeat(id: string, digest: string, work: (key: Pick<IdempotencyKey, "again">) => Promise<KeyedReply>): Promise<KeyedReply> {
    const before = await this.#find(id, digest);
    const earlier = toReply(before);
    if (earlier !== null) return earlier;
    const entered = await this.#keys.enter(id, digest, this.#now());
    mustBeSame(entered.digest, digest);
    const meanwhile = entered.others ? toReply(await this.#keys.find(id)) : null;
    if (meanwhile !== null) return meanwhile;
    try {
      const replied = await work({ again: before !== null || entered.others });
      const { status, value, isProvisional } = replied;
      if (isProvisional) await this.#keys.leave(id);
      else if (!(await this.#keys.keep(id, digest, { status, body: JSON.stringify(value ?? null) }, this.#now())))
        return toReply(await this.#keys.find(id)) ?? replied;
      return replied;
    } catch (error) {
      const theirs = (await this.#keys.leave(id).catch(() => false)) ? await this.#findTheirs(id) : null;
      if (theirs === null) throw error;
      return theirs;
    }
  }

  /** What failed here may have failed because another server was doing the same. */
  async #findTheirs(id: string): Promise<KeyedReply | null> {
    const end = performance.now() + THEIRS_MS;
    for (;;) {
      const row = await this.#keys.find(id);
      const reply = toReply(row);
      if (reply !== null || row === null || Number(row.body) === 0 || performance.now() > end) return reply;
      await sleep(LOOK_MS);
    }
  }

  #findUnderWay(id: string, digest: string): Promise<KeyedReply> | null {
    const running = this.#underWay.get(id);
    if (running === undefined) return null;
    mustBeSame(running.digest, digest);
    return running.reply;
  }

  async #find(id: string, digest: string): Promise<KeptRequest | null> {
    const before = await this.#keys.find(id);
    if (before !== null) mustBeSame(before.digest, digest);
    return before;
  }
}

/** Null while nothing was answered for good. */
const toReply = (kept: KeptRequest | null): KeyedReply | null =>
  kept === null || kept.status === null ? null : { status: kept.status, value: JSON.parse(kept.body) as unknown, isProvisional: false };

function readKey({ user, scope: { agents, actions }, route, key, request }: KeyedRequest): Readonly<{ id: string; digest: string }> {
  const read = idempotencyKey.safeParse(key);
  if (!read.success)
    throw refusal(
      wireProblem(
        "idempotency-key-missing",
        "the idempotency key (over HTTP the header `Idempotency-Key`) is missing, or has characters that no key has",
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
