/**
 * Slow checks of secrets (hashes of an earlier version), bounded: nobody can overload the server with them, nor guess for long.
 *
 * W-17 slow checks take no more than `atOnce` at a time; those of one key wait for each other and hold up no other key; a bounded number waits, the
 *      rest are refused until later; a secret that was found right is not checked slowly again.
 */
import { createHmac, randomBytes } from "node:crypto";

export type SecretCheckResult = "right" | "wrong" | "later";

export type SecretChecks = Readonly<{
  /** `check` is asked unless this very token was found right before. `id` names the key that it claims to be. */
  check(token: string, id: string, check: () => Promise<boolean>): Promise<SecretCheckResult>;
}>;

export type SecretChecksOptions = Readonly<{ atOnce?: number /** For one key. */; waiting?: number }>;

const MOST_RIGHT = 10_000;

export function openSecretChecks({ atOnce = 2, waiting = 64 }: SecretChecksOptions = {}): SecretChecks {
  const key = randomBytes(32); // what is remembered is of no use to whoever reads this process's memory later
  const right = new Set<string>();
  const checking = new Map<string, Promise<boolean>>();
  /** By key; who is next takes the first of the first, and the key goes to the end. */
  const queues = new Map<string, (() => void)[]>();
  let busy = 0;

  async function bounded(id: string, work: () => Promise<boolean>): Promise<boolean> {
    if (busy >= atOnce)
      await new Promise<void>((resolve) => {
        queues.set(id, [...(queues.get(id) ?? []), resolve]);
      });
    else busy += 1;
    try {
      return await work();
    } finally {
      letNextGo();
    }
  }

  function letNextGo(): void {
    const [first] = queues;
    if (first === undefined) {
      busy -= 1;
      return;
    }
    const [id, [next, ...rest]] = first;
    queues.delete(id);
    if (rest.length > 0) queues.set(id, rest);
    next?.();
  }

  return {
    async check(token, id, check) {
      const name = createHmac("sha256", key).update(token).digest("base64url");
      if (right.has(name)) return "right";
      const same = checking.get(name);
      if (same === undefined && (queues.get(id)?.length ?? 0) >= waiting) return "later";
      const mine = same ?? bounded(id, check).finally(() => checking.delete(name));
      checking.set(name, mine);
      if (!(await mine)) return "wrong";
      if (right.size >= MOST_RIGHT) right.delete(right.keys().next().value ?? "");
      right.add(name);
      return "right";
    },
  };
}
