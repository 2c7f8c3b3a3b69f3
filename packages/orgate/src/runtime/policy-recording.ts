import type { Millis } from "@orgate/core";
import type { Policies } from "../policies/policies.ts";
import { type PolicyRecording, recordPolicies } from "../policies/policy-record.ts";
import type { OpenProjectStore } from "./ports/project-store.ts";

/** Puts the set that decides on record before the first decision is made (G-15), and again whenever another process has applied one. */
export async function keepPoliciesOnRecord(place: OpenProjectStore, now: () => Millis, policies: Policies): Promise<PolicyRecording> {
  const { journal, inbox } = place.store;
  try {
    const { refresh, stop } = await recordPolicies({ journal, now }, policies);
    const unwatch = inbox.watchChanges(() => void refresh().catch(() => {})); // the next decision refreshes again, and reports the error
    return {
      refresh,
      stop() {
        unwatch();
        stop();
      },
    };
  } catch (error) {
    await place.close();
    throw error;
  }
}

/** A session that looks for orders looks for applied policies too: both come from other processes, and count for its next decision (G-15). */
export const withPolicies = (orders: OpenProjectStore["orders"], policies: PolicyRecording): OpenProjectStore["orders"] => ({
  ...orders,
  async refresh() {
    await orders.refresh();
    await policies.refresh();
  },
});
