/**
 * The halt that keeps a session from going on, for every surface that tells a session's state.
 * Q-17 A turn that a halt keeps is halted, with which halt, by whom, why, and how to lift it: it is neither at work nor interrupted.
 */
import { foldOrders, type Journal, NO_ORDERS, type Orders, type SessionSummary } from "@orgate/core/journal";
import { type Entry, findAgentHalt, HALT, type StandingHalt, seq } from "@orgate/core/vocab";

type Reads = Pick<Journal, "read" | "session">;
export type HaltNeeds = Readonly<{ journal: Reads; halts: Orders["halts"]; isHeld: boolean }>;
const PAGE = 1_000;

/** As of now, for whoever only looks. */
export async function standingHalts(journal: Pick<Journal, "read">): Promise<Orders["halts"]> {
  let orders = NO_ORDERS;
  for (let after = seq(0); ; ) {
    const chunk: readonly Entry[] = await journal.read(HALT, after, PAGE);
    orders = foldOrders(orders, chunk);
    if (chunk.length < PAGE) return orders.halts;
    after = chunk.at(-1)?.seq ?? after;
  }
}

/** Q-2 from its row and those above it; its last turn is read only where nobody drives it and a halt of a tool or another agent may be what it waits for. */
export async function haltOnSession({ journal, halts, isHeld }: HaltNeeds, s: SessionSummary): Promise<StandingHalt | null> {
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
    return null; // erased or damaged: whoever opens it is told
  }
}
