/** Standing orders: grants and halts, a fold of the two system streams that hold them. They belong to no session and act on all. */
import { type Entry, foldHalts, type GrantFacts, type GrantId, type Millis, type Principal, type StandingHalts } from "../vocab/index.ts";

export type StandingGrant = Readonly<{ grant: GrantId; by: Principal; givenAt: Millis } & GrantFacts>;

export type Orders = Readonly<{
  grants: ReadonlyMap<GrantId, StandingGrant>;
  /** All grants ever given: a revoked one is not given again. */
  given: ReadonlySet<GrantId>;
  halts: StandingHalts;
}>;
export const NO_ORDERS: Orders = Object.freeze({ grants: new Map(), given: new Set<GrantId>(), halts: new Map() });

export function foldOrders(before: Orders, entries: readonly Entry[]): Orders {
  const grants = new Map(before.grants);
  const given = new Set(before.given);
  for (const { at, event: e } of entries) {
    if (e.kind === "grant.given") {
      const { kind: _, ...facts } = e;
      if (!given.has(e.grant)) grants.set(e.grant, { ...facts, givenAt: at });
      given.add(e.grant);
    } else if (e.kind === "grant.revoked") grants.delete(e.grant);
  }
  return { grants, given, halts: foldHalts(before.halts, entries) };
}
