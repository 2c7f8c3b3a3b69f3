/**
 * Finds the halt that holds a session back, for every surface that shows a session's state.
 * Q-17 A turn that a halt keeps is halted, with which halt, by whom, why, and how to lift it: it is neither at work nor interrupted.
 */
import { entryPages, foldOrders, type Journal, NO_ORDERS, type Orders, type SessionSummary } from "@orgate/core/journal";
import { findAgentHalt, HALT, type StandingHalt } from "@orgate/core/vocab";

type Reads = Pick<Journal, "read" | "session">;
export type SessionHaltPorts = Readonly<{ journal: Reads; halts: Orders["halts"]; isHeld: boolean }>;

/** Halts in force, from a journal that is only read. */
export async function readHalts(journal: Pick<Journal, "read">): Promise<Orders["halts"]> {
  let orders = NO_ORDERS;
  for await (const page of entryPages(journal, HALT)) orders = foldOrders(orders, page);
  return orders.halts;
}

/** Q-2 from its row and those above it; its last turn is read only where nobody drives it and a halt of a tool or another agent may be what it waits for. */
export async function findSessionHalt({ journal, halts, isHeld }: SessionHaltPorts, s: SessionSummary): Promise<StandingHalt | null> {
  if (halts.size === 0 || (s.state !== "running" && s.state !== "waiting")) return null;
  const orders: Orders = { ...NO_ORDERS, halts };
  for (let at: SessionSummary | null = s; at !== null; at = at.parent === null ? null : await journal.session(at.parent)) {
    const halt = findAgentHalt(orders, at.agent);
    if (halt !== null) return halt;
  }
  if (s.state !== "running" || isHeld) return null;
  const { findAwaitedHalt, readTurn } = await import("@orgate/core"); // far more to load than a list needs
  try {
    return findAwaitedHalt(await readTurn({ journal }, s.session), orders);
  } catch {
    return null; // erased or damaged: opening it reports that
  }
}
