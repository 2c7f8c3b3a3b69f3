/**
 * Tickets: what a page or a program shows to open one socket, in place of what lasts.
 *
 * W-11 a ticket is good once, for seconds, for one socket, with what its maker has; a process that ends takes its tickets along.
 */
import { createHash } from "node:crypto";
import { type Millis, millis } from "@orgate/core";

export const TICKET_MS = 30_000;
const MOST = 10_000;
const TICKET = /^ogt_[A-Za-z0-9_-]{43}$/;

export type Tickets<Holder> = Readonly<{
  issue(holder: Holder): Readonly<{ ticket: string; expiresAt: Millis }> | null;
  /** Used up, whether it is still good or not. */
  redeem(ticket: string): Holder | null;
}>;

/** `newSecret`: 43 characters that nobody can guess. */
export function createTickets<Holder>(now: () => Millis, newSecret: () => string): Tickets<Holder> {
  const open = new Map<string, Readonly<{ holder: Holder; expiresAt: Millis }>>(); // by hash: looking one up tells nothing of the others
  const nameOf = (ticket: string): string => createHash("sha256").update(ticket).digest("base64url");
  const drop = (): void => {
    for (const [name, { expiresAt }] of open) {
      if (expiresAt > now()) return; // they were made in the order in which they end
      open.delete(name);
    }
  };
  return {
    issue(holder) {
      drop();
      if (open.size >= MOST) return null;
      const ticket = `ogt_${newSecret()}`;
      const expiresAt = millis(now() + TICKET_MS);
      open.set(nameOf(ticket), { holder, expiresAt });
      return { ticket, expiresAt };
    },
    redeem(ticket) {
      if (!TICKET.test(ticket)) return null;
      const name = nameOf(ticket);
      const found = open.get(name);
      open.delete(name);
      return found === undefined || found.expiresAt <= now() ? null : found.holder;
    },
  };
}
