/**
 * The looking up itself. Where it is done in this process, decision and finding are one commit with the request; where another system is asked, the
 * decision is durable first, like before any effect.
 */
import { messageOf } from "../../act/act.ts";
import type { Found } from "../../knowledge/port.ts";
import { FaultError, type JournalEvent } from "../../vocab/index.ts";
import { type Cockpit, checkHold, consume } from "../effects.ts";
import { isPromise } from "../model/middleware.ts";
import type { Turn } from "../state.ts";
import { recalledEvents, searchFor } from "./recall.ts";

export const RECALLING = "recall";

export type Recaller = Readonly<{
  /** At once, where nobody else is asked. True: it is on record. */
  now(t: Turn): boolean;
  /** What has to be durable first. */
  later(t: Turn): (() => void) | null;
}>;

export function recaller(c: Cockpit): Recaller {
  const { p, s } = c;
  function home(t: Turn, found: Found | Readonly<{ error: string }>): readonly JournalEvent[] {
    return s.turn === t && !t.recall.done && t.recall.gated.kind === "allowed" ? recalledEvents(s, t, found) : []; // its turn has ended meanwhile
  }
  async function fly(t: Turn, came: () => Found | Promise<Found>): Promise<() => readonly JournalEvent[]> {
    try {
      const found = await unlessStopped(c.stopOf(null), came);
      return () => home(t, found);
    } catch (error) {
      return () => home(t, { error: messageOf(error) });
    }
  }
  return {
    now(t) {
      if (p.knowledge.reach !== "local" || c.isFlying(RECALLING)) return false;
      let found: ReturnType<typeof p.knowledge.search> | Readonly<{ error: string }>;
      try {
        found = p.knowledge.search(searchFor(s), c.stopOf(null));
      } catch (error) {
        found = { error: messageOf(error) };
      }
      if (isPromise(found)) {
        const came = found;
        c.fly(RECALLING, () => fly(t, () => came));
        return false;
      }
      const came = home(t, found);
      if (came.length > 0 && t.recall.gated.kind === "allowed") consume(c, t.recall.gated.decided);
      for (const event of came) c.record(event);
      return came.length > 0;
    },
    later(t) {
      if (p.knowledge.reach !== "remote" || c.isFlying(RECALLING) || t.recall.gated.kind !== "allowed") return null;
      const search = searchFor(s);
      const action = t.recall.gated.decided.id;
      consume(c, t.recall.gated.decided);
      return () => {
        const permit = c.permitFor(action);
        checkHold(c);
        c.fly(RECALLING, async () => {
          const allowed = c.redeem(permit);
          if (allowed.kind !== "recall" || allowed.scope !== search.scope)
            throw new FaultError({ kind: "permit-refused", action, detail: "it is about another scope" });
          return fly(t, () => p.knowledge.search(search, c.stopOf(null)));
        });
      };
    },
  };
}

/** Who does not listen to the signal is not waited for. */
async function unlessStopped(signal: AbortSignal, came: () => Found | Promise<Found>): Promise<Found> {
  let onStop = () => {};
  const stopped = new Promise<never>((_, reject) => {
    onStop = () => reject(new Error(`stopped: ${String(signal.reason)}`));
  });
  if (signal.aborted) onStop();
  signal.addEventListener("abort", onStop, { once: true });
  try {
    return await Promise.race([came(), stopped]);
  } finally {
    signal.removeEventListener("abort", onStop);
  }
}
