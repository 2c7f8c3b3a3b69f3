/** Standing orders: grants and halts, a fold of the two system streams that hold them. They belong to no session and act on all. */
import type { Entry, GrantFacts, GrantId, Millis, Principal } from "../vocab/index.ts";

export type StandingGrant = Readonly<{ grant: GrantId; by: Principal; givenAt: Millis } & GrantFacts>;
export type StandingHalt = Readonly<{ scope: string; by: Principal; reason: string; at: Millis }>;

export type Orders = Readonly<{
  grants: ReadonlyMap<GrantId, StandingGrant>;
  /** All that were ever given: what was revoked is not given again. */
  given: ReadonlySet<GrantId>;
  halts: ReadonlyMap<string, StandingHalt>;
}>;
export const NO_ORDERS: Orders = Object.freeze({ grants: new Map(), given: new Set<GrantId>(), halts: new Map() });

export function foldOrders(before: Orders, entries: readonly Entry[]): Orders {
  const grants = new Map(before.grants);
  const given = new Set(before.given);
  const halts = new Map(before.halts);
  for (const { at, event: e } of entries) {
    if (e.kind === "grant.given") {
      const { kind: _, ...facts } = e;
      if (!given.has(e.grant)) grants.set(e.grant, { ...facts, givenAt: at });
      given.add(e.grant);
    } else if (e.kind === "grant.revoked") grants.delete(e.grant);
    else if (e.kind === "work.halted") halts.set(e.scope, { scope: e.scope, by: e.by, reason: e.reason, at });
    else if (e.kind === "work.resumed") {
      if (e.scope === "all")
        halts.clear(); // work goes on everywhere, whatever was halted
      else halts.delete(e.scope);
    }
  }
  return { grants, given, halts };
}

/** The halt that stops sessions of this agent as a whole; a tool's halt refuses its calls only. */
export const findAgentHalt = (orders: Orders, agent: string): StandingHalt | null =>
  orders.halts.get("all") ?? orders.halts.get(`agent:${agent}`) ?? null;
export const HALT_SCOPE = /^(all|agent:[A-Za-z0-9_-]{1,64}|tool:[A-Za-z0-9_-]{1,64})$/;
