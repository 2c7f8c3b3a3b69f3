/**
 * Finding out whether a secret is the right one is dear on purpose: so that nobody can make the server do too much of it, nor guess for long.
 *
 * W114 checking secrets takes no more than `atOnce` at a time; after so many wrong ones from one address none is looked at for a while, and what has
 *      been found right before is not checked at that price again.
 */
import { createHmac, randomBytes } from "node:crypto";

export type Found = "right" | "wrong" | "later";

export type Guessing = Readonly<{
  /** `check` is asked unless this very token was found right before. */
  check(token: string, remote: string, check: () => Promise<boolean>): Promise<Found>;
}>;

export type GuessingOptions = Readonly<{
  now: () => number;
  atOnce?: number;
  waiting?: number;
  /** Wrong ones from one address, in so many milliseconds. */
  wrong?: number;
  withinMs?: number;
}>;

const MOST_RIGHT = 10_000;
const MOST_ADDRESSES = 10_000;

export function guessing({ now, atOnce = 2, waiting = 64, wrong = 60, withinMs = 60_000 }: GuessingOptions): Guessing {
  const key = randomBytes(32); // what is remembered is of no use to whoever reads this process's memory later
  const right = new Set<string>();
  const checking = new Map<string, Promise<boolean>>();
  const failed = new Map<string, { count: number; since: number }>();
  const queue: (() => void)[] = [];
  let busy = 0;

  async function bounded(work: () => Promise<boolean>): Promise<boolean> {
    if (busy >= atOnce) await new Promise<void>((resolve) => queue.push(resolve));
    else busy += 1;
    try {
      return await work();
    } finally {
      const next = queue.shift();
      if (next === undefined) busy -= 1;
      else next();
    }
  }

  function isTooMuch(remote: string): boolean {
    const found = failed.get(remote);
    if (found === undefined) return false;
    if (now() - found.since >= withinMs) failed.delete(remote);
    return failed.has(remote) && found.count >= wrong;
  }

  function count(remote: string): void {
    const found = failed.get(remote);
    if (found !== undefined) found.count += 1;
    else {
      if (failed.size >= MOST_ADDRESSES) failed.delete(failed.keys().next().value ?? "");
      failed.set(remote, { count: 1, since: now() });
    }
  }

  return {
    async check(token, remote, check) {
      const name = createHmac("sha256", key).update(token).digest("base64url");
      if (right.has(name)) return "right";
      const same = checking.get(name);
      if (same === undefined && (isTooMuch(remote) || queue.length >= waiting)) return "later";
      const mine = same ?? bounded(check).finally(() => checking.delete(name));
      checking.set(name, mine);
      const fits = await mine;
      if (same === undefined && !fits) count(remote);
      if (!fits) return "wrong";
      if (right.size >= MOST_RIGHT) right.delete(right.keys().next().value ?? "");
      right.add(name);
      return "right";
    },
  };
}
