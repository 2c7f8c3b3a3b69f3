/** The coordinator's tools on a server: its fleet, its floor, its identities. */

import type { Surface } from "@orgate/core";
import { isFault } from "@orgate/core";
import type { Identity } from "./auth.ts";
import type { Front } from "./routes/front.ts";
import { COORDINATOR, type CoordinatorTools } from "./tools.ts";

/** Conversations with the coordinator are opened at a surface of their own: `policies/coordinator/` joins for them alone. */
export const DESK_SURFACES: Readonly<Record<string, Surface>> = Object.freeze({ [COORDINATOR]: "coordinator" });

export function connectDesk(
  desk: CoordinatorTools,
  { runtime, floor, probes, now }: Pick<Front, "runtime" | "floor" | "probes" | "now">,
  identity: Pick<Identity, "mayDo" | "operator">,
): void {
  desk.connect({
    runtime,
    floor,
    now,
    journal: runtime.place.store.journal,
    health: probes.ready,
    access: identity,
    async callerOf({ kind, id }) {
      if (kind !== "user") return null;
      try {
        return await identity.operator(id);
      } catch (error) {
        if (isFault(error)) return null; // their key was withdrawn
        throw error;
      }
    },
  });
}
