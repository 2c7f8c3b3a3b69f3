/**
 * Long work of callers, limited for each caller and in all.
 *
 * W-20 a caller that asks for more long work at once than one caller may have gets 429, and others are not kept from theirs.
 */

import { onAbort } from "@orgate/core/vocab";
import { wireProblem } from "@orgate/protocol";
import type { Caller } from "./access.ts";
import { refusal } from "./refusal.ts";

export type Lanes = Readonly<{
  /** Taken until `gone`; throws the refusal when no lane is free. */
  take(caller: Caller, what: keyof typeof MOST, gone: AbortSignal): void;
}>;

/** Of one caller, at once. */
const MOST = { export: 1, check: 3 };
const CALLED = { export: "an export", check: "checks of policies" };
const IN_ALL = 8;

export function openLanes(): Lanes {
  const taken = new Map<string, number>();
  let all = 0;
  return {
    take({ principal }, what, gone) {
      const who = `${what} ${principal.kind}:${principal.id}`;
      const mine = taken.get(who) ?? 0;
      if (mine >= MOST[what]) throw full(`you have ${CALLED[what]} going on, and ${MOST[what]} at once is the limit`, "wait, or end one");
      if (all >= IN_ALL) throw full(`${IN_ALL} exports and checks are going on, which is the limit`, "try again in a moment");
      taken.set(who, mine + 1);
      all += 1;
      const leave = (): void => {
        const left = (taken.get(who) ?? 1) - 1;
        if (left === 0) taken.delete(who);
        else taken.set(who, left);
        all -= 1;
      };
      onAbort(gone, leave);
    },
  };
}

const full = (detail: string, hint: string) => refusal(wireProblem("too-many", detail, hint), { "retry-after": "1" });
