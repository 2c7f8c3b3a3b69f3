/**
 * W-5 a POST that changes something is done once for each key of a person: the same request again, also while the first is under way, and also after the
 *     server was started again, gets the first one's answer; the key with another request is refused. A request that failed, or had not finished when it was answered, is done again.
 * W-5 which request a key is for is on disk before anything is done: also after a crash, a failure or an answer that was not the last word, another
 *      request under it is refused. Access with other limits has keys of its own: a key reveals nothing that the caller's own access does not show.
 * Ids made under a key are derived from it, so that a request which a crash cut off is not done a second time when it is sent again.
 */
import { createHash } from "node:crypto";
import { type IntentId, intentId } from "@orgate/core";
import { idempotencyKey, type OperationName, wireProblem } from "@orgate/protocol";
import type { AccessScope } from "./access.ts";
import { refusal } from "./refusal.ts";

/** `status` is null while there is no last word. */
type KeptAnswer = Readonly<{ digest: string; status: number | null; body: string }>;

/** Kept beside the journal; a key is known for a day at least. */
export type Keys = Readonly<{
  /** Null where this key has not been used. */
  find(id: string): KeptAnswer | null;
  /** From now on the key is for this request; returns which one it is for. */
  begin(id: string, digest: string, now: number): string;
  keep(id: string, digest: string, answer: Readonly<{ status: number; body: string }>, now: number): void;
  close(): void;
}>;

export type GivenAnswer = Readonly<{
  user: string;
  scope: Pick<AccessScope, "agents" | "actions">;
  route: OperationName;
  key: string | undefined;
  request: unknown;
}>;
export type Replied = Readonly<{ status: number; value: unknown; passing: boolean }>;
export type Idempotency = Readonly<{
  /** The earlier answer under this key; null if there is none. */
  kept(given: GivenAnswer): Promise<Replied | null>;
  /** The intent of a request that was begun under this key; null where the key was not used. */
  begun(given: GivenAnswer): IntentId | null;
  done(given: GivenAnswer, work: (key: IdempotencyKey) => Promise<Replied>): Promise<Replied>;
}>;
export type IdempotencyKey = Readonly<{
  /** For the wish that the request is. */
  intent: IntentId;
  /** For the session that it opens. */
  external: string;
  /** It was begun before, and nobody knows how far it came. */
  again: boolean;
}>;

const intentUnder = (id: string): IntentId => intentId(`k-${id.slice(0, 40)}`);
const hash = (text: string): string => createHash("sha256").update(text).digest("hex");

export function openIdempotency(keys: Keys, now: () => number): Idempotency {
  const underWay = new Map<string, Readonly<{ digest: string; reply: Promise<Replied> }>>();

  const keptUnder = (id: string, digest: string): Replied | null => {
    const found = keys.find(id);
    if (found === null) return null;
    mustBeSame(found.digest, digest);
    if (found.status === null) return null;
    const value: unknown = JSON.parse(found.body);
    return { status: found.status, value, passing: false };
  };

  return {
    async kept(given) {
      const { id, digest } = readKey(given);
      const running = underWay.get(id);
      if (running === undefined) return keptUnder(id, digest);
      mustBeSame(running.digest, digest);
      return running.reply;
    },
    begun(given) {
      const { id, digest } = readKey(given);
      const found = keys.find(id);
      if (found === null) return null;
      mustBeSame(found.digest, digest);
      return intentUnder(id);
    },
    async done(given, work) {
      const { id, digest } = readKey(given);
      const running = underWay.get(id);
      if (running !== undefined) {
        mustBeSame(running.digest, digest);
        return running.reply;
      }
      const found = keptUnder(id, digest);
      if (found !== null) return found;
      const again = keys.find(id) !== null;
      mustBeSame(keys.begin(id, digest, now()), digest);
      const reply = work({ intent: intentUnder(id), external: `key-${id.slice(0, 40)}`, again });
      underWay.set(id, { digest, reply });
      try {
        const replied = await reply;
        if (!replied.passing) keys.keep(id, digest, { status: replied.status, body: JSON.stringify(replied.value ?? null) }, now());
        return replied;
      } finally {
        underWay.delete(id);
      }
    },
  };
}

function readKey({ user, scope: { agents, actions }, route, key, request }: GivenAnswer): Readonly<{ id: string; digest: string }> {
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
  const id = hash([user, route, read.data, ...limits].map((part) => JSON.stringify(part)).join(" "));
  return { id, digest: hash(JSON.stringify(request)) };
}

function mustBeSame(before: string, now: string): void {
  if (before !== now)
    throw refusal(wireProblem("idempotency-key-reused", "this key was used for another request", "send a new key with each request"));
}
